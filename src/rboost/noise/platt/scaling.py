"""Noise-aware Platt scaling: which flips, and which sigmoid, explain the observed labels.

The scores s are of rows that the scorer was not trained on; on its training rows it explains wrong
labels as well as right ones. The true class follows a sigmoid, so the observed label follows

    p(ỹ = 1 | s) = γ01 + (1 − γ01 − γ10)·σ(a·s + b),

eq. (3) with the single feature s. On a few hundred rows noise and overlap of the classes look much
alike, and the likelihood is flat: its maximum overshoots. So the rates are averaged over: each
noise matrix of a grid counts by its evidence, the likelihood integrated over a and b, and by how
plausible its kind is beforehand (``kinds.py``). Each keeps its best a and b.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each point of the grid, ``lines`` (n_points, 2)
slope and offset. Labels are 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from rboost.noise.matrix import check_noise_matrix, rates_of
from rboost.noise.platt.binning import LabelCounts, bin_rows
from rboost.noise.platt.kinds import KINDS, Grid, explore, overlap
from rboost.noise.platt.sigmoid import fit_lines
from rboost.noise.posterior import UNCHANGED, NoiseAwarePlatt, Steepening

# A smaller total weight of rows cannot tell one steepening from another; scores stay as they are.
MANY_ROWS = 2000
# Strengths of the steepening, tried in this order as long as the marginal likelihood grows.
STRENGTHS = (1.0, 1.5, 2.0)


def fit_noise_aware_platt(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    trusted: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoiseAwarePlatt:
    """Infer flips, whose rates depend on the class alone, and the sigmoid of the true class."""
    known = None
    if noise_matrix is not None:
        known = rates_of(check_noise_matrix(noise_matrix, n_classes=2))[np.newaxis]

    def explored(counts: LabelCounts) -> Grid:
        if known is None:
            return explore(KINDS, counts)
        return Grid(known, known, known, *fit_lines(counts, known))

    return _steepest(*bin_rows(scores, labels, sample_weight, trusted), explored)[1]


class Readings(NamedTuple):
    """Labels that level off before they are certain: because they were flipped, or by overlap.

    ``overlap`` has the curve of the observed labels in the second case, whose posterior probability
    is ``overlap_share``.
    """

    flipped: NoiseAwarePlatt
    overlap: NoiseAwarePlatt
    overlap_share: float


def read_two_ways(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
) -> Readings:
    """Infer what the labels of two classes mean: how likely flips are, and which."""
    counts, center, spread = bin_rows(scores, labels, sample_weight, trusted)
    if not counts.trusted.any(axis=1).all():  # picked by their class, so that they say nothing
        counts = replace(counts, trusted=np.zeros_like(counts.trusted))
    of_flips, flipped = _steepest(counts, center, spread, lambda own: explore(KINDS, own))
    # Without flips labels are what the trusted ones are: draws from one curve.
    alike = replace(
        counts, observed=counts.observed + counts.trusted, trusted=np.zeros_like(counts.trusted)
    )
    of_overlap, curve = _steepest(alike, center, spread, lambda own: explore(overlap(own), own))
    return Readings(flipped, curve, float(expit(of_overlap - of_flips)))


def _steepest(
    counts: LabelCounts, center: float, spread: float, explored: Callable[[LabelCounts], Grid]
) -> tuple[float, NoiseAwarePlatt]:
    """The log-evidence for a grid of the scores, made as steep as it asks for, and what follows."""
    best = _summed_up(explored(counts), center, spread, UNCHANGED)
    if counts.per_bin.sum() < MANY_ROWS:
        return best
    for strength in STRENGTHS:
        steepening = Steepening(strength, center, spread)
        steeper, middle, scale = _steepened(counts, steepening, center, spread)
        found = _summed_up(explored(steeper), middle, scale, steepening)
        if found[0] <= best[0]:
            break  # the evidence rises to its largest and falls from there
        best = found
    return best


def _steepened(
    counts: LabelCounts, steepening: Steepening, center: float, spread: float
) -> tuple[LabelCounts, float, float]:
    """Counts of labels by steeper scores, standardised again; center and spread of these."""
    steeper, per_bin = steepening(center + spread * counts.scores), counts.per_bin
    center = float(np.average(steeper, weights=per_bin))
    variance = np.average((steeper - center) ** 2, weights=per_bin)
    spread = math.sqrt(variance) or 1.0  # constant scores
    return replace(counts, scores=(steeper - center) / spread), center, spread


def _summed_up(
    grid: Grid, center: float, spread: float, steepening: Steepening
) -> tuple[float, NoiseAwarePlatt]:
    """The log-evidence of a grid, and what it says of scores, which it has standardised."""
    largest = grid.log_weights.max()
    weights = np.exp(grid.log_weights - largest)
    slopes = grid.lines[:, 0] / spread
    offsets = grid.lines[:, 1] - slopes * center
    log_evidence = float(largest + math.log(weights.sum()))
    weights /= weights.sum()
    return log_evidence, NoiseAwarePlatt(
        grid.rates, grid.lowest, grid.highest, slopes, offsets, weights, steepening
    )
