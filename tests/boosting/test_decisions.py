from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost.boosting.decisions import Decision, VoteCalibration, decide_by_sign, decide_by_votes
from rboost.boosting.noise_updates import infer_noise, vote_log_odds
from rboost.boosting.rounds import OutOfBag, State
from rboost.noise import asymmetric, flip_labels, symmetric
from rboost.tables import Table

CALIBRATIONS = ["platt", "logistic", "isotonic"]


def voted(n_rows=400, noise=None, offset=0.0, slope=2.0, total=3.0, seed=0):
    """A state in which out-of-bag votes follow the true classes, and the table of its rows."""
    random = np.random.RandomState(seed)
    mean_votes = random.uniform(-1, 1, size=n_rows)
    true = random.uniform(size=n_rows) < expit(slope * vote_log_odds(mean_votes, 0.5) + offset)
    true[:2] = False, True
    noise = np.eye(2) if noise is None else noise
    labels = 2.0 * flip_labels(true.astype(int), noise, random_state=seed)[0] - 1
    labels[:2] = -1, 1
    steps = random.uniform(0.1, total, size=n_rows)
    out_of_bag = OutOfBag(mean_votes * steps, steps, total)
    table = Table(np.zeros((n_rows, 1)), labels, np.ones(n_rows), np.zeros(n_rows, dtype=bool))
    return State(mean_votes * total, noise, out_of_bag=out_of_bag), table


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
    state, table = voted(60, symmetric(0.1), offset=offset, seed=seed)
    decide, _ = decide_by_votes(state, table, name, "posterior", None)
    total = state.out_of_bag.total
    decisions = decide(total * np.linspace(-1, 1, 201), total)
    probability = decide.probability(decisions)
    np.testing.assert_array_equal(probability > 0.5, decisions > 0)
    assert np.all((probability >= 0) & (probability <= 1))
    assert np.all(np.diff(probability) >= -1e-12)


@settings(max_examples=25)
@given(st.floats(-2, 2), st.floats(0.05, 50), st.integers(0, 1000))
def test_both_classes_are_equally_likely_at_the_threshold(offset, total, seed):
    state, table = voted(200, offset=offset, total=total, seed=seed)
    calibration = VoteCalibration(infer_noise(state, table), total, table.prevalence)
    threshold = calibration.threshold()
    assert abs(threshold) < total
    assert_allclose(calibration(np.array([threshold])), 0.5, atol=1e-6)


def test_an_ensemble_that_leans_to_one_class_gets_another_threshold():
    """Votes for class 1 whose rows are mostly of class 0 need a larger majority."""
    thresholds = [
        decide_by_votes(*voted(4000, offset=offset), "platt", "posterior", None)[0].threshold
        for offset in (2.0, 0.0, -2.0)
    ]
    assert thresholds == sorted(thresholds)
    assert_allclose(thresholds[1], 0, atol=0.3)
    # 2·log-odds ± 2 = 0 at log-odds of ∓1, a share of .74 of the votes, a mean vote of ∓.48.
    assert_allclose([thresholds[0], thresholds[2]], [-3 * 0.48, 3 * 0.48], atol=0.3)


@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, 0), asymmetric(0.3, 1)], ids=str)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_the_noise_is_inferred_and_does_not_move_the_threshold(noise, name):
    state, table = voted(4000, noise)
    unaware = replace(state, noise_matrix=np.eye(2))
    decide, votes = decide_by_votes(unaware, table, name, "posterior", None)
    assert_allclose(votes.platt.noise_matrix, noise, atol=0.05)
    assert_allclose(decide.threshold, 0, atol=0.3)
    assert decide.total_step == state.out_of_bag.total


def test_known_noise_is_taken_as_it_is():
    noise = asymmetric(0.3, from_class=0)
    state, table = voted(400, noise)
    for known in [noise, symmetric(0.1)]:
        _, votes = decide_by_votes(state, table, "platt", "posterior", known)
        assert_allclose(votes.platt.noise_matrix, known)
        assert_allclose(votes.platt.interval(), [known, known], atol=1e-9)


def test_votes_that_say_nothing_are_decided_by_the_frequent_class():
    state, table = voted(400, slope=0.0, offset=-2.0)
    total = state.out_of_bag.total
    votes = np.linspace(-1, 1, 101)
    decide, _ = decide_by_votes(state, table, "platt", "posterior", np.eye(2))
    assert np.all(decide(total * votes, total) <= 0)
    state, table = voted(400, slope=0.0, offset=2.0)
    decide, _ = decide_by_votes(state, table, "platt", "posterior", np.eye(2))
    assert np.all(decide(total * votes, total) > 0)


@pytest.mark.parametrize("n_rows", [20, 40, 60, 200])
@pytest.mark.parametrize("weight", [1.0, 100.0, 1e4])
def test_nothing_is_more_than_certain(n_rows, weight):
    votes = np.linspace(-1, 1, n_rows)
    table = Table(
        np.zeros((n_rows, 1)), np.sign(votes), np.full(n_rows, weight), np.zeros(n_rows, dtype=bool)
    )
    state = State(votes, np.eye(2), out_of_bag=OutOfBag(votes, np.ones(n_rows), 1.0))
    decide, calibration = decide_by_votes(state, table, "platt", "posterior", None)
    probability = decide.probability(decide(votes, 1.0))
    assert np.all((probability >= 0) & (probability <= 1))
    for labels in (table.classes, 1 - table.classes):
        issues = calibration.issue_probability(votes, labels)
        assert np.all((issues >= 0) & (issues <= 1))


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_no_learner_at_all_leaves_the_class_frequency(name):
    zeros = np.zeros(40)
    labels = np.where(np.arange(40) < 30, -1.0, 1.0)
    table = Table(np.zeros((40, 1)), labels, np.ones(40), zeros.astype(bool))
    state = State(zeros, np.eye(2), out_of_bag=OutOfBag(zeros, zeros))
    decide, _ = decide_by_votes(state, table, name, "posterior", np.eye(2))
    decisions = decide(np.zeros(3), 0.0)
    np.testing.assert_array_equal(decisions, 0)
    expected = 0.5 if name == "logistic" else 0.25
    assert_allclose(decide.probability(decisions), expected, atol=0.02)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_by_sign_the_threshold_is_zero(name):
    state, table = voted(400, symmetric(0.2), offset=1.0)
    decide = decide_by_sign(state, table, None, name, "posterior")
    scores = np.linspace(-3, 3, 101)
    np.testing.assert_array_equal(decide(scores, 5.0), scores)
    np.testing.assert_array_equal(decide.probability(scores) > 0.5, scores > 0)
