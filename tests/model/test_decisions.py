import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from rboost.boosting.decisions import (
    Decision,
    VoteCalibration,
    decide_by_sign,
    decide_by_votes,
)
from rboost.boosting.judgement import judge_labels
from rboost.boosting.noise_updates import infer, vote_scores
from rboost.boosting.votes import RowVotes, coded
from rboost.losses import ExponentialLoss, LikelihoodLoss
from scipy.special import expit

from rboost.fitting import Rows
from rboost.noise import asymmetric, flip_labels, symmetric

CALIBRATIONS = ["platt", "logistic", "isotonic"]


LOSS, HALVES = ExponentialLoss(), np.array([0.5, 0.5])


def rows_of(observed, n_classes=2, weight=1.0):
    n_rows = len(observed)
    nobody = np.zeros(n_rows, dtype=bool)
    weights = np.full(n_rows, weight)
    return Rows(np.zeros((n_rows, 1)), np.asarray(observed), weights, nobody, n_classes)


def voted(n_rows=400, noise=None, offset=0.0, slope=2.0, total=3.0, seed=0):
    """Out-of-bag votes that follow the true classes, and the rows with their noisy labels."""
    random = np.random.RandomState(seed)
    mean_votes = random.uniform(-1, 1, size=n_rows)
    true = random.uniform(size=n_rows) < expit(slope * vote_scores(mean_votes, HALVES) + offset)
    true[:2] = False, True
    observed, _ = flip_labels(true.astype(int), np.eye(2) if noise is None else noise, seed)
    observed[:2] = 0, 1
    steps = random.uniform(0.1, total, size=n_rows)
    return RowVotes(mean_votes * steps, steps, total), rows_of(observed)


def decide(votes, rows, name="platt", known=None, boosted_with=None):
    boosted_with = np.eye(rows.n_classes) if boosted_with is None else boosted_with
    posterior = infer(votes, rows, known)
    return decide_by_votes(LOSS, name, votes, rows, boosted_with, posterior)


def test_a_decision_is_a_score_less_the_threshold_of_the_whole_ensemble():
    decide = Decision(expit, threshold=0.5, total_step=2.0)
    assert_allclose(decide(np.array([1.0, 0.5, -1.0]), 2.0), [0.5, 0.0, -1.5])
    assert_allclose(decide(np.array([0.5, 0.25, -0.5]), 1.0), [0.5, 0.0, -1.5])  # half-way there
    assert_allclose(decide(np.zeros(2), 0.0), [-0.5, -0.5])  # nobody has voted yet


def test_without_a_total_the_sign_decides_whatever_the_scale():
    decide = Decision(expit)
    scores = np.array([-2.0, 0.0, 3.0])
    for total in [0.0, 1.0, 7.0]:
        np.testing.assert_array_equal(decide(scores, total), scores)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.integers(0, 1000), st.sampled_from(CALIBRATIONS))
def test_probabilities_are_on_the_side_of_the_decision_and_never_decrease(offset, seed, name):
    votes, rows = voted(60, symmetric(0.1), offset=offset, seed=seed)
    rule, _ = decide(votes, rows, name, boosted_with=symmetric(0.1))
    decisions = rule(votes.total * np.linspace(-1, 1, 201), votes.total)
    probability = rule.probability(decisions)[:, 1]
    np.testing.assert_array_equal(probability > 0.5, decisions > 0)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.diff(probability) >= -1e-12)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.floats(0.05, 50), st.integers(0, 1000))
def test_both_classes_are_equally_likely_at_the_threshold(offset, total, seed):
    votes, rows = voted(200, offset=offset, total=total, seed=seed)
    calibration = VoteCalibration(infer(votes, rows), total, rows.prevalence)
    threshold = calibration.threshold()
    assert abs(threshold) < total
    assert_allclose(calibration(np.array([threshold])), 0.5, atol=1e-6)


def test_an_ensemble_that_leans_to_one_class_gets_another_threshold():
    """Votes for class 1 whose rows are mostly of class 0 need a larger majority."""
    rules = [decide(*voted(4000, offset=offset))[0] for offset in (2.0, 0.0, -2.0)]
    thresholds = [rule.threshold for rule in rules]
    assert thresholds == sorted(thresholds)
    assert_allclose(thresholds[1], 0, atol=0.3)
    # 2·log-odds ± 2 = 0 at log-odds of ∓1, a share of .74 of the votes, a mean vote of ∓.48.
    assert_allclose([thresholds[0], thresholds[2]], [-3 * 0.48, 3 * 0.48], atol=0.3)


@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, 0), asymmetric(0.3, 1)], ids=str)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_the_noise_is_inferred_and_does_not_move_the_threshold(noise, name):
    votes, rows = voted(4000, noise)
    rule, reading = decide(votes, rows, name)
    assert_allclose(reading.posterior.noise_matrix, noise, atol=0.05)
    assert_allclose(rule.threshold, 0, atol=0.3)
    assert rule.total_step == votes.total


def test_known_noise_is_taken_as_it_is():
    noise = asymmetric(0.3, from_class=0)
    votes, rows = voted(400, noise)
    for known in [noise, symmetric(0.1)]:
        _, reading = decide(votes, rows, known=known)
        assert_allclose(reading.posterior.noise_matrix, known)
        assert_allclose(reading.posterior.interval(), [known, known], atol=1e-9)


def test_votes_that_say_nothing_are_decided_by_the_frequent_class():
    for offset, is_positive in [(-2.0, False), (2.0, True)]:
        votes, rows = voted(400, slope=0.0, offset=offset)
        rule, _ = decide(votes, rows, known=np.eye(2))
        decisions = rule(votes.total * np.linspace(-1, 1, 101), votes.total)
        assert np.all((decisions > 0) == is_positive)


@pytest.mark.parametrize("n_rows", [20, 40, 60, 200])
@pytest.mark.parametrize("weight", [1.0, 100.0, 1e4])
def test_nothing_is_more_than_certain(n_rows, weight):
    means = np.linspace(-1, 1, n_rows)
    rows = rows_of((means > 0).astype(int), weight=weight)
    rule, reading = decide(RowVotes(means, np.ones(n_rows), 1.0), rows)
    probability = rule.probability(rule(means, 1.0))
    assert np.all((probability >= 0) & (probability <= 1))
    for labels in (rows.observed, 1 - rows.observed):
        scores = reading.row_scores(means)
        issues, likeliest = judge_labels(reading.posterior, scores, labels)
        assert np.all((issues >= 0) & (issues <= 1))
        np.testing.assert_array_equal(likeliest != labels, issues > 0.5)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_no_learner_at_all_leaves_the_class_frequency(name):
    rows = rows_of((np.arange(40) >= 30).astype(int))
    rule, _ = decide(RowVotes.none_yet(40, 2, out_of_bag=True), rows, name, known=np.eye(2))
    decisions = rule(np.zeros(3), 0.0)
    np.testing.assert_array_equal(decisions, 0)
    expected = 0.5 if name == "logistic" else 0.25
    assert_allclose(rule.probability(decisions)[:, 1], expected, atol=0.02)


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("loss", [LOSS, LikelihoodLoss()], ids=["exponential", "likelihood"])
def test_by_sign_the_threshold_is_zero(name, loss):
    votes, rows = voted(400, symmetric(0.2), offset=1.0)
    rule = decide_by_sign(loss, name, votes.scores, rows, symmetric(0.2))
    scores = np.linspace(-3, 3, 101)
    np.testing.assert_array_equal(rule(scores, 5.0), scores)
    np.testing.assert_array_equal(rule.probability(scores)[:, 1] > 0.5, scores > 0)


@pytest.mark.parametrize("name", ["platt", "logistic"])
@pytest.mark.parametrize("loss", [LOSS, LikelihoodLoss()], ids=["exponential", "likelihood"])
def test_of_more_classes_the_largest_score_decides(name, loss, rng):
    observed, noise = rng.randint(3, size=300), symmetric(0.2, 3)
    scores = 2.0 * coded(0.5 * np.eye(3)[observed] + 0.5 * rng.dirichlet(np.ones(3), size=300))
    noisy, _ = flip_labels(observed, noise, random_state=0)
    rule = decide_by_sign(loss, name, scores, rows_of(noisy, 3), noise)
    decisions = rule(scores, 7.0)
    probability = rule.probability(decisions)
    np.testing.assert_array_equal(probability.argmax(axis=1), scores.argmax(axis=1))
    assert_allclose(probability.sum(axis=1), 1)
    if name == "platt":  # knowing of the noise it is surer than the labels alone allow
        unaware = decide_by_sign(loss, name, scores, rows_of(noisy, 3), np.eye(3))
        assert probability.max() > unaware.probability(decisions).max()


def test_of_more_classes_the_likeliest_is_decided_for_whatever_the_step(rng):
    observed = rng.randint(3, size=400)
    probability = 0.6 * np.eye(3)[observed] + 0.4 * rng.dirichlet(np.ones(3), size=400)
    noisy, _ = flip_labels(observed, symmetric(0.2, 3), random_state=0)
    votes = RowVotes(2.0 * coded(probability), np.full(400, 2.0), 4.0)
    rule, reading = decide(votes, rows_of(noisy, 3))
    assert_allclose(reading.posterior.noise_matrix, symmetric(0.2, 3), atol=0.08)
    decisions = rule(votes.scores, 4.0)
    assert_allclose(decisions.sum(axis=1), 0, atol=1e-9)
    assert_allclose(decisions, rule(votes.scores / 2, 2.0))  # half-way there
    expected = reading.posterior.probability(reading.row_scores(votes.scores))
    assert_allclose(rule.probability(decisions), expected)
    assert np.all(np.isfinite(rule(np.zeros((2, 3)), 0.0)))
    scores = reading.row_scores(votes.scores)
    issues, likeliest = judge_labels(reading.posterior, scores, noisy)
    assert np.mean(likeliest == observed) > 0.95
    assert_allclose(issues, reading.posterior.issue_probability(scores, noisy))
