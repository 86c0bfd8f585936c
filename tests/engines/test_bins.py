"""Columns in bins: codes keep the order of values, whatever the values are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rboost.engines.xgboost import (
    BLOCK_ROWS,
    LAST_LEVEL,
    MISSING,
    MISSING_LEVEL,
    MOST_CODES,
    Bins,
    bin_edges,
    learn_bins,
)

TINY, HUGE = 5e-324, 1.7e308
ODD = [0.0, -0.0, TINY, -TINY, 2 * TINY, HUGE, -HUGE, 1.0, np.nextafter(1.0, 2), 2.2e-308, np.nan]
VALUES = st.lists(st.sampled_from(ODD) | st.floats(allow_infinity=False), max_size=200)
N_BINS = st.sampled_from([1, 2, 5, 31, 63])


def codes_of(values, edges):
    column = np.asarray(values, dtype=np.float64)[:, np.newaxis]
    return Bins((edges,), (0,)).codes(column)[:, 0]


@given(VALUES, N_BINS, VALUES)
def test_codes_rise_with_the_values_and_missing_ones_are_below_all(sample, n_bins, more):
    edges = bin_edges(np.array(sample, dtype=np.float64), n_bins)
    assert np.all(np.diff(edges) > 0)
    assert np.isfinite(edges).all()
    values = np.array(sample + more, dtype=np.float64)
    codes = codes_of(values, edges)
    missing = np.isnan(values)
    assert_array_equal(codes == MISSING, missing)
    in_order = codes[~missing][np.argsort(values[~missing], kind="stable")]
    assert np.all(np.diff(in_order.astype(int)) >= 0)
    assert codes.max(initial=0) <= len(edges) + 1 < MOST_CODES


@given(VALUES)
def test_few_different_values_each_have_a_code(sample):
    values = np.array(sample, dtype=np.float64)
    found = np.unique(values[~np.isnan(values)])
    codes = codes_of(found, bin_edges(values, max(1, len(found))))
    assert_array_equal(codes, np.arange(len(found)) + 1)


@given(VALUES, N_BINS)
def test_a_value_on_an_edge_is_below_it(sample, n_bins):
    edges = bin_edges(np.array(sample, dtype=np.float64), n_bins)
    assert_array_equal(codes_of(edges, edges), np.arange(len(edges)) + 1)
    assert_array_equal(codes_of(np.nextafter(edges, np.inf), edges), np.arange(len(edges)) + 2)


@given(st.integers(0, 999), N_BINS.filter(lambda n: n > 1), st.integers(0, 3))
def test_bins_hold_about_as_many_values_each(seed, n_bins, n_digits):
    random = np.random.RandomState(seed)
    values = np.round(random.standard_normal(2000) ** 3, n_digits)
    counts = np.bincount(codes_of(values, bin_edges(values, n_bins)))[1:]
    assert counts.min() > 0
    single = np.unique(values, return_counts=True)[1].max()
    assert counts.max() <= max(single, 2000 / n_bins + single)
    assert len(counts) <= 2 * n_bins
    if n_digits == 3:  # hardly a value twice
        assert len(counts) >= 0.9 * n_bins


@given(st.integers(0, 999), st.integers(1, 6))
def test_frequent_values_are_alone(seed, n_frequent):
    random = np.random.RandomState(seed)
    others = random.standard_normal(1000)
    frequent = random.choice(others, n_frequent, replace=False)
    values = np.concatenate([others, np.repeat(frequent, 300)])
    codes = codes_of(values, bin_edges(values, 31))
    for value in frequent:
        code = codes_of([value], bin_edges(values, 31))[0]
        assert np.all(values[codes == code] == value)


def test_infinite_values_are_the_outermost():
    values = np.array([-np.inf, -HUGE, 0.0, HUGE, np.inf])
    for some in (values, values[[0, 2]], values[[2, 4]]):
        assert_array_equal(codes_of(some, bin_edges(some, 31)), np.arange(len(some)) + 1)


@pytest.mark.parametrize("sample", [[], [np.nan] * 5, [3.5] * 5, [3.5, np.nan]], ids=str)
def test_columns_without_two_values_have_one_bin(sample):
    edges = bin_edges(np.array(sample), 31)
    assert_array_equal(edges, [])
    assert_array_equal(codes_of([-1e300, 3.5, np.nan], edges), [1, 1, MISSING])


def test_categories_keep_their_codes_and_the_rarest_share_one():
    levels = np.array([0, 1, LAST_LEVEL - 1, LAST_LEVEL, LAST_LEVEL + 1, 1e6, np.nan])
    column = levels[:, np.newaxis]
    bins = learn_bins(column, [2000], 31)
    assert bins.edges == (None,)
    expected = [0, 1, LAST_LEVEL - 1, LAST_LEVEL, LAST_LEVEL, LAST_LEVEL, MISSING_LEVEL]
    assert_array_equal(bins.codes(column)[:, 0], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_blocks_and_layout_do_not_matter(dtype):
    random = np.random.RandomState(0)
    n_rows = 2 * BLOCK_ROWS["numpy"] + 7
    columns = random.standard_normal((n_rows, 3)).astype(dtype)
    columns[:, 1] = random.randint(0, 99, n_rows)
    columns[random.uniform(size=columns.shape) < 0.1] = np.nan
    bins = learn_bins(columns[:5000], [0, 99, 0], 63)
    codes = bins.codes(columns)
    assert codes.shape == columns.shape
    assert codes.dtype == np.uint8
    for n_threads in (2, 5):
        assert_array_equal(bins.codes(columns, n_threads), codes)
    for other in (np.asfortranarray(columns), columns[::-1].copy()[::-1]):
        assert_array_equal(bins.codes(other, 2), codes)
    assert_array_equal(bins.codes(columns[100:103]), codes[100:103])
    assert bins.codes(columns[:0]).shape == (0, 3)


def test_float32_has_the_bins_of_its_values():
    values = np.float32([0.1, np.nextafter(np.float32(0.1), np.float32(1)), 0.3])
    edges = bin_edges(values, 31)
    assert edges.dtype == np.float64
    column = values[:, np.newaxis]
    assert_array_equal(Bins((edges,), (0,)).codes(column)[:, 0], [1, 2, 3])
