import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss

from rboost.boosting.likelihood import labels_of, start_scores
from rboost.noise.likelihood import NoisySoftmaxLoss
from rboost.tables import Rows


def draw(n_classes, seed, n_rows=12):
    """Rows with weights, some of them trusted, a noise matrix, and scores."""
    random = np.random.RandomState(seed)
    observed = random.permutation(np.arange(n_rows) % n_classes)
    weight, trusted = random.gamma(2.0, size=n_rows), random.uniform(size=n_rows) < 0.3
    rows = Rows(np.zeros((n_rows, 1)), observed, weight, trusted, n_classes)
    noise = 0.5 * np.eye(n_classes) + 0.5 * random.dirichlet(np.ones(n_classes), size=n_classes)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    return rows, noise, 2 * random.standard_normal(shape)


def of_every_class(scores):
    """Scores of two classes in the form of those of more."""
    return np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores


cases = given(st.sampled_from([2, 3]), st.integers(0, 1000))


@cases
def test_the_first_derivative_is_that_of_the_loss(n_classes, seed):
    rows, noise, scores = draw(n_classes, seed)
    labels, step = labels_of(rows, noise), 1e-5
    numerical = np.empty_like(scores)
    for place in np.ndindex(scores.shape):
        there, back = scores.copy(), scores.copy()
        there[place] += step
        back[place] -= step
        numerical[place] = (labels.loss(there) - labels.loss(back)) / (2 * step)
    total = labels.weight.sum()
    assert_allclose(labels.derivatives(scores)[0], total * numerical, atol=1e-7)


@cases
def test_the_second_derivative_is_at_least_what_is_expected_of_the_loss(n_classes, seed):
    rows, noise, scores = draw(n_classes, seed)
    second, full = labels_of(rows, noise).derivatives(scores)[1], of_every_class(scores)
    loss = NoisySoftmaxLoss(full, rows.observed, noise)
    for j in range(n_classes):
        expected = rows.sample_weight * loss.curvature(np.eye(n_classes)[[j] * len(full)])
        own = second if n_classes == 2 else second[:, j]
        assert np.all(own >= expected - 1e-12)
        assert np.all(own > 0)


@cases
def test_the_loss_is_that_of_robust_logistic_regression(n_classes, seed):
    rows, noise, scores = draw(n_classes, seed)
    labels, full = labels_of(rows, noise), of_every_class(scores)
    losses, slopes = np.empty(len(full)), np.empty(full.shape)
    for trusted, own_noise in [(False, noise), (True, np.eye(n_classes))]:
        chosen = rows.trusted == trusted
        peer = NoisySoftmaxLoss(full[chosen], rows.observed[chosen], own_noise)
        losses[chosen], slopes[chosen] = peer.loss(), peer.by_scores()
    assert_allclose(labels.loss(scores), np.average(losses, weights=rows.sample_weight))
    slopes = rows.sample_weight[:, np.newaxis] * slopes
    own = labels.derivatives(scores)[0]
    assert_allclose(own, slopes[:, 1] if n_classes == 2 else slopes, atol=1e-12)


@cases
def test_without_noise_it_is_the_ordinary_log_loss(n_classes, seed):
    rows, _, scores = draw(n_classes, seed)
    powers = np.exp(of_every_class(scores))
    expected = log_loss(
        rows.observed, powers / powers.sum(axis=1, keepdims=True), sample_weight=rows.sample_weight
    )
    assert_allclose(labels_of(rows, np.eye(n_classes)).loss(scores), expected)


@cases
def test_some_rows_have_what_they_had_among_all(n_classes, seed):
    rows, noise, scores = draw(n_classes, seed)
    labels, some = labels_of(rows, noise), np.arange(0, 12, 2)
    whole, part = labels.derivatives(scores), labels.take(some).derivatives(scores[some])
    for one, other in zip(whole, part, strict=True):
        np.testing.assert_array_equal(one[some], other)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_that_contradict_their_labels_without_end_stay_finite(n_classes):
    rows, _, scores = draw(n_classes, 0)
    labels = labels_of(rows, np.eye(n_classes))
    for size in (1e3, 1e300):
        for found in (labels.loss(size * scores), *labels.derivatives(size * scores)):
            assert np.all(np.isfinite(found))


@cases
def test_at_the_start_classes_are_as_frequent_as_their_labels(n_classes, seed):
    rows, _, _ = draw(n_classes, seed)
    start = start_scores(rows.prevalence)
    assert start.shape == (() if n_classes == 2 else (3,))
    everywhere = np.zeros((12, *start.shape)) + start
    slopes = labels_of(rows, np.eye(n_classes)).derivatives(everywhere)[0]
    assert_allclose(slopes.sum(axis=0), 0, atol=1e-9)  # no other constant is likelier
