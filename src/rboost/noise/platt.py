"""Noise-aware Platt scaling: the posterior of the noise matrix and of the sigmoid of two classes.

The scores s are held out: they are of rows that the scorer was not fitted to, because on its
training rows it explains wrong labels as well as right ones. The true class follows a sigmoid, so
that the observed label follows

    p(ỹ = 1 | s) = γ01 + (1 − γ01 − γ10)·σ(a·s + b),

eq. (3) with the single feature s. On a few hundred rows noise and overlap of the classes look much
alike: the likelihood is flat, and its maximum overestimates the noise. So the rates are integrated
over. Each noise matrix of a grid is weighted by its marginal likelihood, over a and b by Laplace's
approximation, and by the prior probability of its kind of noise. Each keeps its best a and b.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each point of the grid, ``lines`` (n_points, 2)
the slope a and the offset b, ``free`` (n_points, n_free) the coordinates in [0, 1] that a kind of
noise maps to rates. Labels are 0 or 1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from rboost import native
from rboost._typing import Floats
from rboost.noise.matrix import check_noise_matrix, rates_of
from rboost.noise.posterior import UNCHANGED, NoiseAwarePlatt, Steepening

# A smaller total weight of rows cannot tell one steepening from another; scores stay as they are.
MANY_ROWS = 2000
# Strengths of the steepening, tried in this order as long as the marginal likelihood grows.
STRENGTHS = (1.0, 1.5, 2.0)

# --- Binned scores ---

# The largest number of bins of scores; it bounds the cost of the likelihood for tables of any size.
MAX_BINS = 64
# Bin edges are computed from a sample of this many rows, by interpolation between this many of its
# quantiles.
EDGE_ROWS = 16_384
EDGE_QUANTILES = 512
# The distance of two adjacent quantiles counts as at most one over this of the 5 % to 95 % range.
WIDEST = 4
# Scores farther from the median than this many times their 5 % to 95 % range are clipped.
FAR = 10.0
# Error messages for invalid rows, in the order of the enumeration in noise_rows.hpp.
REFUSALS = (
    "",
    "scores must be finite numbers, of at least one row.",
    "labels must be 0 or 1.",
    "trusted must be True or False for every row.",
    "sample_weight must not be negative and must not be 0 for every row.",
)


@dataclass(frozen=True)
class LabelCounts:
    """Weights of observed and of trusted labels in each bin of scores."""

    scores: Floats
    observed: Floats  # (2, n_bins)
    trusted: Floats  # (2, n_bins)

    @property
    def per_bin(self) -> Floats:
        """The total weight of each bin."""
        return self.observed.sum(axis=0) + self.trusted.sum(axis=0)


def bin_rows(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None, trusted: ArrayLike | None
) -> tuple[LabelCounts, float, float]:
    """Bin rows by score, standardised to mean 0 and variance 1; also returns center and spread."""
    score, label = np.asarray(scores), np.asarray(labels)
    others = [None if c is None else np.asarray(c) for c in (sample_weight, trusted)]
    if any(c is not None and c.shape != (len(score),) for c in [score, label, *others]):
        raise ValueError("scores, labels, sample_weight and trusted must have one entry a row.")
    if not len(score):
        raise ValueError(REFUSALS[1])
    score, label = _as_numbers(score), _as_numbers(label)
    weight, trust = (None if c is None else _as_numbers(c) for c in others)
    ordered = sorted_sample(score)
    middle, half, far = _range_of(ordered)
    compiled = native.compiled()
    count = count_labels_slowly if compiled is None else compiled.count_labels
    edges = bin_edges(ordered)
    refusal, totals, moments = count(score, label, weight, trust, edges, middle, half, far)
    if refusal:
        raise ValueError(REFUSALS[refusal])
    mass, first, second = moments.tolist()
    mean = first / mass
    deviation = math.sqrt(max(second / mass - mean**2, 0.0))
    center, spread = middle + half * mean + half * mean, 2 * (half * deviation)
    scale = 1 / deviation if deviation > 0 else 1.0
    if spread <= 1e-12 * max(1.0, abs(center)):  # constant scores: only the offset is identified
        spread, scale = 1.0, 2 * half
    return filled_bins(totals, mean, scale), center, min(spread, sys.float_info.max)


def filled_bins(totals: Floats, mean: float = 0.0, scale: float = 1.0) -> LabelCounts:
    """The bins that are not empty, with the mean score of each, shifted and scaled."""
    totals = totals[totals[:, :4].sum(axis=1) > 0]
    labels = np.ascontiguousarray(totals[:, :4].T)
    scores = totals[:, 4] / totals[:, :4].sum(axis=1)
    return LabelCounts((scores - mean) * scale, labels[:2], labels[2:])


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """The column if the native core can read its type and layout, else a copy as float64."""
    plain = column.dtype.char in "?bBilqfd" and column.dtype.isnative
    if plain and column.strides[0] % column.itemsize == 0:
        return column
    return np.array(column, dtype=np.float64)


def _range_of(ordered: Floats) -> tuple[float, float, float]:
    """The median of scores, half the range they are scaled by, and where they are clipped.

    An outlier carries no more information than a score at the edge of the others. All is computed
    from halves, because the difference of two huge numbers may overflow.
    """
    last = len(ordered) - 1
    places = [0, last // 20, last // 2, last - last // 2, last - last // 20, last]
    least, low, *both, high, most = (float(ordered[place]) / 2 for place in places)
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ValueError(REFUSALS[1])
    middle = both[0] + both[1]
    if high > low:
        return middle, high - low, FAR
    return middle, most - least if most > least else 1.0, math.inf


def sorted_sample(scores: Floats) -> Floats:
    """All scores in order, or a systematic sample of them in large tables."""
    step = len(scores) // EDGE_ROWS
    if step > 1:
        # One row of each ``step``, at a place that varies: the order of rows may be periodic.
        row = np.arange(EDGE_ROWS)
        scores = scores[row * step + row * 2_654_435_761 % step]
    return np.sort(scores).astype(np.float64, copy=False)


def bin_edges(ordered: Floats) -> Floats:
    """Bin edges: between all distinct scores, or of MAX_BINS bins where there are more.

    The loss by binning grows with the square of the width of a bin, so bins of equal counts would
    be too wide in the tails. Widths proportional to density^(−1/4) give rates that are closer to
    those of exact scores with half as many bins.
    """
    new = ordered[1:] > ordered[:-1]
    if np.count_nonzero(new) < MAX_BINS:
        return ordered[1:][new]
    n_rows = len(ordered)
    places = np.arange(min(n_rows, EDGE_QUANTILES))
    if n_rows > EDGE_QUANTILES:
        places = places * (n_rows - 1) // (EDGE_QUANTILES - 1)
    quantiles = ordered[places] / 2  # halves, because differences may overflow
    rows, widths = places[1:] - places[:-1], quantiles[1:] - quantiles[:-1]
    # A gap needs a single edge, whatever its width.
    reach = quantiles[-1 - len(places) // 20] - quantiles[len(places) // 20]
    widest = (reach if reach > 0 else quantiles[-1] - quantiles[0]) / WIDEST
    widths = np.minimum(widths, widest) / widest
    passed = np.zeros(len(places))
    np.cumsum(np.sqrt(widths * np.sqrt(widths * rows)), out=passed[1:])
    edges = 2 * np.interp(np.arange(1, MAX_BINS) * (passed[-1] / MAX_BINS), passed, quantiles)
    return edges[np.append(True, edges[1:] > edges[:-1])]


def count_labels_slowly(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    trusted: NDArray[Any] | None,
    edges: Floats,
    middle: float,
    half_range: float,
    far: float,
) -> tuple[int, Floats, Floats]:
    """Total weights between the edges: the reference of the compiled function.

    Scores are scaled to (score − middle) / (2·half_range) and clipped at ±``far``. Returns the
    position of the error message in ``REFUSALS``, 0 where rows are valid; for each bin the weight
    of observed labels 0 and 1, of trusted labels 0 and 1, and weight times score; and the sums of
    weight, weight times score, and weight times squared score.
    """
    ones, zeros = np.ones(len(scores)), np.zeros(len(scores))
    label = labels.astype(np.float64)
    weight = ones if weights is None else weights.astype(np.float64)
    trust = zeros if trusted is None else trusted.astype(np.float64)
    accepted = (
        np.isfinite(scores).all(),
        np.isin(label, (0, 1)).all(),
        np.isin(trust, (0, 1)).all(),
        not np.any(weight < 0) and 0 < weight.sum() < np.inf,
    )
    if not all(accepted):
        return 1 + accepted.index(False), zeros, np.zeros(3)
    score = np.clip((scores / 2 - middle / 2) / half_range, -far, far)
    bins = np.searchsorted(edges, scores, side="right")
    parts = [(label == k) & (trust == t) for t in (0, 1) for k in (0, 1)]
    totals = [np.bincount(bins, weight * part, len(edges) + 1) for part in [*parts, score]]
    moments = [weight @ score**power for power in (0, 1, 2)]
    return 0, np.column_stack(totals).astype(np.float64, copy=False), np.array(moments)


# --- The sigmoid of each noise matrix ---

# The prior of a line, for scores of unit variance. Slope: uniform in its logarithm, with a Gaussian
# factor of this standard deviation; offset: Gaussian of this standard deviation. Both are wide, and
# matter only where the likelihood is flat: separable, constant or few scores.
SLOPE_SCALE, OFFSET_SCALE = 10.0, 3.0
# The slope at which its log-uniform density is capped, so that the prior stays finite at 0.
SMALLEST_SLOPE = 1e-3
# The largest number of steps of Fisher scoring; about ten are usual, more where a line is hardly
# identified.
MAX_STEPS = 200
# The longest step in slope or offset.
LONGEST_STEP = 10.0
# Fisher scoring stops when a step gains less, in nats.
ENOUGH = 1e-5


def _line_prior() -> tuple[float, float, float, int, float]:
    """The constants of the prior and of the optimiser that the compiled functions are passed."""
    return SLOPE_SCALE, OFFSET_SCALE, SMALLEST_SLOPE, MAX_STEPS, ENOUGH


def fit_lines(counts: LabelCounts, rates: Floats) -> tuple[Floats, Floats]:
    """Slope ≥ 0 and offset for each noise matrix, and the log marginal likelihood of the matrix.

    The likelihood is integrated over slope and offset by Laplace's approximation at their mode. The
    maximum likelihood alone would favour little noise and much overlap: where noise is high the
    slope is less certain, and many steep lines explain the labels nearly as well.

    Fisher scoring, damped until it ascends (Levenberg–Marquardt), for all noise matrices at once,
    from slope 1 and offset 0.
    """
    compiled, start = native.compiled(), np.tile([1.0, 0.0], (len(rates), 1))
    if compiled is None:
        return fit_lines_slowly(counts, rates)
    return compiled.fit_lines(
        counts.scores, counts.observed, counts.trusted, rates, start, _line_prior()
    )


def fit_lines_slowly(counts: LabelCounts, rates: Floats) -> tuple[Floats, Floats]:
    """The reference of the compiled :func:`fit_lines`."""
    lines = np.tile([1.0, 0.0], (len(rates), 1))
    value, gradient, information = _evaluate(counts, rates, lines)
    damping = np.full(len(rates), 1e-3)
    active = np.arange(len(rates))
    for _ in range(MAX_STEPS):
        damped = information[active] * (1 + damping[active, np.newaxis, np.newaxis] * np.eye(2))
        step = np.linalg.solve(damped, gradient[active, :, np.newaxis])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        moved = lines[active] + step * (LONGEST_STEP / np.maximum(longest, LONGEST_STEP))
        moved[:, 0] = np.maximum(moved[:, 0], 0)
        new_value, new_gradient, new_information = _evaluate(counts, rates[active], moved)
        better = new_value >= value[active]
        won = active[better]
        gain = np.where(better, new_value - value[active], np.inf)
        lines[won], value[won] = moved[better], new_value[better]
        gradient[won], information[won] = new_gradient[better], new_information[better]
        damping[active] *= np.where(better, 0.2, 10.0)
        active = active[(gain >= ENOUGH) & (damping[active] <= 1e8)]
        if not len(active):
            break
    slope = np.maximum(lines[:, 0], SMALLEST_SLOPE)
    return lines, value - np.linalg.slogdet(information)[1] / 2 - np.log(slope)


def _evaluate(counts: LabelCounts, rates: Floats, lines: Floats) -> tuple[Floats, Floats, Floats]:
    """Penalised log-likelihood of each line, its gradient and its Fisher information."""
    penalty = 1 / np.array([SLOPE_SCALE, OFFSET_SCALE]) ** 2
    scores = counts.scores
    margins = lines[:, :1] * scores + lines[:, 1:]
    positive, negative = expit(margins), expit(-margins)
    into_1, into_0 = rates[:, :1], rates[:, 1:]
    informative = 1 - into_1 - into_0
    # The floor bounds the cost of a label that is impossible under the model, to 690 nats.
    observed_1 = np.maximum(into_1 + informative * positive, 1e-300)
    observed_0 = np.maximum(into_0 + informative * negative, 1e-300)
    (n_0, n_1), (t_0, t_1) = counts.observed, counts.trusted

    value = np.log(observed_1) @ n_1 + np.log(observed_0) @ n_0
    value += log_expit(margins) @ t_1 + log_expit(-margins) @ t_0
    value -= 0.5 * lines**2 @ penalty
    slope = informative * positive * negative  # of p(ỹ = 1) in the margin
    by_margin = slope * (n_1 / observed_1 - n_0 / observed_0) + t_1 * negative - t_0 * positive
    curvature = (n_0 + n_1) * slope**2 / (observed_0 * observed_1)
    curvature += (t_0 + t_1) * positive * negative
    gradient = np.column_stack([by_margin @ scores, by_margin.sum(axis=1)]) - penalty * lines
    first, mixed, last = curvature @ scores**2, curvature @ scores, curvature.sum(axis=1)
    information = np.stack([first, mixed, mixed, last], axis=-1).reshape(-1, 2, 2)
    return value, gradient, information + np.diag(penalty)


# --- Kinds of noise, and the grid of noise matrices of each ---

# The upper limit of γ01 + γ10; at 1 the labels would be independent of the true class.
LARGEST_SUM = 0.98
# The largest rate of a class that is said not to flip. Its rate is the cube of a uniform number
# times this, a prior that concentrates near 0.
RARE = 0.05
# A point whose log weight is this many nats below the largest is dropped.
NEGLIGIBLE = 8.0


class NoiseKind(NamedTuple):
    """A family of noise matrices: its prior probability, and the map from [0, 1]ⁿ to rates.

    The prior within the family is uniform over [0, 1]ⁿ; ``n_points`` is the number of grid points
    along each coordinate.
    """

    name: str
    mass: float
    n_points: tuple[int, ...]
    rates: Callable[[Floats], Floats]


def _any_rates(free: Floats) -> Floats:
    """Uniform over the triangle γ01, γ10 ≥ 0, γ01 + γ10 ≤ 1."""
    total = np.sqrt(free[:, 0])
    return np.column_stack([total * free[:, 1], total * (1 - free[:, 1])])


def _mostly_one(free: Floats) -> Floats:
    """A rate whose density decreases linearly on [0, 1], beside one that is nearly 0."""
    rate = 1 - np.sqrt(1 - free[:, 0])
    return np.column_stack([rate, np.minimum(RARE * free[:, 1] ** 3, 1 - rate)])


# Noise is mostly of one kind: errors of both classes alike, of one class, or hardly any. Each of
# these has a prior probability that data can overrule; any other pair of rates has the rest. The
# compiled function knows each by its position: the order is that of the enumeration in
# noise_grid.hpp.
KINDS = (
    NoiseKind("hardly any", 0.16, (4, 4), lambda free: RARE * free**3),
    NoiseKind("alike", 0.32, (32,), lambda free: free * [0.5, 0.5]),
    NoiseKind("into 1", 0.09, (32, 6), _mostly_one),
    NoiseKind("into 0", 0.09, (32, 6), lambda free: _mostly_one(free)[:, ::-1]),
    NoiseKind("any", 0.04, (16, 16), _any_rates),
)
# The prior probability of no flips at all: p(ỹ = 1 | s) levels off where it does because the
# columns carry no more information, and labels may be guesses (``FlippedOrGuessed``).
GUESSED = 0.3
# A class with a smaller share of the labels is uncertain everywhere in most tables: the upper level
# of its curve is then a free parameter.
RARE_CLASS = 1 / 3


def overlap(counts: LabelCounts) -> list[NoiseKind]:
    """Curves of p(ỹ = 1 | s) that overlap of the classes explains, without any flip.

    Either both levels are at most ``RARE`` short of 0 and 1; or, where a class is rare, its own
    level is uniform up to √(1 − 3·share of the class) short of certainty.
    """
    share = counts.observed.sum(axis=1) / counts.per_bin.sum()
    reach = np.sqrt(np.maximum(1 - share / RARE_CLASS, 0))
    sure = NoiseKind("sure ends", GUESSED, (4, 4), lambda free: RARE * free**3)
    if not reach.any():
        return [sure]

    def levels(free: Floats) -> Floats:
        ends = RARE * free**3 + (1 - RARE) * reach * free
        return ends / np.maximum(ends.sum(axis=1, keepdims=True), 1)

    n_points = tuple(16 if r > 0 else 4 for r in reach)
    unsure = NoiseKind("unsure of a rare class", GUESSED, n_points, levels)
    return [sure._replace(mass=GUESSED / 2), unsure]


class Grid(NamedTuple):
    """Grid points with their lines, the corners of their cells, and log weights."""

    rates: Floats
    lowest: Floats
    highest: Floats
    lines: Floats
    log_weights: Floats


def explore(kinds: Sequence[NoiseKind], counts: LabelCounts) -> Grid:
    """Grid the noise matrices of all kinds, without those of negligible weight."""
    compiled = native.compiled()
    names = [kind.name for kind in KINDS]
    if compiled is None or any(kind.name not in names for kind in kinds):
        grids = [_explore_slowly(kind, counts) for kind in kinds]
        grid = Grid(*(np.concatenate(parts) for parts in zip(*grids, strict=True)))
        kept = grid.log_weights > grid.log_weights.max() - NEGLIGIBLE
        return Grid(*(part[kept] for part in grid))
    masses = np.array([kind.mass for kind in kinds])
    places = np.array([[names.index(k.name), *k.n_points, 1][:3] for k in kinds], np.int64)
    return Grid(
        *compiled.explore_noise(
            counts.scores, counts.observed, counts.trusted, masses, places,
            LARGEST_SUM, RARE, NEGLIGIBLE, _line_prior(),
        )
    )  # fmt: skip


def _explore_slowly(kind: NoiseKind, counts: LabelCounts) -> Grid:
    """Grid the noise matrices of a kind, and refine the grid around the probable ones."""
    n_points = np.array(kind.n_points)
    low, high = np.zeros(len(n_points)), np.ones(len(n_points))
    while True:
        half = (high - low) / n_points / 2
        axes = [a + h * np.arange(1, 2 * n, 2) for a, h, n in zip(low, half, n_points, strict=True)]
        free = np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])
        rates = LARGEST_SUM * kind.rates(free)
        lines, evidence = fit_lines(counts, rates)
        likely = free[evidence > evidence.max() - NEGLIGIBLE]
        # A margin of two cells on each side: a peak between two points must not be cut off.
        new_low = np.maximum(likely.min(axis=0) - 5 * half, 0)
        new_high = np.minimum(likely.max(axis=0) + 5 * half, 1)
        if np.prod(new_high - new_low) > 0.5 * np.prod(high - low):
            break
        low, high = new_low, new_high
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * len(half)), -1).reshape(-1, len(half))
    corners = [kind.rates(np.clip(free + sign * half, 0, 1)) for sign in signs]
    cells = LARGEST_SUM * np.stack(corners)
    log_weights = evidence + np.log(kind.mass * (np.prod(high - low) / len(free)))
    return Grid(rates, cells.min(axis=0), cells.max(axis=0), lines, log_weights)


# --- The posterior ---


def fit_noise_aware_platt(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    trusted: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoiseAwarePlatt:
    """Infer flips, whose rates depend on the true class alone, and the sigmoid of that class."""
    rows = bin_rows(scores, labels, sample_weight, trusted)
    if noise_matrix is None:
        return _steepest(*rows, lambda own: explore(KINDS, own))[1]
    known = rates_of(check_noise_matrix(noise_matrix, n_classes=2))[np.newaxis]
    return _steepest(*rows, lambda own: Grid(known, known, known, *fit_lines(own, known)))[1]


def read_two_ways(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None, trusted: ArrayLike | None
) -> tuple[NoiseAwarePlatt, NoiseAwarePlatt, float]:
    """Compare flips with overlap of the classes as the cause that labels are never certain.

    Returns the posterior given flips, the curve of the observed labels given overlap, and the
    posterior probability of overlap.
    """
    counts, center, spread = bin_rows(scores, labels, sample_weight, trusted)
    nothing = np.zeros_like(counts.trusted)
    if not counts.trusted.any(axis=1).all():  # selected by class, which tells nothing of the curve
        counts = replace(counts, trusted=nothing)
    of_flips, flipped = _steepest(counts, center, spread, lambda own: explore(KINDS, own))
    # Without flips, observed and trusted labels are draws from the same curve.
    alike = replace(counts, observed=counts.observed + counts.trusted, trusted=nothing)
    of_overlap, curve = _steepest(alike, center, spread, lambda own: explore(overlap(own), own))
    return flipped, curve, float(expit(of_overlap - of_flips))


def _steepest(
    counts: LabelCounts, center: float, spread: float, explored: Callable[[LabelCounts], Grid]
) -> tuple[float, NoiseAwarePlatt]:
    """The log marginal likelihood and the posterior, with the steepening that maximises it."""
    best = _summed_up(explored(counts), center, spread, UNCHANGED)
    per_bin, scores = counts.per_bin, center + spread * counts.scores
    if per_bin.sum() < MANY_ROWS:
        return best
    for strength in STRENGTHS:
        steepening = Steepening(strength, center, spread)
        steeper = steepening(scores)
        middle = float(np.average(steeper, weights=per_bin))
        variance = np.average((steeper - middle) ** 2, weights=per_bin)
        scale = math.sqrt(variance) or 1.0  # constant scores
        standardised = replace(counts, scores=(steeper - middle) / scale)
        found = _summed_up(explored(standardised), middle, scale, steepening)
        if found[0] <= best[0]:
            break  # the marginal likelihood has one peak
        best = found
    return best


def _summed_up(
    grid: Grid, center: float, spread: float, steepening: Steepening
) -> tuple[float, NoiseAwarePlatt]:
    """The log marginal likelihood of a grid, and its posterior in terms of the original scores."""
    largest = grid.log_weights.max()
    weights = np.exp(grid.log_weights - largest)
    slopes = grid.lines[:, 0] / spread
    offsets = grid.lines[:, 1] - slopes * center
    log_evidence = float(largest + math.log(weights.sum()))
    weights /= weights.sum()
    cells = grid.rates, grid.lowest, grid.highest
    return log_evidence, NoiseAwarePlatt(*cells, slopes, offsets, weights, steepening)
