"""The likelihood of an observed label when a logistic model describes the true one, eq. (1)–(4).

With margin m, σ₁ = p(y = 1) = σ(m) and σ₀ = σ(−m), and the observed label k has the probability

    P̃ᵏ = γ0k·σ₀ + γ1k·σ₁.        eq. (3)

Where the other class never becomes k, γ being 0 there, P̃ᵏ = γkk·σₖ can be as small as float64 knows
and is kept as a logarithm: without noise this is the ordinary logistic loss and as stable as that.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from rboost._typing import Floats, Integers


def joint_probability(probability: Floats, observed: Integers, noise_matrix: Floats) -> Floats:
    """p(y = j, ỹᵢ | xᵢ) = p(y = j | xᵢ)·γ[j, ỹᵢ], shape (n_rows, n_classes).

    The sum of a row is P̃ of eq. (1). ``observed`` are positions among the classes.
    """
    return probability * noise_matrix.T[observed]


def log_joint_probability(
    log_probability: Floats, observed: Integers, noise_matrix: Floats
) -> Floats:
    """The same in logarithms, for rows so far out that their probabilities would be 0."""
    with np.errstate(divide="ignore"):
        return log_probability + np.log(noise_matrix).T[observed]


def true_posterior(probability: Floats, observed: Integers, noise_matrix: Floats) -> Floats:
    """p(y = j | xᵢ, ỹᵢ), shape (n_rows, n_classes): how likely each class is to be the true one.

    A label that is impossible under the model says nothing, and ``probability`` stays.
    """
    joint = joint_probability(probability, observed, noise_matrix)
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1), probability)


class NoisyLogisticLoss:
    """−(t·log P̃¹ + (1 − t)·log P̃⁰) of each row, eq. (2), with its derivatives.

    Parameters
    ----------
    margin : ndarray of shape (n_rows,)
        Log-odds m of the true class.
    target : ndarray of shape (n_rows,)
        The observed label t, 0 or 1 or, for smoothed labels, between.
    noise_matrix : ndarray of shape (2, 2)
        γ, with γ01 + γ10 < 1.
    """

    def __init__(self, margin: Floats, target: Floats, noise_matrix: Floats) -> None:
        self._target = target
        self._informative = noise_matrix[1, 1] - noise_matrix[0, 1]  # = γ00 − γ10
        self._true = expit(-margin), expit(margin)
        parts = [self._observed(k, margin, noise_matrix) for k in (0, 1)]
        self._log_observed, self._ratio = zip(*parts, strict=True)

    def _observed(self, k: int, margin: Floats, noise_matrix: Floats) -> tuple[Floats, Floats]:
        """log P̃ᵏ and σₖ / P̃ᵏ, eq. (3)."""
        if noise_matrix[1 - k, k] > 0:
            observed = noise_matrix[0, k] * self._true[0] + noise_matrix[1, k] * self._true[1]
            return np.log(observed), self._true[k] / observed
        log_true = log_expit(margin if k == 1 else -margin)
        return np.log(noise_matrix[k, k]) + log_true, np.full_like(margin, 1 / noise_matrix[k, k])

    def loss(self) -> Floats:
        """The loss of each row."""
        log_0, log_1 = self._log_observed
        return -(self._target * log_1 + (1 - self._target) * log_0)

    def by_margin(self) -> Floats:
        """Derivative of each row's loss by its margin, eq. (4)."""
        against = (1 - self._target) * self._true[1] * self._ratio[0]
        return self._informative * (against - self._target * self._true[0] * self._ratio[1])

    def by_rates(self) -> Floats:
        """Derivatives of each row's loss by γ01 and γ10, shape (2, n_rows); infinite at rate 0."""
        observed = [np.exp(log) for log in self._log_observed]
        difference = (1 - self._target) / observed[0] - self._target / observed[1]
        return np.stack([self._true[0] * difference, -self._true[1] * difference])

    def curvature(self) -> Floats:
        """Expected second derivative of each row's loss by its margin, never negative."""
        product = self._true[0] * self._true[1] * self._ratio[0] * self._ratio[1]
        return self._informative**2 * product
