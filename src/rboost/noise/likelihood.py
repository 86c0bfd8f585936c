"""The likelihood of an observed label when a logistic model describes the true one, eq. (1)–(4).

With scores Fⱼ of the true classes, p(y = j) = softmax(F)ⱼ, and the observed label k has the
probability

    P̃ᵏ = Σⱼ p(y = j)·γjk,        eq. (1), (3)

for two classes with margin m: γ0k·σ(−m) + γ1k·σ(m). Where no other class becomes k, P̃ᵏ can be as
small as float64 knows and is kept as a logarithm: without noise this is the ordinary logistic loss
and as stable as that.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from rboost._typing import Floats, Integers

# No larger power of e is formed, so that derivatives by noise that is 0 stay finite.
LARGEST_EXPONENT = 700.0


def joint_probability(probability: Floats, observed: Integers, noise_matrix: Floats) -> Floats:
    """p(y = j, ỹᵢ | xᵢ) = p(y = j | xᵢ)·γ[j, ỹᵢ], shape (n_rows, n_classes).

    The sum of a row is P̃ of eq. (1). ``observed`` are positions among the classes.
    """
    return probability * noise_matrix.T[observed]


def log_joint_probability(
    log_probability: Floats, observed: Integers, noise_matrix: Floats
) -> Floats:
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


class NoisySoftmaxLoss:
    """−log P̃ᵏ of each row that is observed as k, with its derivatives, for any number of classes.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        F, of which only differences within a row count.
    observed : ndarray of int of shape (n_rows,)
        The position of each observed label among the classes.
    noise_matrix : ndarray of shape (n_classes, n_classes)
        γ.
    """

    def __init__(self, scores: Floats, observed: Integers, noise_matrix: Floats) -> None:
        self._observed, self._noise = observed, noise_matrix
        scores = np.asfortranarray(scores)  # sums over classes are many times faster so
        joint = np.asfortranarray(log_joint_probability(scores, observed, noise_matrix))
        log_total, self.true_probability = _softmax(scores)
        log_joint, self.posterior = _softmax(joint)  # p(y = j | x, ỹ)
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


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """log Σⱼ exp(Fⱼ) of each row, and exp(Fⱼ) as a share of that sum."""
    largest = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=1, keepdims=True)
    return (largest + np.log(total))[:, 0], powers / total


class NoisyLogisticLoss:
    """−(t·log P̃¹ + (1 − t)·log P̃⁰) of each row, eq. (2), with its derivatives.

    Parameters
    ----------
    margin : ndarray of shape (n_rows,)
        Log-odds m of the true class.
    target : ndarray of shape (n_rows,)
        The observed label t, 0 or 1 or, for smoothed labels, between.
    noise_matrix : ndarray of shape (2, 2)
        γ, with γ01 + γ10 < 1.
    """

    def __init__(self, margin: Floats, target: Floats, noise_matrix: Floats) -> None:
        self._target = target
        self._informative = noise_matrix[1, 1] - noise_matrix[0, 1]  # = γ00 − γ10
        self._true = expit(-margin), expit(margin)
        parts = [self._observed(k, margin, noise_matrix) for k in (0, 1)]
        self._log_observed, self._ratio = zip(*parts, strict=True)

    def _observed(self, k: int, margin: Floats, noise_matrix: Floats) -> tuple[Floats, Floats]:
        """log P̃ᵏ and σₖ / P̃ᵏ, eq. (3)."""
        if noise_matrix[1 - k, k] > 0:
            observed = noise_matrix[0, k] * self._true[0] + noise_matrix[1, k] * self._true[1]
            return np.log(observed), self._true[k] / observed
        log_true = log_expit(margin if k == 1 else -margin)
        return np.log(noise_matrix[k, k]) + log_true, np.full_like(margin, 1 / noise_matrix[k, k])

    def loss(self) -> Floats:
        """The loss of each row."""
        log_0, log_1 = self._log_observed
        return -(self._target * log_1 + (1 - self._target) * log_0)

    def by_margin(self) -> Floats:
        """Derivative of each row's loss by its margin, eq. (4)."""
        against = (1 - self._target) * self._true[1] * self._ratio[0]
        return self._informative * (against - self._target * self._true[0] * self._ratio[1])

    def curvature(self) -> Floats:
        """Expected second derivative of each row's loss by its margin, never negative."""
        product = self._true[0] * self._true[1] * self._ratio[0] * self._ratio[1]
        return self._informative**2 * product
