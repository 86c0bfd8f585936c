"""The likelihood of what was said of a row when scores describe its true class, eq. (1)–(4).

With scores Fⱼ of the true classes, p(y = j | x) = softmax(F)ⱼ, and L[i, j] = p(all that was said of
row i | its true class is j), a row costs

    −log Σⱼ p(y = j | xᵢ)·L[i, j],        eq. (2), (3)

whose gradient by the scores is p(y = j | x) − p(y = j | x, what was said), eq. (4). For one label k
with the noise matrix γ, L[i] is the column γ·k. Where no other class becomes k the sum can be as
small as float64 knows: :class:`NoisySoftmaxLoss` keeps logarithms and is as stable as the ordinary
logistic loss; :class:`Likelihood` is fast, for many rows of NumPy or CuPy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rboost._typing import Codes, Floats, Integers

# No larger power of e is formed, so that derivatives by noise that is 0 stay finite.
LARGEST_EXPONENT = 700.0
# The smallest second derivative of a row, so that no leaf of a tree has a sum of 0.
SMALLEST_CURVATURE = 1e-6
# The smallest probability of what was said of a row, whatever the scores.
SMALLEST_PROBABILITY = 1e-300
# Rows computed at a time: intermediate arrays fit into the cache of a processor.
BLOCK_ROWS = {"numpy": 2**14, "cupy": 2**24}


def joint_probability(probability: Floats, observed: Integers, noise_matrix: Floats) -> Floats:
    """p(y = j, ỹᵢ | xᵢ) = p(y = j | xᵢ)·γ[j, ỹᵢ], shape (n_rows, n_classes).

    The sum of a row is P̃ of eq. (1). ``observed`` are positions among the classes.
    """
    return probability * noise_matrix.T[observed]


def log_joint_probability(log_probability: Floats, observed: Codes, noise_matrix: Floats) -> Floats:
    """The same in logarithms, for rows so far out that their probabilities would be 0."""
    with np.errstate(divide="ignore"):
        return log_probability + np.log(noise_matrix).T[observed]


def true_posterior(probability: Floats, observed: Integers, noise_matrix: Floats) -> Floats:
    """p(y = j | xᵢ, ỹᵢ), shape (n_rows, n_classes): how likely each class is to be the true one.

    A label that is impossible under the model says nothing, and ``probability`` stays.
    """
    joint = joint_probability(probability, observed, noise_matrix)
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1), probability)


def likeliest(posterior: Floats, observed: Integers) -> Integers:
    """The most probable true class of each row; of equally probable ones, that of the label."""
    right = posterior[np.arange(len(posterior)), observed]
    return np.where(right >= posterior.max(axis=1), observed, posterior.argmax(axis=1))


class NoisySoftmaxLoss:
    """The loss of each row, eq. (2), with its derivatives, computed in logarithms.

    ``scores`` are F, (n_rows, K), of which only differences within a row count. Row i has the
    column ``observed[i]`` of ``columns`` as L[i]: the noise matrix where ``observed`` are labels.
    """

    def __init__(self, scores: Floats, observed: Codes, columns: Floats) -> None:
        self._observed, self._noise = observed, columns
        scores = np.asfortranarray(scores)  # sums over classes are many times faster so
        joint = np.asfortranarray(log_joint_probability(scores, observed, columns))
        log_total, self.true_probability = _log_sum_and_share(scores)
        log_joint, self.posterior = _log_sum_and_share(joint)  # p(y = j | x, ỹ)
        self._loss = log_total - log_joint

    def loss(self) -> Floats:
        """The loss of each row."""
        return self._loss

    def by_scores(self) -> Floats:
        """Derivative of each row's loss by its scores: p(y = j | x) − p(y = j | x, ỹ), eq. (4)."""
        return self.true_probability - self.posterior

    def by_noise(self, weight: Floats) -> Floats:
        """Derivative of the weighted sum of losses by each entry of the noise matrix."""
        weighted = np.zeros_like(self.posterior)
        inverse = np.exp(np.minimum(self._loss, LARGEST_EXPONENT))  # 1 / P̃ᵏ
        weighted[np.arange(len(weighted)), self._observed] = weight * inverse
        return -self.true_probability.T @ weighted

    def curvature(self, direction: Floats) -> Floats:
        """Expected second derivative of each row's loss along a change of its scores.

        Fisher's information: the variance, over the labels that the model expects, of the slope
        E[change | x, ỹ] − E[change | x]. It is never negative.
        """
        p = self.true_probability
        observed = p @ self._noise
        change = direction - np.sum(p * direction, axis=1, keepdims=True)
        slope = (p * change) @ self._noise
        return np.sum(slope**2 / np.where(observed > 0, observed, 1), axis=1)


def _log_sum_and_share(scores: Floats) -> tuple[Floats, Floats]:
    """log Σⱼ exp(Fⱼ) of each row, and exp(Fⱼ) as a share of that sum."""
    largest = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=1, keepdims=True)
    return (largest + np.log(total))[:, 0], powers / total


@dataclass(frozen=True, eq=False)
class Likelihood:
    """L of some rows, and their weights: all that an engine knows of labels.

    L[i] = ``columns[:, code[i]]``: rows of which the same was said share a column. Only ratios
    within a column matter, and no column is all zero. Two classes have one score a row, the
    log-odds of class 1; more have one for each class, (n_rows, K).

    With ``are_targets`` the columns are q = p(true class | all that is known of the row) instead,
    and a row costs the cross-entropy −Σⱼ qⱼ·log p(y = j | x), whose gradient is p − q.
    """

    code: Codes
    columns: Floats
    weight: NDArray[Any]
    are_targets: bool = False

    @classmethod
    def dense(cls, rows: Floats, weight: Floats, are_targets: bool = False) -> Likelihood:
        """From L itself, or from targets, (n_rows, K)."""
        code = np.arange(len(rows), dtype=np.int32)
        return cls(code, np.ascontiguousarray(rows.T), weight, are_targets)

    def __len__(self) -> int:
        return len(self.code)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.columns)

    def with_columns(self, columns: Floats) -> Likelihood:
        """The same rows after more was learnt about the noise."""
        return replace(self, columns=columns)

    def take(self, rows: Any) -> Likelihood:
        """Some of the rows."""
        return replace(self, code=self.code[rows], weight=self.weight[rows])

    def moved_to(self, xp: Any) -> Likelihood:
        """The same in arrays of another module."""
        code, columns, weight = map(xp.asarray, (self.code, self.columns, self.weight))
        return Likelihood(code, columns, weight, self.are_targets)

    def derivatives(self, scores: Floats, dtype: Any = np.float64) -> tuple[Floats, Floats]:
        """By the scores: p(y = j | x) − p(y = j | x, L), eq. (4), and EM's bound p·(1 − p)."""
        xp = array_module(scores)
        gradient, curvature = xp.empty(scores.shape, dtype), xp.empty(scores.shape, dtype)
        for rows in _blocks(scores):
            p, joint, total = self._probabilities(scores[rows], self.code[rows])
            weight = self.weight[rows].reshape(-1, *[1] * (scores.ndim - 1))
            gradient[rows] = weight * (p - (joint if self.are_targets else joint / total))
            curvature[rows] = weight * xp.maximum(p * (1 - p), SMALLEST_CURVATURE)
        return gradient, curvature

    def loss_sum(self, scores: Floats) -> float:
        """The weighted sum over the rows."""
        xp, loss = array_module(scores), 0.0
        for rows in _blocks(scores):
            if self.are_targets:
                logs = (self.columns.T[self.code[rows]] * _log_softmax(scores[rows])).sum(axis=1)
            else:
                total = self._probabilities(scores[rows], self.code[rows])[2]
                logs = xp.log(xp.ravel(total))
            loss -= float(self.weight[rows] @ logs)
        return loss

    def loss(self, scores: Floats) -> float:
        """The weighted mean over the rows."""
        return self.loss_sum(scores) / float(self.weight.sum())

    def _probabilities(self, scores: Floats, code: Codes) -> tuple[Floats, Floats, Floats]:
        """p(y | x) and p(y | x)·L, of two classes of class 1 alone, and Σⱼ p(y = j | x)·L[j].

        With targets these are in the place of p(y | x)·L, and nothing of the sum.
        """
        if self.are_targets:
            p = _expit(scores) if scores.ndim == 1 else _softmax(scores)
            return p, self.columns[1, code] if scores.ndim == 1 else self.columns.T[code], p
        if scores.ndim == 1:
            p = _expit(scores)
            joint = self.columns[1, code] * p
            total = joint + self.columns[0, code] * _expit(-scores)
        else:
            p = _softmax(scores)
            joint = self.columns.T[code] * p
            total = joint.sum(axis=1, keepdims=True)
        return p, joint, array_module(scores).maximum(total, SMALLEST_PROBABILITY)


def array_module(array: Any) -> Any:
    """The module whose functions compute with an array: CuPy if it is on a GPU, else NumPy."""
    return sys.modules["cupy"] if type(array).__module__.partition(".")[0] == "cupy" else np


def _blocks(scores: Any) -> Iterator[slice]:
    """Blocks of rows; none where a process has no rows that a booster sees."""
    size = BLOCK_ROWS[array_module(scores).__name__]
    return (slice(first, first + size) for first in range(0, len(scores), size))


def _expit(scores: Any) -> Any:
    xp = array_module(scores)
    return special.expit(scores) if xp is np else 1 / (1 + xp.exp(-scores))


def _log_softmax(scores: Any) -> Any:
    """log p(y = j | x) of each class, (n_rows, K), also for two."""
    xp = array_module(scores)
    if scores.ndim == 1:
        scores = xp.stack([xp.zeros(len(scores)), scores], axis=1)
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=1, keepdims=True))


def _softmax(scores: Any) -> Any:
    xp = array_module(scores)
    if xp is np:
        return special.softmax(scores, axis=1)
    raised = xp.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)
