"""L of rows, by codes and dense: derivatives, and equality with the loss in logarithms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

from rboost.engines.engine import start_scores
from rboost.labels import Patterns
from rboost.noise import symmetric
from rboost.noise.likelihood import Likelihood, NoisySoftmaxLoss

N_ROWS = 12


def draw(n_classes, seed, n_rows=N_ROWS):
    """L of rows with labels, some of them trusted, with weights; labels, noise, and scores."""
    random = np.random.RandomState(seed)
    observed = random.permutation(np.arange(n_rows) % n_classes)
    weight, trusted = random.gamma(2.0, size=n_rows), random.uniform(size=n_rows) < 0.3
    noise = 0.5 * np.eye(n_classes) + 0.5 * random.dirichlet(np.ones(n_classes), size=n_classes)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    patterns = Patterns.of_labels(observed, trusted, n_classes)
    likelihood = Likelihood(patterns.code, patterns.likelihoods([noise, noise]), weight)
    return likelihood, observed, noise, 2 * random.standard_normal(shape)


def draw_patterns(n_classes, seed, n_rows=N_ROWS):
    """L of rows that share a few columns of any numbers, and scores."""
    random = np.random.RandomState(seed)
    columns = random.gamma(0.5, size=(n_classes, 7)) + 1e-3
    code, weight = random.randint(7, size=n_rows), random.gamma(2.0, size=n_rows)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    return Likelihood(code, columns, weight), 2 * random.standard_normal(shape)


def of_every_class(scores):
    """Scores of two classes in the form of those of more."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


def assert_derivatives(likelihood, scores, step=1e-5):
    """The first derivative is that of the loss, entry by entry."""
    numerical = np.empty_like(scores)
    for place in np.ndindex(scores.shape):
        there, back = scores.copy(), scores.copy()
        there[place] += step
        back[place] -= step
        difference = likelihood.loss_sum(there) - likelihood.loss_sum(back)
        numerical[place] = difference / (2 * step)
    assert_allclose(likelihood.derivatives(scores)[0], numerical, atol=1e-7)


cases = given(st.sampled_from([2, 3]), st.integers(0, 1000))


@cases
def test_the_first_derivative_is_that_of_the_loss(n_classes, seed):
    likelihood, _, _, scores = draw(n_classes, seed)
    assert_derivatives(likelihood, scores)
    likelihood, scores = draw_patterns(n_classes, seed)
    assert_derivatives(likelihood, scores)


@cases
def test_the_second_derivative_is_at_least_what_is_expected_of_the_loss(n_classes, seed):
    likelihood, observed, noise, scores = draw(n_classes, seed)
    second, full = likelihood.derivatives(scores)[1], of_every_class(scores)
    loss = NoisySoftmaxLoss(full, observed, noise)
    for j in range(n_classes):
        expected = likelihood.weight * loss.curvature(np.eye(n_classes)[[j] * len(full)])
        own = second if n_classes == 2 else second[:, j]
        assert np.all(own >= expected - 1e-12)
        assert np.all(own > 0)


@cases
def test_the_loss_is_that_of_robust_logistic_regression(n_classes, seed):
    """Of labels with noise, of trusted ones, and of patterns of any kind."""
    labelled, _, _, scores = draw(n_classes, seed)
    for likelihood in (labelled, draw_patterns(n_classes, seed)[0]):
        peer = NoisySoftmaxLoss(of_every_class(scores), likelihood.code, likelihood.columns)
        assert_allclose(likelihood.loss_sum(scores), likelihood.weight @ peer.loss())
        mean = np.average(peer.loss(), weights=likelihood.weight)
        assert_allclose(likelihood.loss(scores), mean)
        slopes = likelihood.weight[:, np.newaxis] * peer.by_scores()
        found = likelihood.derivatives(scores)[0]
        assert_allclose(found, slopes[:, 1] if n_classes == 2 else slopes, atol=1e-12)


@cases
def test_coded_and_dense_rows_are_the_same(n_classes, seed):
    for likelihood, scores in [draw(n_classes, seed)[::3], draw_patterns(n_classes, seed)]:
        dense = Likelihood.dense(likelihood.columns.T[likelihood.code], likelihood.weight)
        assert (len(dense), dense.n_classes) == (len(likelihood), n_classes)
        assert_array_equal(dense.loss_sum(scores), likelihood.loss_sum(scores))
        for one, other in zip(
            dense.derivatives(scores), likelihood.derivatives(scores), strict=True
        ):
            assert_array_equal(one, other)


@cases
def test_only_ratios_within_a_column_matter(n_classes, seed):
    likelihood, scores = draw_patterns(n_classes, seed)
    scaled = likelihood.with_columns(likelihood.columns * np.arange(1, 8))
    for one, other in zip(scaled.derivatives(scores), likelihood.derivatives(scores), strict=True):
        assert_allclose(one, other, atol=1e-12)
    shift = np.log(np.arange(1, 8))[likelihood.code] @ likelihood.weight
    assert_allclose(scaled.loss_sum(scores), likelihood.loss_sum(scores) - shift)


@cases
def test_without_noise_it_is_the_ordinary_log_loss(n_classes, seed):
    likelihood, observed, _, scores = draw(n_classes, seed)
    powers = np.exp(of_every_class(scores))
    probability = powers / powers.sum(axis=1, keepdims=True)
    expected = log_loss(observed, probability, sample_weight=likelihood.weight)
    clean = Likelihood(observed, np.eye(n_classes), likelihood.weight)
    assert_allclose(clean.loss(scores), expected)


@cases
def test_what_says_nothing_costs_nothing(n_classes, seed):
    likelihood, scores = draw_patterns(n_classes, seed)
    silent = likelihood.with_columns(np.ones_like(likelihood.columns))
    assert_allclose(silent.loss_sum(scores), 0, atol=1e-12)
    assert_allclose(silent.derivatives(scores)[0], 0, atol=1e-12)


@cases
def test_some_rows_have_what_they_had_among_all(n_classes, seed):
    likelihood, _, _, scores = draw(n_classes, seed)
    some = np.arange(0, N_ROWS, 2)
    whole, part = likelihood.derivatives(scores), likelihood.take(some).derivatives(scores[some])
    for one, other in zip(whole, part, strict=True):
        assert_array_equal(one[some], other)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_blocks_of_rows_change_nothing(n_classes, monkeypatch):
    likelihood, _, _, scores = draw(n_classes, 0)
    whole, loss = likelihood.derivatives(scores), likelihood.loss_sum(scores)
    monkeypatch.setitem(likelihood.derivatives.__func__.__globals__["BLOCK_ROWS"], "numpy", 5)
    for one, other in zip(likelihood.derivatives(scores), whole, strict=True):
        assert_array_equal(one, other)
    assert_allclose(likelihood.loss_sum(scores), loss)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_derivatives_may_be_in_float32(n_classes):
    likelihood, _, _, scores = draw(n_classes, 0)
    for one, other in zip(
        likelihood.derivatives(scores, np.float32), likelihood.derivatives(scores), strict=True
    ):
        assert one.dtype == np.float32
        assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_that_contradict_their_labels_without_end_stay_finite(n_classes):
    likelihood, observed, _, scores = draw(n_classes, 0)
    clean = Likelihood(observed, np.eye(n_classes), likelihood.weight)
    for size in (1e3, 1e300):
        for found in (clean.loss(size * scores), *clean.derivatives(size * scores)):
            assert np.all(np.isfinite(found))


@cases
def test_at_the_start_classes_are_as_frequent_as_their_labels(n_classes, seed):
    likelihood, observed, _, _ = draw(n_classes, seed)
    shares = np.bincount(observed, likelihood.weight) / likelihood.weight.sum()
    start = start_scores(shares)
    assert start.shape == (() if n_classes == 2 else (3,))
    everywhere = np.zeros((N_ROWS, *start.shape)) + start
    clean = Likelihood(observed, np.eye(n_classes), likelihood.weight)
    slopes = clean.derivatives(everywhere)[0]
    assert_allclose(slopes.sum(axis=0), 0, atol=1e-9)  # no other constant is likelier


def test_each_group_has_its_noise_matrix():
    random = np.random.RandomState(0)
    matrices = [symmetric(rate, 3) for rate in (0.1, 0.2, 0.4)]
    observed, group = random.randint(3, size=60), random.randint(3, size=60)
    columns = np.hstack(matrices)  # pattern 3·g + k is label k of group g
    likelihood = Likelihood(3 * group + observed, columns, np.ones(60))
    scores = random.normal(size=(60, 3))
    by_hand = sum(
        Likelihood(observed[own], matrix, np.ones(own.sum())).loss_sum(scores[own])
        for own, matrix in ((group == g, matrices[g]) for g in range(3))
    )
    assert likelihood.loss_sum(scores) == pytest.approx(by_hand)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_targets_cost_the_cross_entropy_and_its_gradient_is_numerical(n_classes):
    random = np.random.RandomState(0)
    targets = random.dirichlet(np.ones(n_classes), 12)
    weight = random.uniform(0.5, 2, 12)
    rows = Likelihood.dense(targets, weight, are_targets=True)
    shape = (12,) if n_classes == 2 else (12, n_classes)
    scores = random.standard_normal(shape)
    full = np.column_stack([np.zeros(12), scores]) if n_classes == 2 else scores
    expected = -(weight @ (targets * log_softmax(full, axis=1)).sum(axis=1))
    assert_allclose(rows.loss_sum(scores), expected)
    gradient, curvature = rows.derivatives(scores)
    for place in np.ndindex(shape):
        moved = scores.copy()
        moved[place] += 1e-6
        slope = (rows.loss_sum(moved) - rows.loss_sum(scores)) / 1e-6
        assert_allclose(gradient[place], slope, atol=1e-4)
    p = softmax(full, axis=1)
    p = p[:, 1] if n_classes == 2 else p
    assert_allclose(curvature.T, weight * (p * (1 - p)).T)


def test_certain_targets_are_certain_labels():
    code, weight = np.array([0, 1, 1, 0]), np.ones(4)
    labels = Likelihood(code, np.eye(2), weight)
    targets = Likelihood.dense(np.eye(2)[code], weight, are_targets=True)
    scores = np.array([-2.0, 0.3, 1.0, 5.0])
    assert_allclose(targets.loss_sum(scores), labels.loss_sum(scores))
    assert_allclose(targets.derivatives(scores)[0], labels.derivatives(scores)[0], atol=1e-12)
