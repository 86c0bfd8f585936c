import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rboost.learners.binning import BinnedRows, Binning
from tests.learners.tables import tables


@given(tables(), st.sampled_from([2, 5, 255]))
def test_a_bin_is_how_many_thresholds_lie_below(table, max_bins):
    X, _, _ = table
    rows = Binning(max_bins)(X)
    assert rows.shape == X.shape
    assert rows.n_bins.max() <= max_bins
    for column, cuts in enumerate(rows.thresholds):
        missing = np.isnan(X[:, column])
        found = np.where(missing, max_bins, np.searchsorted(cuts, X[:, column]))
        assert_array_equal(rows.bins[:, column], found)


@given(tables(), st.integers(1, 6), st.integers(0, 99))
def test_fewer_cuts_join_neighbouring_bins(table, max_cuts, seed):
    X, _, _ = table
    rows = Binning()(X)
    coarse, last = rows.coarsened(max_cuts, np.random.default_rng(seed))
    for column, cuts in enumerate(coarse.thresholds):
        assert set(cuts) <= set(rows.thresholds[column])
        assert len(cuts) == min(max_cuts, len(rows.thresholds[column]))
        for new in range(
            len(cuts) + 1
        ):  # in a new bin up to this one: in an old one up to its last
            assert_array_equal(
                coarse.bins[:, column] <= new,
                rows.bins[:, column] <= last[column, new],
            )
    assert_array_equal(coarse.bins == coarse.missing, rows.bins == rows.missing)


@pytest.mark.parametrize("rows", [[3, 1, 1], slice(2, 9, 2), np.arange(20) % 3 == 0, []], ids=str)
def test_rows_are_taken_out_as_from_an_array(rows, rng):
    X = rng.standard_normal((20, 3))
    binned = Binning(7)(X)
    part = binned[np.asarray(rows, dtype=int) if isinstance(rows, list) else rows]
    assert isinstance(part, BinnedRows)
    chosen = np.arange(20)[np.asarray(rows, dtype=int) if isinstance(rows, list) else rows]
    assert_array_equal(part.bins, binned.bins[chosen])
    assert part.bins.flags.f_contiguous
    assert len(part) == part.shape[0] == len(chosen)
    assert part.thresholds is binned.thresholds


def test_a_table_is_always_binned_alike(rng):
    X = rng.standard_normal((60_000, 2))
    one, other = Binning()(X), Binning(n_threads=2)(X)
    assert_array_equal(one.bins, other.bins)
    shares = np.bincount(one.bins[:, 0]) / len(X)
    assert shares.min() > 0.5 / 255
    assert shares.max() < 2 / 255


def test_equal_binnings_are_one():
    assert Binning(63) == Binning(63)
    assert len({Binning(63), Binning(63), Binning(255)}) == 2
