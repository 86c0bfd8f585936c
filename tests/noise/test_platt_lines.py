from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from rboost import native
from rboost.noise.likelihood import NoisySoftmaxLoss
from rboost.noise.matrix import rates_of, with_rates
from rboost.noise.platt import (
    MAX_BINS,
    OFFSET_SCALE,
    SLOPE_SCALE,
    _evaluate,
    bin_edges,
    count_labels_slowly,
    filled_bins,
    fit_lines,
    sorted_sample,
)
from tests.strategies import noise_matrices

SCALES = np.array([SLOPE_SCALE, OFFSET_SCALE])


@pytest.fixture(autouse=True, scope="module", params=["compiled", "specification"])
def which_twin(request):
    """Both twins have to pass."""
    if request.param == "specification":
        with patch.object(native, "compiled", lambda: None):
            yield
    elif native.compiled() is None:
        pytest.skip("the native module was not built")
    else:
        yield


def count_labels(scores, labels, weight, trusted):
    """Counts by bins of scores that are not standardised."""
    edges = bin_edges(sorted_sample(scores))
    _, totals, _ = count_labels_slowly(scores, labels, weight, trusted, edges, 0.0, 0.5, np.inf)
    return filled_bins(totals)


def draw(n_rows, rates, seed, slope=3.0, offset=0.5, trusted=0.0, n_distinct=None):
    """Scores of unit variance, labels seen through noise, weights, and which rows are trusted."""
    random = np.random.RandomState(seed)
    scores = random.standard_normal(n_rows)
    if n_distinct is not None:
        scores = random.choice(random.standard_normal(n_distinct), n_rows)
    true = random.uniform(size=n_rows) < expit(slope * scores + offset)
    trust = (random.uniform(size=n_rows) < trusted).astype(float)
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    labels = np.where(trust > 0, true, observed).astype(float)
    return scores, labels, random.gamma(2.0, size=n_rows), trust


@st.composite
def tables(draw_from):
    """Rows as :func:`draw` makes them, few enough not to be binned, with a noise matrix."""
    matrix = draw_from(noise_matrices())
    rows = draw(
        draw_from(st.integers(2, 60)),
        rates_of(matrix),
        draw_from(st.integers(0, 2**31 - 1)),
        slope=draw_from(st.sampled_from([-2.0, 0.0, 1.0, 5.0])),
        trusted=draw_from(st.sampled_from([0.0, 0.3, 1.0])),
        n_distinct=draw_from(st.sampled_from([None, 1, 3])),
    )
    return rows, matrix


lines = st.tuples(st.floats(0, 8), st.floats(-6, 6)).map(np.array)


def row_losses(margin, labels, matrix):
    scores = np.column_stack([np.zeros_like(margin), margin])
    return NoisySoftmaxLoss(scores, labels.astype(int), matrix)


def slow_objective(line, rows, matrix):
    """Penalised log-likelihood, row by row."""
    scores, labels, weight, trust = rows
    margin = line[0] * scores + line[1]
    observed, clean = (row_losses(margin, labels, noise).loss() for noise in (matrix, np.eye(2)))
    return -weight @ np.where(trust > 0, clean, observed) - 0.5 * np.sum((line / SCALES) ** 2)


def value_at(rows, matrix, line):
    value, gradient, information = _evaluate(
        count_labels(*rows), rates_of(matrix)[np.newaxis], np.asarray(line)[np.newaxis]
    )
    return value[0], gradient[0], information[0]


@given(tables(), lines)
def test_value_is_the_noisy_logistic_loss_summed_over_rows(table, line):
    rows, matrix = table
    assert_allclose(value_at(rows, matrix, line)[0], slow_objective(line, rows, matrix), rtol=1e-9)


@given(tables(), lines)
def test_gradient_matches_differences(table, line):
    rows, matrix = table
    gradient = value_at(rows, matrix, line)[1]
    h = 1e-5
    for axis, step in enumerate(h * np.eye(2)):
        above, below = (slow_objective(line + sign * step, rows, matrix) for sign in (1, -1))
        assert_allclose(gradient[axis], (above - below) / (2 * h), rtol=1e-5, atol=1e-4)


@given(tables(), lines)
def test_information_is_the_expected_curvature_of_the_rows(table, line):
    rows, matrix = table
    scores, labels, weight, trust = rows
    margin = line[0] * scores + line[1]
    observed, clean = (
        row_losses(margin, labels, noise).curvature(np.array([0.0, 1.0]))
        for noise in (matrix, np.eye(2))
    )
    design = np.column_stack([scores, np.ones_like(scores)])
    curvature = weight * np.where(trust > 0, clean, observed)
    expected = (design.T * curvature) @ design + np.diag(1 / SCALES**2)
    assert_allclose(value_at(rows, matrix, line)[2], expected, rtol=1e-6, atol=1e-9)


@given(tables())
def test_the_line_is_better_than_where_the_search_began(table):
    rows, matrix = table
    fitted, evidence = fit_lines(count_labels(*rows), rates_of(matrix)[np.newaxis])
    start = slow_objective(np.array([1.0, 0.0]), rows, matrix)
    assert slow_objective(fitted[0], rows, matrix) >= start - 1e-9
    assert fitted[0, 0] >= 0
    assert np.all(np.isfinite(evidence))


def line_of_scipy(rows, matrix):
    """The local maximum that L-BFGS-B climbs to from slope 1 and offset 0, and its value."""
    found = minimize(
        lambda line: -slow_objective(line, rows, matrix),
        [1.0, 0.0],
        method="L-BFGS-B",
        bounds=[(0, None), (None, None)],
        options={"ftol": 1e-13, "gtol": 1e-8},
    )
    return found.x, -found.fun


@given(noise_matrices(largest_sum=0.8), st.sampled_from([1.0, 3.0, 10.0]), st.integers(0, 999))
def test_the_optimum_is_that_of_scipy(matrix, slope, seed):
    rows = draw(100, rates_of(matrix), seed, slope=slope, trusted=0.2)
    fitted, _ = fit_lines(count_labels(*rows), rates_of(matrix)[np.newaxis])
    reached = slow_objective(fitted[0], rows, matrix)
    assert reached >= line_of_scipy(rows, matrix)[1] - 0.1  # nats


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.2, 0.2), (0.3, 0.0), (0.6, 0.1)], ids=str)
def test_slope_and_offset_are_those_of_scipy(rates):
    rows = draw(2000, rates, seed=3, n_distinct=MAX_BINS)  # exact: not binned
    fitted, _ = fit_lines(count_labels(*rows), np.array([rates]))
    assert_allclose(fitted[0], line_of_scipy(rows, with_rates(*rates))[0], rtol=0.02)


def test_the_line_that_the_labels_were_drawn_from_is_found():
    scores, labels, weight, trust = draw(3000, (0, 0), seed=0, slope=2.0, offset=-0.5)
    fitted, _ = fit_lines(count_labels(scores, labels, weight, trust), np.zeros((1, 2)))
    assert_allclose(fitted[0], [2.0, -0.5], atol=0.3)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [300, 3000])
@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.2, 0.2), (0.3, 0.0)], ids=str)
def test_the_evidence_is_the_likelihood_integrated_over_lines(rates, n_rows):
    """Over the logarithm of the slope and the offset, on a dense grid; 2π is left out."""
    counts = count_labels(*draw(n_rows, rates, seed=0, n_distinct=60))
    log_slopes, offsets = np.linspace(-2, 3, 150), np.linspace(-4, 6, 150)
    grid = np.stack(np.meshgrid(np.exp(log_slopes), offsets), axis=-1).reshape(-1, 2)
    value, _, _ = _evaluate(counts, np.tile(rates, (len(grid), 1)), grid)
    cell = np.diff(log_slopes)[0] * np.diff(offsets)[0]
    expected = logsumexp(value) + np.log(cell / (2 * np.pi))
    _, evidence = fit_lines(counts, np.array([rates]))
    assert_allclose(evidence[0], expected, atol=0.25)


@given(st.integers(0, 999), noise_matrices())
def test_scores_that_contradict_the_labels_get_no_negative_slope(seed, matrix):
    rows = draw(80, rates_of(matrix), seed, slope=-6.0)
    fitted, evidence = fit_lines(count_labels(*rows), rates_of(matrix)[np.newaxis])
    assert fitted[0, 0] >= 0
    assert np.all(np.isfinite(fitted))
    assert np.all(np.isfinite(evidence))


def test_of_trusted_rows_the_noise_does_not_matter():
    scores, labels, weight, _ = draw(90, (0, 0), seed=1)
    grid = np.array([[0, 0], [0.3, 0.0], [0.0, 0.6], [0.4, 0.4]])
    known = count_labels(scores, labels, weight, np.ones(90))
    fitted, evidence = fit_lines(known, grid)
    clean, of_clean = fit_lines(
        count_labels(scores, labels, weight, np.zeros(90)), np.zeros((1, 2))
    )
    assert_allclose(fitted, np.tile(clean, (4, 1)), rtol=1e-9)
    assert_allclose(evidence, np.tile(of_clean, 4), rtol=1e-9)


# At the start of the search a noise matrix that explains the rarer label as noise is ahead.
@pytest.mark.parametrize(
    ("n_rows", "slope", "offset", "rates"),
    [
        (300, 2.0, 0.0, (0.1, 0.1)),
        (5000, 2.0, 0.0, (0.3, 0.0)),
        (5000, 3.0, 5.0, (0.3, 0.0)),
        (100_000, 2.0, -4.0, (0.1, 0.1)),
    ],
)
def test_many_noise_matrices_at_once_are_fitted_like_each_alone(n_rows, slope, offset, rates):
    counts = count_labels(*draw(n_rows, rates, seed=1, slope=slope, offset=offset))
    grid = np.array([(i, j) for i in np.arange(0, 1, 0.1) for j in np.arange(0, 0.95 - i, 0.1)])
    _, together = fit_lines(counts, grid)
    alone = np.array([fit_lines(counts, point[np.newaxis])[1][0] for point in grid])
    likely = alone > alone.max() - 10
    assert_allclose(together[likely], alone[likely], atol=0.1)
    assert together[~likely].max() < alone.max() - 9


@given(st.integers(1, 2000), st.integers(0, 999), st.sampled_from([None, 1, 3, MAX_BINS]))
def test_binning_preserves_totals(n_rows, seed, n_distinct):
    scores, labels, weight, trust = draw(n_rows, (0.2, 0.1), seed, 1.0, 0.0, 0.3, n_distinct)
    counts = count_labels(scores, labels, weight, trust)
    for k in (0, 1):
        assert_allclose(counts.observed[k].sum(), weight @ ((labels == k) & (trust == 0)))
        assert_allclose(counts.trusted[k].sum(), weight @ ((labels == k) & (trust > 0)))
    mass = counts.observed.sum(axis=0) + counts.trusted.sum(axis=0)
    assert np.all(mass > 0)
    assert_allclose(mass @ counts.scores, weight @ scores, atol=1e-8)
    assert len(counts.scores) <= MAX_BINS
    assert np.all(np.diff(counts.scores) > 0)
    if len(np.unique(scores)) <= MAX_BINS:
        assert_allclose(counts.scores, np.unique(scores))


def test_rows_without_weight_leave_no_bin():
    scores, labels, weight, trust = draw(50, (0.2, 0.1), seed=0)
    kept = np.arange(50) % 3 > 0
    one = count_labels(scores, labels, weight * kept, trust)
    other = count_labels(scores[kept], labels[kept], weight[kept], trust[kept])
    assert_allclose(one.scores, other.scores)
    assert_allclose(one.observed, other.observed)


def test_binning_many_scores_changes_little():
    rates = np.array([[0.2, 0.1]])
    rows = draw(4000, rates[0], seed=0)
    fitted, _ = fit_lines(count_labels(*rows), rates)
    assert_allclose(fitted[0], line_of_scipy(rows, with_rates(*rates[0]))[0], rtol=0.05)
    binned, _, _ = _evaluate(count_labels(*rows), rates, fitted)
    assert_allclose(binned[0], slow_objective(fitted[0], rows, with_rates(*rates[0])), rtol=2e-3)
