"""The likelihood of an observed label when a logistic model describes the true one, eq. (1)–(4).

With margin m, p(y = 1) = σ(m), and the observed label follows

    P̃¹ = γ11·σ(m) + γ01·σ(−m),    P̃⁰ = γ10·σ(m) + γ00·σ(−m).        eq. (3)

Everything is computed from logarithms: at γ01 = γ10 = 0 it is the ordinary logistic loss and as
stable as that, however large the margin.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from rboost._typing import Floats


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
        log_positive = log_expit(margin)
        self._log_true = log_positive - margin, log_positive  # log σ(−m) = log σ(m) − m
        with np.errstate(divide="ignore"):  # log 0 = −inf is the right answer for a rate of 0
            log_noise = np.log(noise_matrix)
        self._log_observed = tuple(  # eq. (3)
            np.logaddexp(log_noise[0, k] + self._log_true[0], log_noise[1, k] + self._log_true[1])
            if noise_matrix[1 - k, k] > 0  # else there is but one term, and logaddexp is slow
            else log_noise[k, k] + self._log_true[k]
            for k in (0, 1)
        )

    def loss(self) -> Floats:
        """The loss of each row."""
        log_0, log_1 = self._log_observed
        return -(self._target * log_1 + (1 - self._target) * log_0)

    def by_margin(self) -> Floats:
        """Derivative of each row's loss by its margin, eq. (4)."""
        return self._informative * self._label_difference(self._log_true[0] + self._log_true[1])

    def by_rates(self) -> Floats:
        """Derivatives of each row's loss by γ01 and γ10, shape (2, n_rows); infinite at rate 0."""
        return np.stack(
            [
                self._label_difference(self._log_true[0]),
                -self._label_difference(self._log_true[1]),
            ]
        )

    def curvature(self) -> Floats:
        """Expected second derivative of each row's loss by its margin, never negative."""
        log_slope = self._log_true[0] + self._log_true[1]  # dσ/dm = σ(m)·σ(−m)
        log_0, log_1 = self._log_observed
        return self._informative**2 * np.exp(2 * log_slope - log_0 - log_1)

    def _label_difference(self, log_factor: Floats) -> Floats:
        """((1 − t) / P̃⁰ − t / P̃¹)·factor, which every derivative has in common."""
        log_0, log_1 = self._log_observed
        against = (1 - self._target) * np.exp(log_factor - log_0)
        return against - self._target * np.exp(log_factor - log_1)
