import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.noise import (
    asymmetric,
    check_noise_matrix,
    compose,
    observed_probability,
    posterior,
    symmetric,
    threshold,
    true_probability,
)
from rboost.noise.matrix import check_noise_parameter, keep_informative
from tests.strategies import noise_matrices, stochastic_matrices


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_true_probability_inverts_observed_probability(matrix, seed):
    assume(np.linalg.cond(matrix) < 1e6)
    assume(len(matrix) > 2 or np.linalg.det(matrix) > 0)
    true = np.random.RandomState(seed).dirichlet(np.ones(len(matrix)), size=7)
    assert_allclose(true_probability(observed_probability(true, matrix), matrix), true, atol=1e-8)


@given(noise_matrices(), st.floats(0, 1))
def test_true_probability_is_a_distribution_even_where_noise_forbids_it(matrix, observed):
    true = true_probability([[1 - observed, observed]], matrix)
    assert np.all(true >= 0)
    assert_allclose(true.sum(), 1)


@given(noise_matrices())
def test_threshold_is_where_the_true_classes_are_equally_likely(matrix):
    observed = threshold(matrix)
    assert_allclose(true_probability([[1 - observed, observed]], matrix), [[0.5, 0.5]], atol=1e-9)


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_posterior_is_bayes_rule(matrix, seed):
    prior = np.random.RandomState(seed).dirichlet(np.ones(len(matrix)))
    result = posterior(matrix, prior)
    assert_allclose(result.sum(axis=1), 1)
    evidence = prior @ matrix
    assert_allclose(evidence @ result, prior, err_msg="averaging over the evidence gives the prior")
    assert_allclose(result * evidence[:, None], (prior[:, None] * matrix).T, atol=1e-12)


def test_posterior_of_a_label_that_cannot_occur_is_the_prior():
    always_negative = [[1, 0], [1, 0]]
    assert_allclose(posterior(always_negative, [0.2, 0.8]), [[0.2, 0.8], [0.2, 0.8]])


@given(stochastic_matrices(3, 3), stochastic_matrices(3, 3), stochastic_matrices(3, 3))
def test_composition_is_associative_and_stochastic(a, b, c):
    left, right = compose(compose(a, b), c), compose(a, compose(b, c))
    assert_allclose(left, right, atol=1e-12)
    assert_allclose(left.sum(axis=1), 1)
    assert_allclose(compose(a, np.eye(3)), a, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_builders_make_valid_matrices(n_classes):
    assert_allclose(np.diag(check_noise_matrix(symmetric(0.3, n_classes))), 0.7)
    one_sided = check_noise_matrix(asymmetric(0.4, 1, n_classes))
    assert_allclose(np.delete(one_sided, 1, axis=0), np.delete(np.eye(n_classes), 1, axis=0))
    assert_allclose(one_sided[1, 1], 0.6)


@given(st.floats(0, 1), st.floats(0, 1))
def test_keep_informative_changes_only_what_it_must(to_positive, to_negative):
    matrix = np.array([[1 - to_positive, to_positive], [to_negative, 1 - to_negative]])
    kept = keep_informative(matrix)
    check_noise_matrix(kept)
    if to_positive + to_negative <= 0.99:
        assert_allclose(kept, matrix)
    else:
        assert_allclose(kept[0, 1] * to_negative, kept[1, 0] * to_positive, atol=1e-12)


@given(stochastic_matrices())
def test_kept_informative_each_label_is_likeliest_in_its_own_class(matrix):
    """And no rate is shrunk by more than that takes, nor more than another."""
    kept = keep_informative(matrix)
    check_noise_matrix(kept)
    gap = np.diag(kept) - kept + np.eye(len(kept))
    assert gap.min() >= 0.01 - 1e-12
    flips, before = (m - np.diag(np.diag(m)) for m in (kept, matrix))
    shrunk = flips.sum() / before.sum()
    assert_allclose(flips, shrunk * before, atol=1e-12)
    assert shrunk == 1 or gap.min() < 0.01 + 1e-9


def test_validation_copies():
    matrix = np.eye(2)
    check_noise_matrix(matrix)[0, 0] = 5
    assert matrix[0, 0] == 1


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.7, 0.2], [0, 1]], "row 0 sums to 0.9"),
        ([[0.4, 0.6], [0.4, 0.6]], "0.6 \\+ 0.4 = 1: such labels carry no information"),
        ([[1.2, -0.2], [0, 1]], r"entries must be in \[0, 1\]"),
        ([[np.nan, 1], [0, 1]], r"entries must be in \[0, 1\]"),
        ([[1, 0, 0], [0, 1, 0]], "must be square"),
        ([1, 0], "must be square"),
        ("nonsense", "square array of numbers"),
        (0.3, r"symmetric\(rate\) makes one"),
        ([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]], "two classes are observed alike"),
    ],
)
def test_bad_matrices_are_refused_with_one_sentence(matrix, message):
    with pytest.raises(ValueError, match=message):
        check_noise_matrix(matrix)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_noise_parameter_is_a_matrix_or_to_be_estimated(n_classes):
    assert check_noise_parameter("estimate", n_classes) is None
    assert_allclose(check_noise_parameter(np.eye(n_classes), n_classes), np.eye(n_classes))
    with pytest.raises(ValueError, match=f"'estimate' or a {n_classes}×{n_classes} array, not"):
        check_noise_parameter("guess", n_classes)


def test_wrong_number_of_classes_is_named():
    with pytest.raises(ValueError, match="for 3 classes but there are 2"):
        check_noise_matrix(np.eye(3), n_classes=2)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan, None, "a"])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(ValueError, match="flip rate is a probability"):
        symmetric(rate)


@pytest.mark.parametrize("from_class", [2, -1, True, 0.5, "cat"])
def test_from_class_is_a_position(from_class):
    with pytest.raises(ValueError, match="class position from 0 to 1"):
        asymmetric(0.1, from_class=from_class)


@pytest.mark.parametrize("convert", [observed_probability, true_probability])
@pytest.mark.parametrize(
    ("probability", "message"),
    [
        ([[0.2, 0.3, 0.5]], "one column for each of the 2 classes"),
        (0.5, "one column for each"),
        ([[5.0, 7.0]], "sum to 1"),
        ([[0.0, 0.0]], "sum to 1"),
        ([[np.nan, 1.0]], "sum to 1"),
        ([[-0.5, 1.5]], "must not be negative"),
    ],
    ids=str,
)
def test_probabilities_are_checked(convert, probability, message):
    with pytest.raises(ValueError, match=message):
        convert(probability, np.eye(2))


def test_prior_must_fit():
    with pytest.raises(ValueError, match="2 class probabilities that sum to 1"):
        posterior(np.eye(2), [0.5, 0.6])
