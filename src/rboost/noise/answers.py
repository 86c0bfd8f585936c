"""What people who checked rows teach of the others: regression on answers, which may be wrong.

Without answers, p(y | score, ỹ) rests on what cannot be known from scores and labels
(:mod:`rboost.noise.row_dependent`). An answer is nearly a draw from p(y | score, ỹ), whatever the
noise is, and however the row was selected by its score and its label. So that is estimated from the
answers, by a multinomial regression with the assumed distribution as its offset:

    log p(y = j | s, ỹ) = log qⱼ + a·log pⱼ + (b + bⱼ + c·log pⱼ)·1(j = ỹ) + dⱼ + const.

q = p(y | s, ỹ) under an assumption, flips or a share of guesses, and p = p(y | s) are as inferred
without answers; all coefficients have Gaussian priors around 0. So few answers change little, and a
hundred overrule any assumption.

**Reviewers err.** An answer of reviewer r is the true class with probability 1 − eᵣ, else any other
class. Given the true class, answers of different people to one row are independent, so that their
likelihoods multiply:

    p(answers to row i) = Σⱼ p(y = j | s, ỹ)·Πᵣ p(aᵢᵣ | y = j, eᵣ)   with   logit eᵣ = logit e + δᵣ.

The common rate e is averaged over. The deviations δᵣ ~ N(0, σ²), with Σᵣ δᵣ = 0, draw the rate of
each reviewer towards the common one. Their mode and the evidence for them (Laplace) follow from
w_ir = p(aᵢᵣ is wrong | all answers to row i): the slope of log p in δᵣ is Σᵢ (w_ir − eᵣ). So a rate
is learnt where the model is sure of a row, and where others have answered it too. One careless
answer is rather a mistake than a reason to doubt thousands of labels. Of one reviewer δ = 0.
Two answers of one person to one row are not independent; only the later one counts.

Every assumption is compared with every rate e and every freedom (the scale of the priors of
coefficients; 0: it holds as it is), by the marginal likelihood of answers.

Shapes: ``given`` (n,) are positions of classes, ``answers`` (n, R) those that each of R reviewers
chose, −1 where there is none; rows (n, K).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise.posterior import LIST_MISFIT, NORMAL, TINY, Doubt, NoisePosterior
from rboost.noise.row_dependent import RowDependentNoise

# Prior standard deviations of the slopes (a and c), of the trust in labels, of all classes and of
# single ones (b and bⱼ), and of the offsets of classes (dⱼ). Chosen on both collections of
# benchmarks.real_noise.
SLOPE_SCALE, TRUST_SCALE, OFFSET_SCALE = 0.5, 1.0, 1.5
# By how much these scales are multiplied, and how likely that is. More weight on 1 lets few answers
# change more, and so does a single wrong one.
FREEDOM = {0.0: 0.4, 0.5: 0.4, 1.0: 0.2}
# Error rates of reviewers that are compared, and how likely they are: near 3 % on average, and one
# table in fifty has answers that are hardly better than chance, such as those of other rows. More
# weight on high rates makes an answer against a sure model count for less; with less on them,
# intervals miss the truth where one answer in ten is wrong.
ERRORS = {0.003: 0.35, 0.01: 0.27, 0.03: 0.2, 0.08: 0.11, 0.2: 0.05, 0.45: 0.02}
# The standard deviation of the log-odds that a reviewer errs, from one to the other: rates within a
# factor of about 3 of the common one are usual. Twice as much lets an answer more against a sure
# model speak against its reviewer alone; half as much needs twice as many.
REVIEWER_SPREAD = 1.0
# Coefficients and rates of reviewers are found in turn until no rate changes by more than this, in
# log-odds, or for this many turns.
SAME_RATES, MOST_TURNS = 0.02, 8
# The probability that is spread over all classes before logarithms are taken, so that no label is
# wrong with probability 0 in the regression.
LEAST_DOUBT = 2e-3
# The least prior probability of an assumption, so that answers can still speak for what scores and
# labels have ruled out.
LEAST_WEIGHT = 1e-3
# A case whose log weight is this many nats below the largest is dropped.
NEGLIGIBLE = 5.0
# Newton's method stops when a step gains less, in nats, or after this many steps.
ENOUGH, MAX_STEPS = 1e-5, 500
# The number of draws from the posterior of the coefficients, and the largest number of rows on
# which they are evaluated.
N_DRAWS, DRAWN_ROWS = 100, 4000
BLOCK_ROWS = 8192
# With more classes than this, single ones have no coefficients (bⱼ and dⱼ are 0): a few answers a
# class say little of it, and time grows with the cube of the number of classes.
MOST_OFFSETS = 20


@dataclass(frozen=True, eq=False)
class LearntFromAnswers(NoisePosterior):
    """p(y | score, ỹ) estimated from answers, averaged over the cases it starts from.

    Case f starts from assumption ``assumed[f]`` of ``before``, with ``coefficients[f]`` (F, P), and
    reviewers err at the rates ``errors[f]`` (F, R); its probability is ``weights[f]``.
    ``n_answers`` (R,) says how many rows each has answered. ``drawn`` (D, P) are
    posterior draws of coefficients, ``drawn_from`` (D,) their assumptions, and ``matrices``
    (D, K, K) the noise matrices that are expected by these draws, with the standard ``deviations``
    of what all rows have. ``information`` is the sum of q·(1 − q) over answered rows, q = p(wrong)
    before the answers: how much these tell of a shift of log-odds.
    """

    before: RowDependentNoise
    assumed: Integers
    coefficients: Floats
    errors: Floats
    weights: Floats
    n_answers: Floats
    drawn: Floats
    drawn_from: Integers
    matrices: Floats
    deviations: Floats
    information: float

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
        return self.matrices.mean(axis=0)

    @property
    def likelier_matrix(self) -> Floats:
        """The noise matrix with which models are fitted."""
        return self.noise_matrix

    @property
    def error_rate(self) -> float:
        """The share of answers that are wrong, as it is expected now."""
        return float(self.weights @ self._errors_of_all)

    @property
    def _errors_of_all(self) -> Floats:
        """The share of answers that are wrong in each case, (F,)."""
        n_answers = self.n_answers + TINY
        return np.asarray(self.errors @ (n_answers / n_answers.sum()))

    @property
    def error_rates(self) -> Floats:
        """The share of the answers of each reviewer that are wrong, as it is expected now, (R,)."""
        return np.asarray(self.weights @ self.errors)

    @property
    def largest_error_rate(self) -> float:
        """The error rate of all answers that is exceeded with a probability of at most .05."""
        errors = self._errors_of_all
        order = np.argsort(errors)
        reached = np.searchsorted(np.cumsum(self.weights[order]), 0.95 - 1e-9)
        return float(errors[order][reached])

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        return np.sqrt(self.matrices.var(axis=0) + (self.deviations**2).mean(axis=0))

    def interval(self) -> Floats:
        """90 % intervals of each p(observed | true), the lower ends and the upper ones."""
        ends = np.empty((2, *self.matrices.shape[1:]))
        for j in range(self.matrices.shape[1]):
            spread = NORMAL[:, np.newaxis, np.newaxis] * self.deviations[:, j]
            values = np.clip(self.matrices[:, j] + spread, 0, 1)
            ends[:, j] = np.quantile(values, [0.05, 0.95], axis=(0, 1))
        return np.where(ends < TINY, 0.0, np.where(ends > 1 - TINY, 1.0, ends))

    def wrong_shares(
        self, scores: Floats, observed: Integers, listed: Integers | None = None
    ) -> tuple[Floats, Floats]:
        """Values of the share of wrong labels among listed rows, or all; and their probabilities.

        Each draw has an expected share; which of the rows are wrong is chance. Flips that answers
        leave as they were inferred are as uncertain as they were.
        """
        observed = np.asarray(observed).astype(np.intp)

        def doubt_of(rows: Integers) -> tuple[Floats, Floats]:
            """p(wrong) of some of these rows by each draw: the mean, and that of q·(1 − q)."""
            some = rows[some_rows(len(rows))]
            label, each = observed[some], np.arange(len(some))
            drawn = _drawn(
                self.before, self.drawn, self.drawn_from, np.asarray(scores)[some], label
            )
            doubt = np.array([1 - own[each, label] for own in drawn]).reshape(len(self.drawn), -1)
            return doubt.mean(axis=1), (doubt * (1 - doubt)).mean(axis=1)

        everything = np.arange(len(scores))
        mean, spread = doubt_of(everything)
        rows = some = Doubt(len(scores), spread)
        if listed is not None:
            mean, spread = doubt_of(listed)
            some = Doubt(len(listed), spread)
        of_flips = np.where(
            are_flips(self.drawn, self.drawn_from), self.before.deviations_of_flips()[0], 0.0
        )
        misfit = 1 / np.sqrt(1 / LIST_MISFIT**2 + self.information)
        deviation = np.asarray(rows.deviation(some, of_flips, misfit))
        values = np.clip(mean[:, None] + deviation[:, None] * NORMAL, 0, 1).ravel()
        return values, np.full(len(values), 1 / len(values))

    def wrong_share_interval(
        self,
        scores: Floats,
        observed: Integers,
        level: float = 0.9,
        *,
        listed: Integers | None = None,
    ) -> tuple[float, float, float]:
        """The same; of all rows, the lower end allows for reviewers who err more than expected.

        A few answers tell little of the error rate, so that its prior decides how many labels are
        called wrong by mistake: if the rate is higher by δ, up to δ fewer of all labels are wrong.
        With δ from the expected rate to the largest plausible one, the distance of the lower end
        from the mean becomes √(distance² + δ²). It is not moved below the lower end without
        answers, which no answer has raised.
        """
        mean, low, high = super().wrong_share_interval(scores, observed, level, listed=listed)
        if listed is None or len(np.unique(listed)) == len(scores):
            excess = max(self.largest_error_rate - self.error_rate, 0.0)
            lowest = mean - np.hypot(max(mean - low, 0.0), excess)
            _, without, _ = self.before.wrong_share_interval(scores, observed, level)
            low = min(low, max(float(lowest), without))
        return mean, low, high

    def posterior(
        self, scores: Floats, observed: Integers, answers: Integers | None = None
    ) -> Floats:
        """p(y = j | score, ỹ) of each row, and of its answers where there are any."""
        observed = np.asarray(observed).astype(np.intp)
        found = np.empty((len(scores), self.before.n_classes))
        for rows in gen_batches(max(len(scores), 1), BLOCK_ROWS):
            starts, columns = regressors(self.before, scores[rows], observed[rows])
            total = np.zeros_like(starts[0])
            for weight, start, own, error in zip(
                self.weights, self.assumed, self.coefficients, self.errors, strict=True
            ):
                p = softmax(starts[start] + columns @ own, axis=1)
                if answers is not None:
                    p *= answer_likelihood(answers[rows], p.shape[1], error)
                    p /= p.sum(axis=1, keepdims=True)
                total += weight * p
            found[rows] = total
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


def answer_likelihood(answers: Integers, n_classes: int, errors: ArrayLike) -> Floats:
    """p(answers | y = j) of each row, 1 for rows without an answer.

    ``answers`` (n, R) are those of reviewers who err at the rates ``errors`` (R,), or at one rate;
    or, of one reviewer, (n,).
    """
    columns = answers[:, np.newaxis] if answers.ndim == 1 else answers
    found = np.ones((len(answers), n_classes))
    for own, error in zip(columns.T, np.broadcast_to(errors, columns.shape[1]), strict=True):
        asked = np.flatnonzero(own >= 0)
        said = np.full((len(asked), n_classes), error / (n_classes - 1))
        said[np.arange(len(asked)), own[asked]] = 1 - error
        found[asked] *= said
    return found


def reviewer_errors(p: Floats, answers: Integers, common: float) -> tuple[Floats, float]:
    """The rate at which each reviewer errs, (R,), and the log evidence for their deviations.

    ``p`` (n, K) is p(y = j | s, ỹ) of rows without their answers. The evidence is that of rates
    which differ, relative to the likelihood of answers at the rates found (Laplace).
    """
    errors = np.full(answers.shape[1], common)
    n_own = (answers >= 0).sum(axis=0)
    active = np.flatnonzero(n_own)
    if len(active) < 2:
        return errors, 0.0
    own, n_own, n_classes = answers[:, active], n_own[active], p.shape[1]
    row, who = np.nonzero(own >= 0)
    said, precision = own[row, who], REVIEWER_SPREAD**-2.0
    largest = 1 - 1 / n_classes  # at which answers say nothing

    def rates(deviations: Floats) -> Floats:
        return np.minimum(expit(logit(common) + deviations), largest)

    def value(deviations: Floats) -> tuple[float, Floats]:
        """The penalised log likelihood, and w of each answer."""
        joint = p * answer_likelihood(own, n_classes, rates(deviations))
        total = np.maximum(joint.sum(axis=1), 1e-300)
        log = float(np.log(total).sum() - precision * (deviations**2).sum() / 2)
        return log, 1 - joint[row, said] / total[row]

    deviations = np.zeros(len(active))
    best, wrong = value(deviations)
    for _ in range(MAX_STEPS):
        error, mean = rates(deviations), np.bincount(who, wrong) / n_own
        slope = n_own * (mean - error) - precision * deviations
        curvature = n_own * np.maximum(error * (1 - error), mean * (1 - mean)) + precision
        step = (slope - (slope / curvature).sum() / (1 / curvature).sum()) / curvature
        while (found := value(deviations + step))[0] < best and np.abs(step).max() > 1e-10:
            step = step / 2
        gain, best, wrong = found[0] - best, found[0], found[1]
        deviations = deviations + step
        if gain < ENOUGH:
            break
    error = rates(deviations)
    known = n_own * error * (1 - error) - np.bincount(who, wrong * (1 - wrong))
    ratio = 1 + np.maximum(known, 0.0) / precision  # of posterior to prior precision
    volume = np.log(ratio).sum() + np.log(np.mean(1 / ratio))  # where the sum of deviations is 0
    errors[active] = error
    return errors, float(-precision * (deviations**2).sum() / 2 - volume / 2)


class Case(NamedTuple):
    """A regression from one assumption and one common error rate, and its log probability."""

    assumed: int
    errors: Floats
    found: Regression
    log: float


def likely_cases(
    before: RowDependentNoise, scores: Floats, given: Integers, answers: Integers
) -> list[Case]:
    """Assumptions, error rates and freedoms that are not negligible after these answers."""
    starts, columns = regressors(before, scores, given)
    by_assumption = np.log(np.maximum(before.assumption_weights(), LEAST_WEIGHT))
    cases = []
    for common, by_error in ERRORS.items():
        for assumed, start in enumerate(starts):
            for freedom, by_freedom in FREEDOM.items():
                errors, found, log = regress_and_rate(start, columns, answers, common, freedom)
                log += by_assumption[assumed] + np.log(by_error * by_freedom)
                cases.append(Case(assumed, errors, found, float(log)))
    best = max(case.log for case in cases)
    return [case for case in cases if case.log > best - NEGLIGIBLE]


def regress_and_rate(
    start: Floats, columns: Floats, answers: Integers, common: float, freedom: float
) -> tuple[Floats, Regression, float]:
    """The rates of reviewers, the regression at these rates, and the log evidence of both.

    Coefficients and rates are improved in turn, each at its maximum given the other.
    """
    errors = np.full(answers.shape[1], common)
    found = regress(start, columns, answers, errors, freedom)
    if np.count_nonzero((answers >= 0).any(axis=0)) < 2:
        return errors, found, found.log_evidence
    for _ in range(MOST_TURNS):
        p = softmax(start + columns @ found.mode, axis=1)
        before, (errors, log) = errors, reviewer_errors(p, answers, common)
        found = regress(start, columns, answers, errors, freedom, found.mode)
        if freedom == 0 or np.abs(logit(errors) - logit(before)).max() < SAME_RATES:
            break
    return errors, found, found.log_evidence + log


def learn_from_answers(
    before: RowDependentNoise, scores: Floats, given: Integers, answers: Integers, weight: Floats
) -> LearntFromAnswers:
    """Fit the regression to rows that have answers beside the given label."""
    n_classes, answered = before.n_classes, np.flatnonzero((answers >= 0).any(axis=1))
    cases = likely_cases(before, scores[answered], given[answered], answers[answered])
    weights = softmax([case.log for case in cases])
    random = np.random.RandomState(0)
    places = np.repeat(np.arange(len(cases)), random.multinomial(N_DRAWS, weights))
    drawn = np.array(
        [random.multivariate_normal(cases[f].found.mode, cases[f].found.covariance) for f in places]
    )
    assumed, errors = (np.array([case[k] for case in cases]) for k in (0, 1))
    some = some_rows(len(given))
    matrices, sizes = np.empty((N_DRAWS, n_classes, n_classes)), np.empty((N_DRAWS, n_classes, 1))
    posteriors = _drawn(before, drawn, assumed[places], scores[some], given[some])
    for draw, posterior in enumerate(posteriors):
        joint = posterior * answer_likelihood(answers[some], n_classes, errors[places[draw]])
        joint /= joint.sum(axis=1, keepdims=True)
        matrices[draw], sizes[draw] = _flips(joint, given[some], weight[some])
    n_rows = sizes * weight.sum() / weight[some].sum()
    of_flips = before.deviations_of_flips()[1] * are_flips(drawn, assumed[places])[:, None, None]
    deviations = np.sqrt(matrices * (1 - matrices) / np.maximum(n_rows, 1) + of_flips**2)
    modes = np.array([case.found.mode for case in cases])
    wrong = before.issue_probability(scores[answered], given[answered])
    return LearntFromAnswers(
        before, assumed, modes, errors, weights, (answers >= 0).sum(axis=0).astype(np.float64),
        drawn, assumed[places], matrices, deviations,
        information=float(np.sum(wrong * (1 - wrong))),
    )  # fmt: skip


def are_flips(drawn: Floats, assumed: Integers) -> NDArray[np.bool_]:
    """Which draws of coefficients are flips as they were inferred without answers."""
    return (assumed == 0) & ~drawn.any(axis=1)


def _drawn(
    before: RowDependentNoise, drawn: Floats, assumed: Integers, scores: Floats, given: Integers
) -> Iterator[Floats]:
    """p(y = j | score, ỹ) by each of the draws."""
    starts, columns = regressors(before, scores, given)
    for coefficients, start in zip(drawn, assumed, strict=True):
        yield softmax(starts[start] + columns @ coefficients, axis=1)


def some_rows(n_rows: int) -> Integers:
    """A random sample of rows, the same each time."""
    if n_rows <= DRAWN_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:DRAWN_ROWS])


def _flips(posterior: Floats, given: Integers, weight: Floats) -> tuple[Floats, Floats]:
    """The noise matrix of rows with this posterior, and how many are of each class, (K, 1)."""
    n_classes = posterior.shape[1]
    joint = np.array([np.bincount(given, weight * own, minlength=n_classes) for own in posterior.T])
    total = joint.sum(axis=1, keepdims=True)
    return np.where(total > 0, joint / np.maximum(total, 1e-300), np.eye(n_classes)), total


def regressors(
    before: RowDependentNoise, scores: Floats, given: Integers
) -> tuple[list[Floats], Floats]:
    """log q under each assumption, and the regressor of each coefficient, shape (n, K, P)."""
    n_classes = before.n_classes

    def logarithm(probability: Floats) -> Floats:
        return np.log((1 - LEAST_DOUBT) * probability + LEAST_DOUBT / n_classes)

    logs = logarithm(before.probability(scores))
    is_given = (np.arange(n_classes) == given[:, np.newaxis]).astype(np.float64)
    slopes = np.stack([logs, is_given * logs, is_given], axis=-1)
    of_class = np.eye(n_classes)[:, : n_offsets(n_classes)]
    of_class = np.broadcast_to(of_class, (len(given), *of_class.shape))
    of_label = of_class * is_given[:, :, np.newaxis]
    columns = np.concatenate([slopes, of_label, of_class], axis=-1)
    return [logarithm(each) for each in before.assumptions(scores, given)], columns


@dataclass(frozen=True)
class Regression:
    """The mode of the coefficients, their covariance, and the log marginal likelihood (Laplace)."""

    mode: Floats
    covariance: Floats
    log_evidence: float


def n_offsets(n_classes: int) -> int:
    """How many classes have coefficients of their own: all, or none where there are many."""
    return n_classes if n_classes <= MOST_OFFSETS else 0


def scales(n_classes: int) -> Floats:
    """The prior standard deviation of each coefficient."""
    n_own = n_offsets(n_classes)
    return np.repeat([SLOPE_SCALE, TRUST_SCALE, OFFSET_SCALE], [2, 1 + n_own, n_own])


def log_evidence(logits: Floats, likelihood: Floats) -> float:
    """Σ log Σⱼ p(y = j)·p(answer | y = j) over rows."""
    p = softmax(logits, axis=1)
    return float(np.log(np.maximum((p * likelihood).sum(axis=1), 1e-300)).sum())


def regress(
    start: Floats,
    columns: Floats,
    answers: Integers,
    errors: Floats,
    freedom: float,
    first: Floats | None = None,
) -> Regression:
    """Newton's method on log p(answers) − ½·Σ (coefficient / scale)², halved until it ascends.

    The information of an answer about the coefficients is that of its class, less what the error
    rate hides. Several answers to a row count as that of the most reliable reviewer alone, which is
    the least that they say together. ``first`` is where the search begins.
    """
    n_classes, n_coefficients = start.shape[1], columns.shape[2]
    mode = np.zeros(n_coefficients) if first is None else first
    likelihood = answer_likelihood(answers, n_classes, errors)
    if freedom == 0:
        nothing = np.zeros((n_coefficients, n_coefficients))
        return Regression(mode, nothing, log_evidence(start, likelihood))
    scale = scales(n_classes) * freedom
    precision = np.diag(scale**-2)
    least = np.where(answers >= 0, errors, 1.0).min(axis=1, keepdims=True)
    slip = least / (n_classes - 1)
    told = 1 - least - slip

    def value(coefficients: Floats) -> float:
        penalty = coefficients @ precision @ coefficients / 2
        return log_evidence(start + columns @ coefficients, likelihood) - float(penalty)

    def derivatives(coefficients: Floats) -> tuple[Floats, Floats]:
        p = softmax(start + columns @ coefficients, axis=1)
        joint = p * likelihood
        answer = joint / joint.sum(axis=1, keepdims=True)
        gradient = np.einsum("nj,njp->p", answer - p, columns) - precision @ coefficients
        centred = columns - np.einsum("nj,njp->np", p, columns)[:, np.newaxis]
        share = told**2 * p**2 / (told * p + slip)  # of p(answer = j), whose slope is told·p
        weighted = share[:, :, np.newaxis] * centred
        return gradient, np.tensordot(weighted, centred, ((0, 1), (0, 1))) + precision

    best = value(mode)
    for _ in range(MAX_STEPS):
        gradient, information = derivatives(mode)
        step = np.linalg.solve(information, gradient)
        while (found := value(mode + step)) < best and np.abs(step).max() > 1e-10:
            step = step / 2
        gain, best, mode = found - best, found, mode + step
        if gain < ENOUGH:
            break
    information = derivatives(mode)[1]
    evidence = best - np.linalg.slogdet(information)[1] / 2 - np.log(scale).sum()
    covariance = np.asarray(np.linalg.inv(information), np.float64)
    return Regression(mode, covariance, float(evidence))
