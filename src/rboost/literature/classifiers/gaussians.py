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
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from rboost._typing import Floats
from rboost.learners.logistic_objective import columns_of
from rboost.literature.classifiers.covariances import TINY, Covariances, Variances

STRUCTURES = ("shared", "separate", "diagonal")
# Standardised values beyond this would overflow when squared; they are far away all the same.
FARTHEST = 1e100

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
    mean, scale, _ = columns_of(X, sample_weight / sample_weight.sum(), negligible=1e-24)
    return Scaling(mean, scale)


@dataclass(frozen=True)
class Gaussians:
    """Components with their shares π, means m and covariances Σ."""

    shares: Floats
    means: Floats
    spread: Covariances | Variances

    @property
    def covariances(self) -> Floats:
        """Σ of each component, shape (K, d, d)."""
        return self.spread.matrices

    def log_joint(self, X: Floats) -> Floats:
        """log π_c + log N(x; m_c, Σ_c), shape (n, K)."""
        distances = self.spread.distances(X, self.means)
        constant = self.spread.log_determinants + X.shape[1] * np.log(2 * np.pi)
        return np.log(np.maximum(self.shares, TINY)) - (distances + constant) / 2

    def log_prior(self, prior_rows: float, structure: str) -> float:
        """−½·prior_rows·(tr Σ⁻¹ + log |Σ|), summed over the distinct covariances."""
        distinct = slice(1) if structure == "shared" else slice(None)
        terms = self.spread.inverse_traces + self.spread.log_determinants
        return float(-prior_rows * terms[distinct].sum() / 2)


def expectation(log_joint: Floats) -> tuple[Floats, Floats]:
    """The E step: how each row belongs to the components, and the logarithm of its density."""
    log_density = np.logaddexp.reduce(log_joint, axis=1)
    return np.exp(log_joint - log_density[:, np.newaxis]), log_density


def fit_gaussians(
    X: Floats, responsibility: Floats, prior_rows: float, structure: str
) -> Gaussians:
    """The M step: the most probable components, given how the rows belong to them.

    m_c = Σᵢ rᵢ_c·xᵢ / N_c with N_c = Σᵢ rᵢ_c; Σ_c is that of ``covariances.py``.
    """
    counts = responsibility.sum(axis=0)
    means = responsibility.T @ X / np.maximum(counts, TINY)[:, np.newaxis]
    spread: Covariances | Variances
    if structure == "diagonal":
        spread = Variances.fit(X, responsibility, means, prior_rows)
    else:
        spread = Covariances.fit(X, responsibility, means, prior_rows, structure == "shared")
    return Gaussians(counts / counts.sum(), means, spread)


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
