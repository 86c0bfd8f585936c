"""How well scores explain observed labels that may be wrong: what trees and the stack minimise.

    −log Σⱼ p(y = j | x)·p(ỹ | y = j),    p(y = j | x) = softmaxⱼ(F(x))

is rLR's loss, eq. (2) and (3), with any scores F in the place of βᵀx. Two classes have one score a
row, the log-odds of class 1; more have one for each class, shape (n_rows, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from rboost._typing import Floats
from rboost.tables import Rows

# Rows that are certain keep a little curvature, so that no leaf is empty of it.
LEAST_CURVATURE = 1e-6
# No label is held to be less likely than this, whatever the scores.
LEAST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class LabelLikelihood:
    """Rows with weights, and p(ỹ | y = j) of the label that each has, shape (n_rows, K)."""

    label_given_class: Floats
    weight: Floats

    @staticmethod
    def of(rows: Rows, noise_matrix: Floats) -> LabelLikelihood:
        """Labels with this noise; a trusted one is the true class."""
        given = noise_matrix.T[rows.observed]
        given[rows.trusted] = np.eye(rows.n_classes)[rows.observed[rows.trusted]]
        return LabelLikelihood(given, rows.sample_weight)

    def take(self, rows: Any) -> LabelLikelihood:
        """Some of the rows."""
        return LabelLikelihood(self.label_given_class[rows], self.weight[rows])

    def derivatives(self, scores: Floats) -> tuple[Floats, Floats]:
        """By the scores: p(y = j | x) − p(y = j | x, ỹ), eq. (4), and EM's bound p·(1 − p)."""
        p, joint, total = self._probabilities(scores)
        weight = self.weight if scores.ndim == 1 else self.weight[:, np.newaxis]
        curvature = np.maximum(p * (1 - p), LEAST_CURVATURE)
        return weight * (p - joint / total), weight * curvature

    def loss(self, scores: Floats) -> float:
        """The mean over the rows."""
        total = np.ravel(self._probabilities(scores)[2])
        return -float(self.weight @ np.log(total)) / float(self.weight.sum())

    def _probabilities(self, scores: Floats) -> tuple[Floats, Floats, Floats]:
        """p(y | x) and p(y, ỹ | x), of two classes of class 1 alone, and p(ỹ | x)."""
        if scores.ndim == 1:
            p = expit(scores)
            joint = self.label_given_class[:, 1] * p
            total = joint + self.label_given_class[:, 0] * (1 - p)
        else:
            p = softmax(scores, axis=1)
            joint = self.label_given_class * p
            total = joint.sum(axis=1, keepdims=True)
        return p, joint, np.maximum(total, LEAST_PROBABILITY)


def start_scores(rows: Rows) -> Floats:
    """The scores with which every row has the classes as often as their labels: () or (K,)."""
    logarithms = np.log(rows.prevalence)
    return logarithms[1] - logarithms[0] if rows.n_classes == 2 else logarithms
