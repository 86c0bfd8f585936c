import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.boosting.learners import Learned
from rboost.boosting.rounds import (
    NEGATIVE_WEIGHTS,
    USELESS_LEARNERS,
    Choices,
    OutOfBag,
    State,
    boost,
    boost_round,
    initial_state,
)
from rboost.losses import loss_terms, mixing_coefficients
from rboost.tables import Table
from tests.strategies import boosting_states, noise_matrices


class Votes:
    """A base learner that votes as it is told; X is the position of each row."""

    def __init__(self, votes):
        self.votes = votes


def vote(learner, X):
    return learner.votes[X]


def learned(votes, seen=None):
    seen = np.ones(len(votes), dtype=bool) if seen is None else seen
    return Learned(Votes(votes), seen, np.arange(len(seen)))


def choices(fit_learner, mixing="posterior", learning_rate=1.0, update_noise=None):
    return Choices(
        fit_learner, vote, update_noise or (lambda state: state.noise_matrix), mixing, learning_rate
    )


def table_of(labels, sample_weight=None, trusted=None):
    n_rows = len(labels)
    return Table(
        np.arange(n_rows),
        labels,
        np.ones(n_rows) if sample_weight is None else sample_weight,
        np.zeros(n_rows, dtype=bool) if trusted is None else trusted,
    )


@given(boosting_states(), noise_matrices())
def test_a_round_is_algorithm_1(state, noise):
    """Each quantity recomputed from the paper's formulas, in the paper's order."""
    labels, scores, sample_weight, votes = state
    seen = {}

    def fit_learner(targets, weights, number):
        seen.update(targets=targets, weights=weights)
        return learned(votes)

    table = table_of(labels, sample_weight)
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


@given(boosting_states() | boosting_states(soft=True), noise_matrices())
def test_the_loss_never_increases(state, noise):
    labels, scores, sample_weight, votes = state
    table = table_of(labels, sample_weight)
    after, _ = boost_round(State(scores, noise), table, None, choices(lambda *_: learned(votes)))
    coefficients = mixing_coefficients(noise)
    before = loss_terms(labels, scores, coefficients, sample_weight).loss
    assert loss_terms(labels, after.scores, coefficients, sample_weight).loss <= before * (1 + 1e-9)


def two_rows():
    return table_of(np.array([1.0, -1.0]))


def run(learners, n_rounds=30, noise=None):
    learners = iter(learners)
    noise = np.eye(2) if noise is None else noise
    return boost(
        State(np.zeros(2), noise),
        two_rows(),
        None,
        choices(lambda *_: next(learners)),
        range(1, n_rounds + 1),
    )


def test_a_perfect_learner_ends_it():
    result = run([learned(np.array([1.0, -1.0]))] * 30)
    assert len(result.ensemble) == 1
    assert "without errors" in result.stop_reason
    assert np.all(np.isfinite(result.state.scores))


def test_useless_learners_are_skipped_and_end_it_when_they_go_on():
    useless, wrong = learned(np.array([1.0, 1.0])), learned(np.array([-1.0, 1.0]))
    result = run([useless, wrong] * 30)
    assert len(result.ensemble) == 0
    assert result.n_rounds == USELESS_LEARNERS
    assert f"{USELESS_LEARNERS} base learners in a row no better than chance" in result.stop_reason
    np.testing.assert_array_equal(result.state.scores, 0)


def test_a_count_of_useless_learners_survives_a_break():
    useless = learned(np.array([1.0, 1.0]))
    first = run([useless] * 6, n_rounds=6)
    assert first.stop_reason == "all 6 rounds done, 6 of them without a learner better than chance"
    assert first.state.useless == 6
    second = boost(first.state, two_rows(), None, choices(lambda *_: useless), range(7, 20))
    assert second.n_rounds == USELESS_LEARNERS


def test_rows_at_their_minimum_end_it():
    rate = 0.1
    noise = np.array([[1 - rate, rate], [rate, 1 - rate]])
    result = run([learned(np.array([1.0, -1.0]))] * 30, noise=noise)
    assert len(result.ensemble) == 1
    assert result.finished
    assert "minimum of its loss" in result.stop_reason or "chance" in result.stop_reason


def test_one_good_learner_among_useless_ones_counts():
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    useless, good = learned(np.array([1.0, 1.0])), learned(np.array([1.0, -1.0]))
    result = run([useless] * 5 + [good] + [useless] * 30, noise=noise)
    assert len(result.ensemble) == 1
    assert result.n_rounds == 7  # after the good one every row is where its loss is smallest


def test_with_noise_even_a_perfect_learner_gets_a_finite_step():
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    result = run([learned(np.array([1.0, -1.0]))] * 30, noise=noise)
    assert_allclose(result.ensemble.steps[0], 0.5 * np.log(9))
    assert_allclose(np.abs(result.state.scores), 0.5 * np.log(9))  # each row is at its minimum


def test_rounds_are_counted_whether_a_learner_is_kept_or_not():
    useless, good = learned(np.array([1.0, 1.0])), learned(np.array([1.0, -0.5]))
    numbers = []

    def fit_learner(targets, weights, number):
        numbers.append(number)
        return good if number == 2 else useless

    start = State(np.zeros(2), np.array([[0.9, 0.1], [0.1, 0.9]]))
    result = boost(start, two_rows(), None, choices(fit_learner), range(1, 6))
    assert len(result.ensemble) == 1
    assert numbers == [0, 1, 2, 3, 4]
    assert result.state.n_rounds == 5


def test_trusted_rows_that_are_not_trained_on_are_scored():
    trusted = table_of(np.array([1.0, 1.0]))
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    state = initial_state(two_rows(), trusted, noise, out_of_bag=False)
    votes = np.array([1.0, -1.0])
    after, found = boost_round(state, two_rows(), trusted, choices(lambda *_: learned(votes)))
    assert_allclose(after.trusted_scores, found.step * votes)


def test_a_row_trained_on_as_trusted_keeps_its_label_however_certain_it_is(rng):
    labels = np.where(rng.uniform(size=40) < 0.5, -1.0, 1.0)
    trusted = np.arange(40) < 20
    found = {}

    def fit_learner(targets, weights, number):
        found.update(targets=targets)
        return learned(labels)

    state = State(10 * labels, np.array([[0.7, 0.3], [0.2, 0.8]]))
    boost_round(state, table_of(labels, trusted=trusted), None, choices(fit_learner))
    np.testing.assert_array_equal(found["targets"], np.where(trusted, labels, -labels))


@st.composite
def judged_learners(draw):
    """Labels, and for each of a few learners its votes and the rows that it has seen."""
    n_rows, n_learners = draw(st.integers(2, 20)), draw(st.integers(1, 8))
    random = np.random.RandomState(draw(st.integers(0, 2**31 - 1)))
    labels = np.where(random.uniform(size=n_rows) < 0.5, -1.0, 1.0)
    votes = labels * random.uniform(-0.6, 1, size=(n_learners, n_rows))
    seen = random.uniform(size=(n_learners, n_rows)) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    return labels, votes, seen


@given(judged_learners(), noise_matrices(largest_sum=0.6))
def test_out_of_bag_scores_are_those_of_the_learners_that_did_not_see_the_row(learners, noise):
    labels, votes, seen = learners
    table = table_of(labels)
    fitted = [learned(*told) for told in zip(votes, seen, strict=True)]
    result = boost(
        initial_state(table, None, noise, out_of_bag=True),
        table,
        None,
        choices(lambda targets, weights, number: fitted[number]),
        range(1, len(fitted) + 1),
    )
    ensemble = result.ensemble
    step_of = {id(f): step for f, step in zip(ensemble.learners, ensemble.steps, strict=True)}
    steps = [step_of.get(id(one.learner), 0.0) for one in fitted]
    out_of_bag = result.state.out_of_bag
    for row in range(len(labels)):  # the slow way: every learner, every row
        said = counted = 0.0
        for learner, step in zip(fitted, steps, strict=True):
            if not learner.seen[row]:
                said += step * learner.learner.votes[row]
                counted += step
        mean = said / counted if counted else 0.0
        assert_allclose(out_of_bag.mean_votes[row], mean, atol=1e-12)
        assert_allclose(result.state.scores[row], sum(steps) * mean, atol=1e-9)
    assert_allclose(out_of_bag.total, sum(steps))


@given(judged_learners())
def test_out_of_bag_counts_in_any_order(learners):
    _, votes, seen = learners
    zeros = np.zeros(votes.shape[1])
    forth = back = OutOfBag(zeros, zeros)
    order = range(len(votes))
    for k in order:
        forth = forth.add(0.1 * (k + 1), votes[k], seen[k])
    for k in reversed(order):
        back = back.add(0.1 * (k + 1), votes[k], seen[k])
    assert_allclose(forth.mean_votes, back.mean_votes, atol=1e-12)
    assert_allclose(forth.total, back.total)
    assert np.all(np.abs(forth.mean_votes) <= 1 + 1e-12)
    np.testing.assert_array_equal(forth.mean_votes[seen.all(axis=0)], 0)


@given(judged_learners(), noise_matrices(largest_sum=0.6), st.integers(0, 1000))
def test_rows_that_a_learner_has_seen_do_not_judge_it(learners, noise, seed):
    labels, votes, seen = learners
    table = table_of(labels)
    state = initial_state(table, None, noise, out_of_bag=True)
    elsewhere = np.random.RandomState(seed).uniform(-1, 1, size=len(labels))
    changed = np.where(seen[0], elsewhere, votes[0])
    one, other = (
        boost_round(state, table, None, choices(lambda *_, v=v: learned(v, seen[0])))
        for v in (votes[0], changed)
    )
    assert one[1].step == other[1].step
    assert one[1].error == other[1].error
    np.testing.assert_array_equal(one[0].scores, other[0].scores)


@given(judged_learners(), noise_matrices(largest_sum=0.6))
def test_an_unseen_row_that_is_half_right_comes_on_top(learners, noise):
    labels, votes, seen = learners
    table = table_of(labels)
    state = initial_state(table, None, noise, out_of_bag=True)
    _, found = boost_round(state, table, None, choices(lambda *_: learned(votes[0], seen[0])))
    terms = loss_terms(labels, np.zeros(len(labels)), mixing_coefficients(noise))
    cost, right = terms.right + terms.wrong, (1 + labels * votes[0]) / 2
    rising = sum(
        right[row] * terms.wrong[row] + (1 - right[row]) * terms.right[row]
        for row in np.flatnonzero(~seen[0])
    )
    total = cost[~seen[0]].sum() + cost.mean()
    error = (rising + cost.mean() / 2) / total
    assert_allclose(found.error, error)
    assert_allclose(found.step, max(0.0, 0.5 * np.log((1 - error) / error)), atol=1e-9)


@pytest.mark.parametrize("everything", [True, False])
def test_out_of_bag_a_perfect_learner_has_a_finite_step_and_ends_nothing(everything):
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    seen = np.ones(4, dtype=bool) if everything else np.arange(4) < 2
    start = initial_state(table_of(labels), None, np.eye(2), out_of_bag=True)
    result = boost(
        start, table_of(labels), None, choices(lambda *_: learned(labels, seen)), range(1, 4)
    )
    assert len(result.ensemble) == (0 if everything else 3)
    assert np.all(np.isfinite(result.state.scores))
    assert not result.finished


def test_out_of_bag_useless_learners_end_nothing():
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    n_rounds = 3 * USELESS_LEARNERS
    wrong, right = (learned(side * labels, np.arange(4) < 2) for side in (-1, 1))
    result = boost(
        initial_state(table_of(labels), None, np.eye(2), out_of_bag=True),
        table_of(labels),
        None,
        choices(lambda targets, weights, number: right if number == n_rounds - 1 else wrong),
        range(1, n_rounds + 1),
    )
    assert result.n_rounds == n_rounds
    assert len(result.ensemble) == 1
    assert f"{n_rounds - 1} of them without a learner" in result.stop_reason
