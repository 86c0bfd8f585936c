"""The joint model of K classes: calibrated scores, and labels that are flipped copies.

The true class follows a softmax of calibrated scores, the observed label is a flipped copy,

    F = M·(s ∘ z) + b,   p = softmax(F),   p(ỹ = k) = Σ_j p_j·T_jk,   T = I' + Σ_m r_m·D_m.

z are the scores, s > 0 a slope for each class, b an offset for each. M = I − Σ_u o_u·d_u·d_uᵀ with
d_u = e_j − e_k pulls the scores of two classes that overlap towards each other: at o_u = ½ the
scores do not tell them apart. Without slopes and overlaps of their own, classes that the scores
cannot separate would look like flipped labels.

Parameters are one vector θ = (log slope of all classes, deviations of single ones, offsets b,
overlaps o, rates r), Gaussian beforehand but for the rates.

Shapes: ``scores`` (n_rows, K), ``observed`` (n_rows,).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rboost._typing import Floats, Integers
from rboost.noise.classes.kinds import Kind

# Standard deviations beforehand: of the log slope around its center, of deviations of single
# classes from it, of offsets, and of overlaps.
SLOPE_CENTER, SLOPE_SCALE, CLASS_SCALE = float(np.log(3.0)), 1.5, 0.5
OFFSET_SCALE, OVERLAP_SCALE = 2.0, 0.25
LARGEST_OVERLAP = 0.5


@dataclass(frozen=True, eq=False)
class Rows:
    """Standardised scores with labels and weights; labels of ``trusted`` rows are right."""

    scores: Floats
    observed: Integers
    weight: Floats
    trusted: NDArray[np.bool_]
    overlapping: Integers  # (n_overlaps, 2): pairs of classes that may overlap

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.scores.shape[1]

    def sample(self, n_rows: int) -> Rows:
        """So many rows from everywhere, the same ones each time, and all that are trusted."""
        if len(self) <= n_rows:
            return self
        drawn = np.random.RandomState(0).permutation(len(self))[:n_rows]
        rows = np.union1d(drawn, np.flatnonzero(self.trusted))
        return Rows(
            self.scores[rows], self.observed[rows], self.weight[rows], self.trusted[rows],
            self.overlapping,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each kind of parameter stands in θ, and what is known of it beforehand."""

    n_classes: int
    overlapping: Integers
    kind: Kind

    @property
    def deviations(self) -> slice:
        """Deviations of single classes' log slopes."""
        return slice(1, 1 + self.n_classes)

    @property
    def offsets(self) -> slice:
        """One offset for each class."""
        return slice(1 + self.n_classes, 1 + 2 * self.n_classes)

    @property
    def overlaps(self) -> slice:
        """One number for each pair that may overlap."""
        return slice(1 + 2 * self.n_classes, self.n_calibration)

    @property
    def rates(self) -> slice:
        """The rates of the kind of noise."""
        return slice(self.n_calibration, self.n_calibration + self.kind.n_rates)

    @property
    def n_calibration(self) -> int:
        """How many parameters do not belong to the noise."""
        return 1 + 2 * self.n_classes + len(self.overlapping)

    @cached_property
    def precision(self) -> Floats:
        """One over the variance of each parameter beforehand; 0 for rates, which fit.py knows."""
        scales = np.concatenate([
            [SLOPE_SCALE], np.full(self.n_classes, CLASS_SCALE),
            np.full(self.n_classes, OFFSET_SCALE), np.full(len(self.overlapping), OVERLAP_SCALE),
        ])  # fmt: skip
        return np.concatenate([scales**-2.0, np.zeros(self.kind.n_rates)])

    @cached_property
    def center(self) -> Floats:
        """The most plausible value of each parameter beforehand."""
        center = np.zeros(len(self.precision))
        center[0] = SLOPE_CENTER
        return center

    @cached_property
    def differences(self) -> Floats:
        """d_u of each overlap, shape (n_overlaps, K)."""
        found = np.zeros((len(self.overlapping), self.n_classes))
        number = np.arange(len(found))
        found[number, self.overlapping[:, 0]] = 1.0
        found[number, self.overlapping[:, 1]] = -1.0
        return found

    def clip(self, parameters: Floats) -> Floats:
        """Pull overlaps and rates back to what they may be."""
        clipped = parameters.copy()
        clipped[self.rates] = np.clip(clipped[self.rates], 0.0, 0.99 * self.kind.largest)
        overlaps = clipped[self.overlaps]
        clipped[self.overlaps] = np.clip(overlaps, -LARGEST_OVERLAP, LARGEST_OVERLAP)
        return clipped

    def noise_matrix(self, parameters: Floats) -> Floats:
        """T = I' + Σ_m r_m·D_m."""
        flips = np.tensordot(parameters[self.rates], self.kind.directions, 1)
        return self.kind.origin + flips

    def stretched(self, parameters: Floats, scores: Floats) -> Floats:
        """s ∘ z of each row."""
        return scores * np.exp(parameters[0] + parameters[self.deviations])

    def mixing(self, parameters: Floats) -> Floats:
        """M, which pulls overlapping classes towards each other."""
        pulled = (self.differences.T * parameters[self.overlaps]) @ self.differences
        return np.eye(self.n_classes) - pulled

    def true_probability(self, parameters: Floats, scores: Floats) -> Floats:
        """p(y = j) of each row."""
        calibrated = self.stretched(parameters, scores) @ self.mixing(parameters)
        return softmax(calibrated + parameters[self.offsets], axis=1)
