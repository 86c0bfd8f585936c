"""What kinds of noise there may be beforehand, and a grid of noise matrices of each kind.

Shapes: ``free`` (n_points, n_free) holds numbers in [0, 1] that a kind has to choose, ``rates``
(n_points, 2) the γ01 and γ10 that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rboost import native
from rboost._typing import Floats
from rboost.noise.platt import sigmoid
from rboost.noise.platt.binning import LabelCounts
from rboost.noise.platt.sigmoid import fit_lines, fit_lines_slowly

# γ01 + γ10 stays below this; at 1 the labels would say nothing.
LARGEST_SUM = 0.98
# A class that is said not to flip may do so up to this rate, but hardly: rates are the cube of a
# uniform number, which prefers small ones.
RARE = 0.05
# A point this many nats less likely than the best one is left out.
NEGLIGIBLE = 8.0


class NoiseKind(NamedTuple):
    """A family of noise matrices: its prior probability, and its rates from numbers in [0, 1].

    ``n_points`` is how many points the grid has in each of these numbers.
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
    """A rate of any size, whose density falls linearly, beside one that is nearly 0."""
    rate = 1 - np.sqrt(1 - free[:, 0])
    return np.column_stack([rate, np.minimum(RARE * free[:, 1] ** 3, 1 - rate)])


# Noise is mostly of one kind: errors of both classes alike, of one class, or hardly any. Each of
# these gets as much belief as data can overrule, any pair of rates gets the rest. The compiled twin
# knows each by its place: the order is that of the enumeration in noise_grid.hpp.
KINDS = (
    NoiseKind("hardly any", 0.16, (4, 4), lambda free: RARE * free**3),
    NoiseKind("alike", 0.32, (32,), lambda free: free * [0.5, 0.5]),
    NoiseKind("into 1", 0.09, (32, 6), _mostly_one),
    NoiseKind("into 0", 0.09, (32, 6), lambda free: _mostly_one(free)[:, ::-1]),
    NoiseKind("any", 0.04, (16, 16), _any_rates),
)
# What is left: no label is flipped for its class alone, and p(ỹ = 1 | s) levels off where it does
# because the columns tell no more (``FlippedOrGuessed``).
GUESSED = 0.3
# A class that is rarer than this is never sure in most tables: the top of its curve is free.
RARE_CLASS = 1 / 3


def overlap(counts: LabelCounts) -> list[NoiseKind]:
    """Curves of p(ỹ = 1 | s) that overlap of the classes explains, without any flip.

    Both ends stay at most a little short of 0 and 1. Or, where a class is rare, it may as well stay
    as far from certain as it is rare: its end is uniform up to √(1 − 3·share of the class).
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
    """Points with their lines, the corners of the cells they stand for, and log weights."""

    rates: Floats
    lowest: Floats
    highest: Floats
    lines: Floats
    log_weights: Floats


def explore(kinds: Sequence[NoiseKind], counts: LabelCounts) -> Grid:
    """Grid the noise matrices of all kinds, without those that are negligible."""
    compiled = native.compiled()
    names = [kind.name for kind in KINDS]
    if compiled is None or any(kind.name not in names for kind in kinds):
        grids = [explore_slowly(kind, counts, fit_lines) for kind in kinds]
        grid = Grid(*(np.concatenate(parts) for parts in zip(*grids, strict=True)))
        kept = grid.log_weights > grid.log_weights.max() - NEGLIGIBLE
        return Grid(*(part[kept] for part in grid))
    masses = np.array([kind.mass for kind in kinds])
    places = np.array([[names.index(k.name), *k.n_points, 1][:3] for k in kinds], np.int64)
    return Grid(
        *compiled.explore_noise(
            counts.scores, counts.observed, counts.trusted, masses, places,
            LARGEST_SUM, RARE, NEGLIGIBLE, sigmoid.line_prior(),
        )
    )  # fmt: skip


def explore_slowly(
    kind: NoiseKind,
    counts: LabelCounts,
    fit: Callable[[LabelCounts, Floats], tuple[Floats, Floats]] = fit_lines_slowly,
) -> Grid:
    """Grid the noise matrices of a kind, finer and finer where they are likely."""
    n_points = np.array(kind.n_points)
    low, high = np.zeros(len(n_points)), np.ones(len(n_points))
    while True:
        half = (high - low) / n_points / 2
        axes = [a + h * np.arange(1, 2 * n, 2) for a, h, n in zip(low, half, n_points, strict=True)]
        free = np.column_stack([axis.ravel() for axis in np.meshgrid(*axes)])
        rates = LARGEST_SUM * kind.rates(free)
        lines, evidence = fit(counts, rates)
        likely = free[evidence > evidence.max() - NEGLIGIBLE]
        # Two cells more on each side: a peak between two points must not be left out.
        new_low = np.maximum(likely.min(axis=0) - 5 * half, 0)
        new_high = np.minimum(likely.max(axis=0) + 5 * half, 1)
        if np.prod(new_high - new_low) > 0.5 * np.prod(high - low):
            volume = np.prod(high - low) / len(free)
            log_weights = evidence + np.log(kind.mass * volume)
            return Grid(rates, *_cells(kind, free, half), lines, log_weights)
        low, high = new_low, new_high


def _cells(kind: NoiseKind, free: Floats, half: Floats) -> tuple[Floats, Floats]:
    """The lowest and the highest rates in the cell around each point."""
    signs = np.stack(np.meshgrid(*[[-1.0, 1.0]] * len(half)), -1).reshape(-1, len(half))
    corners = [kind.rates(np.clip(free + sign * half, 0, 1)) for sign in signs]
    rates = LARGEST_SUM * np.stack(corners)
    return rates.min(axis=0), rates.max(axis=0)
