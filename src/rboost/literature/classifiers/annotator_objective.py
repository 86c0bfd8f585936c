"""The likelihood of labels by several annotators, and its gradient (Raykar et al. 2010).

codes   (n_rows, n_annotators), 0 or 1, or −1 where there is no label
noise   (n_annotators, 2, 2), ``noise[a, j, k]`` = p(annotator a says k | true class j)
t       (n_annotators, 2), log-odds that annotator a says 1 of a row of class j
μ       (n_rows,), p(y = 1 | x, all labels of the row)

The paper finds the maximum by EM. Here the true classes are summed out and the same function is
minimised directly, whose gradient is that of the M step at the present μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.special import expit, log_expit, logit

from rboost._typing import Floats, Integers
from rboost.learners.logistic_objective import NoisyLogisticObjective

# The share of right labels among those that the prior adds.
PRIOR_ACCURACY = 0.8
# So often such an annotator says 1 of rows of either class.
PRIOR_SHARE = np.array([1 - PRIOR_ACCURACY, PRIOR_ACCURACY])
# No t is larger, or a step too far would end where the gradient vanishes; a rate of 6·10⁻⁶.
LARGEST_LOG_ODDS = 12.0


class Labels(NamedTuple):
    """Who said what: 1.0 where annotator a said 0 or 1 of row i, each (n_rows, n_annotators)."""

    zero: Floats
    one: Floats

    @classmethod
    def of(cls, codes: Integers) -> Self:
        """Take the codes of :mod:`rboost.literature.classifiers.label_matrix`."""
        return cls((codes == 0).astype(np.float64), (codes == 1).astype(np.float64))

    def log_likelihood(self, t: Floats) -> Floats:
        """Σₐ log noise[a, j, label of a] of each row and class j, shape (n_rows, 2)."""
        return self.zero @ log_expit(-t) + self.one @ log_expit(t)

    def counts(self, class_weight: Floats) -> tuple[Floats, Floats]:
        """How often each annotator said 0, and 1, of rows of class j, each (n_annotators, 2)."""
        return self.zero.T @ class_weight, self.one.T @ class_weight


@dataclass(frozen=True)
class AnnotatorObjective:
    """The mean over rows of −log Σⱼ p(y = j | xᵢ) Πₐ noise[a, j, label of a], plus the penalties.

    Parameters are packed into one vector: coefficients and intercept as ``linear`` takes them, and
    t. ``prior_strength`` is the number of labels that the prior adds to each annotator and class.
    """

    linear: NoisyLogisticObjective  # for its columns and penalty
    labels: Labels
    prior_strength: float

    @property
    def _prior_counts(self) -> tuple[Floats, Floats]:
        return self.prior_strength * (1 - PRIOR_SHARE), self.prior_strength * PRIOR_SHARE

    def unpacked(self, parameters: Floats) -> tuple[Floats, Floats]:
        """The linear parameters, and t."""
        n_linear = self.linear.n_linear
        return parameters[:n_linear], parameters[n_linear:].reshape(-1, 2)

    def start(self, vote: Floats) -> Floats:
        """Coefficients 0, and annotators halfway from the prior to what the vote says of them.

        No rate is 0 or 1 there, where its gradient would vanish.
        """
        said_0, said_1 = self.labels.counts(by_class(vote, self.linear.sample_weight))
        said = said_0 + said_1
        share = np.where(said > 0, said_1 / np.where(said > 0, said, 1), PRIOR_SHARE)
        t = logit((share + PRIOR_SHARE) / 2)
        return np.concatenate([np.zeros(self.linear.n_linear), t.ravel()])

    def bounds(self) -> list[tuple[float, float]]:
        """The range of each parameter."""
        n_annotators = self.labels.one.shape[1]
        free, bounded = (-np.inf, np.inf), (-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return [free] * self.linear.n_linear + [bounded] * (2 * n_annotators)

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """The objective and its gradient."""
        linear, t = self.unpacked(parameters)
        margin = self.linear.margins(linear)
        log_joint = log_true(margin) + self.labels.log_likelihood(t)
        log_marginal = np.logaddexp(*log_joint.T)
        posterior = np.exp(log_joint[:, 1] - log_marginal)  # μ
        share, total = self.linear.share, self.linear.weight_sum

        coef, _ = self.linear.linear_model(linear)
        prior_0, prior_1 = self._prior_counts
        log_prior = np.sum(prior_0 * log_expit(-t) + prior_1 * log_expit(t)) / total
        value = -share @ log_marginal + 0.5 * self.linear.penalty * (coef @ coef) - log_prior

        by_linear = self.linear.linear_gradient(share * (expit(margin) - posterior), coef)
        said_0, said_1 = self.labels.counts(by_class(posterior, share))
        by_t = (said_0 + prior_0 / total) * expit(t) - (said_1 + prior_1 / total) * expit(-t)
        return float(value), np.concatenate([by_linear, by_t.ravel()])


def by_class(positive: Floats, weight: Floats) -> Floats:
    """The weight of each row as either class, shape (n_rows, 2)."""
    return np.column_stack([weight * (1 - positive), weight * positive])


def log_true(margin: Floats) -> Floats:
    """log p(y = j | x), shape (n_rows, 2)."""
    return np.column_stack([log_expit(-margin), log_expit(margin)])
