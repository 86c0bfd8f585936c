import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose

from rboost.boosting.rounds import (
    NEGATIVE_WEIGHTS,
    USELESS_LEARNERS,
    Choices,
    State,
    boost,
    boost_round,
)
from rboost.losses import loss_terms, mixing_coefficients
from rboost.tables import Table
from tests.strategies import boosting_states, noise_matrices


class Votes:
    """A base learner that predicts what it is told; X is the position of each row."""

    def __init__(self, votes):
        self.votes = votes

    def predict(self, X):
        return (self.votes[X] > 0).astype(int)


def choices(fit_learner, mixing="posterior", learning_rate=1.0, update_noise=None):
    return Choices(
        fit_learner, update_noise or (lambda state: state.noise_matrix), mixing, learning_rate
    )


@given(boosting_states(), noise_matrices())
def test_a_round_is_algorithm_1(state, noise):
    """Each quantity recomputed from the paper's formulas, in the paper's order."""
    labels, scores, sample_weight, votes = state
    seen = {}

    def fit_learner(targets, weights):
        seen.update(targets=targets, weights=weights)
        return Votes(votes)

    table = Table(np.arange(len(labels)), labels, sample_weight)
    after, found = boost_round(
        State(scores, noise), table, None, choices(fit_learner, mixing="paper")
    )

    w00 = sample_weight * noise[0, 0] * np.exp(-scores)  # eq. (13)
    w01 = sample_weight * noise[0, 1] * np.exp(scores)
    w11 = sample_weight * noise[1, 1] * np.exp(scores)
    w10 = sample_weight * noise[1, 0] * np.exp(-scores)
    w = np.where(labels > 0, w00 - w01, w11 - w10)  # eq. (12)
    scale = np.abs(w).max()
    if scale > 1e-9:
        assert_allclose(
            seen["weights"] / seen["weights"].max(), np.abs(w) / scale, rtol=1e-6, atol=1e-9
        )
        clear = np.abs(w) > 1e-9 * scale
        np.testing.assert_array_equal(seen["targets"][clear], (np.sign(w) * labels)[clear])
    A = np.where(labels > 0, w00, w11).sum()
    B = np.where(labels > 0, w01, w10).sum()
    epsilon = w[votes != labels].sum()
    step = max(0.0, 0.5 * np.log((A - epsilon) / max(B + epsilon, 1e-300)))
    if B + epsilon > 1e-9 * A:
        assert_allclose(found.step, step, atol=1e-6)
    assert_allclose(after.scores, scores + found.step * votes)


def test_negative_weights_flip_the_label_or_keep_it():
    labels, weights = np.array([1.0, -1.0, 1.0]), np.array([0.5, -0.2, -0.3])
    targets, sizes = NEGATIVE_WEIGHTS["flip"](labels, weights)
    np.testing.assert_array_equal(targets, [1, 1, -1])
    np.testing.assert_array_equal(sizes, [0.5, 0.2, 0.3])
    targets, sizes = NEGATIVE_WEIGHTS["keep"](labels, weights)
    np.testing.assert_array_equal(targets, labels)
    np.testing.assert_array_equal(sizes, [0.5, 0.2, 0.3])


@given(boosting_states(), noise_matrices())
def test_the_loss_never_increases(state, noise):
    labels, scores, sample_weight, votes = state
    table = Table(np.arange(len(labels)), labels, sample_weight)
    after, _ = boost_round(
        State(scores, noise), table, None, choices(lambda targets, weights: Votes(votes))
    )
    coefficients = mixing_coefficients(noise)
    before = loss_terms(labels, scores, coefficients, sample_weight).loss
    assert loss_terms(labels, after.scores, coefficients, sample_weight).loss <= before * (1 + 1e-9)


def two_rows():
    return Table(np.arange(2), np.array([1.0, -1.0]), np.ones(2))


def run(learners, n_rounds=30, noise=None):
    learners = iter(learners)
    noise = np.eye(2) if noise is None else noise
    return boost(
        State(np.zeros(2), noise),
        two_rows(),
        None,
        choices(lambda targets, weights: next(learners)),
        range(1, n_rounds + 1),
    )


def test_a_perfect_learner_ends_it():
    result = run([Votes(np.array([1.0, -1.0]))] * 30)
    assert len(result.rounds) == 1
    assert "without errors" in result.stop_reason
    assert np.all(np.isfinite(result.state.scores))


def test_useless_learners_are_skipped_and_end_it_when_they_go_on():
    useless, wrong = Votes(np.array([1.0, 1.0])), Votes(np.array([-1.0, 1.0]))
    result = run([useless, wrong] * 30)
    assert result.rounds == []
    assert result.n_rounds == USELESS_LEARNERS
    assert f"{USELESS_LEARNERS} base learners in a row no better than chance" in result.stop_reason
    np.testing.assert_array_equal(result.state.scores, 0)


def test_a_count_of_useless_learners_survives_a_break():
    useless = Votes(np.array([1.0, 1.0]))
    first = run([useless] * 6, n_rounds=6)
    assert first.stop_reason == "all 6 rounds done, 6 of them without a learner better than chance"
    assert first.state.useless == 6
    second = boost(
        first.state, two_rows(), None, choices(lambda targets, weights: useless), range(7, 20)
    )
    assert second.n_rounds == USELESS_LEARNERS


def test_rows_at_their_minimum_end_it():
    rate = 0.1
    noise = np.array([[1 - rate, rate], [rate, 1 - rate]])
    result = run([Votes(np.array([1.0, -1.0]))] * 30, noise=noise)
    assert len(result.rounds) == 1
    assert result.finished
    assert "minimum of its loss" in result.stop_reason or "chance" in result.stop_reason


def test_one_good_learner_among_useless_ones_counts():
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    useless, good = Votes(np.array([1.0, 1.0])), Votes(np.array([1.0, -1.0]))
    result = run([useless] * 5 + [good] + [useless] * 30, noise=noise)
    assert len(result.rounds) == 1
    assert result.n_rounds == 7  # after the good one every row is where its loss is smallest


def test_with_noise_even_a_perfect_learner_gets_a_finite_step():
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    result = run([Votes(np.array([1.0, -1.0]))] * 30, noise=noise)
    assert_allclose(result.rounds[0].step, 0.5 * np.log(9))
    assert_allclose(np.abs(result.state.scores), 0.5 * np.log(9))  # each row is at its minimum
