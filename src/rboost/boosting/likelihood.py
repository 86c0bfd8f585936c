"""How well scores explain observed labels that may be wrong: what trees and the stack minimise.

    −log Σⱼ p(y = j | x)·p(ỹ | y = j),    p(y = j | x) = softmaxⱼ(F(x))

is rLR's loss, eq. (2) and (3), with any scores F in the place of βᵀx. Two classes have one score a
row, the log-odds of class 1; more have one for each class, shape (n_rows, K). Labels and scores are
arrays of NumPy, or of CuPy on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rboost._typing import Floats
from rboost.native.xgboost import array_module
from rboost.tables import Rows

# Rows that are certain keep a little curvature, so that no leaf is empty of it.
LEAST_CURVATURE = 1e-6
# No label is held to be less likely than this, whatever the scores.
LEAST_PROBABILITY = 1e-300
# Rows that are computed at a time: what is between fits into the cache of a processor.
BLOCK_ROWS = {"numpy": 2**14, "cupy": 2**24}


@dataclass(frozen=True)
class LabelLikelihood:
    """Observed labels, by their positions among the classes, with weights; trusted ones are right.

    ``given[j, k]`` is p(ỹ = k | y = j). Trusted labels stand K positions higher, where ``given``
    holds the identity; those of group g, (2 + g)·K higher, where it holds that group's matrix.
    """

    observed: NDArray[np.int16]
    weight: Floats
    given: Floats

    def take(self, rows: Any) -> LabelLikelihood:
        """Some of the rows."""
        return LabelLikelihood(self.observed[rows], self.weight[rows], self.given)

    def moved_to(self, xp: Any) -> LabelLikelihood:
        """The same in arrays of another module."""
        return LabelLikelihood(*map(xp.asarray, (self.observed, self.weight, self.given)))

    def derivatives(self, scores: Floats, dtype: Any = np.float64) -> tuple[Floats, Floats]:
        """By the scores: p(y = j | x) − p(y = j | x, ỹ), eq. (4), and EM's bound p·(1 − p)."""
        xp = array_module(scores)
        gradient, curvature = xp.empty(scores.shape, dtype), xp.empty(scores.shape, dtype)
        for rows in _blocks(scores):
            p, joint, total = self._probabilities(scores[rows], self.observed[rows])
            weight = self.weight[rows].reshape(-1, *[1] * (scores.ndim - 1))
            gradient[rows] = weight * (p - joint / total)
            curvature[rows] = weight * xp.maximum(p * (1 - p), LEAST_CURVATURE)
        return gradient, curvature

    def loss_sum(self, scores: Floats) -> float:
        """The sum over the rows, each as often as it weighs."""
        xp, loss = array_module(scores), 0.0
        for rows in _blocks(scores):
            total = self._probabilities(scores[rows], self.observed[rows])[2]
            loss -= float(self.weight[rows] @ xp.log(xp.ravel(total)))
        return loss

    def loss(self, scores: Floats) -> float:
        """The mean over the rows."""
        return self.loss_sum(scores) / float(self.weight.sum())

    def _probabilities(
        self, scores: Floats, observed: NDArray[np.int16]
    ) -> tuple[Floats, Floats, Floats]:
        """p(y | x) and p(y, ỹ | x), of two classes of class 1 alone, and p(ỹ | x)."""
        if scores.ndim == 1:
            p = _expit(scores)
            joint = self.given[1, observed] * p
            total = joint + self.given[0, observed] * _expit(-scores)
        else:
            p = _softmax(scores)
            joint = self.given.T[observed] * p
            total = joint.sum(axis=1, keepdims=True)
        return p, joint, array_module(scores).maximum(total, LEAST_PROBABILITY)


@dataclass(frozen=True)
class SoftLabels:
    """Probabilities of the true classes in the place of labels, (n_rows, K), with weights.

    −Σⱼ qⱼ·log p(y = j | x), whose gradient is p − q.
    """

    known: Floats
    weight: Floats

    def take(self, rows: Any) -> SoftLabels:
        """Some of the rows."""
        return SoftLabels(self.known[rows], self.weight[rows])

    def moved_to(self, xp: Any) -> SoftLabels:
        """The same in arrays of another module."""
        return SoftLabels(xp.asarray(self.known), xp.asarray(self.weight))

    def derivatives(self, scores: Floats, dtype: Any = np.float64) -> tuple[Floats, Floats]:
        """By the scores: p(y = j | x) − qⱼ, and p·(1 − p)."""
        p, known = (_expit(scores), self.known[:, 1]) if scores.ndim == 1 else (
            _softmax(scores), self.known
        )  # fmt: skip
        weight = self.weight.reshape(-1, *[1] * (scores.ndim - 1))
        curvature = weight * array_module(scores).maximum(p * (1 - p), LEAST_CURVATURE)
        return (weight * (p - known)).astype(dtype), curvature.astype(dtype)

    def loss_sum(self, scores: Floats) -> float:
        """The sum over the rows, each as often as it weighs."""
        xp = array_module(scores)
        logits = scores
        if scores.ndim == 1:
            logits = xp.stack([xp.zeros(len(scores)), scores], axis=1)
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))
        return -float(self.weight @ (self.known * logs).sum(axis=1))

    def loss(self, scores: Floats) -> float:
        """The mean over the rows."""
        return self.loss_sum(scores) / float(self.weight.sum())


TrainingLabels = LabelLikelihood | SoftLabels


def _blocks(scores: Any) -> list[slice]:
    """Blocks of the rows; of none where a process has no rows that a booster sees."""
    size = BLOCK_ROWS[array_module(scores).__name__]
    return [slice(first, first + size) for first in range(0, len(scores), size)]


def _expit(scores: Any) -> Any:
    xp = array_module(scores)
    return special.expit(scores) if xp is np else 1 / (1 + xp.exp(-scores))


def _softmax(scores: Any) -> Any:
    xp = array_module(scores)
    if xp is np:
        return special.softmax(scores, axis=1)
    raised = xp.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def labels_of(rows: Rows, noise_matrix: Floats, by_group: Floats | None = None) -> TrainingLabels:
    """The labels of rows, with this noise; that of groups, (G, K, K), where it is known.

    Where probabilities of the true classes are known, these instead.
    """
    if rows.known is not None:
        return SoftLabels(rows.known, rows.sample_weight)
    block = rows.trusted.astype(np.intp)
    given = [noise_matrix, np.eye(rows.n_classes)]
    if by_group is not None and rows.group is not None:
        block = np.where(rows.trusted | (rows.group < 0), block, 2 + rows.group)
        given += list(by_group)
    observed = (rows.observed + rows.n_classes * block).astype(np.int16)
    return LabelLikelihood(observed, rows.sample_weight, np.hstack(given))


def start_scores(prevalence: Floats) -> Floats:
    """The scores with which every row has the classes as often as their labels: () or (K,)."""
    logarithms = np.log(prevalence)
    return logarithms[1] - logarithms[0] if len(prevalence) == 2 else logarithms
