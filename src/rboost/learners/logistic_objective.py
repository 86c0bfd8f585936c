"""What robust logistic regression minimises: the noisy logistic loss, eq. (2)–(4).

The mean over rows of −log p(ỹᵢ | xᵢ), plus ‖coef‖² / (2·C·Σ sample_weight). Parameters are packed
into one vector (direction, level, u, v):

    direction   the coefficients, for columns scaled to unit variance
    level       the margin at the column means; absent without an intercept
    u, v        the flip rates: (γ01, γ10, 1 − γ01 − γ10) = softmax(u, v, 0), so that γ01 + γ10 < 1
                holds by construction; absent when the noise matrix is fixed

Centring and scaling make the problem well conditioned whatever the units of the columns; they act
on the parameters, never on X, which may be sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import softmax

from rboost._typing import Floats
from rboost.noise.likelihood import NoisyLogisticLoss


def rates_to_matrix(rates: Floats) -> Floats:
    """Build the noise matrix from (γ01, γ10)."""
    return np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])


class Columns(NamedTuple):
    """Weighted mean and standard deviation of each column of X; 1 for those that are constant."""

    mean: Floats
    scale: Floats
    constant: NDArray[np.bool_]


@dataclass(frozen=True)
class NoisyLogisticObjective:
    """The objective as a function of the packed parameters.

    ``fixed_noise`` is the noise matrix when it is known, None when it is to be estimated.
    """

    X: Any
    observed: Floats
    sample_weight: Floats
    C: float | None
    fit_intercept: bool
    fixed_noise: Floats | None

    @property
    def n_linear(self) -> int:
        """Number of parameters before the flip rates: coefficients and intercept."""
        return int(self.X.shape[1]) + self.fit_intercept

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of the rows."""
        return float(self.sample_weight.sum())

    @cached_property
    def share(self) -> Floats:
        """The weight of each row as a share of the total."""
        return self.sample_weight / self.weight_sum

    @cached_property
    def penalty(self) -> float:
        """Factor on ½·‖coef‖²."""
        return 0.0 if self.C is None else 1 / (self.C * self.weight_sum)

    @cached_property
    def columns(self) -> Columns:
        """What the parameters are centred and scaled by."""
        mean = self.X.T @ self.share
        with np.errstate(over="ignore"):
            if sparse.issparse(self.X):
                variance = self.X.multiply(self.X).T @ self.share - mean**2
            else:
                variance = self.share @ (self.X - mean) ** 2
            if not np.all(np.isfinite(variance)):
                raise ValueError(
                    f"Column {int(np.argmin(np.isfinite(variance)))} of X holds values too large "
                    "to square; divide it by a constant first."
                )
            constant = variance <= 1e-12 * mean**2
        return Columns(mean, np.sqrt(np.where(constant, 1.0, variance)), constant)

    def linear_model(self, linear: Floats) -> tuple[Floats, float]:
        """Coefficients and intercept in the units of X."""
        mean, scale, _ = self.columns
        coef = linear[: self.X.shape[1]] / scale
        return coef, float(linear[-1] - mean @ coef) if self.fit_intercept else 0.0

    def margins(self, linear: Floats) -> Floats:
        """βᵀxᵢ of each row; linear in ``linear``."""
        coef, intercept = self.linear_model(linear)
        return self.X @ coef + intercept

    def linear_gradient(self, by_margin: Floats, coef: Floats) -> Floats:
        """Gradient by coefficients and intercept of a loss, given that by margins, and penalty."""
        mean, scale, _ = self.columns
        by_coef = self.X.T @ by_margin + self.penalty * coef
        if not self.fit_intercept:
            return by_coef / scale
        total = by_margin.sum()
        return np.append((by_coef - mean * total) / scale, total)

    def noise_matrix(self, parameters: Floats) -> Floats:
        """The noise matrix, fixed or packed into the parameters."""
        if self.fixed_noise is not None:
            return self.fixed_noise
        return rates_to_matrix(softmax(np.append(parameters[self.n_linear :], 0.0))[:2])

    def at(self, parameters: Floats) -> Point:
        """Evaluate the objective."""
        return Point(self, parameters, self.noise_matrix(parameters))


@dataclass(frozen=True)
class Point:
    """The objective and its derivatives at one value of the packed parameters."""

    objective: NoisyLogisticObjective
    parameters: Floats
    noise_matrix: Floats

    def moved(self, step: Floats) -> Point:
        """The point a step of coefficients and intercept away; the flip rates stay."""
        parameters = self.parameters.copy()
        parameters[: len(step)] += step
        return Point(self.objective, parameters, self.noise_matrix)

    @cached_property
    def _coef(self) -> Floats:
        return self.objective.linear_model(self._linear)[0]

    @property
    def _linear(self) -> Floats:
        return self.parameters[: self.objective.n_linear]

    @cached_property
    def margins(self) -> Floats:
        """βᵀxᵢ of each row."""
        return self.objective.margins(self._linear)

    @cached_property
    def _rows(self) -> NoisyLogisticLoss:
        return NoisyLogisticLoss(self.margins, self.objective.observed, self.noise_matrix)

    @cached_property
    def value(self) -> float:
        """The objective."""
        penalty = 0.5 * self.objective.penalty * (self._coef @ self._coef)
        return float(self.objective.share @ self._rows.loss() + penalty)

    @cached_property
    def linear_gradient(self) -> Floats:
        """Gradient by coefficients and intercept, eq. (4)."""
        by_margin = self.objective.share * self._rows.by_margin()
        return self.objective.linear_gradient(by_margin, self._coef)

    @cached_property
    def gradient(self) -> Floats:
        """Gradient by all packed parameters."""
        if self.objective.fixed_noise is not None:
            return self.linear_gradient
        rates = np.array([self.noise_matrix[0, 1], self.noise_matrix[1, 0]])
        by_rates = self._rows.by_rates() @ self.objective.share
        by_logits = rates * (by_rates - rates @ by_rates)  # through the softmax
        return np.concatenate([self.linear_gradient, by_logits])

    def curvature(self, direction: Floats) -> float:
        """Expected second derivative along a change of coefficients and intercept."""
        change = self.objective.margins(direction)
        coef, _ = self.objective.linear_model(direction)
        curvature = self.objective.share * self._rows.curvature()
        return float(curvature @ change**2 + self.objective.penalty * (coef @ coef))
