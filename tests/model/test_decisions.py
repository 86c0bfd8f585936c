"""From scores to decisions and probabilities: with inferred noise, and by the sign of a score."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from rboost.engines.engine import Stack
from rboost.engines.learners import coded
from rboost.engines.pool import vote_scores
from rboost.model.algorithm_1 import largest_where_decided
from rboost.model.fit import StackedModel
from rboost.noise import asymmetric, flip_labels, infer_noise, symmetric
from tests.models import algorithm_1

HALVES = np.array([0.5, 0.5])


class Votes:
    """A member whose mean votes are the only column of a table, or the table itself."""

    def __init__(self, shares):
        self.shares = shares

    def __len__(self):
        return 1

    def scores(self, X, n_jobs):
        return vote_scores(X[:, 0] if len(self.shares) == 2 else X, self.shares)


def voted(n_rows=400, noise=None, offset=0.0, slope=2.0, seed=0):
    """Mean votes that follow the true classes, and noisy labels."""
    random = np.random.RandomState(seed)
    votes = random.uniform(-1, 1, size=n_rows)
    true = random.uniform(size=n_rows) < expit(slope * vote_scores(votes, HALVES) + offset)
    true[:2] = False, True
    observed, _ = flip_labels(true.astype(int), np.eye(2) if noise is None else noise, seed)
    observed[:2] = 0, 1
    return votes, observed


def model_of(votes, observed, known=None, shares=HALVES):
    posterior = infer_noise(vote_scores(votes, shares), observed, noise_matrix=known)
    return StackedModel(Stack({"votes": Votes(shares)}, {"votes": 1.0}, {"votes": 1.0}), posterior)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.integers(0, 1000))
def test_decisions_never_decrease_and_are_log_odds(offset, seed):
    model = model_of(*voted(200, symmetric(0.1), offset=offset, seed=seed))
    table = np.linspace(-1, 1, 201)[:, np.newaxis]
    decisions = model.decisions(table, 1)
    assert np.all(np.diff(decisions) >= -1e-12)
    probability = model.noise.probability(model.scores(table, 1))
    assert_allclose(expit(decisions), probability[:, 1], atol=1e-9)
    assert_array_equal(probability[:, 1] > 0.5, decisions > 0)


def threshold(model):
    """The mean vote at which both classes are equally likely."""
    table = np.linspace(-1, 1, 4001)
    return table[np.abs(model.decisions(table[:, np.newaxis], 1)).argmin()]


def test_an_ensemble_that_leans_to_one_class_gets_another_threshold():
    """Votes for class 1 whose rows are mostly of class 0 need a larger majority."""
    found = [threshold(model_of(*voted(4000, offset=offset))) for offset in (2.0, 0.0, -2.0)]
    # 2·log-odds ± 2 = 0 at log-odds of ∓1, a share of .74 of the votes, a mean vote of ∓.48.
    assert_allclose(found, [-0.48, 0, 0.48], atol=0.1)


@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, 0), asymmetric(0.3, 1)], ids=str)
def test_the_noise_is_inferred_and_does_not_move_the_threshold(noise):
    model = model_of(*voted(4000, noise))
    assert_allclose(model.noise.noise_matrix, noise, atol=0.05)
    assert_allclose(threshold(model), 0, atol=0.1)


def test_known_noise_is_taken_as_it_is():
    noise = asymmetric(0.3, from_class=0)
    for known in [noise, symmetric(0.1)]:
        posterior = model_of(*voted(400, noise), known=known).noise
        assert_allclose(posterior.noise_matrix, known)
        assert_allclose(posterior.interval(), [known, known], atol=1e-9)


def test_votes_that_say_nothing_are_decided_by_the_frequent_class():
    for offset, is_positive in [(-2.0, False), (2.0, True)]:
        model = model_of(*voted(400, slope=0.0, offset=offset), known=np.eye(2))
        decisions = model.decisions(np.linspace(-1, 1, 101)[:, np.newaxis], 1)
        assert np.all((decisions > 0) == is_positive)


def test_of_more_classes_the_likeliest_is_decided_for(rng):
    observed, noise, shares = rng.randint(3, size=400), symmetric(0.2, 3), np.full(3, 1 / 3)
    probability = 0.6 * np.eye(3)[observed] + 0.4 * rng.dirichlet(np.ones(3), size=400)
    noisy, _ = flip_labels(observed, noise, random_state=0)
    votes = coded(probability)
    model = model_of(votes, noisy, shares=shares)
    assert_allclose(model.noise.noise_matrix, noise, atol=0.08)
    decisions = model.decisions(votes, 1)
    assert_allclose(decisions.sum(axis=1), 0, atol=1e-9)
    expected = model.noise.probability(model.scores(votes, 1))
    powers = np.exp(decisions)
    assert_allclose(powers / powers.sum(axis=1, keepdims=True), expected, atol=1e-9)
    assert np.mean(decisions.argmax(axis=1) == observed) > 0.95
    assert np.all(np.isfinite(model.decisions(np.zeros((2, 3)), 1)))  # nobody has voted


@pytest.mark.parametrize("calibration", ["platt", "logistic", "isotonic"])
@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, 0)], ids=["even", "one way"])
def test_in_algorithm_1_the_sign_decides(calibration, noise, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(n_rounds=15, calibration=calibration, noise_matrix=noise).fit(X, noisy)
    scores, probability = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert_array_equal(probability > 0.5, scores > 0)
    assert_array_equal(model.predict(X), scores > 0)
    order = np.argsort(scores)
    assert np.all(np.diff(probability[order]) >= -1e-12)


@pytest.mark.parametrize("calibration", ["platt", "logistic"])
def test_in_algorithm_1_the_largest_score_decides(calibration, rng):
    X = rng.standard_normal((300, 3))
    y, _ = flip_labels(np.digitize(X[:, 0], [-0.5, 0.5]), symmetric(0.2, 3), random_state=0)
    models = [
        algorithm_1(n_rounds=15, calibration=calibration, noise_matrix=noise).fit(X, y)
        for noise in (symmetric(0.2, 3), np.eye(3))
    ]
    for model in models:
        scores, probability = model.decision_function(X), model.predict_proba(X)
        assert_array_equal(probability.argmax(axis=1), scores.argmax(axis=1))
        assert_allclose(probability.sum(axis=1), 1)
    if calibration == "platt":  # knowing of the noise it is surer than the labels alone allow
        told, unaware = (model.predict_proba(X).max() for model in models)
        assert told > unaware


@given(st.integers(0, 1000), st.integers(2, 5))
def test_a_probability_is_raised_only_where_it_contradicts_the_decision(seed, n_classes):
    random = np.random.RandomState(seed)
    before = random.dirichlet(np.ones(n_classes), size=20)
    decided = random.randint(n_classes, size=20)
    after = largest_where_decided(before.copy(), decided)
    assert_array_equal(after.argmax(axis=1), decided)
    assert_allclose(after.sum(axis=1), 1)
    agrees = before.argmax(axis=1) == decided
    assert_allclose(after[agrees], before[agrees])
