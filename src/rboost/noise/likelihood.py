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


def likeliest(posterior: Floats, observed: Integers) -> Integers:
    """The most probable true class of each row; of equally probable ones, that of the label."""
    right = posterior[np.arange(len(posterior)), observed]
    return np.where(right >= posterior.max(axis=1), observed, posterior.argmax(axis=1))


class NoisySoftmaxLoss:
    """−log P̃ᵏ of each row that is observed as k, eq. (2), with its derivatives.

    ``scores`` are F, (n_rows, n_classes), of which only differences within a row count, and
    ``observed`` the positions of labels.
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
