"""Algorithm 1 of the paper on sums over rows, and the two losses that its rounds minimise.

Nothing here sees the features. Shapes, for K classes:

    scores          F, (n_rows, K), with Σⱼ Fⱼ = 0; for two classes F = (−H, H)
    probability     p, class probabilities by a base learner, (n_rows, K)
    votes           g = (K·p − 1) / (K − 1), which is 1 for a sure class; a step α adds α·g to F
    columns         likelihoods of the label by true class: c[j] of row i is ``columns[j, code[i]]``

Both losses are used alike. ``terms`` evaluates every row at its scores; ``class_weights`` say what
a base learner is to fit: to name class j costs a row the less, the larger entry j is. ``judge``
sums up the errors of a learner over the rows that judge it; from the sums follow:

    step            the step α that the loss asks for; 0 for a learner that is no better than chance
    error           the learner's weighted error on what it was to fit
    at_minimum      every row is at the minimum of its own loss: nothing is left to learn
    perfect         the learner makes no error: after its step nothing is left to learn
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from rboost._typing import Floats, Integers
from rboost.noise.likelihood import Likelihood, NoisySoftmaxLoss
from rboost.noise.matrix import posterior_of

# A larger step needs a weighted error below what float64 can tell from zero; for two classes.
MAX_STEP = float(-np.log(np.finfo(np.float64).eps) / 2)
# Smaller steps, and class weights that sum to a smaller share of the loss, are rounding errors.
MIN_STEP, ROUNDING = 1e-12, 1e-14
# The smallest coefficient of the label itself in ``mixing="paper"``, whatever flips into it.
SMALLEST_COEFFICIENT = 1e-3
# Boosting ends after this many learners in a row that are no better than chance. Base learners may
# be random, so a single one is no evidence.
USELESS_LEARNERS = 10

# Why boosting may end before its last round.
AT_MINIMUM = "round {}: every row is at the minimum of its loss"
USELESS = "round {}: {} base learners in a row no better than chance"
PERFECT = "round {}: a base learner without errors leaves nothing to boost"


def paper_coefficients(noise_matrix: Floats) -> Floats:
    """Eq. (10) as printed: a row observed in class k is mixed by the rates of flips *into* k.

    c[k, j] = T[j, k] and c[k, k] is what these leave of 1, a small number if they leave nothing.
    """
    into = noise_matrix.T * (1 - np.eye(len(noise_matrix)))
    left = np.maximum(1 - into.sum(axis=1), SMALLEST_COEFFICIENT if len(into) > 2 else 0.0)
    return into + np.diag(left)


def balanced_posterior(noise_matrix: Floats) -> Floats:
    """p(y = j | ỹ = k) for balanced classes."""
    return posterior_of(noise_matrix, np.full(len(noise_matrix), 1 / len(noise_matrix)))


# How a noise matrix becomes mixing coefficients c[k, j].
#   "posterior"  p(y = j | ỹ = k) for balanced classes: columns of the noise matrix, normalised. Of
#                two classes the loss is smallest at the Bayes rule (docs/method.md).
#   "paper"      eq. (10). The same for symmetric noise of two classes; else its threshold is off.
MIXINGS = {"posterior": balanced_posterior, "paper": paper_coefficients}


def mixing_coefficients(noise_matrix: Floats, mixing: str = "posterior") -> Floats:
    """Coefficients c[k, j] of the mixture loss: how much a row observed as k counts as class j.

    The matrix is not checked, as this is called in every round.
    """
    return MIXINGS[mixing](noise_matrix)


def mixed(columns: Floats) -> Floats:
    """Columns of likelihoods as mixing coefficients: p(y = j | what was said), balanced classes."""
    return columns / columns.sum(axis=0)


@dataclass(frozen=True)
class ExponentialLoss:
    """A row costs Σⱼ c[j]·exp(−Fⱼ / (K − 1)), eq. (10), for its mixing coefficients c.

    With c the identity that is AdaBoost's loss, eq. (9), for more classes SAMME's. For fixed noise
    it is convex in F, and each row's minimum is at finite scores: a row is never worth pushing
    further than its label can be trusted. That, not non-convexity, makes it robust.
    """

    learning_rate: ClassVar[float] = 0.015

    def terms(self, mixing: Likelihood, scores: Floats) -> ExponentialTerms:
        """Evaluate the exponentials of every row, eq. (13) and (15)–(18).

        Only ratios matter to boosting, so the largest term is scaled to 1 before sample weights
        come in: any scores are safe.
        """
        with np.errstate(divide="ignore"):  # log 0 = −inf is the right answer for a coefficient 0
            logs = np.log(mixing.columns).T[mixing.code] - scores / (scores.shape[1] - 1)
        log_scale = float(logs.max())
        class_weights = np.exp(logs - log_scale) * mixing.weight[:, np.newaxis]
        return ExponentialTerms(mixing, class_weights, log_scale)


@dataclass(frozen=True)
class ExponentialTerms:
    """c[j]·exp(−Fⱼ / (K − 1)) of every row and class, up to the common factor e^log_scale.

    They are the paper's w00 and w01 of a row with ỹ = +1, its w11 and w10 of one with ỹ = −1.
    """

    mixing: Likelihood
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
        label = self.mixing.columns.argmax(axis=0)[self.mixing.code]  # its term may have vanished
        perfect = rising == 0 and bool(probability[np.arange(len(terms)), label].all())
        return ExponentialSums(falling, rising, total, net, perfect, n_classes)


@dataclass(slots=True)  # frozen ones take as long to make as a small fit
class ExponentialSums:
    """What a learner makes fall and rise, of the ``total`` loss of all rows.

    ``net`` sums up the class weights beyond the smallest of each row. Smaller shares and steps than
    ``rounding`` and ``smallest_step`` are rounding errors.
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
        """Add a pseudo-row on which the learner is undecided: steps stay finite."""
        one_more = self.total / n_rows / self.n_classes
        self.falling += one_more
        self.rising += (self.n_classes - 1) * one_more
        self.perfect = False
        return self

    @property
    def at_minimum(self) -> bool:
        """Whether the class weights are rounding errors."""
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
    """A row costs −log Σⱼ L[j]·softmaxⱼ(F): eq. (3) with F in the place of βᵀx.

    It is smallest at the Bayes rule of the true classes, for any number of them and any noise.
    """

    learning_rate: ClassVar[float] = 0.045

    def terms(self, likelihood: Likelihood, scores: Floats) -> LikelihoodTerms:
        """Evaluate p(y | x) and p(y | x, what was said) of every row."""
        rows = NoisySoftmaxLoss(scores, likelihood.code, likelihood.columns)
        posterior = rows.posterior
        if likelihood.are_targets:
            posterior = likelihood.columns.T[likelihood.code]
        return LikelihoodTerms(rows.true_probability, posterior, likelihood.weight)


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
        if unseen is not None:  # pseudo-row with p(y | x) = 1/K: slope 0, curvature of a sure vote
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


class Rounds(Protocol):
    """The rows, their scores and the learners; a round calls the first three in this order.

    ``out_of_bag``: the score of a row comes from learners that were not fitted to it, and a learner
    is judged on rows that it was not fitted to.
    """

    out_of_bag: bool

    def fit_learner(self, columns: Floats) -> None:
        """Fit the next base learner to the rows as the loss weighs them now, eq. (12) and (13)."""

    def judge(self) -> Sums:
        """Sum up how good that learner is."""

    def move(self, step: float) -> None:
        """Keep the learner and add its votes to the scores, eq. (15)–(18)."""

    @property
    def votes(self) -> RowVotes:
        """The votes of the learners so far."""

    def finish(self) -> Sequence[Any]:
        """Return the learners that were kept, and warn of what went wrong with any."""


@dataclass
class RowVotes:
    """For each training row, the votes of the learners that count for it.

    ``sums`` is Σ α·h or Σ α·g over those learners and ``steps`` their Σ α, (n_rows,): of those that
    have not seen the row. Without ``steps`` all learners count for all rows. ``total`` is Σ α of
    all learners. Votes of two classes are kept as the paper's h, (n_rows,), of more as g, (n_rows,
    K).
    """

    sums: Floats
    steps: Floats | None
    total: float = 0.0

    @staticmethod
    def zero(n_rows: int, n_classes: int, out_of_bag: bool) -> RowVotes:
        """Scores of 0, so that the weights start as w_jk = γ_jk."""
        shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
        return RowVotes(np.zeros(shape), np.zeros(n_rows) if out_of_bag else None)

    def copy(self) -> RowVotes:
        """The same votes, to which others can be added."""
        steps = None if self.steps is None else self.steps.copy()
        return RowVotes(self.sums.copy(), steps, self.total)

    def add(self, step: float, votes: Floats, rows: Integers | slice) -> None:
        """Count the votes of one more learner on these rows."""
        self.sums[rows] += step * votes
        if self.steps is not None:
            self.steps[rows] += step
        self.total += step

    @property
    def means(self) -> Floats:
        """Σ α·g / Σ α; 0 for a row that every learner was fitted to."""
        steps = np.full(len(self.sums), self.total) if self.steps is None else self.steps
        by_class = self.sums.T
        return np.divide(by_class, steps, out=np.zeros_like(by_class), where=steps > 0).T

    @property
    def scores(self) -> Floats:
        """What the learners that count for each row would sum up to, were they all."""
        if self.steps is None:
            return self.sums
        scores = self.means
        scores *= self.total
        return scores


@dataclass
class Progress:
    """The state between rounds, and between a fit and one that continues it.

    ``columns`` are those of the loss: mixing coefficients, or likelihoods. ``steps`` and ``errors``
    are of the learners that were kept, ``n_rounds`` counts all rounds, ``useless`` the last
    learners in a row that were no better than chance.
    """

    columns: Floats
    steps: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    n_rounds: int = 0
    useless: int = 0
    stop_reason: str = ""
    finished: bool = False

    def end(self, because: str) -> None:
        """Stop: more rounds could add nothing."""
        self.stop_reason, self.finished = because.format(self.n_rounds, USELESS_LEARNERS), True


def boost(
    rounds: Rounds,
    progress: Progress,
    update_noise: Callable[[], None],
    learning_rate: float,
    round_numbers: Iterable[int],
) -> None:
    """Repeat rounds until the numbers run out or nothing more can be learnt.

    The numbers on the right are those of the steps of Algorithm 1; its weights are not kept, as
    they follow from the scores. A learner no better than chance gets the step 0 and is not kept.
    ``update_noise`` may change the columns of the progress.
    """
    n_before = progress.n_rounds - len(progress.steps)
    for number in round_numbers:
        progress.n_rounds = number
        rounds.fit_learner(progress.columns)  # (1)
        sums = rounds.judge()  # (2)
        if sums.at_minimum:
            return progress.end(AT_MINIMUM)
        step = learning_rate * sums.step  # (3) eq. (14)
        progress.useless = 0 if step > 0 else progress.useless + 1
        if step > 0:
            rounds.move(step)  # (4) eq. (15)–(18)
            progress.steps.append(step)
            progress.errors.append(sums.error)
        if step > 0 or rounds.out_of_bag:
            update_noise()  # (5), (6)
        # Out of bag the votes are averaged, and one useless learner says little of the next.
        if progress.useless == USELESS_LEARNERS and not rounds.out_of_bag:
            return progress.end(USELESS)
        if step > 0 and sums.perfect:
            return progress.end(PERFECT)
    skipped = progress.n_rounds - len(progress.steps) - n_before
    without = f", {skipped} of them without a learner better than chance" if skipped else ""
    progress.stop_reason = f"all {progress.n_rounds} rounds done{without}"
    return None
