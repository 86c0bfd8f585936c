"""What people who checked rows say of the labels that nobody checked.

Without answers p(y | score, ỹ) rests on assumptions about the noise (``noise/guessed.py``). The
answer of a person is drawn from it, whatever the noise is, and however the row was chosen by its
score and its label. So it is learnt from the answers, by a regression that begins where the
assumptions lead:

    log p(y = j | s, ỹ) = log qⱼ + a·log pⱼ + (b + bⱼ + c·log pⱼ)·1(j = ỹ) + dⱼ + const.

q = p(y | s, ỹ) and p = p(y | s) are as inferred without answers; all coefficients are Gaussian
around 0 beforehand. So few answers change little, and a hundred overrule any assumption. Several q
are tried, flips and guesses of several shares: each counts by how likely it made the answers.

Shapes: ``given`` and ``checked`` are positions of classes, −1 where there is none; rows (n, K).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp, softmax
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise.guessed import FlippedOrGuessed
from rboost.noise.interval import Cells
from rboost.noise.posterior import NoisePosterior

# Standard deviations beforehand of what multiplies logarithms (a and c), of how far labels are
# believed, all and those of a class (b and bⱼ), and of what is added for a class (dⱼ). Chosen on
# the commits of benchmarks.real_noise.
SLOPE_SCALE, TRUST_SCALE, OFFSET_SCALE = 0.5, 1.0, 1.5
# No class is less likely than this, as long as nobody was asked.
LEAST_PROBABILITY = 1e-3
# Newton's method ends when a step gains no more nats, or after so many steps.
ENOUGH, MAX_STEPS = 1e-6, 50
# What the regression may be is shown by so many draws, on so many rows of the table.
N_DRAWS, DRAWN_ROWS = 100, 4000
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class LearntFromAnswers(NoisePosterior):
    """p(y | score, ỹ) as answers have it, averaged over the assumptions that it begins with.

    ``weights`` (R,) and ``coefficients`` (R, P) are of each assumption of ``before``, in its order;
    ``drawn`` (D, P) and ``assumed`` (D,) show what else they may be. ``matrices`` (D, K, K) are the
    flips of all rows by these draws, ``n_answers`` is how many answers there were.
    """

    before: FlippedOrGuessed
    weights: Floats
    coefficients: Floats
    drawn: Floats
    assumed: Integers
    matrices: Floats
    n_answers: int

    @property
    def noise_matrix(self) -> Floats:
        """p(observed k | true j), whatever the flips depend on."""
        return self.matrices.mean(axis=0)

    def rate_cells(self, true: int, observed: int) -> Cells:
        """Where p(observed | true) lies with which probability."""
        return _atoms(self.matrices[:, true, observed])

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """Where the share of labels that are wrong lies with which probability."""
        some = slice(None, None, max(1, len(scores) // DRAWN_ROWS))
        label = np.asarray(observed)[some].astype(np.intp)
        shares = [
            1 - posterior[np.arange(len(label)), label].mean()
            for posterior in self._draws(np.asarray(scores)[some], label)
        ]
        return _atoms(np.array(shares))

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        observed = np.asarray(observed).astype(np.intp)
        found = np.empty((len(scores), self.matrices.shape[1]))
        for rows in gen_batches(max(len(scores), 1), BLOCK_ROWS):
            starts, columns = regressors(self.before, scores[rows], observed[rows])
            each = [
                softmax(start + columns @ own, axis=1)
                for start, own in zip(starts, self.coefficients, strict=True)
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
        """p(ỹ = k | score) of each row; answers have no say in it."""
        return self.before.observed_probability(scores)

    def _draws(self, scores: Floats, observed: Integers) -> Iterator[Floats]:
        starts, columns = regressors(self.before, scores, observed)
        for coefficients, assumption in zip(self.drawn, self.assumed, strict=True):
            yield softmax(starts[assumption] + columns @ coefficients, axis=1)


def learn_from_answers(
    before: FlippedOrGuessed, scores: Floats, given: Integers, checked: Integers
) -> LearntFromAnswers:
    """Learn from rows that have a ``checked`` label beside the given one."""
    answered = np.flatnonzero(checked >= 0)
    starts, columns = regressors(before, scores[answered], given[answered])
    fits = [regress(start, columns, checked[answered]) for start in starts]
    logs = np.log(before.assumption_weights()) + [fit.log_evidence for fit in fits]
    weights = np.exp(logs - logsumexp(logs))
    random = np.random.RandomState(0)
    assumed = np.repeat(np.arange(len(fits)), random.multinomial(N_DRAWS, weights))
    drawn = np.array(
        [random.multivariate_normal(fits[a].mode, fits[a].covariance) for a in assumed]
    )
    modes = np.array([fit.mode for fit in fits])
    nothing = np.eye(before.n_classes)[np.newaxis]
    found = LearntFromAnswers(before, weights, modes, drawn, assumed, nothing, len(answered))
    some = slice(None, None, max(1, len(given) // DRAWN_ROWS))
    posteriors = found._draws(scores[some], given[some])
    matrices = [_flips(posterior, given[some], checked[some]) for posterior in posteriors]
    return replace(found, matrices=np.stack(matrices))


def _flips(posterior: Floats, given: Integers, checked: Integers) -> Floats:
    """How often rows of class j carry the label k, where checked rows are what they are."""
    n_classes = posterior.shape[1]
    known = np.where(checked[:, np.newaxis] >= 0, np.eye(n_classes)[checked], posterior)
    joint = np.array([np.bincount(given, own, minlength=n_classes) for own in known.T])
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)


def _atoms(values: Floats) -> Cells:
    return values, values, np.full(len(values), 1 / len(values))


def regressors(
    before: FlippedOrGuessed, scores: Floats, given: Integers
) -> tuple[list[Floats], Floats]:
    """log q under each assumption, and what each coefficient multiplies, shape (n, K, P)."""
    n_classes = before.n_classes

    def logarithm(probability: Floats) -> Floats:
        return np.log(np.maximum(probability, LEAST_PROBABILITY))

    logs = logarithm(before.probability(scores))
    is_given = (np.arange(n_classes) == given[:, np.newaxis]).astype(np.float64)
    of_class = np.broadcast_to(np.eye(n_classes), (len(given), n_classes, n_classes))
    of_label = of_class * is_given[:, :, np.newaxis]
    slopes = np.stack([logs, is_given * logs], axis=-1)
    columns = np.concatenate([slopes, is_given[:, :, np.newaxis], of_label, of_class], axis=-1)
    return [logarithm(each) for each in before.assumptions(scores, given)], columns


@dataclass(frozen=True)
class Regression:
    """The likeliest coefficients, their covariance, and the log-evidence (Laplace)."""

    mode: Floats
    covariance: Floats
    log_evidence: float


def scales(n_classes: int) -> Floats:
    """The standard deviation of each coefficient beforehand."""
    numbers = {SLOPE_SCALE: 2, TRUST_SCALE: 1 + n_classes, OFFSET_SCALE: n_classes}
    return np.repeat(list(numbers), list(numbers.values()))


def regress(start: Floats, columns: Floats, answers: Integers) -> Regression:
    """Newton's method on log p(answers) − ½·Σ (coefficient / scale)², halved until it ascends."""
    scale = scales(start.shape[1])
    precision, answer = np.diag(scale**-2), np.eye(start.shape[1])[answers]

    def value(coefficients: Floats) -> tuple[float, Floats]:
        logits = start + columns @ coefficients
        likelihood = (logits * answer).sum() - logsumexp(logits, axis=1).sum()
        penalty = coefficients @ precision @ coefficients / 2
        return float(likelihood - penalty), softmax(logits, axis=1)

    mode = np.zeros(len(scale))
    best, p = value(mode)
    for _ in range(MAX_STEPS):
        gradient = np.einsum("nj,njp->p", answer - p, columns) - precision @ mode
        centred = columns - np.einsum("nj,njp->np", p, columns)[:, np.newaxis]
        information = np.einsum("nj,njp,njq->pq", p, centred, centred) + precision
        step = np.linalg.solve(information, gradient)
        while (found := value(mode + step))[0] < best and np.abs(step).max() > 1e-12:
            step = step / 2
        gain, best, p = found[0] - best, *found
        mode = mode + step
        if gain < ENOUGH:
            break
    evidence = best - np.linalg.slogdet(information)[1] / 2 - np.log(scale).sum()
    return Regression(mode, np.linalg.inv(information), float(evidence))
