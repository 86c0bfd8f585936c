import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from rboost.noise import observed_probability, posterior
from rboost.noise.likelihood import (
    NoisySoftmaxLoss,
    joint_probability,
    log_joint_probability,
    true_posterior,
)
from rboost.noise.matrix import keep_informative
from tests.strategies import noise_matrices, stochastic_matrices


def rows_of_classes(matrix, seed):
    random = np.random.RandomState(seed)
    probability = random.dirichlet(np.ones(len(matrix)), size=20)
    return probability, random.randint(len(matrix), size=20)


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_the_posterior_of_a_row_is_bayes_rule(matrix, seed):
    probability, observed = rows_of_classes(matrix, seed)
    expected = [posterior(matrix, p)[k] for p, k in zip(probability, observed, strict=True)]
    assert_allclose(true_posterior(probability, observed, matrix), expected)
    joint = joint_probability(probability, observed, matrix)
    mixture = observed_probability(probability, matrix)
    assert_allclose(joint.sum(axis=1), mixture[np.arange(20), observed])
    logs = log_joint_probability(np.log(probability), observed, matrix)
    assert_allclose(np.exp(logs), joint)


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_a_label_makes_its_own_class_no_less_likely(matrix, seed):
    """Of a matrix that is kept informative; so EM never loses a class that is observed."""
    probability, observed = rows_of_classes(matrix, seed)
    found = true_posterior(probability, observed, keep_informative(matrix))
    rows = np.arange(20)
    assert np.all(found[rows, observed] >= probability[rows, observed] - 1e-12)


def test_a_label_that_is_impossible_says_nothing():
    probability = np.array([[1.0, 0, 0], [0, 0.4, 0.6]])
    assert_allclose(true_posterior(probability, np.array([2, 0]), np.eye(3)), probability)
    logs = log_joint_probability(np.array([[0.0, -1e4]]), np.array([1]), np.eye(2))
    assert logs.tolist() == [[-np.inf, -1e4]]


def margin_loss(margin, label, matrix):
    """The loss of rows of two classes with these margins and the same label."""
    margin = np.atleast_1d(margin)
    scores = np.column_stack([np.full_like(margin, 1.5), 1.5 + margin])
    return NoisySoftmaxLoss(scores, np.full(len(margin), label), matrix)


@given(noise_matrices(), st.floats(-8, 8), st.integers(0, 1))
def test_loss_is_the_cross_entropy_of_eq_3(matrix, margin, label):
    positive = expit(margin)
    observed = observed_probability([[1 - positive, positive]], matrix)[0]
    with np.errstate(divide="ignore"):
        expected = -np.log(observed[label])
    assert_allclose(margin_loss(margin, label, matrix).loss(), expected, rtol=1e-8)


def test_huge_margins_stay_exact():
    margin = np.array([-1e4, -800.0, 800.0, 1e4])
    clean = margin_loss(margin, 1, np.eye(2))
    assert_allclose(clean.loss(), [1e4, 800, 0, 0])
    assert_allclose(clean.by_scores()[:, 1], [-1, -1, 0, 0])
    noisy = margin_loss(margin, 1, np.array([[0.8, 0.2], [0.1, 0.9]]))
    assert_allclose(noisy.loss(), -np.log([0.2, 0.2, 0.9, 0.9]))
    along = np.array([0.0, 1.0])
    parts = noisy.by_scores(), noisy.curvature(along), clean.curvature(along)
    assert all(np.all(np.isfinite(part)) for part in parts)


def scored_rows(matrix, seed):
    """Scores and labels of a few rows, and their loss."""
    random = np.random.RandomState(seed)
    scores = 2 * random.standard_normal((7, len(matrix)))
    observed = random.randint(len(matrix), size=7)
    return scores, observed, NoisySoftmaxLoss(scores, observed, matrix)


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_derivatives_of_several_classes_match_differences(matrix, seed):
    scores, observed, rows = scored_rows(matrix, seed)
    expected = observed_probability(softmax(scores, axis=1), matrix)[np.arange(7), observed]
    assert_allclose(rows.loss(), -np.log(expected), rtol=1e-10)
    weight, h = np.random.RandomState(seed).gamma(1.0, size=7), 1e-5
    for j in range(len(matrix)):
        change = h * (np.arange(len(matrix)) == j)
        up, down = (NoisySoftmaxLoss(scores + s * change, observed, matrix) for s in (1, -1))
        assert_allclose(rows.by_scores()[:, j], (up.loss() - down.loss()) / (2 * h), atol=1e-7)
        for k in range(len(matrix)):
            entry = np.zeros_like(matrix)
            entry[j, k] = 1e-4 * matrix[j, k]
            up, down = (NoisySoftmaxLoss(scores, observed, matrix + s * entry) for s in (1, -1))
            slope = weight @ (up.loss() - down.loss()) / (2 * entry[j, k])
            assert_allclose(rows.by_noise(weight)[j, k], slope, rtol=1e-4, atol=1e-6)


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_the_expected_curvature_of_several_classes(matrix, seed):
    """The sum over labels of their probability times the second derivative of their loss."""
    scores, _, rows = scored_rows(matrix, seed)
    direction = np.random.RandomState(seed).standard_normal(scores.shape)
    probability = observed_probability(softmax(scores, axis=1), matrix)
    h, expected = 1e-4, np.zeros(7)
    for k in range(len(matrix)):
        slopes = [
            np.sum(NoisySoftmaxLoss(at, np.full(7, k), matrix).by_scores() * direction, axis=1)
            for at in (scores - h * direction, scores + h * direction)
        ]
        expected += probability[:, k] * (slopes[1] - slopes[0]) / (2 * h)
    assert_allclose(rows.curvature(direction), expected, rtol=1e-4, atol=1e-6)


def test_huge_scores_of_several_classes_stay_exact():
    scores = np.array([[0.0, 1e4, -1e4], [800.0, 0.0, 0.0]])
    observed = np.array([2, 1])
    clean = NoisySoftmaxLoss(scores, observed, np.eye(3))
    assert_allclose(clean.loss(), [2e4, 800])
    assert_allclose(clean.by_scores(), [[0, 1, -1], [1, -1, 0]])
    assert np.all(np.isfinite(clean.by_noise(np.ones(2))))
    assert np.all(np.isfinite(clean.curvature(scores)))
