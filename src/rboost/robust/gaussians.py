"""Gaussian components of weighted rows: estimates, densities, and the climb of an EM algorithm.

Shapes, for n rows, d columns and K components:

    X                (n, d)      columns standardised, so that variances near 1 are normal
    responsibility   (n, K)      how much of the weight of a row belongs to a component
    means            (K, d)
    covariances      (K, d, d)   of structure "shared" (all the same), "separate" or "diagonal"

The covariances have a prior that counts as ``prior_rows`` rows of covariance I, the conjugate one
of Fraley & Raftery 2007. Hence no component is singular, and EM climbs the log-likelihood plus
``log_prior``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rboost._typing import Floats

STRUCTURES = ("shared", "separate", "diagonal")
# Standardised values beyond this would overflow when squared; they are far away all the same.
FARTHEST = 1e100
# Below every share that matters: keeps 0/0 and log 0 away when a component has lost all rows.
TINY = 1e-300

State = TypeVar("State")


class Scaling(NamedTuple):
    """Weighted mean and standard deviation of each column; 1 for those that are constant."""

    mean: Floats
    scale: Floats

    def apply(self, X: Floats) -> Floats:
        """Standardise the columns."""
        with np.errstate(over="ignore"):
            scaled = (X - self.mean) / self.scale
        return np.clip(scaled, -FARTHEST, FARTHEST)


def scaling_of(X: Floats, sample_weight: Floats) -> Scaling:
    """Measure the columns of X."""
    share = sample_weight / sample_weight.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        mean = share @ X
        variance = share @ (X - mean) ** 2
    if not np.all(np.isfinite(variance)):
        raise ValueError(
            f"Column {int(np.argmin(np.isfinite(variance)))} of X holds values too large to "
            "square; divide it by a constant first."
        )
    constant = variance <= 1e-24 * mean**2
    return Scaling(mean, np.sqrt(np.where(constant, 1.0, variance)))


@dataclass(frozen=True)
class Gaussians:
    """Components with their shares π, means m and covariances Σ."""

    shares: Floats
    means: Floats
    covariances: Floats

    @cached_property
    def whiteners(self) -> Floats:
        """W with WΣWᵀ = I, lower triangular, for each component."""
        try:
            roots = np.linalg.cholesky(self.covariances)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "A covariance matrix is singular: columns depend on each other, or a class has "
                "too few rows; raise shrinkage."
            ) from error
        return np.linalg.inv(roots)

    @cached_property
    def log_determinants(self) -> Floats:
        """log |Σ| of each component."""
        return -2 * np.log(np.diagonal(self.whiteners, axis1=1, axis2=2)).sum(axis=1)

    def log_joint(self, X: Floats) -> Floats:
        """log π_c + log N(x; m_c, Σ_c), shape (n, K)."""
        distances = np.empty((len(X), len(self.means)))
        for c, (mean, whitener) in enumerate(zip(self.means, self.whiteners, strict=True)):
            whitened = (X - mean) @ whitener.T
            distances[:, c] = np.einsum("ij,ij->i", whitened, whitened)
        constant = self.log_determinants + X.shape[1] * np.log(2 * np.pi)
        return np.log(np.maximum(self.shares, TINY)) - (distances + constant) / 2

    def log_prior(self, prior_rows: float, structure: str) -> float:
        """−½·prior_rows·(tr Σ⁻¹ + log |Σ|), summed over the distinct covariances."""
        distinct = slice(1) if structure == "shared" else slice(None)
        traces = np.square(self.whiteners[distinct]).sum()
        return float(-prior_rows * (traces + self.log_determinants[distinct].sum()) / 2)


def expectation(log_joint: Floats) -> tuple[Floats, Floats]:
    """The E step: how each row belongs to the components, and the logarithm of its density."""
    log_density = np.logaddexp.reduce(log_joint, axis=1)
    return np.exp(log_joint - log_density[:, np.newaxis]), log_density


def fit_gaussians(
    X: Floats, responsibility: Floats, prior_rows: float, structure: str
) -> Gaussians:
    """The M step: the most probable components, given how the rows belong to them.

    m_c = Σᵢ rᵢ_c·xᵢ / N_c with N_c = Σᵢ rᵢ_c, and Σ_c = (S_c + prior_rows·I) / (N_c + prior_rows)
    with the scatter S_c = Σᵢ rᵢ_c·(xᵢ − m_c)(xᵢ − m_c)ᵀ. A shared Σ sums S_c and N_c over c.
    """
    counts = responsibility.sum(axis=0)
    means = responsibility.T @ X / np.maximum(counts, TINY)[:, np.newaxis]
    scatters = np.empty((len(counts), X.shape[1], X.shape[1]))
    for c, mean in enumerate(means):
        centred = X - mean
        scatters[c] = (centred * responsibility[:, c, np.newaxis]).T @ centred
    rows = counts
    if structure == "shared":
        scatters, rows = np.broadcast_to(scatters.sum(axis=0), scatters.shape), counts.sum()
    prior = prior_rows * np.eye(X.shape[1])
    covariances = (scatters + prior) / np.maximum(
        np.broadcast_to(rows, counts.shape) + prior_rows, TINY
    )[:, np.newaxis, np.newaxis]
    if structure == "diagonal":
        covariances = covariances * np.eye(X.shape[1])
    return Gaussians(counts / counts.sum(), means, covariances)


@dataclass(frozen=True)
class Climb(Generic[State]):
    """Where an EM algorithm ended, the objective before each step, and whether it had converged."""

    state: State
    objectives: list[float]
    converged: bool


def climb(
    state: State, step: Callable[[State], tuple[State, float]], max_iter: int, tol: float
) -> Climb[State]:
    """Repeat a step until the objective grows by no more than ``tol``.

    ``step`` returns the next state, and the objective of the one that it was given.
    """
    objectives: list[float] = []
    for _ in range(max_iter):
        following, objective = step(state)
        objectives.append(objective)
        if len(objectives) > 1 and objective - objectives[-2] <= tol:
            return Climb(state, objectives, True)
        state = following
    return Climb(state, objectives, False)
