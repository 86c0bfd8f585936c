import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.boosting.noise_updates import (
    FIRST_UPDATE,
    NOISE_UPDATES,
    infer_noise,
    keep_noise,
    vote_log_odds,
)
from rboost.boosting.rounds import OutOfBag, State
from rboost.noise import asymmetric, flip_labels
from rboost.tables import Table

NOISE = asymmetric(0.3, from_class=0)


def state_and_table(n_rows=2000, n_rounds=FIRST_UPDATE, total=2.0):
    """Out-of-bag votes that know the true classes of most rows, and noisy labels."""
    random = np.random.RandomState(0)
    true = random.uniform(size=n_rows) < 0.5
    votes = np.clip((2 * true - 1) * random.normal(0.6, 0.3, size=n_rows), -1, 1)
    observed, _ = flip_labels(true.astype(int), NOISE, random_state=0)
    table = Table(
        np.zeros((n_rows, 1)), 2.0 * observed - 1, np.ones(n_rows), np.zeros(n_rows, dtype=bool)
    )
    out_of_bag = OutOfBag(total / 2 * votes, np.full(n_rows, total / 2), total)
    return State(total * votes, np.eye(2), out_of_bag=out_of_bag, n_rounds=n_rounds), table


@pytest.mark.parametrize("n_rounds", [25, 50, 100, 1600])
def test_the_noise_is_inferred_each_time_the_rounds_have_doubled(n_rounds):
    state, table = state_and_table(n_rounds=n_rounds)
    assert_allclose(NOISE_UPDATES["noise-aware"](state, table, None, "platt"), NOISE, atol=0.06)


@pytest.mark.parametrize("n_rounds", [1, 24, 26, 51, 75, 99])
def test_and_kept_in_between(n_rounds):
    state, table = state_and_table(n_rounds=n_rounds)
    assert NOISE_UPDATES["noise-aware"](state, table, None, "platt") is state.noise_matrix


def test_known_noise_is_kept():
    state, table = state_and_table()
    assert keep_noise(state, table, None, "platt") is state.noise_matrix
    assert_allclose(infer_noise(state, table, NOISE).noise_matrix, NOISE)


def test_rows_that_every_learner_has_seen_say_nothing_about_the_noise():
    state, table = state_and_table()
    unseen = np.arange(len(table.labels)) < 1000
    out_of_bag = OutOfBag(
        np.where(unseen, state.out_of_bag.votes, 0),
        np.where(unseen, state.out_of_bag.steps, 0),
        state.out_of_bag.total,
    )
    some = infer_noise(State(state.scores, np.eye(2), out_of_bag=out_of_bag), table)
    weightless = Table(table.X, table.labels, unseen.astype(float), table.trusted)
    expected = infer_noise(State(state.scores, np.eye(2), out_of_bag=out_of_bag), weightless)
    assert_allclose(some.noise_matrix, expected.noise_matrix, atol=0.005)
    assert_allclose(some.noise_matrix, NOISE, atol=0.08)


def test_no_votes_at_all_infer_something_finite():
    zeros = np.zeros(40)
    table = Table(np.zeros((40, 1)), np.resize([-1.0, 1.0], 40), np.ones(40), zeros.astype(bool))
    platt = infer_noise(State(zeros, np.eye(2), out_of_bag=OutOfBag(zeros, zeros)), table)
    assert np.all(np.isfinite(platt.noise_matrix))
    assert_allclose(platt(np.zeros(1)), 0.5, atol=0.05)


def test_trusted_rows_bound_the_noise():
    """Rows whose labels are right, and that agree with the votes, leave the flips to the rest."""
    state, table = state_and_table(200)
    true = state.scores > 0
    trusted = np.arange(200) < 100
    labels = np.where(trusted, 2.0 * true - 1, table.labels)
    told = Table(table.X, labels, table.sample_weight, trusted)
    untold = Table(table.X, labels, table.sample_weight, np.zeros(200, dtype=bool))
    with_trust, without = (infer_noise(state, rows).noise_matrix[0, 1] for rows in (told, untold))
    assert abs(with_trust - 0.3) < 0.1
    assert without < with_trust  # half the labels have no noise at all


def test_log_odds_of_votes_are_odd_and_finite():
    votes = np.linspace(-1, 1, 21)
    log_odds = vote_log_odds(votes, 0.5)
    assert np.all(np.isfinite(log_odds))
    assert np.all(np.diff(log_odds) > 0)
    assert_allclose(log_odds, -log_odds[::-1], atol=1e-12)
