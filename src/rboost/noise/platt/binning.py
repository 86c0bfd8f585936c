"""Rows as noise-aware Platt scaling sees them: how many of each label have about the same score."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost import native
from rboost._typing import Floats

# Scores are told apart no finer than this; the likelihood then costs the same for any table.
MAX_BINS = 64
# Edges of bins come from this many rows, and are interpolated between so many of their quantiles.
EDGE_ROWS = 16_384
EDGE_QUANTILES = 512
# What lies between two of these quantiles is no wider than this part of their 5 % to 95 % range.
WIDEST = 4
# Scores farther from the median than this many times their 5 % to 95 % range are moved there.
FAR = 10.0
# Why rows are refused, in the order of the enumeration in noise_rows.hpp.
REFUSALS = (
    "",
    "scores must be finite numbers, of at least one row.",
    "labels must be 0 or 1.",
    "trusted must be True or False for every row.",
    "sample_weight must not be negative and must not be 0 for every row.",
)


@dataclass(frozen=True)
class LabelCounts:
    """Rows that share a score, up to binning: how many of each observed and each trusted label."""

    scores: Floats
    observed: Floats  # (2, n_bins)
    trusted: Floats  # (2, n_bins)

    @property
    def per_bin(self) -> Floats:
        """How many rows each bin holds, by weight."""
        return self.observed.sum(axis=0) + self.trusted.sum(axis=0)


def bin_rows(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None, trusted: ArrayLike | None
) -> tuple[LabelCounts, float, float]:
    """Count labels of equal scores, shifted and scaled to mean 0 and variance 1; shift, scale."""
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
    refusal, totals, moments = count(
        score, label, weight, trust, bin_edges(ordered), middle, half, far
    )
    if refusal:
        raise ValueError(REFUSALS[refusal])
    mass, first, second = moments.tolist()
    mean = first / mass
    deviation = math.sqrt(max(second / mass - mean**2, 0.0))
    center, spread = middle + half * mean + half * mean, 2 * (half * deviation)
    scale = 1 / deviation if deviation > 0 else 1.0
    if spread <= 1e-12 * max(1.0, abs(center)):  # constant scores: only the offset means anything
        spread, scale = 1.0, 2 * half
    return filled_bins(totals, mean, scale), center, min(spread, sys.float_info.max)


def filled_bins(totals: Floats, mean: float = 0.0, scale: float = 1.0) -> LabelCounts:
    """The bins that hold rows, with the mean score of each, shifted and scaled."""
    per_bin = totals[:, :4].sum(axis=1)
    used = per_bin > 0
    totals, per_bin = totals[used], per_bin[used]
    labels = np.ascontiguousarray(totals[:, :4].T)
    return LabelCounts((totals[:, 4] / per_bin - mean) * scale, labels[:2], labels[2:])


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A column of a type that can be read without a copy, or a copy."""
    plain = column.dtype.char in "?bBilqfd" and column.dtype.isnative
    if plain and column.strides[0] % column.itemsize == 0:
        return column
    return np.array(column, dtype=np.float64)


def _range_of(ordered: Floats) -> tuple[float, float, float]:
    """The median of scores, half the range by which they are scaled, and how far out they may be.

    A score far beyond all others says no more than one that is just beyond. Halves, because the
    difference of two huge numbers may be infinite.
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
    """How much of each label lies between the edges: what the compiled twin has to find.

    Scores are scaled to (score − middle) / (2·half_range), no farther out than ``far``. Returns why
    the rows are refused, if so; then for each bin the weight of observed labels 0 and 1, that of
    trusted ones, and weight times score; then weight, weight times score, and times its square.
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
