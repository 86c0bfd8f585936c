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
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rboost._typing import Floats
from rboost.noise.matrix import check_noise_matrix, rates_of
from rboost.noise.platt.binning import LabelCounts, bin_rows
from rboost.noise.platt.kinds import KINDS, Grid, explore
from rboost.noise.platt.posterior import NoiseAwarePlatt
from rboost.noise.platt.sigmoid import fit_lines
from rboost.noise.platt.steepening import MANY_ROWS, STRENGTHS, UNCHANGED, Steepening
from rboost.tables import check_flip_counts


def fit_noise_aware_platt(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    trusted: ArrayLike | None = None,
    flip_counts: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoiseAwarePlatt:
    """Infer noise and sigmoid; what :func:`rboost.noise.infer_noise` does for two classes."""
    counts, center, spread = bin_rows(scores, labels, sample_weight, trusted)
    counts = replace(counts, flips=check_flip_counts(flip_counts, n_classes=2))
    known = None
    if noise_matrix is not None:
        known = rates_of(check_noise_matrix(noise_matrix, n_classes=2))[np.newaxis]
    best = _fit_steepened(counts, UNCHANGED, center, spread, known)
    if counts.per_bin.sum() >= MANY_ROWS:
        for strength in STRENGTHS:
            steepening = Steepening(strength, center, spread)
            steeper = _fit_steepened(counts, steepening, center, spread, known)
            if steeper[0] <= best[0]:
                break  # the evidence rises to its largest and falls from there
            best = steeper
    return best[1]


def _fit_steepened(
    counts: LabelCounts,
    steepening: Steepening,
    center: float,
    spread: float,
    known_rates: Floats | None,
) -> tuple[float, NoiseAwarePlatt]:
    """The log-evidence for a steepening, and what follows; ``counts`` has standard scores."""
    if steepening.strength:
        steeper, per_bin = steepening(center + spread * counts.scores), counts.per_bin
        center = float(np.average(steeper, weights=per_bin))
        variance = np.average((steeper - center) ** 2, weights=per_bin)
        spread = math.sqrt(variance) or 1.0  # constant scores
        counts = replace(counts, scores=(steeper - center) / spread)
    if known_rates is None:
        grid = explore(KINDS, counts)
    else:
        lines, evidence = fit_lines(counts, known_rates)
        grid = Grid(known_rates, known_rates, known_rates, lines, evidence)
    largest = grid.log_weights.max()
    weights = np.exp(grid.log_weights - largest)
    slopes = grid.lines[:, 0] / spread
    offsets = grid.lines[:, 1] - slopes * center
    log_evidence = float(largest + math.log(weights.sum()))
    weights /= weights.sum()
    return log_evidence, NoiseAwarePlatt(
        grid.rates, grid.lowest, grid.highest, slopes, offsets, weights, steepening
    )
