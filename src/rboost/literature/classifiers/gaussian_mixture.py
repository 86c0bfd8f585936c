"""A mixture of Gaussians of weighted rows, without labels: EM from several seeded starts.

scikit-learn's GaussianMixture takes no weights. Rows are put into order first, so that neither
their order nor a weight of 2 in the place of two rows changes what a seed draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import kmeans_plusplus

from rboost._typing import Floats
from rboost.literature.classifiers.gaussians import (
    Climb,
    Gaussians,
    climb,
    expectation,
    fit_gaussians,
)


@dataclass(frozen=True)
class MixtureProblem:
    """What a mixture is fitted to: standardised rows with weights, and how it is searched for."""

    X: Floats
    sample_weight: Floats
    prior_rows: float
    structure: str
    n_init: int
    max_iter: int
    tol: float

    def step(self, gaussians: Gaussians) -> tuple[Gaussians, float]:
        """One EM step, and the mean objective of the mixture before it."""
        responsibility, log_density = expectation(gaussians.log_joint(self.X))
        log_prior = gaussians.log_prior(self.prior_rows, self.structure)
        objective = (self.sample_weight @ log_density + log_prior) / self.sample_weight.sum()
        return self.components(responsibility), float(objective)

    def components(self, responsibility: Floats) -> Gaussians:
        """The components that rows with these responsibilities make up."""
        weighted = self.sample_weight[:, np.newaxis] * responsibility
        return fit_gaussians(self.X, weighted, self.prior_rows, self.structure)

    def start(self, n_components: int, random: np.random.RandomState) -> Gaussians:
        """Components around centres that k-means++ draws, each of the rows nearest to its own."""
        centres, _ = kmeans_plusplus(
            self.X, n_components, sample_weight=self.sample_weight, random_state=random
        )
        # ‖x − c‖² without ‖x‖², which is the same for all centres.
        distances = np.square(centres).sum(axis=1) - 2 * self.X @ centres.T
        return self.components(np.eye(n_components)[distances.argmin(axis=1)])

    def fit(self, n_components: int, random: np.random.RandomState) -> Climb[Gaussians]:
        """The best of several climbs."""
        ascents = [
            climb(self.start(n_components, random), self.step, self.max_iter, self.tol)
            for _ in range(self.n_init)
        ]
        return max(ascents, key=lambda ascent: ascent.objectives[-1])

    def bic(self, gaussians: Gaussians) -> float:
        """Schwarz's criterion, −2·log-likelihood + number of parameters·log(number of rows)."""
        n_components, n_features = gaussians.means.shape
        variances = (
            n_features if self.structure == "diagonal" else n_features * (n_features + 1) / 2
        )
        matrices = 1 if self.structure == "shared" else n_components
        n_parameters = n_components - 1 + n_components * n_features + matrices * variances
        log_likelihood = self.sample_weight @ expectation(gaussians.log_joint(self.X))[1]
        return float(n_parameters * np.log(self.sample_weight.sum()) - 2 * log_likelihood)
