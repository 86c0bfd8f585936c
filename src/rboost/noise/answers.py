"""Regression on checked rows: p(y | score, ỹ) of the labels that nobody checked.

Without answers of people who checked rows, p(y | score, ỹ) rests on assumptions about the noise
(``FlippedOrGuessed``). An answer is a draw from p(y | score, ỹ), whatever the noise is, and however
the row was selected by its score and its label. So it is estimated from the answers, by a
multinomial regression with the assumed distribution as its offset:

    log p(y = j | s, ỹ) = log qⱼ + a·log pⱼ + (b + bⱼ + c·log pⱼ)·1(j = ỹ) + dⱼ + const.

q = p(y | s, ỹ) and p = p(y | s) are as inferred without answers; all coefficients have Gaussian
priors around 0. So few answers change little, and a hundred overrule any assumption. Several q are
compared, flips and guesses of several shares, each with all coefficients 0 and with fitted ones,
and weighted by the marginal likelihood of the answers.

Shapes: ``given`` and ``checked`` are positions of classes, −1 where there is none; rows (n, K).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise.posterior import Cells, FlippedOrGuessed, NoisePosterior, mixed_cells

# Prior standard deviations of the slopes (a and c), of the trust in labels, of all classes and of
# single ones (b and bⱼ), and of the offsets of classes (dⱼ). Chosen on both collections of
# benchmarks.real_noise.
SLOPE_SCALE, TRUST_SCALE, OFFSET_SCALE = 0.5, 1.0, 1.5
# The prior probability that an assumption holds as it is, with all coefficients 0.
AS_ASSUMED = 0.5
# The probability that is spread over all classes before logarithms are taken, so that no label is
# wrong with probability 0 in the regression.
LEAST_DOUBT = 2e-3
# Newton's method stops when a step gains less, in nats, or after this many steps.
ENOUGH, MAX_STEPS = 1e-6, 50
# The number of draws from the posterior of the coefficients, and the largest number of rows on
# which they are evaluated.
N_DRAWS, DRAWN_ROWS = 100, 4000
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class LearntFromAnswers(NoisePosterior):
    """p(y | score, ỹ) estimated from answers, averaged over the assumptions it starts from.

    ``weights`` (2R,) and ``coefficients`` (2R, P) are of the R assumptions of ``before``, first
    unchanged, then with fitted coefficients. ``drawn`` (D, P) are posterior draws of coefficients
    and ``assumed`` (D,) the assumptions they belong to, without the first, flips as assumed.
    ``matrices`` (D, K, K) are the noise matrices of all rows by these draws.
    """

    before: FlippedOrGuessed
    weights: Floats
    coefficients: Floats
    drawn: Floats
    assumed: Integers
    matrices: Floats

    @property
    def flips(self) -> NoisePosterior:
        """The posterior given flips, without the answers."""
        return self.before.flips

    @property
    def for_groups(self) -> NoisePosterior:
        """The regression on answers, which all groups share."""
        return self

    @property
    def noise_matrix(self) -> Floats:
        """p(observed k | true j), averaged over whatever the flips depend on."""
        flips, others = self.before.flipped.noise_matrix, self.matrices.mean(axis=0)
        return self.weights[0] * flips + (1 - self.weights[0]) * others

    def rate_cells(self, true: int, observed: int) -> Cells:
        """The posterior distribution of p(observed | true)."""
        flips = self.before.flipped.rate_cells(true, observed)
        rates = self.matrices[:, true, observed]
        return self._mixed(flips, rates, rates)

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """The posterior distribution of the share of wrong labels.

        Each draw has an expected share, and a cell around it for the sampling error: √3 standard
        deviations to either side, the width of a uniform distribution with that variance.
        """
        some = some_rows(len(scores))
        label = np.asarray(observed)[some].astype(np.intp)
        drawn = _drawn(self.before, self.drawn, self.assumed, np.asarray(scores)[some], label)
        doubt = np.array([1 - each[np.arange(len(label)), label] for each in drawn])
        share = doubt.mean(axis=1)
        reach = np.sqrt(3 * (doubt * (1 - doubt)).mean(axis=1) / len(scores))
        flips = self.before.flipped.wrong_share_cells(scores, observed)
        return self._mixed(flips, np.maximum(share - reach, 0), np.minimum(share + reach, 1))

    def _mixed(self, flips: Cells, low: Floats, high: Floats) -> Cells:
        """Cells given flips as assumed, and cells of the draws from all other cases."""
        return mixed_cells(flips, self.weights[0], low, high, 1 - self.weights[0])

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        observed = np.asarray(observed).astype(np.intp)
        found = np.empty((len(scores), self.matrices.shape[1]))
        for rows in gen_batches(max(len(scores), 1), BLOCK_ROWS):
            starts, columns = regressors(self.before, scores[rows], observed[rows])
            each = [
                softmax(start + columns @ own, axis=1)
                for start, own in zip([*starts, *starts], self.coefficients, strict=True)
            ]
            found[rows] = np.tensordot(self.weights, np.stack(each), 1)
        return found

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) = Σₖ p(ỹ = k | score)·p(y = j | score, ỹ = k) of each row."""
        found = np.zeros((len(scores), self.before.n_classes))
        for k, of_label in enumerate(self.observed_probability(scores).T):
            found += of_label[:, np.newaxis] * self.posterior(scores, np.full(len(scores), k))
        return found

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row, which does not depend on the answers."""
        return self.before.observed_probability(scores)


def learn_from_answers(
    before: FlippedOrGuessed, scores: Floats, given: Integers, checked: Integers, weight: Floats
) -> LearntFromAnswers:
    """Fit the regression to rows that have a ``checked`` label beside the given one."""
    answered = np.flatnonzero(checked >= 0)
    starts, columns = regressors(before, scores[answered], given[answered])
    fits = [unchanged(start, checked[answered], columns.shape[2]) for start in starts]
    fits += [regress(start, columns, checked[answered]) for start in starts]
    chances = np.outer([AS_ASSUMED, 1 - AS_ASSUMED], before.assumption_weights()).ravel()
    logs = np.log(chances) + [fit.log_evidence for fit in fits]
    weights = np.exp(logs - logsumexp(logs))
    random = np.random.RandomState(0)
    # The uncertainty of flips as assumed is that of ``before``; all other cases are drawn from.
    others = weights[1:] / weights[1:].sum()
    assumed = np.repeat(np.arange(1, len(fits)), random.multinomial(N_DRAWS, others))
    draw = random.multivariate_normal
    drawn = np.array([draw(fits[a].mode, fits[a].covariance) for a in assumed])
    modes = np.array([fit.mode for fit in fits])
    some = some_rows(len(given))
    posteriors = _drawn(before, drawn, assumed, scores[some], given[some])
    matrices = [_flips(each, given[some], checked[some], weight[some]) for each in posteriors]
    return LearntFromAnswers(before, weights, modes, drawn, assumed, np.stack(matrices))


def _drawn(
    before: FlippedOrGuessed, drawn: Floats, assumed: Integers, scores: Floats, given: Integers
) -> Iterator[Floats]:
    """p(y = j | score, ỹ) by each of the draws."""
    starts, columns = regressors(before, scores, given)
    for coefficients, assumption in zip(drawn, assumed, strict=True):
        yield softmax(starts[assumption % len(starts)] + columns @ coefficients, axis=1)


def some_rows(n_rows: int) -> Integers:
    """A random sample of rows, the same each time."""
    if n_rows <= DRAWN_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:DRAWN_ROWS])


def _flips(posterior: Floats, given: Integers, checked: Integers, weight: Floats) -> Floats:
    """The noise matrix of rows with this posterior, where checked rows have the checked class."""
    n_classes = posterior.shape[1]
    known = np.where(checked[:, np.newaxis] >= 0, np.eye(n_classes)[checked], posterior)
    joint = np.array([np.bincount(given, weight * own, minlength=n_classes) for own in known.T])
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.maximum(total, 1e-300), np.eye(n_classes))


def regressors(
    before: FlippedOrGuessed, scores: Floats, given: Integers
) -> tuple[list[Floats], Floats]:
    """log q under each assumption, and the regressor of each coefficient, shape (n, K, P)."""
    n_classes = before.n_classes

    def logarithm(probability: Floats) -> Floats:
        return np.log((1 - LEAST_DOUBT) * probability + LEAST_DOUBT / n_classes)

    logs = logarithm(before.probability(scores))
    is_given = (np.arange(n_classes) == given[:, np.newaxis]).astype(np.float64)
    of_class = np.broadcast_to(np.eye(n_classes), (len(given), n_classes, n_classes))
    of_label = of_class * is_given[:, :, np.newaxis]
    slopes = np.stack([logs, is_given * logs], axis=-1)
    columns = np.concatenate([slopes, is_given[:, :, np.newaxis], of_label, of_class], axis=-1)
    return [logarithm(each) for each in before.assumptions(scores, given)], columns


@dataclass(frozen=True)
class Regression:
    """The mode of the coefficients, their covariance, and the log marginal likelihood (Laplace)."""

    mode: Floats
    covariance: Floats
    log_evidence: float


def scales(n_classes: int) -> Floats:
    """The prior standard deviation of each coefficient."""
    return np.repeat([SLOPE_SCALE, TRUST_SCALE, OFFSET_SCALE], [2, 1 + n_classes, n_classes])


def unchanged(start: Floats, answers: Integers, n_coefficients: int) -> Regression:
    """The likelihood of the answers under an assumption, with all coefficients 0."""
    likelihood = start[np.arange(len(start)), answers] - logsumexp(start, axis=1)
    nothing = np.zeros((n_coefficients, n_coefficients))
    return Regression(nothing[0], nothing, float(likelihood.sum()))


def regress(start: Floats, columns: Floats, answers: Integers) -> Regression:
    """Newton's method on log p(answers) − ½·Σ (coefficient / scale)², halved until it ascends."""
    scale = scales(start.shape[1])
    precision, answer = np.diag(scale**-2), np.eye(start.shape[1])[answers]

    def value(coefficients: Floats) -> tuple[float, Floats]:
        logits = start + columns @ coefficients
        likelihood = (logits * answer).sum() - logsumexp(logits, axis=1).sum()
        penalty = coefficients @ precision @ coefficients / 2
        return float(likelihood - penalty), softmax(logits, axis=1)

    def curvature(p: Floats) -> Floats:
        centred = columns - np.einsum("nj,njp->np", p, columns)[:, np.newaxis]
        return np.einsum("nj,njp,njq->pq", p, centred, centred) + precision

    mode = np.zeros(len(scale))
    best, p = value(mode)
    for _ in range(MAX_STEPS):
        gradient = np.einsum("nj,njp->p", answer - p, columns) - precision @ mode
        step = np.linalg.solve(curvature(p), gradient)
        while (found := value(mode + step))[0] < best and np.abs(step).max() > 1e-12:
            step = step / 2
        gain, best, p = found[0] - best, *found
        mode = mode + step
        if gain < ENOUGH:
            break
    information = curvature(p)
    evidence = best - np.linalg.slogdet(information)[1] / 2 - np.log(scale).sum()
    covariance = np.asarray(np.linalg.inv(information), np.float64)
    return Regression(mode, covariance, float(evidence))
