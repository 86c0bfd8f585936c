"""EM for two normal classes with flipped labels: arrays in, arrays out.

    p(y = j) = π_j,   x | y = j ~ N(m_j, Σ_j),   p(ỹ = k | y = j) = noise_matrix[j, k]

The true classes y are missing values. EM climbs Σᵢ wᵢ·log Σ_j π_j·N(xᵢ; m_j, Σ_j)·γ[j, ỹᵢ], plus
the log-density of the prior on the covariances. Labels are positions 0 and 1 among the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rboost._typing import Floats, Integers
from rboost.learners.logistic import FIRST_RATE
from rboost.literature.classifiers.gaussians import Gaussians, expectation, fit_gaussians
from rboost.noise.likelihood import log_joint_probability
from rboost.noise.matrix import keep_informative, posterior, rates_of, symmetric, with_rates


class Model(NamedTuple):
    """The normal classes and the noise matrix of their labels."""

    gaussians: Gaussians
    noise_matrix: Floats

    def log_joint(self, X: Floats, observed: Integers) -> Floats:
        """log p(x, y = j, ỹ = observed), shape (n, 2)."""
        return log_joint_probability(self.gaussians.log_joint(X), observed, self.noise_matrix)


@dataclass(frozen=True)
class NoisyDiscriminant:
    """What is fitted: standardised rows, observed classes, weights, and what is held fixed."""

    X: Floats
    observed: Integers
    sample_weight: Floats
    prior_rows: float
    structure: str
    fixed_noise: Floats | None

    def start(self) -> Model:
        """The classes as the observed labels have them, blurred by the flip rates."""
        noise_matrix = symmetric(FIRST_RATE) if self.fixed_noise is None else self.fixed_noise
        shares = np.bincount(self.observed, self.sample_weight, minlength=2)
        blurred = posterior(noise_matrix, shares / shares.sum())[self.observed]
        return Model(self._fit_classes(blurred), noise_matrix)

    def step(self, model: Model) -> tuple[Model, float]:
        """One EM step, and the mean objective of the model before it."""
        # p(y = j | x, ỹ) and log p(x, ỹ)
        responsibility, log_density = expectation(model.log_joint(self.X, self.observed))
        log_prior = model.gaussians.log_prior(self.prior_rows, self.structure)
        objective = (self.sample_weight @ log_density + log_prior) / self.sample_weight.sum()
        following = Model(
            self._fit_classes(responsibility),
            self._noise_matrix(model.noise_matrix, responsibility),
        )
        return following, float(objective)

    def _fit_classes(self, responsibility: Floats) -> Gaussians:
        weighted = self.sample_weight[:, np.newaxis] * responsibility
        return fit_gaussians(self.X, weighted, self.prior_rows, self.structure)

    def _noise_matrix(self, current: Floats, responsibility: Floats) -> Floats:
        """γ[j, k] = the share of label k in true class j, as far as γ01 + γ10 stays below 1.

        The expected log-likelihood is concave in both rates. Hence it grows all the way from the
        current rates to its maximum, and stopping on that way keeps the climb monotone.
        """
        if self.fixed_noise is not None:
            return self.fixed_noise
        is_one = self.sample_weight * (self.observed == 1)
        total = self.sample_weight @ responsibility
        share_of_ones = np.where(total > 0, is_one @ responsibility, current[:, 1])
        share_of_ones = share_of_ones / np.where(total > 0, total, 1)
        rates, best = rates_of(current), np.array([share_of_ones[0], 1 - share_of_ones[1]])
        largest_sum = rates_of(keep_informative(with_rates(*best))).sum()
        if best.sum() > largest_sum:
            best = rates + (best - rates) * (largest_sum - rates.sum()) / (best - rates).sum()
        return with_rates(*np.clip(best, 0, 1))
