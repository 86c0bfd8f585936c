"""The compiled twin counts rows, and reads probabilities, as the NumPy specification does."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.noise import platt
from rboost.noise.posterior import NoiseAwarePlatt
from tests.native.test_noise_platt import TINY, counts_of, draw, slowly

pytestmark = pytest.mark.usefixtures("instruction_set")
TYPES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, np.uint16, bool]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_rows_of_any_type_are_counted(dtype):
    random = np.random.RandomState(0)
    scores = np.round(3 * random.standard_normal(700)).clip(0, 7)
    labels, trusted = random.randint(2, size=(2, 700))
    weight = random.randint(3, size=700)
    expected = counts_of(scores, labels, weight, trusted)
    asked = [column.astype(dtype) for column in (labels, trusted)]
    weights = weight if dtype is bool else weight.astype(dtype)
    score = scores if dtype is bool else scores.astype(dtype)
    found = counts_of(score, asked[0], weights, asked[1])
    assert_allclose(found.scores, expected.scores, atol=1e-6)
    assert_allclose(found.observed, expected.observed)
    assert_allclose(found.trusted, expected.trusted)


@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 500, 513, 5000, 40_000])
def test_rows_are_counted_as_specified(n_rows):
    random = np.random.RandomState(n_rows)
    rows = [
        random.standard_t(2, n_rows),
        random.randint(2, size=n_rows),
        random.gamma(1.0, size=n_rows) + 1e-3,
        random.uniform(size=n_rows) < 0.2,
    ]
    found, center, spread = platt.bin_rows(*rows)
    with slowly():
        expected, expected_center, expected_spread = platt.bin_rows(*rows)
    assert_allclose([center, spread], [expected_center, expected_spread], rtol=1e-12, atol=1e-12)
    for name in ("scores", "observed", "trusted"):
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9)
    total = found.observed.sum() + found.trusted.sum()
    assert_allclose(total, rows[2].sum())


def test_columns_need_not_be_contiguous_nor_writable_nor_aligned():
    scores, labels = draw(600, (0.2, 0.1))
    expected = counts_of(scores, labels)
    table = np.zeros((600, 3))
    table[:, 1], table[:, 2] = scores, labels
    backwards = np.ascontiguousarray(scores[::-1])[::-1]
    records = np.zeros(600, dtype=[("flag", np.int8), ("score", np.float64)])
    records["score"] = scores
    swapped = scores.astype(scores.dtype.newbyteorder())
    fixed = scores.copy()
    fixed.setflags(write=False)
    for column in (table[:, 1], backwards, records["score"], swapped, fixed):
        found = counts_of(column, table[:, 2])
        assert_allclose(found.scores, expected.scores, atol=1e-12)
        assert_allclose(found.observed, expected.observed)


def test_rows_in_periods_are_seen_by_the_edges():
    """The sample of rows that edges are taken from must not always hit the same class."""
    n_rows = 8 * platt.EDGE_ROWS
    labels = np.arange(n_rows) % 4 == 3
    scores = np.random.RandomState(0).standard_normal(n_rows) + 8.0 * labels
    counts = counts_of(scores, labels)
    assert np.count_nonzero(counts.observed[1]) > 15
    assert np.count_nonzero(counts.observed[0]) > 15


def any_mixture(seed, n_points=40, scale=1.0):
    random = np.random.RandomState(seed)
    rates = 0.4 * random.uniform(size=(n_points, 2))
    rates[random.uniform(size=n_points) < 0.1] = 0
    weights = random.gamma(0.5, size=n_points) + 1e-5
    slopes = scale * np.exp(random.normal(scale=0.5, size=n_points))
    slopes[random.uniform(size=n_points) < 0.05] = 0
    offsets = random.normal(scale=1.0, size=n_points)
    return NoiseAwarePlatt(rates, rates, rates, slopes, offsets, weights / weights.sum())


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6, 0.3, 2.0, 30.0, 1e6])
@pytest.mark.parametrize("n_rows", [1, 7, 129, 400, 4999, 50_000])
def test_probabilities_are_those_specified(n_rows, scale):
    mixture = any_mixture(n_rows, scale=scale)
    random = np.random.RandomState(1)
    scores = random.standard_t(3, n_rows)
    labels = random.randint(2, size=n_rows)
    found = mixture(scores), mixture.log_odds(scores), mixture.issue_probability(scores, labels)
    with slowly():
        expected = (
            mixture(scores),
            mixture.log_odds(scores),
            mixture.issue_probability(scores, labels),
        )
    assert_allclose(found[0], expected[0], atol=1e-7)
    assert_allclose(found[2], expected[2], atol=1e-7)
    assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-6)
    if n_rows > 5000:
        assert_allclose(found[0], expected[0], atol=1e-8)
    order = np.argsort(scores)
    assert np.all(np.diff(found[0][order]) >= -1e-12)
    assert np.all((found[2] >= 0) & (found[2] <= 1))


@pytest.mark.parametrize("n_rows", [3, 300, 20_000])
@pytest.mark.parametrize("reach", [TINY, 1e-30, 1.0, 1e5, 1e150, 8e307])
def test_probabilities_of_any_scores_are_finite(n_rows, reach):
    mixture = any_mixture(0)
    scores = np.linspace(-reach, reach, n_rows)
    labels = np.arange(n_rows) % 2
    for found in (mixture(scores), mixture.issue_probability(scores, labels)):
        assert np.all((found >= 0) & (found <= 1))
    assert np.all(np.diff(mixture(scores)) >= -1e-12)
    steep = copy.deepcopy(mixture)
    steep.slopes[:] = np.maximum(mixture.slopes, 0.1)
    if reach < 1e300:
        assert np.all(np.isfinite(steep.log_odds(scores)))


@given(st.integers(0, 999), st.sampled_from([0.1, 1.0, 20.0]), st.floats(-3, 3))
def test_thresholds_are_those_specified(seed, scale, shift):
    mixture = any_mixture(seed, scale=scale)
    mixture.offsets[:] += shift * scale
    found = mixture.threshold(-4.0, 5.0)
    with slowly():
        assert_allclose(found, mixture.threshold(-4.0, 5.0), atol=1e-8)
