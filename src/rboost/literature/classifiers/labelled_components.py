"""The classes of the components of a mixture, from observed labels: arrays in, arrays out.

    ψ_c(x) = p(component c | x)         membership, shape (n_rows, n_components)
    r[c, j] = p(y = j | component c)    shares, shape (n_components, 2)
    p(ỹ = k | x) = Σ_j γ[j, k]·Σ_c r[c, j]·ψ_c(x)

Labels are positions 0 and 1 among the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats, Integers
from rboost.literature.classifiers.gaussians import climb
from rboost.noise.likelihood import joint_probability

# The steps and precision of the class shares.
SHARE_STEPS, SHARE_TOL = 1000, 1e-9


@dataclass(frozen=True)
class LabelledComponents:
    """What the class shares are fitted to: memberships ψ_c(xᵢ), observed classes and weights."""

    membership: Floats
    observed: Integers
    sample_weight: Floats
    noise_matrix: Floats

    def step(self, shares: Floats) -> tuple[Floats, float]:
        """One EM step of r, and the mean log-likelihood of the labels before it.

        r[c, j] ← r[c, j]·Σᵢ wᵢ·ψ_c(xᵢ)·γ[j, ỹᵢ] / p(ỹᵢ | xᵢ), each row divided by its sum.
        """
        joint = joint_probability(self.membership @ shares, self.observed, self.noise_matrix)
        likelihood = np.maximum(joint.sum(axis=1), 1e-200)
        weighted = self.membership * (self.sample_weight / likelihood)[:, np.newaxis]
        following = shares * (weighted.T @ self.noise_matrix.T[self.observed])
        total = following.sum(axis=1, keepdims=True)
        # A component without rows teaches nothing: its shares stay as they are.
        following = np.where(total > 0, following / np.where(total > 0, total, 1), shares)
        objective = self.sample_weight @ np.log(likelihood) / self.sample_weight.sum()
        return following, float(objective)

    def fit(self) -> Floats:
        """The shares r of maximum likelihood, a concave problem, from equal ones."""
        equal = np.full((self.membership.shape[1], 2), 0.5)
        return climb(equal, self.step, SHARE_STEPS, SHARE_TOL).state
