"""Draws by the number of a row: the same for any split of the rows, and as good as independent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, kstest

from rboost import numbering
from rboost.numbering import BAGS, FOLDS, NOISE, SAMPLE, Bags, draws, hashed_folds, in_sample

N_ROWS = 40_000
NUMBERS = np.arange(N_ROWS)
SEEDS = st.integers(0, 2**31 - 2)
PARTS = st.lists(st.integers(0, 2**40), max_size=50)


def correlation(one, other):
    """Of two arrays of numbers or truth values, in standard deviations of independent ones."""
    return np.corrcoef(one, other)[0, 1] * np.sqrt(len(one))


@given(PARTS, SEEDS, st.sampled_from([FOLDS, SAMPLE, NOISE, BAGS]))
def test_a_draw_depends_on_the_number_alone(rows, seed, purpose):
    rows = np.array(rows, dtype=np.int64)
    alone = [draws(np.array([row]), seed, purpose)[0] for row in rows]
    assert_array_equal(draws(rows, seed, purpose), np.array(alone))
    for dtype in (np.uint64, np.int64):
        assert_array_equal(draws(rows.astype(dtype), seed, purpose), np.array(alone))


@given(st.integers(0, 2**40), st.integers(0, 300), st.integers(0, 300), SEEDS)
def test_parts_of_the_rows_have_the_folds_and_samples_of_the_whole(first, n_before, n_after, seed):
    whole = np.arange(first, first + n_before + n_after)
    parts = whole[:n_before], whole[n_before:]
    for n_folds in (2, 3, 5):
        of_parts = [hashed_folds(part, n_folds, seed) for part in parts]
        assert_array_equal(np.concatenate(of_parts), hashed_folds(whole, n_folds, seed))
    sampled = [in_sample(first, n_before, 0.3, seed)]
    sampled.append(in_sample(first + n_before, n_after, 0.3, seed))
    assert_array_equal(np.concatenate(sampled), in_sample(first, len(whole), 0.3, seed))
    bags, of_parts = Bags(whole, 0.8, seed), [Bags(part, 0.8, seed) for part in parts]
    for bag in (0, 1, 1999):
        left_out = np.concatenate([own.without(bag) for own in of_parts])
        assert_array_equal(left_out, bags.without(bag))


@pytest.mark.parametrize("first", [0, 2**33])
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 2])
def test_draws_are_uniform_between_0_and_1(seed, first):
    for purpose in (FOLDS, SAMPLE, NOISE, BAGS):
        drawn = draws(NUMBERS + first, seed, purpose)
        assert drawn.min() >= 0
        assert drawn.max() < 1
        assert kstest(drawn, "uniform").pvalue > 1e-4
        assert abs(correlation(drawn[1:], drawn[:-1])) < 4  # of neighbours


@pytest.mark.parametrize("n_folds", [1, 2, 3, 5])
def test_folds_are_about_equal(n_folds):
    fold = hashed_folds(NUMBERS, n_folds, seed=3)
    counts = np.bincount(fold)
    assert len(counts) == n_folds
    assert n_folds == 1 or chisquare(counts).pvalue > 1e-4
    assert fold.dtype == np.uint8


def test_the_largest_draw_is_in_the_last_fold(monkeypatch):
    monkeypatch.setattr(numbering, "_hashed", lambda *_: np.array([2**64 - 1, 0], np.uint64))
    for n_folds in range(1, 200):
        assert_array_equal(hashed_folds(NUMBERS[:2], n_folds, 0), [n_folds - 1, 0])


def test_draws_for_other_purposes_and_seeds_are_others():
    drawn = [draws(NUMBERS, seed, purpose) for seed in (0, 1, 2) for purpose in range(1, 5)]
    for place, one in enumerate(drawn):
        for other in drawn[:place]:
            assert abs(correlation(one, other)) < 4.5


@pytest.mark.parametrize("share", [0.001, 0.25, 0.999])
def test_samples_have_their_share(share):
    n_sampled = np.count_nonzero(in_sample(7, N_ROWS, share, seed=0))
    assert abs(n_sampled - share * N_ROWS) < 4 * np.sqrt(N_ROWS * share * (1 - share))
    assert in_sample(0, 100, 1.0, seed=0).all()
    assert in_sample(0, 100, 50_000 / 100, seed=0).all()
    assert not in_sample(0, 100, 0.0, seed=0).any()


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_bags_have_their_share_and_know_nothing_of_each_other_nor_of_folds(share):
    bags = Bags(NUMBERS, share, seed=5)
    left_out = [bags.without(bag) for bag in [*range(12), 500, 1999]]
    others = [hashed_folds(NUMBERS, 5, 5) == number for number in range(5)]
    others += [in_sample(0, N_ROWS, 0.5, 5), Bags(NUMBERS, share, seed=6).without(0)]
    for place, one in enumerate(left_out):
        expected, deviation = (1 - share) * N_ROWS, np.sqrt(N_ROWS * share * (1 - share))
        assert abs(np.count_nonzero(one) - expected) < 4 * deviation
        for other in left_out[:place] + others:
            assert abs(correlation(one, other)) < 4.5


def test_every_row_is_left_out_by_its_share_of_bags():
    bags = Bags(NUMBERS[:2000], 0.8, seed=0)
    times = np.sum([bags.without(bag) for bag in range(400)], axis=0)
    assert abs(times.mean() - 80) < 1
    assert np.abs(times - 80).max() < 6 * np.sqrt(400 * 0.8 * 0.2)
