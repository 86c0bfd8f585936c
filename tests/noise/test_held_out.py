"""Counts of held-out scores: they add up over parts, and stand for all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from rboost.noise import infer_noise
from rboost.noise.stand_ins import BIN_WIDTH, FARTHEST, ScoredRows, count_scores, counted_rows


def scored(n_rows, seed=0, rates=(0.25, 0.1), spread=3.0):
    """Held-out log-odds of two classes, flipped labels, weights, and trusted rows."""
    random = np.random.RandomState(seed)
    scores = spread * random.standard_normal(n_rows)
    true = random.uniform(size=n_rows) < expit(scores)
    trusted = random.uniform(size=n_rows) < 0.05
    flipped = random.uniform(size=n_rows) < np.where(true, rates[1], rates[0])
    observed = (true ^ (flipped & ~trusted)).astype(np.intp)
    return ScoredRows(scores, observed, random.choice([0.0, 0.5, 1.0, 3.0], n_rows), trusted)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 50), st.integers(0, 99))
def test_counts_add_up_over_parts(n_before, n_between, n_after, seed):
    rows = scored(n_before + n_between + n_after, seed)
    ends = [n_before, n_before + n_between]
    parts = np.split(np.arange(len(rows.scores)), ends)
    added = sum(count_scores(rows.take(part)) for part in parts)
    whole = count_scores(rows)
    assert_array_equal(added[0], whole[0])  # halves are exact
    assert_allclose(added[1], whole[1], rtol=1e-12, atol=1e-12)


@given(st.integers(1, 300), st.integers(0, 99), st.sampled_from([0.01, 3.0, 200.0]))
def test_stand_ins_weigh_what_the_rows_do_and_lie_where_they_lie(n_rows, seed, spread):
    rows = scored(n_rows, seed, spread=spread)
    few = counted_rows(count_scores(rows))
    assert np.all(few.weight > 0)
    for label in (0, 1):
        for trust in (False, True):
            of_all = (rows.observed == label) & (rows.trusted == trust)
            of_few = (few.observed == label) & (few.trusted == trust)
            weight = rows.weight[of_all]
            assert_allclose(few.weight[of_few].sum(), weight.sum())
            moment = few.weight[of_few] @ few.scores[of_few]
            assert_allclose(moment, weight @ rows.scores[of_all], atol=1e-9 * spread)
    inside = np.abs(few.scores) < FARTHEST - BIN_WIDTH
    nearest = np.abs(few.scores[inside, np.newaxis] - rows.scores).min(axis=1, initial=np.inf)
    assert np.all(nearest <= BIN_WIDTH)


def test_scores_that_are_sure_and_rows_without_weight():
    scores = np.array([-1e6, -FARTHEST, FARTHEST, 1e6, 0.0, 0.0])
    rows = ScoredRows(scores, np.array([0, 0, 1, 1, 1, 0]), np.array([1, 1, 1, 1, 2, 0.0]),
                      np.zeros(6, dtype=bool))  # fmt: skip
    few = counted_rows(count_scores(rows))
    assert_array_equal(few.weight, [2, 2, 2])
    assert_array_equal(few.observed, [0, 1, 1])
    assert_allclose(few.scores, [(-1e6 - FARTHEST) / 2, 0, (1e6 + FARTHEST) / 2])


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.25, 0.1), (0.0, 0.4)])
def test_the_noise_of_stand_ins_is_that_of_all_rows(rates):
    rows = scored(20_000, rates=rates)
    few = counted_rows(count_scores(rows))
    assert len(few.scores) < 4000
    found = [
        infer_noise(own.scores, own.observed, sample_weight=own.weight, trusted=own.trusted)
        for own in (rows, few)
    ]
    assert_allclose(found[1].noise_matrix, found[0].noise_matrix, atol=0.001)
    assert_allclose(found[1].interval(), found[0].interval(), atol=0.005)
    one, other = (own.issue_probability(rows.scores, rows.observed) for own in found)
    assert np.abs(one - other).max() < 0.01
    assert np.abs(one - other).mean() < 0.002
