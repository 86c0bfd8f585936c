"""Gaussian components of weighted rows: estimates, densities, and what EM with them shares.

Shapes, for n rows, d columns and K components:

    X                (n, d)      columns standardised, so that variances near 1 are normal
    responsibility   (n, K)      how much of the weight of a row belongs to a component
    means            (K, d)
    spread           (K, d, d)   covariances Σ, of structure "shared" (all the same) or "separate"
                     (K, d)      their diagonals, of structure "diagonal", where all else is 0

The covariances have a prior that counts as ``prior_rows`` rows of covariance I, the conjugate one
of Fraley & Raftery 2007: Σ_c = (S_c + prior_rows·I) / (N_c + prior_rows) with N_c = Σᵢ rᵢ_c and the
scatter S_c = Σᵢ rᵢ_c·(xᵢ − m_c)(xᵢ − m_c)ᵀ. Hence no component is singular, and EM maximises the
log-likelihood plus ``log_prior``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import warn_not_converged
from rboost.learners.logistic_objective import Columns, columns_of

STRUCTURES = ("shared", "separate", "diagonal")
# Below every weight and variance that matters: keeps 0/0 away when a component has lost all rows.
TINY = 1e-300
# Standardised values beyond this would overflow when squared; they are far away all the same.
FARTHEST = 1e100

State = TypeVar("State")


def scaling_of(X: Floats, sample_weight: Floats) -> Columns:
    """Measure the columns of X."""
    return columns_of(X, sample_weight / sample_weight.sum(), negligible=1e-24)


def standardized(X: Floats, scaling: Columns) -> Floats:
    """Columns of mean 0 and variance 1."""
    with np.errstate(over="ignore"):
        scaled = (X - scaling.mean) / scaling.scale
    return np.clip(scaled, -FARTHEST, FARTHEST)


@dataclass(frozen=True)
class Gaussians:
    """Components with their shares π, means m and covariances Σ, or only their diagonals."""

    shares: Floats
    means: Floats
    spread: Floats

    @property
    def _is_diagonal(self) -> bool:
        return self.spread.ndim == 2

    @property
    def covariances(self) -> Floats:
        """Σ of each component, shape (K, d, d)."""
        if self._is_diagonal:
            return self.spread[:, np.newaxis, :] * np.eye(self.spread.shape[1])
        return self.spread

    @cached_property
    def _whiteners(self) -> Floats:
        """W with WΣWᵀ = I, lower triangular, for each component; its diagonal where Σ is one."""
        try:
            if not self._is_diagonal:
                return np.linalg.inv(np.linalg.cholesky(self.spread))
            if np.all(self.spread > TINY):
                return 1 / np.sqrt(self.spread)
        except np.linalg.LinAlgError:
            pass
        raise ValueError(
            "A covariance matrix is singular: columns depend on each other, or a class has too few "
            "rows; raise shrinkage."
        )

    @cached_property
    def log_determinants(self) -> Floats:
        """log |Σ| of each component."""
        scales = self._whiteners
        if not self._is_diagonal:
            scales = np.diagonal(scales, axis1=1, axis2=2)
        return -2 * np.log(scales).sum(axis=1)

    def distances(self, X: Floats) -> Floats:
        """(x − m)ᵀΣ⁻¹(x − m), shape (n, K)."""
        distances = np.empty((len(X), len(self.means)))
        for c, (mean, whitener) in enumerate(zip(self.means, self._whiteners, strict=True)):
            # Unlike x² − 2xm + m² exact for components of tiny spread.
            whitened = (X - mean) * whitener if self._is_diagonal else (X - mean) @ whitener.T
            distances[:, c] = np.einsum("ij,ij->i", whitened, whitened)
        return distances

    def log_joint(self, X: Floats) -> Floats:
        """log π_c + log N(x; m_c, Σ_c), shape (n, K)."""
        constant = self.log_determinants + X.shape[1] * np.log(2 * np.pi)
        return np.log(np.maximum(self.shares, TINY)) - (self.distances(X) + constant) / 2

    def log_prior(self, prior_rows: float, structure: str) -> float:
        """−½·prior_rows·(tr Σ⁻¹ + log |Σ|), summed over the distinct covariances."""
        distinct = slice(1) if structure == "shared" else slice(None)
        inverse_traces = np.square(self._whiteners).reshape(len(self.means), -1).sum(axis=1)
        terms = inverse_traces + self.log_determinants
        return float(-prior_rows * terms[distinct].sum() / 2)


def expectation(log_joint: Floats) -> tuple[Floats, Floats]:
    """The E step: how each row belongs to the components, and the logarithm of its density."""
    log_density = np.logaddexp.reduce(log_joint, axis=1)
    return np.exp(log_joint - log_density[:, np.newaxis]), log_density


def fit_gaussians(
    X: Floats, responsibility: Floats, prior_rows: float, structure: str
) -> Gaussians:
    """The M step: the most probable components, given how the rows belong to them.

    m_c = Σᵢ rᵢ_c·xᵢ / N_c; a shared Σ sums scatters and weights over components.
    """
    counts = responsibility.sum(axis=0)
    means = responsibility.T @ X / np.maximum(counts, TINY)[:, np.newaxis]
    identity = np.ones(X.shape[1]) if structure == "diagonal" else np.eye(X.shape[1])
    scatters = np.empty((len(means), *identity.shape))
    for c, mean in enumerate(means):
        gaps, weight = X - mean, responsibility[:, c]
        if structure == "diagonal":
            scatters[c] = weight @ np.square(gaps, out=gaps)
        else:
            scatters[c] = (gaps * weight[:, np.newaxis]).T @ gaps
    rows = counts
    if structure == "shared":
        scatters = np.broadcast_to(scatters.sum(axis=0), scatters.shape)
        rows = np.full(len(means), counts.sum())
    total = np.maximum(rows + prior_rows, TINY).reshape(-1, *[1] * identity.ndim)
    spread = (scatters + prior_rows * identity) / total
    # Constant columns say nothing, hence must not tell components apart by their size. One that
    # varies has standardised values of 1 or more; what is left of others is rounding.
    constant = np.flatnonzero(np.abs(X).max(axis=0) < 1e-3)
    spread[(slice(None), *[constant] * identity.ndim)] = 1.0
    return Gaussians(counts / counts.sum(), means, spread)


@dataclass(frozen=True)
class GaussianProblem:
    """What components are fitted to: standardised rows with weights, and the prior."""

    X: Floats
    sample_weight: Floats
    prior_rows: float
    structure: str

    def components(self, responsibility: Floats) -> Gaussians:
        """The components that rows with these responsibilities make up."""
        weighted = self.sample_weight[:, np.newaxis] * responsibility
        return fit_gaussians(self.X, weighted, self.prior_rows, self.structure)

    def objective(self, gaussians: Gaussians, log_density: Floats) -> float:
        """The mean log-density of rows, with the prior."""
        log_prior = gaussians.log_prior(self.prior_rows, self.structure)
        return float((self.sample_weight @ log_density + log_prior) / self.sample_weight.sum())


class EMResult(NamedTuple, Generic[State]):
    """Where an EM algorithm ended, the objective before each step, and whether it had converged."""

    state: State
    objectives: list[float]
    converged: bool


def run_em(
    state: State, step: Callable[[State], tuple[State, float]], max_iter: int, tol: float
) -> EMResult[State]:
    """Repeat a step until the objective grows by no more than ``tol``.

    ``step`` returns the next state, and the objective of the one that it was given.
    """
    objectives: list[float] = []
    for _ in range(max_iter):
        following, objective = step(state)
        objectives.append(objective)
        if len(objectives) > 1 and objective - objectives[-2] <= tol:
            return EMResult(state, objectives, True)
        state = following
    return EMResult(state, objectives, False)


class GaussianClassifier:
    """What classifiers by Gaussian components share once fitted."""

    _scaling: Columns

    def _keep(self, gaussians: Gaussians, result: EMResult[Any]) -> None:
        """Keep the components where EM ended, in the units of X."""
        mean, scale, _ = self._scaling
        self._gaussians, self.n_iter_ = gaussians, len(result.objectives)
        self.means_ = mean + scale * gaussians.means
        self.covariances_ = gaussians.covariances * np.outer(scale, scale)
        if not result.converged:
            warn_not_converged(self, "raise max_iter or tol", stacklevel=5)

    def _log_joint(self, X: Floats) -> Floats:
        """log p(x, component), up to the units of X; shape (n, K)."""
        return self._gaussians.log_joint(standardized(X, self._scaling))
