"""A noise matrix as logits, which may be any numbers, so that a solver needs no bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rboost._typing import Floats
from rboost.noise.matrix import keep_informative, rates_of, with_rates

# A rate of 0 has no logarithm.
SMALLEST = 1e-300


@dataclass(frozen=True)
class FlipRates:
    """Two classes: (γ01, γ10, 1 − γ01 − γ10) = softmax(u, v, 0), so that γ01 + γ10 < 1 holds."""

    def matrix(self, logits: Floats) -> Floats:
        """The noise matrix of its logits."""
        return with_rates(*softmax(np.append(logits, 0.0))[:2])

    def logits(self, matrix: Floats) -> Floats:
        """The logits of a noise matrix, pulled back where its rates sum to 1 or more."""
        rates = np.maximum(rates_of(keep_informative(matrix)), SMALLEST)
        return np.log(rates) - np.log(1 - rates.sum())

    def by_logits(self, matrix: Floats, by_noise: Floats) -> Floats:
        """Derivative by the logits of what has this derivative by the entries of the matrix."""
        rates, by_rates = rates_of(matrix), rates_of(by_noise) - np.diag(by_noise)
        return rates * (by_rates - rates @ by_rates)


@dataclass(frozen=True)
class FreeRows:
    """Any number of classes: each row is a softmax in which the diagonal has the logit 0."""

    n_classes: int

    @property
    def _others(self) -> NDArray[np.bool_]:
        return ~np.eye(self.n_classes, dtype=bool)

    def matrix(self, logits: Floats) -> Floats:
        """The noise matrix of its logits."""
        rows = np.zeros((self.n_classes, self.n_classes))
        rows[self._others] = logits
        return softmax(rows, axis=1)

    def logits(self, matrix: Floats) -> Floats:
        """The logits of a noise matrix."""
        logs = np.log(np.maximum(matrix, SMALLEST))
        return (logs - np.diag(logs)[:, np.newaxis])[self._others]

    def by_logits(self, matrix: Floats, by_noise: Floats) -> Floats:
        """Derivative by the logits of what has this derivative by the entries of the matrix."""
        weighed = matrix * by_noise
        return (weighed - matrix * weighed.sum(axis=1, keepdims=True))[self._others]
