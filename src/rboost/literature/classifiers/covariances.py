"""How Gaussian components spread: full covariance matrices, or variances without correlations.

Shapes, for n rows, d columns and K components:

    X                (n, d)
    responsibility   (n, K)      how much of the weight of a row belongs to a component
    means            (K, d)
    matrices         (K, d, d)   Σ of each component
    diagonals        (K, d)      the diagonal of each Σ, where all else is 0

Both kinds answer the same questions. The most probable Σ_c has the prior of ``prior_rows`` rows of
covariance I: Σ_c = (S_c + prior_rows·I) / (N_c + prior_rows) with N_c = Σᵢ rᵢ_c and the scatter
S_c = Σᵢ rᵢ_c·(xᵢ − m_c)(xᵢ − m_c)ᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from rboost._typing import Floats, Integers

# Below every weight and variance that matters: keeps 0/0 away when a component has lost all rows.
TINY = 1e-300
SINGULAR = (
    "A covariance matrix is singular: columns depend on each other, or a class has too few rows; "
    "raise shrinkage."
)


def _constant(X: Floats) -> Integers:
    """Columns that say nothing, hence must not tell components apart by their size.

    A standardised column that varies has values of 1 or more; what is left of others is rounding.
    """
    return np.flatnonzero(np.abs(X).max(axis=0) < 1e-3)


@dataclass(frozen=True)
class Covariances:
    """A covariance matrix for each component, or the same one for all."""

    matrices: Floats

    @classmethod
    def fit(
        cls, X: Floats, responsibility: Floats, means: Floats, prior_rows: float, shared: bool
    ) -> Self:
        """The most probable matrices; a shared one sums scatters and weights over components."""
        rows = responsibility.sum(axis=0)
        scatters = np.empty((len(means), X.shape[1], X.shape[1]))
        for c, mean in enumerate(means):
            centred = X - mean
            scatters[c] = (centred * responsibility[:, c, np.newaxis]).T @ centred
        if shared:
            scatters = np.broadcast_to(scatters.sum(axis=0), scatters.shape)
            rows = np.full(len(means), rows.sum())
        total = np.maximum(rows + prior_rows, TINY)[:, np.newaxis, np.newaxis]
        matrices = (scatters + prior_rows * np.eye(X.shape[1])) / total
        constant = _constant(X)
        matrices[:, constant, constant] = 1.0
        return cls(matrices)

    @cached_property
    def whiteners(self) -> Floats:
        """W with WΣWᵀ = I, lower triangular, for each component."""
        try:
            roots = np.linalg.cholesky(self.matrices)
        except np.linalg.LinAlgError as error:
            raise ValueError(SINGULAR) from error
        return np.linalg.inv(roots)

    @cached_property
    def log_determinants(self) -> Floats:
        """log |Σ| of each component."""
        return -2 * np.log(np.diagonal(self.whiteners, axis1=1, axis2=2)).sum(axis=1)

    @property
    def inverse_traces(self) -> Floats:
        """tr Σ⁻¹ of each component."""
        return np.square(self.whiteners).sum(axis=(1, 2))

    def distances(self, X: Floats, means: Floats) -> Floats:
        """(x − m)ᵀΣ⁻¹(x − m), shape (n, K)."""
        distances = np.empty((len(X), len(means)))
        for c, (mean, whitener) in enumerate(zip(means, self.whiteners, strict=True)):
            whitened = (X - mean) @ whitener.T
            distances[:, c] = np.einsum("ij,ij->i", whitened, whitened)
        return distances


@dataclass(frozen=True)
class Variances:
    """The variance of each column in each component, without correlations."""

    diagonals: Floats

    @classmethod
    def fit(cls, X: Floats, responsibility: Floats, means: Floats, prior_rows: float) -> Self:
        """The most probable variances."""
        rows = responsibility.sum(axis=0)
        scatters = np.empty_like(means)
        for c, mean in enumerate(means):
            scatters[c] = responsibility[:, c] @ _squared_gaps(X, mean)
        diagonals = (scatters + prior_rows) / np.maximum(rows + prior_rows, TINY)[:, np.newaxis]
        diagonals[:, _constant(X)] = 1.0
        return cls(diagonals)

    @property
    def matrices(self) -> Floats:
        """The variances as covariance matrices."""
        return self.diagonals[:, np.newaxis, :] * np.eye(self.diagonals.shape[1])

    @cached_property
    def _precisions(self) -> Floats:
        if np.any(self.diagonals <= TINY):
            raise ValueError(SINGULAR)
        return 1 / self.diagonals

    @cached_property
    def log_determinants(self) -> Floats:
        """log |Σ| of each component."""
        return -np.log(self._precisions).sum(axis=1)

    @property
    def inverse_traces(self) -> Floats:
        """tr Σ⁻¹ of each component."""
        return self._precisions.sum(axis=1)

    def distances(self, X: Floats, means: Floats) -> Floats:
        """(x − m)ᵀΣ⁻¹(x − m), shape (n, K)."""
        distances = np.empty((len(X), len(means)))
        for c, (mean, precision) in enumerate(zip(means, self._precisions, strict=True)):
            distances[:, c] = _squared_gaps(X, mean) @ precision
        return distances


def _squared_gaps(X: Floats, mean: Floats) -> Floats:
    """(x − m)² of each value; unlike x² − 2xm + m² it is exact for components of tiny spread."""
    gaps = X - mean
    return np.square(gaps, out=gaps)
