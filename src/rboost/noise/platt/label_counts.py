"""Rows as noise-aware Platt scaling sees them: how many of each label have about the same score."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost import native
from rboost._typing import Floats
from rboost.noise.platt.sigmoid import Counts, bin_edges, sorted_sample

# Scores farther from the median than this many times their 5 % to 95 % range are moved there.
FAR = 10.0


def count_rows(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None, trusted: ArrayLike | None
) -> tuple[Counts, float, float]:
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
    last = len(ordered) - 1
    places = [0, last // 20, last // 2, last - last // 2, last - last // 20, last]
    least, low, *both, high, most = (float(ordered[place]) / 2 for place in places)
    if not (math.isfinite(least) and math.isfinite(most)):
        raise ValueError(REFUSALS[1])
    middle = both[0] + both[1]
    # A score far beyond all others says no more than one that is just beyond. Halves, because the
    # difference of two huge numbers may be infinite.
    half, far = high - low, FAR
    if half == 0:
        half, far = most - least, math.inf
    if half == 0:
        half = 1.0
    compiled = native.compiled()
    count = _count_slowly if compiled is None else compiled.count_labels
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
    per_bin = totals[:, :4].sum(axis=1)
    used = per_bin > 0
    totals, per_bin = totals[used], per_bin[used]
    counted = np.ascontiguousarray(totals[:, :4].T)
    counts = Counts((totals[:, 4] / per_bin - mean) * scale, counted[:2], counted[2:])
    return counts, center, min(spread, sys.float_info.max)


# Why rows are refused, in the order of the enumeration in noise_rows.hpp.
REFUSALS = (
    "",
    "scores must be finite numbers, of at least one row.",
    "labels must be 0 or 1.",
    "trusted must be True or False for every row.",
    "sample_weight must not be negative and must not be 0 for every row.",
)


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A column of a type that can be read without a copy, or a copy."""
    plain = column.dtype.char in "?bBilqfd" and column.dtype.isnative
    if plain and column.strides[0] % column.itemsize == 0:
        return column
    return np.array(column, dtype=np.float64)


def _count_slowly(
    scores: NDArray[Any],
    labels: NDArray[Any],
    weights: NDArray[Any] | None,
    trusted: NDArray[Any] | None,
    edges: Floats,
    middle: float,
    half_range: float,
    far: float,
) -> tuple[int, Floats, Floats]:
    """How much of each label lies between the edges; scores count as shares of their range.

    Returns why the rows are refused, if so; then for each bin the weight of observed labels 0 and
    1, that of trusted ones, and weight times score; then weight, weight times score, and times its
    square.
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

    def total(values: Floats) -> Floats:
        found = np.bincount(bins, weight * values, len(edges) + 1)
        return found.astype(np.float64, copy=False)

    parts = [(label == k) & (trust == t) for t in (0, 1) for k in (0, 1)]
    totals = np.column_stack([total(part) for part in [*parts, score]])
    return 0, totals, np.array([weight @ score**power for power in (0, 1, 2)])
