"""Scores of linear ensembles against their reference in NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.native import reference

native = pytest.importorskip("rboost.native._native")
pytestmark = pytest.mark.usefixtures("instruction_set")

VOTES = pytest.mark.parametrize("probability", [True, False], ids=["probability", "class"])


def ensemble(n_features, n_learners, seed=0):
    """Coefficients, intercepts and steps."""
    random = np.random.RandomState(seed)
    coefs = random.standard_normal((n_learners, n_features)) / np.sqrt(max(1, n_features))
    return coefs, random.standard_normal(n_learners), random.gamma(1.0, size=n_learners)


def assert_scored(X, coefs, intercepts, steps, center, probability, n_threads=1):
    """Scores are the specified ones, but for margins that float32 cannot tell from 0."""
    found = native.linear_scores(X, coefs, intercepts, steps, center, probability, n_threads)
    expected = reference.linear_scores(X, coefs, intercepts, steps, center, probability, 1)
    assert found.shape == (len(X),)
    assert found.dtype == np.float64
    close = np.zeros(len(X))
    if not probability:
        margins = (X - center) @ coefs.T + (intercepts + coefs @ center)
        terms = np.abs(X - center) @ np.abs(coefs).T + np.abs(intercepts + coefs @ center)
        close = 2 * (np.abs(margins) <= 1e-5 * terms) @ steps
    assert np.all(np.abs(found - expected) <= close + 1e-5 * (1 + np.abs(steps).sum()))
    return found


@given(
    n_rows=st.sampled_from([0, 1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129]),
    n_features=st.sampled_from([1, 2, 3, 4, 5, 8, 15, 16, 17, 33]),
    n_learners=st.sampled_from([0, 1, 2, 15, 16, 17, 40]),
    probability=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 999),
)
def test_scores_at_all_sizes(n_rows, n_features, n_learners, probability, dtype, seed):
    random = np.random.RandomState(seed)
    X = (2 * random.standard_normal((n_rows, n_features)) + 1).astype(dtype)
    center = random.standard_normal(n_features)
    assert_scored(X, *ensemble(n_features, n_learners, seed), center, probability)


@VOTES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [8191, 8192, 8193, 16_385])
def test_sizes_around_a_chunk(n_rows, dtype, probability):
    X = np.random.RandomState(0).standard_normal((n_rows, 3)).astype(dtype)
    assert_scored(X, *ensemble(3, 7), np.zeros(3), probability)


@VOTES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(dtype, probability):
    n_rows = 4 * 32768 + 5  # enough for more than three threads
    X = np.random.RandomState(0).standard_normal((n_rows, 2)).astype(dtype)
    arguments = (X, *ensemble(2, 5), np.full(2, 0.1), probability)
    one = assert_scored(*arguments)
    for n_threads in (-1, 0, 2, 3, 64):
        assert_array_equal(native.linear_scores(*arguments, n_threads), one)


@VOTES
def test_a_row_is_scored_alike_in_any_company(probability):
    X = np.random.RandomState(0).standard_normal((200, 5))
    arguments = (*ensemble(5, 20), np.zeros(5), probability, 1)
    whole = native.linear_scores(X, *arguments)
    for part in (slice(0, 1), slice(3, 70), slice(199, 200), slice(65, 66)):
        assert_array_equal(native.linear_scores(X[part], *arguments), whole[part])


@VOTES
def test_infinite_intercepts_are_constant_learners(probability):
    X = np.random.RandomState(0).standard_normal((100, 3))
    coefs, intercepts, steps = ensemble(3, 4)
    coefs[[1, 3]] = 0
    intercepts[[1, 3]] = np.inf, -np.inf
    for center in (np.zeros(3), np.full(3, 1e6), np.full(3, -3.0)):
        assert_scored(X + center, coefs, intercepts - coefs @ center, steps, center, probability)
    constant = native.linear_scores(
        X, np.zeros((2, 3)), intercepts[[1, 3]], np.array([3.0, 0.5]), np.zeros(3), probability, 1
    )
    assert_array_equal(constant, 2.5)


@VOTES
def test_columns_far_from_zero_lose_no_digits(probability):
    X = np.random.RandomState(0).standard_normal((500, 4))
    far = np.array([1e8, -1e6, 0.0, 1e4])
    coefs, intercepts, steps = ensemble(4, 10)
    there = X + far
    found = assert_scored(there, coefs, intercepts - coefs @ far, steps, far, probability)
    here = native.linear_scores(there - far, coefs, intercepts, steps, np.zeros(4), probability, 1)
    differs = np.abs(found - here) > 1e-5 * steps.sum()
    assert differs.mean() <= (0 if probability else 0.01)


@VOTES
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e25])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_of_columns_do_not_matter(scale, dtype, probability):
    X = (scale * np.random.RandomState(0).standard_normal((100, 2))).astype(dtype)
    coefs, intercepts, steps = ensemble(2, 6)
    assert_scored(X, coefs / scale, intercepts, steps, np.zeros(2), probability)


def test_large_margins_are_certain_votes():
    X = np.array([[-1e30], [-1e3], [-100.0], [0.0], [100.0], [1e3], [1e30]])
    arguments = (np.ones((1, 1)), np.zeros(1), np.ones(1), np.zeros(1), True, 1)
    for dtype in (np.float32, np.float64):
        scores = native.linear_scores(X.astype(dtype), *arguments)
        assert_allclose(scores, [-1, -1, -1, 0, 1, 1, 1], atol=1e-12)


def test_negative_steps_count():
    X = np.random.RandomState(0).standard_normal((50, 2))
    coefs, intercepts, steps = ensemble(2, 5)
    assert_scored(X, coefs, intercepts, steps - 1, np.zeros(2), True)


@VOTES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_any_layout_give_the_same(dtype, probability):
    # Digits that float32 would not keep, where X has them.
    X = (np.random.RandomState(0).standard_normal((70, 5)) + 1e6).astype(dtype)
    coefs, intercepts, steps = ensemble(5, 20)
    center = np.full(5, 1e6)
    rest = (coefs, intercepts - coefs @ center, steps, center, probability, 1)
    expected = native.linear_scores(X, *rest)
    wide = np.zeros((140, 15), dtype=dtype)
    wide[::2, ::3] = X
    fixed = X.copy()
    fixed.setflags(write=False)
    backwards = np.ascontiguousarray(X[::-1])[::-1]
    for rows in (wide[::2, ::3], np.asfortranarray(X), fixed, backwards):
        assert_allclose(native.linear_scores(rows, *rest), expected, atol=1e-5)
    turned = np.asfortranarray(coefs)
    assert_allclose(native.linear_scores(X, turned, *rest[1:]), expected, atol=1e-5)


WRONG = {
    "coefs too wide": {"coefs": np.zeros((2, 4))},
    "intercepts too short": {"intercepts": np.zeros(1)},
    "steps too long": {"steps": np.zeros(3)},
    "center too short": {"center": np.zeros(2)},
}


@pytest.mark.parametrize("case", WRONG)
def test_parts_that_do_not_fit_together_are_refused(case):
    parts = {
        "X": np.zeros((5, 3)),
        "coefs": np.zeros((2, 3)),
        "intercepts": np.zeros(2),
        "steps": np.zeros(2),
        "center": np.zeros(3),
        **WRONG[case],
    }
    with pytest.raises(ValueError, match=r"must fit together\.$"):
        native.linear_scores(*parts.values(), True, 1)
