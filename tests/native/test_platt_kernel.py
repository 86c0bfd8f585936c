"""Native Platt scaling against the one in Python, which specifies it."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, log_expit

from rboost import native as switch
from rboost.calibration import SLOPE_PENALTY, PlattCalibration, fit_platt

native = pytest.importorskip("rboost.native._native")
pytestmark = pytest.mark.usefixtures("instruction_set")


def both(scores, labels, weight=None):
    """The calibration found by the core and the specified one."""
    weight = np.ones(len(scores)) if weight is None else weight
    rows = (scores, np.asarray(labels, dtype=np.float64), weight, np.eye(2), np.eye(2))
    found = PlattCalibration(*native.fit_platt(scores, rows[1] > 0, weight))
    with patch.object(switch, "compiled", lambda: None):
        return found, fit_platt(*rows)


def assert_same(scores, labels, weight=None, atol=1e-4):
    found, expected = both(scores, labels, weight)
    assert np.isfinite([found.slope, found.offset]).all()
    assert found.slope >= 0
    assert_allclose(found(scores), expected(scores), atol=atol)
    return found, expected


def loss(calibration, scores, labels, weight):
    """What is minimised: the loss of smoothed labels, with the penalty on the slope."""
    n_positive, n_negative = weight @ labels, weight @ ~labels
    target = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    margin = calibration.slope * scores + calibration.offset
    slope = calibration.slope * np.sqrt(np.cov(scores, aweights=weight, ddof=0))
    rows = -target * log_expit(margin) - (1 - target) * log_expit(-margin)
    return weight @ rows + SLOPE_PENALTY / 2 * slope**2


def draw(n_rows, slope=2.0, offset=0.3, seed=0):
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    return scores, random.uniform(size=n_rows) < expit(slope * scores + offset)


@given(
    n_rows=st.sampled_from([1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 65, 500]),
    slope=st.sampled_from([-1.0, 0.0, 0.1, 1.0, 5.0, 100.0]),
    offset=st.sampled_from([-8.0, -1.0, 0.0, 3.0]),
    scale=st.sampled_from([1e-6, 0.1, 1.0, 30.0, 1e6]),
    shift=st.sampled_from([0.0, 0.0, -1.0, 50.0]),
    weights=st.sampled_from(["none", "any", "many zero", "huge", "small", "any size"]),
    seed=st.integers(0, 999),
)
def test_any_scores(n_rows, slope, offset, scale, shift, weights, seed):
    scores, labels = draw(n_rows, slope, offset, seed)
    random = np.random.RandomState(seed)
    weight = random.gamma(1.0, size=n_rows) + 1e-3
    if weights == "none":
        weight[:] = 1
    elif weights == "many zero":
        weight[1:] *= random.uniform(size=n_rows - 1) < 0.3
    elif weights == "huge":
        weight *= 1e3
    elif weights == "small":
        weight *= 1e-6
    elif weights == "any size":
        weight = 10.0 ** random.uniform(-6, 6, n_rows)
    rows = (scale * (scores + shift), labels, weight)
    found, expected = both(*rows)
    assert np.isfinite([found.slope, found.offset]).all()
    assert found.slope >= 0
    reached, specified = loss(found, *rows), loss(expected, *rows)
    slack = 1e-6 * max(1.0, weight.sum())
    assert reached <= specified + slack
    # Far scores of little weight may keep the specification from its own minimum.
    if reached >= specified - slack:
        counts = weight >= 1e-4 * weight.sum()
        assert_allclose(found(rows[0])[counts], expected(rows[0])[counts], atol=5e-3)


@pytest.mark.parametrize("n_rows", [8191, 8192, 8193, 70_000])
def test_sizes_around_a_chunk(n_rows):
    found, expected = assert_same(*draw(n_rows), atol=1e-6)
    assert_allclose(found.slope, expected.slope, rtol=1e-5)
    assert_allclose(found.offset, expected.offset, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1.0, 1e3, 1e6])
def test_the_unit_of_scores_does_not_matter(scale):
    scores, labels = draw(400)
    found, _ = both(scale * scores, labels)
    _, expected = both(scores, labels)
    assert_allclose(scale * found.slope, expected.slope, rtol=1e-4)
    assert_allclose(found.offset, expected.offset, atol=1e-4)


@pytest.mark.parametrize("far", [1e3, -1e6, 1e9])
def test_scores_far_from_zero_lose_no_digits(far):
    scores, labels = draw(400)
    moved = scores + far
    found, expected = both(moved, labels)
    assert_allclose(found.slope, expected.slope, rtol=1e-3)
    assert_allclose(found(moved), expected(moved), atol=1e-3)


@pytest.mark.parametrize("value", [0.0, 1.0, -7.0, 1e-300, 1e6, 1e12])
def test_constant_scores_give_the_class_frequency(value):
    labels = np.arange(100) < 30
    found, expected = assert_same(np.full(100, value), labels)
    assert_allclose(found(np.array([value])), 0.3, atol=0.01)
    assert_allclose([found.slope, expected.slope], 0, atol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-3, 1.0, 1e6])
def test_separable_scores(gap):
    scores = np.sort(np.random.RandomState(0).standard_normal(200))
    labels = scores > 0
    found, _ = assert_same(scores + gap * labels, labels, atol=1e-3)
    assert found.slope > 0


def test_scores_that_contradict_the_labels_are_not_trusted():
    scores, labels = draw(300, slope=-3.0)
    found, expected = assert_same(scores, labels)
    assert found.slope == expected.slope == 0
    assert_allclose(found.offset, expected.offset, atol=1e-5)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n_rows", [1, 5, 300])
def test_one_class(n_rows, positive):
    scores, _ = draw(n_rows)
    assert_same(scores, np.full(n_rows, positive))


def test_outliers():
    scores, labels = draw(300)
    scores[7] = 1e6
    assert_same(scores, labels, atol=1e-3)


def test_whole_weights_are_repeated_rows():
    scores, labels = draw(100)
    weight = np.random.RandomState(0).randint(4, size=100)
    weighted = native.fit_platt(scores, labels, weight.astype(float))
    repeated = native.fit_platt(scores.repeat(weight), labels.repeat(weight), np.ones(weight.sum()))
    assert_allclose(weighted, repeated, rtol=1e-5)


def test_columns_of_a_table_are_taken():
    scores, labels = draw(100)
    wide = np.zeros((100, 3))
    wide[:, 1] = scores
    wide[:, 2] = 1.0
    wide.setflags(write=False)
    found = native.fit_platt(wide[:, 1], labels, wide[:, 2])
    assert found == native.fit_platt(scores, labels, np.ones(100))


@pytest.mark.parametrize("lengths", [(0, 0, 0), (5, 4, 5), (5, 5, 6)], ids=str)
def test_wrong_lengths_are_refused(lengths):
    n_scores, n_labels, n_weights = lengths
    with pytest.raises(ValueError, match=r"one entry a row\.$"):
        native.fit_platt(np.zeros(n_scores), np.zeros(n_labels, dtype=bool), np.ones(n_weights))


def test_rows_without_any_weight_are_refused():
    with pytest.raises(ValueError, match=r"must sum to more than 0\.$"):
        native.fit_platt(np.zeros(5), np.zeros(5, dtype=bool), np.zeros(5))
