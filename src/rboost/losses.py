"""What boosting minimises: the paper's mixture of exponentials, and the likelihood of the labels.

Nothing here sees the features: labels, scores and a noise matrix go in. Shapes, for K classes:

    observed        the position of each observed label ỹ among the classes, (n_rows,)
    scores          F, (n_rows, K), with Σⱼ Fⱼ = 0; for two classes F = (−H, H)
    probability     p, what a base learner says of rows, (n_rows, K)
    votes           g = (K·p − 1) / (K − 1), which is 1 for a sure class; a step α adds α·g to F
    noise_matrix    T[j, k] = p(observed k | true j), (K, K)

Both losses are used alike. ``terms`` evaluates every row at its scores; ``class_weights`` say what
a base learner is to fit: to name class j costs a row the less, the larger entry j is. ``judge``
sums up how good a learner is over the rows that judge it, and the sums say how far to go:

    step            the step α that the loss asks for; 0 for a learner that is no better than chance
    error           the learner's weighted error on what it was to fit
    at_minimum      nothing is left to learn, as every row is where its own loss is smallest
    perfect         nothing would be left to learn, as the learner makes no error
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Floats, Integers
from rboost.noise import check_noise_matrix, posterior
from rboost.noise.likelihood import NoisySoftmaxLoss

__all__ = ["ExponentialLoss", "LikelihoodLoss", "mixing_coefficients", "step_size"]
# A larger step needs a weighted error below what float64 can tell from zero; for two classes.
MAX_STEP = float(-np.log(np.finfo(np.float64).eps) / 2)
# Smaller steps, and class weights that sum to a smaller share of the loss, are but rounding.
MIN_STEP, ROUNDING = 1e-12, 1e-14
# What a label must be worth in ``mixing="paper"``, whatever the rates of flips into it.
SMALLEST_COEFFICIENT = 1e-3


def paper_coefficients(noise_matrix: Floats) -> Floats:
    """Eq. (10) as printed: a row observed in class k is mixed by the rates of flips *into* k.

    c[k, j] = T[j, k] and c[k, k] is what these leave of 1, a small number if they leave nothing.
    """
    into = noise_matrix.T * (1 - np.eye(len(noise_matrix)))
    left = np.maximum(1 - into.sum(axis=1), SMALLEST_COEFFICIENT if len(into) > 2 else 0.0)
    return into + np.diag(left)


# How a noise matrix becomes mixing coefficients c[k, j].
#   "posterior"  p(y = j | ỹ = k) for balanced classes: columns of the noise matrix, normalised. Of
#                two classes the loss is smallest at the Bayes rule (docs/method.md).
#   "paper"      eq. (10). The same for symmetric noise of two classes; else its threshold is off.
MIXINGS = {"posterior": posterior, "paper": paper_coefficients}


def mixing_coefficients(noise_matrix: ArrayLike, mixing: str = "posterior") -> Floats:
    """Coefficients c[k, j] of the mixture loss: how much a row observed as k counts as class j."""
    return MIXINGS[mixing](check_noise_matrix(noise_matrix))


@dataclass(frozen=True)
class ExponentialLoss:
    """A row observed as k costs Σⱼ c[k, j]·exp(−Fⱼ / (K − 1)), eq. (10).

    With c the identity that is AdaBoost's loss, eq. (9), for more classes SAMME's. For fixed noise
    it is convex in F, and each row's minimum is at finite scores: a row is never worth pushing
    further than its label can be trusted. That, not non-convexity, makes it robust.
    """

    mixing: str = "posterior"
    learning_rate: ClassVar[float] = 0.015

    def terms(
        self,
        observed: Integers,
        scores: Floats,
        noise_matrix: Floats,
        sample_weight: Floats | None = None,
        trusted: NDArray[np.bool_] | None = None,
        known: Floats | None = None,
    ) -> ExponentialTerms:
        """Evaluate the exponentials of every row, eq. (13) and (15)–(18).

        ``known`` probabilities of classes count instead of labels. Only ratios matter to boosting,
        so the largest term is scaled to 1 before sample weights come in: any scores are safe.
        """
        by_label = mixing_coefficients(noise_matrix, self.mixing)
        coefficients = by_label[observed] if known is None else known
        if known is None and trusted is not None:
            coefficients[trusted] = np.eye(len(noise_matrix))[observed[trusted]]
        with np.errstate(divide="ignore"):  # log 0 = −inf is the right answer for a coefficient 0
            logs = np.log(coefficients) - scores / (scores.shape[1] - 1)
        log_scale = float(logs.max())
        class_weights = np.exp(logs - log_scale)
        if sample_weight is not None:
            class_weights *= sample_weight[:, np.newaxis]
        return ExponentialTerms(observed, class_weights, log_scale)

    def link_matrix(self, noise_matrix: Floats, boosted_with: Floats) -> Floats:
        """The noise that is left in the scores: T·c, with the c of the T that was boosted with."""
        return noise_matrix @ mixing_coefficients(boosted_with, self.mixing)

    def score_scale(self, n_classes: int) -> float:
        """Its minimiser is (K − 1) times the centred log-probabilities."""
        return 1 / (n_classes - 1)


@dataclass(frozen=True)
class ExponentialTerms:
    """c[ỹ, j]·exp(−Fⱼ / (K − 1)) of every row and class, up to the common factor e^log_scale.

    They are the paper's w00 and w01 of a row with ỹ = +1, its w11 and w10 of one with ỹ = −1.
    """

    observed: Integers
    class_weights: Floats
    log_scale: float

    def judge(self, probability: Floats, unseen: Integers | None = None) -> ExponentialSums:
        """Sum up the terms by how much of each the learner makes fall, eq. (11).

        With class votes a step α costs falling·e^(−α / (K − 1)) + rising·e^(α / (K − 1)²); votes
        between cost at most that, by convexity. The paper has A − ε and B + ε for the two.
        """
        terms = self.class_weights
        total, n_classes = float(terms.sum()), terms.shape[1]
        judges = terms if unseen is None else terms[unseen]
        falling = float((judges * probability).sum())
        rising = float((judges * (1 - probability)).sum())
        net = float((terms - terms.min(axis=1, keepdims=True)).sum())
        if unseen is not None:
            sums = ExponentialSums(falling, rising, total, net, False, n_classes)
            return sums.with_one_more_row(len(terms))
        perfect = rising == 0 and bool(probability[np.arange(len(terms)), self.observed].all())
        return ExponentialSums(falling, rising, total, net, perfect, n_classes)


@dataclass(slots=True)  # frozen ones take as long to make as a small fit
class ExponentialSums:
    """What a learner makes fall and rise, of the ``total`` loss of all rows.

    ``net`` sums up the class weights beyond the smallest of each row. Smaller shares and steps than
    ``rounding`` and ``smallest_step`` mean nothing.
    """

    falling: float
    rising: float
    total: float
    net: float
    perfect: bool
    n_classes: int = 2
    rounding: float = ROUNDING
    smallest_step: float = MIN_STEP

    def with_one_more_row(self, n_rows: int) -> ExponentialSums:
        """Count one more row, which says nothing: a few lucky ones give no infinite step."""
        one_more = self.total / n_rows / self.n_classes
        self.falling += one_more
        self.rising += (self.n_classes - 1) * one_more
        self.perfect = False
        return self

    @property
    def at_minimum(self) -> bool:
        """Whether the class weights are but rounding."""
        return self.net <= self.rounding * self.total

    @property
    def error(self) -> float:
        """The share of the loss that grows with the step; without noise AdaBoost's error."""
        return self.rising / (self.falling + self.rising)

    @property
    def step(self) -> float:
        """The closed form of eq. (14)."""
        return step_size(self.falling, self.rising, self.n_classes, self.smallest_step)


def step_size(
    falling: float, rising: float, n_classes: int = 2, smallest: float = MIN_STEP
) -> float:
    """The step α that minimises falling·e^(−α / (K − 1)) + rising·e^(α / (K − 1)²).

    α = (K − 1)² / K·(ln(falling / rising) + ln(K − 1)), for two classes ½·ln(falling / rising). The
    paper solves eq. (14) numerically; multiplied by e^α it is linear in e^(2α). A learner no better
    than chance gets 0, a perfect one, with rising = 0, the largest step there is.
    """
    others = n_classes - 1
    if falling * others <= rising:
        return 0.0
    factor, largest = others**2 / n_classes, 2 * MAX_STEP
    log_ratio = largest if rising <= 0 else math.log(falling) - math.log(rising) + math.log(others)
    step = factor * min(log_ratio, largest)
    return 0.0 if step < smallest else step


@dataclass(frozen=True)
class LikelihoodLoss:
    """A row observed as k costs −log Σⱼ T[j, k]·softmaxⱼ(F): eq. (3) with F in the place of βᵀx.

    It is smallest at the Bayes rule of the true classes, for any number of them and any noise.
    """

    learning_rate: ClassVar[float] = 0.045

    def terms(
        self,
        observed: Integers,
        scores: Floats,
        noise_matrix: Floats,
        sample_weight: Floats | None = None,
        trusted: NDArray[np.bool_] | None = None,
        known: Floats | None = None,
    ) -> LikelihoodTerms:
        """Evaluate p(y | x) and p(y | x, ỹ) of every row; a trusted label is the true class."""
        rows = NoisySoftmaxLoss(scores, observed, noise_matrix)
        posterior = rows.posterior if known is None else known
        if known is None and trusted is not None:
            posterior[trusted] = np.eye(len(noise_matrix))[observed[trusted]]
        weight = np.ones(len(scores)) if sample_weight is None else sample_weight
        return LikelihoodTerms(rows.true_probability, posterior, weight)

    def link_matrix(self, noise_matrix: Floats, boosted_with: Floats) -> Floats:
        """The noise that is left in the scores: none."""
        return np.eye(len(noise_matrix))

    def score_scale(self, n_classes: int) -> float:
        """The scores are logarithms of probabilities, but for two classes F = (−H, H)."""
        return 1.0


@dataclass(frozen=True)
class LikelihoodTerms:
    """p(y | x) as the scores have it and p(y | x, ỹ), which knows the label too; (n_rows, K)."""

    probability: Floats
    posterior: Floats
    sample_weight: Floats

    @property
    def class_weights(self) -> Floats:
        """Minus the derivative of the loss by the scores."""
        return self.sample_weight[:, np.newaxis] * (self.posterior - self.probability)

    def judge(self, probability: Floats, unseen: Integers | None = None) -> LikelihoodSums:
        """Sum up slope and curvature of the loss along the votes.

        The curvature is the votes' variance under p(y | x), by which EM bounds the loss.
        """
        n_classes = probability.shape[1]
        weights, rows = self.class_weights, slice(None) if unseen is None else unseen
        votes = (n_classes * probability - 1) / (n_classes - 1)
        mean = (self.probability[rows] * votes).sum(axis=1)
        variance = (self.probability[rows] * votes**2).sum(axis=1) - mean**2
        slope, curvature = (weights[rows] * votes).sum(), self.sample_weight[rows] @ variance
        if unseen is not None:  # one more row, of which nobody knows anything
            curvature += self.sample_weight.mean() / (n_classes - 1)
        copies = weights - weights.min(axis=1, keepdims=True)
        wrong, asked = (copies[rows] * (1 - probability)).sum(), copies[rows].sum()
        return LikelihoodSums(
            float(slope),
            float(curvature),
            float(wrong / asked) if asked > 0 else 0.5,
            bool(copies.sum() <= ROUNDING * self.sample_weight.sum()),
        )


@dataclass(frozen=True)
class LikelihoodSums:
    """Slope and curvature of the loss along a learner's votes."""

    slope: float
    curvature: float
    error: float
    at_minimum: bool
    perfect: ClassVar[bool] = False  # rows whose class is certain still have something to learn

    @property
    def step(self) -> float:
        """Newton's step; one as large as the exponential loss allows makes every class certain."""
        if self.slope <= MIN_STEP * self.curvature:
            return 0.0
        return min(self.slope / self.curvature, MAX_STEP) if self.curvature > 0 else MAX_STEP


Loss = ExponentialLoss | LikelihoodLoss
Terms = ExponentialTerms | LikelihoodTerms
Sums = ExponentialSums | LikelihoodSums
LOSSES = ("auto", "exponential", "likelihood")


def loss_named(name: str, mixing: str, n_classes: int) -> Loss:
    """The loss of this name; "auto" is a consistent one, the paper's where that is."""
    if name == "likelihood" or (name == "auto" and n_classes > 2):
        return LikelihoodLoss()
    return ExponentialLoss(mixing)
