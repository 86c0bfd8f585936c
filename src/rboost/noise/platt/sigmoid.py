"""Sigmoids seen through noise: slope and offset for many noise matrices at once.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each noise matrix, ``lines`` (n_points, 2) the
slope a and the offset b of p(y = 1 | s) = σ(a·s + b). Scores have mean 0 and variance 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from rboost import native
from rboost._typing import Floats

# Scores are told apart no finer than this; the likelihood then costs the same for any table.
MAX_BINS = 64
# Edges of bins come from this many rows, and are interpolated between so many of their quantiles.
EDGE_ROWS = 16_384
EDGE_QUANTILES = 512
# What lies between two of these quantiles is no wider than this part of their 5 % to 95 % range.
WIDEST = 4
# The prior of a line, for scores of unit variance: a slope of any order of magnitude, its logarithm
# being uniform, but hardly above this; a Gaussian offset of this size. They decide only where the
# likelihood does not: separable, constant or few scores.
SLOPE_SCALE, OFFSET_SCALE = 10.0, 3.0
SMALLEST_SLOPE = 1e-3
# Fisher scoring takes about ten steps, more where a line is hardly determined.
MAX_STEPS = 200
LONGEST_STEP = 10.0
# A line is good enough when a step gains no more nats.
ENOUGH = 1e-5


def line_prior() -> tuple[float, float, float, int, float]:
    """What the compiled twin has to know of this module."""
    return SLOPE_SCALE, OFFSET_SCALE, SMALLEST_SLOPE, MAX_STEPS, ENOUGH


@dataclass(frozen=True)
class Counts:
    """Rows that share a score, up to binning: how many of each observed and each trusted label."""

    scores: Floats
    observed: Floats  # (2, n_bins)
    trusted: Floats  # (2, n_bins)
    # How many labels k were checked and turned out as j, where trusted rows had a label before.
    flips: Floats | None = None  # (2, 2)


def sorted_sample(scores: Floats) -> Floats:
    """All scores in order, or some of them where there are very many."""
    step = len(scores) // EDGE_ROWS
    if step > 1:
        # One row of each ``step``, but not always the first: rows may come in periods.
        row = np.arange(EDGE_ROWS)
        scores = scores[row * step + row * 2_654_435_761 % step]
    return np.sort(scores).astype(np.float64, copy=False)


def bin_edges(ordered: Floats) -> Floats:
    """Where to tell scores apart: each distinct one, or MAX_BINS bins where there are too many.

    What a bin loses grows with the square of its width, so bins of the same number of rows would
    be too wide in the tails. Bins as wide as (1 / density)^(1/4) keep the rates closer to those
    of exact scores with half as many bins.
    """
    new = ordered[1:] > ordered[:-1]
    if np.count_nonzero(new) < MAX_BINS:
        return ordered[1:][new]
    n_rows = len(ordered)
    places = np.arange(min(n_rows, EDGE_QUANTILES))
    if n_rows > EDGE_QUANTILES:
        places = places * (n_rows - 1) // (EDGE_QUANTILES - 1)
    quantiles = ordered[places] / 2  # halves, because differences must not be infinite
    rows, widths = places[1:] - places[:-1], quantiles[1:] - quantiles[:-1]
    # A gap needs one edge, however wide it is.
    reach = quantiles[-1 - len(places) // 20] - quantiles[len(places) // 20]
    widest = (reach if reach > 0 else quantiles[-1] - quantiles[0]) / WIDEST
    widths = np.minimum(widths, widest) / widest
    passed = np.zeros(len(places))
    np.cumsum(np.sqrt(widths * np.sqrt(widths * rows)), out=passed[1:])
    edges = 2 * np.interp(np.arange(1, MAX_BINS) * (passed[-1] / MAX_BINS), passed, quantiles)
    new = edges[1:] > edges[:-1]
    return edges if new.all() else np.append(edges[:1], edges[1:][new])


def count_labels(scores: Floats, labels: Floats, weight: Floats, trusted: Floats) -> Counts:
    """Bin the scores where there are too many different ones."""
    edges = bin_edges(sorted_sample(scores))
    bins = np.searchsorted(edges, scores, side="right")
    n_bins = len(edges) + 1

    def total(values: Floats) -> Floats:
        return np.bincount(bins, weight * values, n_bins).astype(np.float64, copy=False)

    mass = total(np.ones_like(scores))
    used = mass > 0
    observed, known = (
        np.stack([total(rows * (labels == k)) for k in (0, 1)]) for rows in (1 - trusted, trusted)
    )
    return Counts(total(scores)[used] / mass[used], observed[:, used], known[:, used])


def fit_lines(counts: Counts, rates: Floats) -> tuple[Floats, Floats]:
    """Slope ≥ 0 and offset for each noise matrix, and the log-evidence for the noise matrix.

    The evidence is the likelihood integrated over slope and offset, by Laplace's approximation at
    the best of them. A single best line would favour little noise and much overlap: where noise is
    high the slope is known less well, and many steep lines explain the labels nearly as well.

    Fisher scoring, damped until it ascends (Levenberg–Marquardt), for all noise matrices at once. A
    noise matrix is done when its step gains nothing.
    """
    compiled = native.compiled()
    if compiled is None:
        return fit_lines_slowly(counts, rates)
    start = np.zeros((len(rates), 2))
    start[:, 0] = 1.0
    found: tuple[Floats, Floats] = compiled.fit_lines(
        counts.scores, counts.observed, counts.trusted, rates, start, line_prior()
    )
    return found


def fit_lines_slowly(counts: Counts, rates: Floats) -> tuple[Floats, Floats]:
    """What :func:`fit_lines` has to find."""
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


def _evaluate(counts: Counts, rates: Floats, lines: Floats) -> tuple[Floats, Floats, Floats]:
    """Penalised log-likelihood of each line, its gradient and its expected curvature."""
    penalty = 1 / np.array([SLOPE_SCALE, OFFSET_SCALE]) ** 2
    scores = counts.scores
    margins = lines[:, :1] * scores + lines[:, 1:]
    positive, negative = expit(margins), expit(-margins)
    into_1, into_0 = rates[:, :1], rates[:, 1:]
    informative = 1 - into_1 - into_0
    # The floor stands for a row that the model rules out; it costs 690 nats, not infinitely many.
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
