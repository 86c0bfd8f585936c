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
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import softmax

from rboost.noise.likelihood import NoisyLogisticLoss
from rboost.noise.matrix import Floats


def rates_to_matrix(rates: Floats) -> Floats:
    """Build the noise matrix from (γ01, γ10)."""
    return np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])


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
    def n_features(self) -> int:
        """Number of columns of X."""
        return int(self.X.shape[1])

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of the rows."""
        return float(self.sample_weight.sum())

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Weighted mean and standard deviation of each column; constant columns get 1."""
        share = self.sample_weight / self.weight_sum
        mean = np.asarray(self.X.T @ share).ravel()
        if sparse.issparse(self.X):
            variance = np.asarray(self.X.multiply(self.X).T @ share).ravel() - mean**2
        else:
            variance = share @ (self.X - mean) ** 2
        constant = variance <= 1e-12 * (mean**2 + 1e-300)
        return mean, np.sqrt(np.where(constant, 1.0, variance))

    def unpack(self, parameters: Floats) -> tuple[Floats, float, Floats]:
        """Return the coefficients and the intercept in the units of X, and the noise matrix."""
        mean, scale = self._moments
        coef = parameters[: self.n_features] / scale
        intercept = float(parameters[self.n_features] - mean @ coef) if self.fit_intercept else 0.0
        if self.fixed_noise is not None:
            return coef, intercept, self.fixed_noise
        return coef, intercept, rates_to_matrix(softmax(np.append(parameters[-2:], 0.0))[:2])

    def margin(self, parameters: Floats) -> Floats:
        """βᵀxᵢ for each row."""
        coef, intercept, _ = self.unpack(parameters)
        return self.X @ coef + intercept

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient with respect to the packed parameters."""
        mean, scale = self._moments
        coef, intercept, noise_matrix = self.unpack(parameters)
        rows = NoisyLogisticLoss(self.X @ coef + intercept, self.observed, noise_matrix)
        share = self.sample_weight / self.weight_sum
        penalty = 0.0 if self.C is None else 1 / (self.C * self.weight_sum)
        value = share @ rows.loss() + 0.5 * penalty * (coef @ coef)

        residual = share * rows.by_margin()
        by_coef = np.asarray(self.X.T @ residual).ravel() + penalty * coef  # eq. (4)
        gradient = [by_coef / scale]
        if self.fit_intercept:
            total = residual.sum()
            gradient = [(by_coef - mean * total) / scale, np.array([total])]
        if self.fixed_noise is None:
            rates = np.array([noise_matrix[0, 1], noise_matrix[1, 0]])
            by_rates = rows.by_rates() @ share
            gradient.append(rates * (by_rates - rates @ by_rates))  # through the softmax
        return float(value), np.concatenate(gradient)
