"""The compiled twin of noise-aware Platt scaling finds what its NumPy specification finds."""

from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost import native as switch
from rboost.noise import platt
from rboost.noise.matrix import with_rates
from rboost.noise.platt import (
    KINDS,
    LARGEST_SUM,
    LabelCounts,
    explore,
    fit_lines,
    fit_lines_slowly,
    fit_noise_aware_platt,
)

pytestmark = pytest.mark.usefixtures("instruction_set")
TINY = np.nextafter(0.0, 1.0)


def slowly():
    """Within, the specification runs instead."""
    return patch.object(switch, "compiled", lambda: None)


def draw(n_rows, rates, seed=0, slope=3.0, offset=0.3):
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    true = random.uniform(size=n_rows) < expit(slope * scores + offset)
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    return scores, observed.astype(int)


def counts_of(scores, labels, weight=None, trusted=None):
    counts, _, _ = platt.bin_rows(scores, labels, weight, trusted)
    return counts


@st.composite
def any_counts(draw_from):
    """Counts of all kinds: one bin, no rows of a class, all or no rows trusted, huge numbers."""
    random = np.random.RandomState(draw_from(st.integers(0, 2**31 - 1)))
    n_bins = draw_from(st.sampled_from([1, 2, 3, 17, 64, 100]))
    scores = np.sort(random.standard_normal(n_bins)) * draw_from(
        st.sampled_from([1, 1, 1e-300, 50])
    )
    size = draw_from(st.sampled_from([1e-3, 1.0, 30.0, 1e6]))
    positive = expit(draw_from(st.sampled_from([-2.0, 0.0, 1.0, 6.0])) * scores)
    mass = random.gamma(1.0, size=n_bins) * size
    labels = mass * np.stack([1 - positive, positive])
    if draw_from(st.booleans()):
        labels[draw_from(st.integers(0, 1))] = 0
    if draw_from(st.booleans()):
        labels *= random.uniform(size=labels.shape) < 0.7
    share = draw_from(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
    return LabelCounts(scores, (1 - share) * labels, share * labels)


any_rates = st.sampled_from(
    [(0.0, 0.0), (0.2, 0.2), (0.3, 0.0), (0.0, 0.6), (0.49, 0.49), (0.98, 0.0), (1e-6, 0.5)]
)


def objective(counts, rates, lines):
    return platt._evaluate(counts, rates, lines)[0]


def standard(counts):
    """Counts with the scores that lines are fitted to: of mean 0 and variance 1."""
    mass = counts.observed.sum(axis=0) + counts.trusted.sum(axis=0)
    if not mass.any():
        return counts
    scores = counts.scores - np.average(counts.scores, weights=mass)
    return replace(counts, scores=scores / (np.sqrt(np.average(scores**2, weights=mass)) or 1.0))


def assert_lines_are_as_good_as_specified(counts, rates):
    # Slopes of hundreds need some hundred steps. Where they lead is asked here, not how fast.
    with patch.object(platt, "MAX_STEPS", 1000):
        lines, evidence = fit_lines(counts, rates)
        with patch.object(platt, "ENOUGH", 1e-6):
            expected, _ = fit_lines_slowly(counts, rates)
    assert np.all(np.isfinite(lines))
    assert np.all(np.isfinite(evidence))
    assert np.all(lines[:, 0] >= 0)
    reached, wanted = (objective(counts, rates, found) for found in (lines, expected))
    n_rows = counts.observed.sum() + counts.trusted.sum()
    assert np.all(reached >= wanted - 0.01 - 1e-12 * n_rows)


@given(any_counts().map(standard), st.lists(any_rates, min_size=1, max_size=20))
def test_lines_are_as_good_as_specified(counts, points):
    assert_lines_are_as_good_as_specified(counts, np.array(points))


@pytest.mark.parametrize(
    ("scores", "observed"),
    [
        ([0.047, 0.095], [[1.8e6, 0.0], [0.0, 1.4e6]]),
        ([0.40, 1.76], [[4e5, 0.0], [1e5, 9e5]]),
        ([-1.81, -1.40], [[4.5e4, 2.0e5], [0.0, 3.3e6]]),
        ([-0.53, -0.19, 0.09], [[1.5e5, 1.9e5, 5.1e5], [0.0, 0.0, 4.3e5]]),
    ],
)
def test_scores_close_together_do_not_end_the_search_where_it_began(scores, observed):
    """Slope and offset then go hand in hand, and a step that is cut must not turn downhill."""
    nothing = np.zeros((2, len(scores)))
    counts = LabelCounts(np.array(scores), np.array(observed), nothing)
    assert_lines_are_as_good_as_specified(counts, np.array([(0.2, 0.2), (0.1, 0.0)]))


@pytest.mark.parametrize("trusted", [False, True], ids=["", "trusted rows"])
@pytest.mark.parametrize("n_rows", [60, 400, 5000, 100_000])
def test_lines_and_evidence_are_those_specified(n_rows, trusted):
    scores, labels = draw(n_rows, (0.2, 0.1), slope=2.0)
    counts = counts_of(scores, labels, None, np.arange(n_rows) % 4 == 0 if trusted else None)
    rates = np.array([(i, j) for i in np.arange(0, 0.6, 0.1) for j in np.arange(0, 0.4, 0.1)])
    lines, evidence = fit_lines(counts, rates)
    with patch.object(platt, "ENOUGH", 1e-10):
        expected, expected_evidence = fit_lines_slowly(counts, rates)
    # A line of slope 0 is not determined by the data, and its evidence is that of a tiny slope.
    likely = expected_evidence > expected_evidence.max() - 12
    assert_allclose(lines[likely], expected[likely], rtol=0.02, atol=2e-3)
    assert_allclose(evidence[likely], expected_evidence[likely], atol=3e-3)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kinds_of_noise_have_the_specified_rates_and_cells(kind):
    nothing = LabelCounts(
        np.zeros(1), np.full((2, 1), 1e-9), np.zeros((2, 1))
    )  # nothing is ruled out
    found = explore([kind], nothing)
    with slowly():
        expected = explore([kind], nothing)
    assert_allclose(found.rates, expected.rates, rtol=1e-14, atol=1e-18)
    assert_allclose(found.lowest, expected.lowest, rtol=1e-14, atol=1e-18)
    assert_allclose(found.highest, expected.highest, rtol=1e-14, atol=1e-18)
    assert_allclose(found.log_weights, expected.log_weights, atol=1e-2)
    assert np.all(found.rates.sum(axis=1) <= LARGEST_SUM)


TABLES = [
    (60, (0.2, 0.2), 2.0, 0.0),
    (400, (0.0, 0.0), 1.0, 0.0),
    (400, (0.3, 0.0), 3.0, 1.0),
    (400, (0.1, 0.3), 0.7, 0.0),
    (400, (0.05, 0.05), 7.0, -1.0),
    (5000, (0.2, 0.2), 2.0, 0.0),
    (5000, (0.3, 0.0), 3.0, 5.0),
    (100_000, (0.1, 0.1), 2.0, -4.0),
    (100_000, (0.5, 0.1), 3.0, 1.0),
    (100_000, (0.0, 0.0), 1.0, 0.0),
]


@cache  # the specification is the same for every instruction set
def specified_grid(n_rows, rates, slope, offset, trusted):
    scores, labels = draw(n_rows, rates, 1, slope, offset)
    counts = counts_of(scores, labels, None, np.arange(n_rows) % 9 == 0 if trusted else None)
    with slowly(), patch.object(platt, "ENOUGH", 1e-8):
        return counts, explore(KINDS, counts)


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=str)
@pytest.mark.parametrize("trusted", [False, True], ids=["", "trusted rows"])
def test_the_grid_is_the_specified_one(table, trusted):
    counts, expected = specified_grid(*table, trusted)
    found = explore(KINDS, counts)

    def mean_rates(grid):
        weights = np.exp(grid.log_weights - grid.log_weights.max())
        return weights @ grid.rates / weights.sum()

    assert_allclose(mean_rates(found), mean_rates(expected), atol=1e-4)
    # Kinds of noise overlap, so that only rates and cell together say which point it is.
    one, other = (np.hstack([grid.rates, grid.highest]) for grid in (found, expected))
    match = [int(np.abs(one - point).max(axis=1).argmin()) for point in other]
    certain = expected.log_weights > expected.log_weights.max() - platt.NEGLIGIBLE + 0.1
    assert_allclose(one[match][certain], other[certain], atol=1e-12)
    assert_allclose(found.log_weights[match][certain], expected.log_weights[certain], atol=0.02)
    assert_allclose(found.lines[match][certain], expected.lines[certain], rtol=0.03, atol=0.03)


def test_results_are_the_same_every_time():
    scores, labels = draw(400, (0.2, 0.1))
    one, other = (fit_noise_aware_platt(scores, labels) for _ in range(2))
    for name in ("rates", "lowest", "highest", "slopes", "offsets", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@given(any_counts())
def test_any_counts_give_a_finite_grid(counts):
    grid = explore(KINDS, counts)
    for part in grid:
        assert np.all(np.isfinite(part))
    assert len(grid.rates) > 0
    assert np.all((grid.lowest <= grid.rates + 1e-15) & (grid.rates <= grid.highest + 1e-15))


def nasty(kind):
    random = np.random.RandomState(0)
    labels = np.arange(300) % 2
    normal = random.standard_normal(300)
    return {
        "huge": (1e308 * np.sign(normal) * random.uniform(size=300), labels, None, None),
        "largest": (np.where(labels, 1.0, -1.0) * np.finfo(float).max, labels, None, None),
        "denormal": (TINY * random.randint(9, size=300), labels, None, None),
        "constant": (np.full(300, 3.0), labels, None, None),
        "one row": ([1.0], [1], None, None),
        "one row, trusted": ([1.0], [0], None, [True]),
        "one class": (normal, np.ones(300), None, None),
        "all trusted": (normal, labels, None, np.ones(300)),
        "weights of a million": (normal + labels, labels, np.full(300, 1e6), None),
        "tiny weights": (normal + labels, labels, np.full(300, 1e-9), None),
        "weights of any size": (normal, labels, 10.0 ** random.uniform(-12, 12, 300), None),
        "heavy weights": (normal, labels, np.full(300, 1e15), labels == 1),
        "mostly one score": (
            np.where(random.uniform(size=300) < 0.97, 0, normal),
            labels,
            None,
            None,
        ),
        "one far away": (np.where(np.arange(300) == 7, 1e300, normal), labels, None, None),
        "separable": (labels * 2.0 - 1 + 0.1 * normal, labels, np.full(300, 1e6), None),
    }[kind]


NASTY = [
    "huge", "largest", "denormal", "constant", "one row", "one row, trusted", "one class",
    "all trusted", "weights of a million", "tiny weights", "weights of any size", "heavy weights",
    "mostly one score", "one far away", "separable",
]  # fmt: skip


@pytest.mark.parametrize("known", [None, (0.1, 0.0), (0.49, 0.49)], ids=str)
@pytest.mark.parametrize("kind", NASTY)
def test_finite_rows_give_finite_results(kind, known):
    scores, labels, weight, trusted = nasty(kind)
    matrix = None if known is None else with_rates(*known)
    fitted = fit_noise_aware_platt(scores, labels, weight, trusted=trusted, noise_matrix=matrix)
    arrays = vars(fitted) | vars(fitted.steepening)
    del arrays["steepening"]
    for part in arrays.values():
        assert np.all(np.isfinite(part))
    assert_allclose(fitted.weights.sum(), 1)
    assert np.all(np.isfinite(fitted.interval()))
    for found in (fitted(scores), fitted.issue_probability(np.asarray(scores), labels)):
        assert np.all((found >= 0) & (found <= 1))


def fit_and_read(scores, labels, weight):
    fitted = fit_noise_aware_platt(scores, labels, weight)
    issues = fitted.issue_probability(scores[:500], labels[:500])
    return fitted.noise_matrix, fitted.interval(), fitted(scores[:500]), issues


@cache
def specified_fit(n_rows):
    rows = *draw(n_rows, (0.3, 0.1), slope=2.5), np.random.RandomState(0).gamma(2.0, size=n_rows)
    with slowly(), patch.object(platt, "ENOUGH", 1e-7):
        return rows, fit_and_read(*rows)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [50, 400, 30_000])
def test_the_whole_fit_is_the_specified_one(n_rows):
    rows, expected = specified_fit(n_rows)
    for one, other, atol in zip(
        fit_and_read(*rows), expected, (1e-4, 2e-3, 1e-3, 1e-3), strict=True
    ):
        assert_allclose(one, other, atol=atol)
