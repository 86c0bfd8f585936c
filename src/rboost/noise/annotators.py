"""The noise of several annotators: who errs how, and the class of each row.

Annotator a says k of a row of class j with probability T_a[j, k], whatever others say, and the
columns say p(y = j | x) ∝ exp(β·F_j + b_j) by held-out scores F. Without scores this is the model
of Dawid and Skene (1979). As few labels do not make an annotator perfect, T_a has a prior, a
mixture over

    informative   the rows of T_a are drawn from Dirichlet(s·M_j), around a common matrix M
    guesses       the same shares of labels whatever the class, drawn uniformly
    always k      the same, where nearly all labels are k
    reversed      like informative, with the odds of M turned around

whose shares, M and the strength s are learnt from all annotators (empirical Bayes: the fixed point
of the Dirichlet-multinomial likelihood of expected counts, with hyperpriors worth a few labels).
EM alternates between the posterior q of each row's class, expected counts with the posterior means
of T_a, and β and b by the likelihood of q. For the q of a row, T_a is the mean given all rows but
this one (collapsed variational Bayes of order 0: Asuncion, Welling, Smyth & Teh 2009): where an
annotator has few labels, each would else vouch for itself. It starts from the shares of votes.
Where it loses a class that has votes, or takes nearly all annotators for guessers, all are taken to
be alike, with a warning.

    row, annotator, stated   (n_labels,), the list of labels
    q                        (n_rows, K), p(y = j | all labels of the row, scores)
    counts                   (n_annotators, K, K), expected rows of class j of which a said k
    support                  (n_annotators, K), on how many labels T_a[j] rests, pseudo-counts too
    M, matrices              ``M[j, k]`` and ``matrices[a, j, k]`` = p(a says k | true j)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, log_softmax, softmax

from rboost._typing import Floats, Integers
from rboost.labels import ANNOTATOR, NO_CLASS, Labels, majority_of
from rboost.noise.answers import answer_likelihood
from rboost.noise.likelihood import true_posterior
from rboost.noise.posterior import (
    NORMAL_95,
    NoisePosterior,
    Reading,
    beta_interval,
)

INFORMATIVE, GUESSES, REVERSED = "informative", "guesses", "reversed"
# Prior shares of kinds, and how many annotators this prior is worth.
PRIOR_SHARES = {INFORMATIVE: 0.9, GUESSES: 0.04, "always": 0.04, REVERSED: 0.02}
PRIOR_ANNOTATORS = 10.0
# Who says always the same: pseudo-counts, and how many of them are of other labels.
ALWAYS, OTHERWISE = 20.0, 0.4
# The prior of M: pseudo-counts of each class, and the share of them that is right.
PRIOR_COUNT, PRIOR_ACCURACY = 3.0, 0.75
# The Gamma prior of the strength s: its shape and mean, in labels.
SHAPE, MEAN_STRENGTH = 2.0, 10.0
# How often people who check rows err.
REVIEWER_ERROR = 0.03
# EM stops when no posterior changes by more, or after this many steps.
ENOUGH, MOST_STEPS = 1e-3, 200
# In the first steps every annotator has the kinds of the prior.
FIRST_STEPS = 3
# L2 penalty on slope (in units of the spread of scores) and offsets.
PENALTY = 1e-2
# EM is lost if a class keeps less than this share of its votes, unless it had very few; if those
# who neither guess nor repeat themselves have given less than this share of all labels; or if it
# agrees with votes half as often as labels drawn at random would.
LEAST_KEPT, FEWEST_VOTES = 0.2, 5.0
NEWTON_STEPS, STRENGTH_STEPS = 30, 50
# A label is left out of T_a where this rests on fewer labels; else it would change nothing. The
# rest is not taken to be less than this share of T_a, as weights below 1 may leave nothing.
MOST_SUPPORT, LARGEST_SUPPORT, LEAST_LEFT = 1000.0, 1e9, 0.01
# Steps to the posterior of rows that leave their own labels out.
LEFT_OUT_STEPS = 20
# Annotators err together on hard rows, of which their labels alone show little. Given the true
# class their errors have a correlation of .3 in sentences of film reviews and of .2 in pairs of
# products with known classes; probabilities are likeliest there where it is taken to be .3 to .5.
# It cannot be learnt from labels: EM explains common errors by better annotators, after which pairs
# of labels agree as independent ones do (the share c₀ of noise/crowd.py is 0 to .03 on both sets).
# EM takes them to err independently, which names the right class and the right annotators as often.
# Intervals of wrong majorities hold from no correlation to the largest.
CORRELATION, LARGEST_CORRELATION = 0.35, 0.7


class Statements(NamedTuple):
    """The list of labels: annotator ``annotator[s]`` says that ``row[s]`` is of ``stated[s]``.

    ``known`` has p(what is known of the row otherwise | class), (n_rows, K), up to a factor.
    """

    row: Integers
    annotator: Integers
    stated: Integers
    n_rows: int
    n_annotators: int
    n_classes: int
    known: Floats | None = None

    @classmethod
    def of(cls, labels: Labels) -> Statements:
        """What annotators said; and what is known by trusted rows, and by people who checked."""
        n_rows, n_classes = len(labels), labels.n_classes
        is_known, known = labels.known != NO_CLASS, None
        if is_known.any() or labels.has_answers:
            known = answer_likelihood(labels.answers.columns, n_classes, REVIEWER_ERROR)
            known[is_known] = np.eye(n_classes)[labels.known[is_known]]
        own = labels.source < labels.n_annotators
        return cls(
            labels.row[own], labels.source[own], labels.stated[own], n_rows, labels.n_annotators,
            n_classes, known,
        )  # fmt: skip

    @property
    def table(self) -> csr_array:
        """(n_rows, n_annotators · K), 1 where the annotator says the class of the row."""
        column = self.annotator * self.n_classes + self.stated
        shape = self.n_rows, self.n_annotators * self.n_classes
        return csr_array((np.ones(len(self.row)), (self.row, column)), shape=shape)

    @property
    def votes(self) -> Floats:
        """How many annotators name each class of each row, (n_rows, K)."""
        cell = self.row * self.n_classes + self.stated
        counts = np.bincount(cell, minlength=self.n_rows * self.n_classes)
        return counts.reshape(self.n_rows, self.n_classes).astype(np.float64)

    @property
    def is_spoken_of(self) -> NDArray[np.bool_]:
        """Whether anything was said of each row."""
        found = np.bincount(self.row, minlength=self.n_rows) > 0
        return found if self.known is None else found | (np.ptp(self.known, axis=1) > 0)

    def take(self, rows: Integers) -> Statements:
        """Some of the rows, by their numbers, each at most once."""
        place = np.full(self.n_rows, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.row] >= 0
        return self._replace(
            row=place[self.row[kept]],
            annotator=self.annotator[kept],
            stated=self.stated[kept],
            n_rows=len(rows),
            known=None if self.known is None else self.known[rows],
        )

    def power(self, is_informed: NDArray[np.bool_], correlation: float = CORRELATION) -> Floats:
        """By which the likelihood of m labels of a row is raised, 1 / (1 + (m − 1)·ρ), (n_rows, 1).

        So much they count where probabilities are reported, and for engines. Labels of annotators
        who do not look at rows are not among the m.
        """
        n_labels = self.n_by(is_informed)
        return 1 / (1 + correlation * np.maximum(n_labels - 1, 0))[:, np.newaxis]

    def n_by(self, chosen: NDArray[np.bool_]) -> Floats:
        """How many labels each row has by some of the annotators, (n_rows,)."""
        counts = np.bincount(self.row, chosen[self.annotator], self.n_rows)
        return counts.astype(np.float64)

    def log_likelihood(self, matrices: Floats, table: csr_array | None = None) -> Floats:
        """log p(all that was said of row i | true class j), (n_rows, K)."""
        table = self.table if table is None else table
        logs = np.log(matrices).transpose(0, 2, 1).reshape(-1, self.n_classes)
        found = np.asarray(table @ logs)
        if self.known is not None:
            found = found + np.log(np.maximum(self.known, 1e-300))
        return found

    def left_out(
        self, q: Floats, matrices: Floats, support: Floats, weight: Floats | None = None
    ) -> Floats:
        """What to add to log p(all that was said of row i | j) so that T_a is that of other rows.

        T_a[j, k] = n_jk / n_j with n_j = support[a, j] rests on q[i, j] of the label itself, and is
        (n_jk − q[i, j]) / (n_j − q[i, j]) without it; (n_rows, K).
        """
        few = np.flatnonzero(support.min(axis=1)[self.annotator] < MOST_SUPPORT)
        row, annotator = self.row[few], self.annotator[few]
        own = q[row] if weight is None else q[row] * np.minimum(weight, 1.0)[row, np.newaxis]
        mean, n_labels = matrices[annotator, :, self.stated[few]], support[annotator]
        left = (n_labels - own / mean) / (n_labels - own)
        shape = self.n_rows, len(few)
        by_row = csr_array((np.ones(len(few)), (row, np.arange(len(few)))), shape=shape)
        return np.asarray(by_row @ np.log(np.maximum(left, LEAST_LEFT)))


@dataclass(frozen=True, eq=False)
class AnnotatorPrior:
    """The prior of annotators' matrices: pseudo-counts s·M of informative ones, shares of kinds."""

    informative: Floats  # (K, K)
    shares: Floats  # informative, guesses, always 0 ... always K − 1, reversed

    @classmethod
    def first(cls, n_classes: int) -> AnnotatorPrior:
        """Before anything is learnt."""
        always = np.full(n_classes, PRIOR_SHARES["always"] / n_classes)
        ends = PRIOR_SHARES[INFORMATIVE], PRIOR_SHARES[GUESSES], PRIOR_SHARES[REVERSED]
        shares = np.concatenate([ends[:2], always, ends[2:]])
        return cls(MEAN_STRENGTH * _first_matrix(n_classes), shares)

    @property
    def reversed(self) -> Floats:
        """Pseudo-counts of annotators who avoid the true class as often as others name it."""
        strength = self.informative.sum(axis=1, keepdims=True)
        return (strength - self.informative) / (len(self.informative) - 1)

    @property
    def same(self) -> Floats:
        """Pseudo-counts of labels of those who do not look: guesses, always 0, ..., (K + 1, K)."""
        n_classes = len(self.informative)
        always = np.full((n_classes, n_classes), OTHERWISE / max(n_classes - 1, 1))
        np.fill_diagonal(always, ALWAYS - OTHERWISE)
        return np.vstack([np.ones(n_classes), always])

    def log_evidence(self, counts: Floats) -> Floats:
        """log p(labels of each annotator, kind), (n_annotators, n_kinds)."""
        said = counts.sum(axis=1)
        logs = [_log_marginal(counts, self.informative).sum(axis=1)]
        logs += [_log_marginal(said, own) for own in self.same]
        logs.append(_log_marginal(counts, self.reversed).sum(axis=1))
        with np.errstate(divide="ignore"):
            return np.stack(logs, axis=1) + np.log(self.shares)

    def kinds(self, counts: Floats) -> Floats:
        """The probability of each kind of each annotator, (n_annotators, n_kinds)."""
        return softmax(self.log_evidence(counts), axis=1)

    def posteriors(self, counts: Floats) -> Iterator[Floats]:
        """Pseudo-counts of the Dirichlet posterior of T_a given each kind, (n_annotators, K, K)."""
        yield counts + self.informative
        said = counts.sum(axis=1, keepdims=True)
        for own in self.same:
            yield np.broadcast_to(said + own, counts.shape)
        yield counts + self.reversed

    def matrices(self, counts: Floats, kinds: Floats) -> Floats:
        """Posterior means of T_a."""
        found = np.zeros(counts.shape)
        for chance, own in zip(kinds.T, self.posteriors(counts), strict=True):
            found += chance[:, np.newaxis, np.newaxis] * _mean(own)
        return found

    def support(self, counts: Floats, kinds: Floats) -> Floats:
        """On how many labels each row of T_a rests, (n_annotators, K).

        Where labels depend on the class with a probability c, one label changes T_a[j] by c times
        as much as if it surely did.
        """
        informed = kinds[:, 0] + kinds[:, -1]
        total = counts.sum(axis=2) + self.informative.sum(axis=1)
        return np.minimum(total / np.maximum(informed, 1e-9)[:, np.newaxis], LARGEST_SUPPORT)

    def right_or_wrong(self, counts: Floats, weight: Floats) -> Floats:
        """Pseudo-counts of right and wrong labels of each class, by their likeliest strength."""
        right = np.diagonal(counts, axis1=1, axis2=2)
        each = np.stack([right, counts.sum(axis=2) - right], axis=2)  # (n_annotators, K, 2)
        mean = np.diagonal(_mean(self.informative))
        shares, strength = np.stack([mean, 1 - mean], axis=1), MEAN_STRENGTH
        for _ in range(STRENGTH_STEPS):
            prior = strength * shares
            tables = weight @ (prior * (digamma(each + prior) - digamma(prior))).sum(axis=(1, 2))
            passed = weight @ (digamma(each.sum(axis=2) + strength) - digamma(strength)).sum(axis=1)
            strength = (SHAPE - 1 + tables) / (SHAPE / MEAN_STRENGTH + passed)
        return strength * shares

    def learnt(self, counts: Floats, kinds: Floats) -> AnnotatorPrior:
        """One step towards the likeliest prior, given expected counts and kinds."""
        weight, first = kinds[:, 0], AnnotatorPrior.first(len(self.informative))
        strength = self.informative.sum(axis=1)
        drawn = digamma(counts + self.informative) - digamma(self.informative)
        tables = self.informative * np.tensordot(weight, drawn, 1)
        matrix = tables + PRIOR_COUNT * _first_matrix(len(self.informative))
        matrix /= matrix.sum(axis=1, keepdims=True)
        rows = counts.sum(axis=2)
        passed = weight @ (digamma(rows + strength) - digamma(strength))
        strength = (SHAPE - 1 + tables.sum()) / (SHAPE / MEAN_STRENGTH + passed.sum())
        shares = kinds.sum(axis=0) + PRIOR_ANNOTATORS * first.shares
        return AnnotatorPrior(strength * matrix, shares / shares.sum())


def _first_matrix(n_classes: int) -> Floats:
    """The prior mean of M."""
    return PRIOR_ACCURACY * np.eye(n_classes) + (1 - PRIOR_ACCURACY) / n_classes


def _mean(pseudo_counts: Floats) -> Floats:
    """The mean of Dirichlet distributions along the last axis."""
    return pseudo_counts / pseudo_counts.sum(axis=-1, keepdims=True)


def _log_marginal(counts: Floats, prior: Floats) -> Floats:
    """log p(labels) where their shares are drawn from Dirichlet(prior), along the last axis."""
    total, strength = counts.sum(axis=-1), prior.sum(axis=-1)
    each = (gammaln(counts + prior) - gammaln(prior)).sum(axis=-1)
    return each + gammaln(strength) - gammaln(total + strength)


@dataclass(frozen=True, eq=False)
class Calibration:
    """p(y = j | x) ∝ exp(β·F_j + b_j), from held-out scores F of two or more classes."""

    slope: float
    offsets: Floats

    def log_probability(self, scores: Floats) -> Floats:
        """log p(y = j | x), (n_rows, K)."""
        return log_softmax(self.slope * class_scores(scores) + self.offsets, axis=1)

    def fitted(self, F: Floats, q: Floats, weight: Floats, spread: float) -> Calibration:
        """One step of Newton towards the likeliest for targets q, as long as it helps."""
        n_classes = len(self.offsets)
        p = np.exp(log_softmax(self.slope * F + self.offsets, axis=1))
        left = weight[:, np.newaxis] * (q - p)
        gradient = np.append((left * F).sum(), left.sum(axis=0))
        centred = weight[:, np.newaxis] * p * (F - (p * F).sum(axis=1, keepdims=True))
        hessian = np.empty((n_classes + 1, n_classes + 1))
        hessian[0, 0], hessian[0, 1:] = (centred * F).sum(), centred.sum(axis=0)
        hessian[1:, 0] = hessian[0, 1:]
        hessian[1:, 1:] = np.diag(weight @ p) - (p * weight[:, np.newaxis]).T @ p
        penalty = PENALTY * np.append(spread**2, np.ones(n_classes))
        now = np.append(self.slope, self.offsets)
        step = np.linalg.solve(hessian + np.diag(penalty), gradient - penalty * now)
        before = _cost(self, F, q, weight, penalty)
        for shorter in (1.0, 0.5, 0.25, 0.1, 0.01):
            moved = now + shorter * step
            tried = Calibration(max(float(moved[0]), 0.0), moved[1:])
            if _cost(tried, F, q, weight, penalty) <= before:
                return tried
        return self


def _cost(own: Calibration, F: Floats, q: Floats, weight: Floats, penalty: Floats) -> float:
    logs = log_softmax(own.slope * F + own.offsets, axis=1)
    parameters = np.append(own.slope, own.offsets)
    return float(0.5 * penalty @ parameters**2 - weight @ (q * logs).sum(axis=1))


def class_scores(scores: Floats) -> Floats:
    """One score for each class, (n_rows, K), also of two."""
    if scores.ndim == 1:
        return np.column_stack([np.zeros(len(scores)), scores])
    return scores - scores.max(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class AnnotatorFit:
    """What EM ends with: q of every row, matrices, their prior, kinds, and the calibration."""

    posterior: Floats
    matrices: Floats
    counts: Floats
    kinds: Floats
    prior: AnnotatorPrior
    calibration: Calibration
    said: Statements
    weight: Floats
    is_majority: bool = False

    @property
    def is_informed(self) -> NDArray[np.bool_]:
        """Whether labels of each annotator depend on the class: no guesses, not always the same."""
        return _is_informed(self.kinds.argmax(axis=1), self.said.n_classes)

    @property
    def support(self) -> Floats:
        """On how many labels each row of T_a rests, (n_annotators, K); of alike ones, on all."""
        if self.is_majority:
            return np.full(self.counts.shape[:2], LARGEST_SUPPORT)
        return self.prior.support(self.counts, self.kinds)

    @property
    def accuracy(self) -> Floats:
        """The same as :meth:`accuracy_beside`, where annotators have nothing in common."""
        return self.accuracy_beside(np.zeros(self.said.n_annotators))

    @property
    def mean_accuracy(self) -> Floats:
        """The share of right labels of each annotator in the long run, (n_annotators,)."""
        return self._accuracy_moments()[0]

    def accuracy_beside(self, common: Floats) -> Floats:
        """The share of right labels of each annotator in the long run, with 90 % intervals, (3, A).

        ``common`` is the variance that comes with that of the number of all wrong labels.
        """
        expected, variance = self._accuracy_moments()
        low, high = beta_interval(expected, variance + common)
        return np.stack([expected, np.minimum(low, expected), np.maximum(high, expected)])

    def _accuracy_moments(self) -> tuple[Floats, Floats]:
        """Means and variances of the shares of right labels, (n_annotators,) each.

        Σⱼ π_j·T_a[j, j] for the shares π of true classes. The variance is that of the posterior of
        T_a given the expected counts, plus that of the number of right labels given q. Of more
        than two classes T_a[j, j] of informative annotators has a strength of its own: wrong labels
        may be spread alike where accuracies differ.
        """
        shares = _normalised((self.weight @ self.posterior)[np.newaxis])[0]
        mean, within = [], []
        for kind, own in enumerate(self.prior.posteriors(self.counts)):
            total, named = own.sum(axis=2), np.diagonal(own, axis1=1, axis2=2)
            if kind == 0 and len(shares) > 2:
                prior = self.prior.right_or_wrong(self.counts, self.kinds[:, 0])
                total = self.counts.sum(axis=2) + prior.sum(axis=1)
                named = np.diagonal(self.counts, axis1=1, axis2=2) + prior[:, 0]
            right = named / total
            mean.append(right @ shares)
            within.append((right * (1 - right) / (total + 1)) @ shares**2)
        each = np.stack(mean, axis=1)
        expected = np.sum(self.kinds * each, axis=1)
        spread = np.stack(within, axis=1) + (each - expected[:, np.newaxis]) ** 2
        return expected, np.sum(self.kinds * spread, axis=1) + self._doubt

    @property
    def _doubt(self) -> Floats:
        """The variance of each annotator's share of right labels, as classes are not certain."""
        said = self.said
        right = self.posterior[said.row, said.stated]
        n_labels = np.bincount(said.annotator, self.weight[said.row], said.n_annotators)
        doubt = np.bincount(
            said.annotator, self.weight[said.row] * right * (1 - right), said.n_annotators
        )
        strength = self.prior.informative.sum(axis=1).mean()
        return doubt / (n_labels + strength) ** 2


def fit_annotators(
    said: Statements,
    scores: Floats | None = None,
    weight: Floats | None = None,
    prior: AnnotatorPrior | None = None,
) -> AnnotatorFit:
    """Find annotators' matrices and the class of each row.

    Parameters
    ----------
    said : Statements
        Who said what.
    scores : array of shape (n_rows,) or (n_rows, K), default=None
        Held-out scores of rows; None where nothing is known of rows but their labels.
    weight : array of shape (n_rows,), default=None
        How often each row counts.
    prior : AnnotatorPrior, default=None
        A prior that is kept as it is; None means that it is learnt.
    """
    n_rows, n_classes = said.n_rows, said.n_classes
    weight = np.ones(n_rows) if weight is None else weight
    votes = said.votes
    q = _normalised(votes + 0.5 / n_classes)
    if said.known is not None:
        q = _normalised(q * said.known)
    F = np.zeros((n_rows, n_classes)) if scores is None else class_scores(scores)
    # Rows of which nothing was said say nothing about the calibration.
    used = np.where(said.is_spoken_of, weight, 0.0)
    found = run_em(said, F, q, used, prior)
    if prior is None and _is_lost(found):
        warnings.warn(
            "Labels of annotators contradict each other too much to tell who errs; all annotators "
            "are taken to be alike, so that the majority of each row decides; add labels, or leave "
            "out annotators who guess.",
            stacklevel=2,
        )
        return _majority(said, F, q, used)
    return found


def _is_informed(kind: Integers, n_classes: int) -> NDArray[np.bool_]:
    return (kind == 0) | (kind == n_classes + 2)  # the first and the last: reversed


def _is_lost(found: AnnotatorFit) -> bool:
    """Whether EM gave up a class that has votes, most votes, or nearly all annotators."""
    votes = found.said.votes
    shares = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1.0)
    kept, had = found.weight @ found.posterior, found.weight @ shares
    n_labels = found.counts.sum(axis=(1, 2))
    informed = (found.kinds[:, 0] + found.kinds[:, -1]) @ n_labels / max(n_labels.sum(), 1.0)
    agreement = float(found.weight @ (shares * found.posterior).sum(axis=1)) / max(had.sum(), 1e-9)
    is_lost = (had >= FEWEST_VOTES) & (kept < LEAST_KEPT * had)
    chance = float(np.sum((had / max(had.sum(), 1e-9)) ** 2))
    return bool(is_lost.any() or agreement < chance / 2 or informed < LEAST_KEPT)


def run_em(
    said: Statements,
    F: Floats,
    q: Floats,
    weight: Floats,
    fixed: AnnotatorPrior | None,
    start: AnnotatorFit | None = None,
) -> AnnotatorFit:
    """EM from the posteriors q on, until they hardly change; the rest begins as in ``start``."""
    table = said.table
    turned = csr_array(table.T)
    n_classes = said.n_classes
    spread = _spread(F)
    calibration = Calibration(0.0, np.zeros(n_classes))
    prior = fixed or AnnotatorPrior.first(n_classes)
    first_steps = FIRST_STEPS if start is None else 0
    if start is not None:
        prior, calibration = start.prior, start.calibration
    for step in range(MOST_STEPS):
        shape = said.n_annotators, n_classes, n_classes
        counts = np.asarray(turned @ (weight[:, np.newaxis] * q)).reshape(shape).transpose(0, 2, 1)
        kinds = prior.kinds(counts)
        if fixed is None and step < first_steps:  # votes alone make too many look like guessers
            kinds = np.tile(prior.shares, (said.n_annotators, 1))
        if fixed is None:
            prior = prior.learnt(counts, kinds)
        matrices = prior.matrices(counts, kinds)
        calibration = calibration.fitted(F, q, weight, spread)
        logs = log_softmax(calibration.slope * F + calibration.offsets, axis=1)
        logs += said.log_likelihood(matrices, table)
        logs += said.left_out(q, matrices, prior.support(counts, kinds), weight)
        before, q = q, softmax(logs, axis=1)
        if step >= first_steps and np.abs(q - before).max() < ENOUGH:
            break
    return AnnotatorFit(q, matrices, counts, kinds, prior, calibration, said, weight)


def _spread(F: Floats) -> float:
    """The standard deviation of scores within rows; 1 where all are alike."""
    return float(np.sqrt(np.var(F - F.mean(axis=1, keepdims=True)))) or 1.0


def _normalised(rows: Floats) -> Floats:
    return rows / rows.sum(axis=1, keepdims=True)


def _majority(said: Statements, F: Floats, q: Floats, weight: Floats) -> AnnotatorFit:
    """All annotators name the true class equally often, and each other class alike."""
    n_classes, votes = said.n_classes, said.votes
    n_labels = max(float(weight @ votes.sum(axis=1)), 1.0)
    right = (float((weight[:, np.newaxis] * votes * q).sum()) + PRIOR_ACCURACY) / (n_labels + 1)
    right = max(right, (1 + 1 / n_classes) / 2)
    matrix = np.full((n_classes, n_classes), (1 - right) / max(n_classes - 1, 1))
    np.fill_diagonal(matrix, right)
    matrices = np.tile(matrix, (said.n_annotators, 1, 1))
    q = softmax(said.log_likelihood(matrices), axis=1)
    calibration = Calibration(0.0, np.zeros(n_classes))
    for _ in range(NEWTON_STEPS):
        calibration = calibration.fitted(F, q, weight, _spread(F))
    prior = AnnotatorPrior(MEAN_STRENGTH * matrix, AnnotatorPrior.first(n_classes).shares)
    counts = np.asarray(said.table.T @ (weight[:, np.newaxis] * q))
    counts = counts.reshape(said.n_annotators, n_classes, n_classes).transpose(0, 2, 1)
    kinds = np.zeros((said.n_annotators, n_classes + 3))
    kinds[:, 0] = 1.0
    return AnnotatorFit(
        q, matrices, counts, kinds, prior, calibration, said, weight, is_majority=True
    )


@dataclass(frozen=True, eq=False)
class AnnotatorNoise(NoisePosterior):
    """The noise of several annotators, and the calibration of scores, as one posterior.

    Where a single observed label is asked for, it is that of the majority of a row's annotators:
    ``majority[j, k]`` = p(most say k | true j), with posterior standard deviations ``deviation``.
    ``matrices`` are those of the annotators, (n_annotators, K, K), ``support`` (n_annotators, K) on
    how many labels they rest, ``accuracy`` (3, n_annotators) their share of right labels with 90 %
    intervals, ``kind`` the position of their kind.
    """

    slope: float
    offsets: Floats
    majority: Floats
    deviation: Floats
    matrices: Floats
    support: Floats
    accuracy: Floats
    kind: Integers

    @classmethod
    def of(cls, fit: AnnotatorFit) -> AnnotatorNoise:
        """From what EM has found."""
        said, n_classes = fit.said, fit.said.n_classes
        named = np.flatnonzero(np.bincount(said.row, minlength=said.n_rows) > 0)
        weight = fit.weight[named, np.newaxis]
        given = np.eye(n_classes)[majority_of(said.votes)[named]]

        def rates(correlation: float) -> tuple[Floats, Floats]:
            q = counted(fit.posterior, said, fit.is_informed, correlation)[named]
            counts = (weight * q).T @ given + PRIOR_COUNT * _first_matrix(n_classes)
            total = counts.sum(axis=1, keepdims=True)
            doubt = (weight * q * (1 - q)).T @ given / total**2
            matrix = counts / total
            return matrix, matrix * (1 - matrix) / (total + 1) + doubt

        matrix, variance = rates(CORRELATION)
        reach = np.abs(rates(0.0)[0] - rates(LARGEST_CORRELATION)[0]) / 2
        deviation = np.sqrt(variance + (reach / NORMAL_95) ** 2)
        return cls(
            fit.calibration.slope, fit.calibration.offsets, matrix, deviation, fit.matrices,
            fit.support, fit.accuracy, fit.kinds.argmax(axis=1),
        )  # fmt: skip

    @property
    def noise_matrix(self) -> Floats:
        """``noise_matrix[j, k]`` = p(the majority says k | true j)."""
        return self.majority

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(the majority says k | true j)."""
        return self.deviation

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row, shape (n_rows, K)."""
        return np.exp(Calibration(self.slope, self.offsets).log_probability(scores))

    def observed_probability(self, scores: Floats) -> Floats:
        """p(the majority says k | score) of each row, shape (n_rows, K)."""
        return self.probability(scores) @ self.majority

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, what the majority says) of each row, shape (n_rows, K)."""
        label = np.asarray(observed).astype(np.intp)
        return true_posterior(self.probability(scores), label, self.majority)

    def judged(self, scores: Floats, said: Statements, correlation: float = CORRELATION) -> Floats:
        """p(y = j | score, labels of annotators) of rows that were fitted to, (n_rows, K)."""
        logs = Calibration(self.slope, self.offsets).log_probability(scores)
        logs += said._replace(known=None).log_likelihood(self.matrices)
        q = softmax(logs, axis=1)
        for _ in range(LEFT_OUT_STEPS):
            before, q = q, softmax(logs + said.left_out(q, self.matrices, self.support), axis=1)
            if np.abs(q - before).max(initial=0.0) < ENOUGH:
                break
        return counted(q, said, self.is_informed, correlation)

    def answered(self, scores: Floats, labels: Labels) -> Floats:
        """p(y = j | score, labels, answers of people) of each row, (n_rows, K).

        Labels count as independent ones, as who checks a row may err as well as several annotators.
        """
        found = self.judged(scores, Statements.of(labels), correlation=0.0)
        found *= answer_likelihood(labels.answers.columns, labels.n_classes, REVIEWER_ERROR)
        return _normalised(np.maximum(found, 1e-300))

    @property
    def is_informed(self) -> NDArray[np.bool_]:
        """Whether labels of each annotator depend on the class: no guesses, not always the same."""
        return _is_informed(self.kind, len(self.majority))

    @property
    def error_rate(self) -> float:
        """How often people who check rows err."""
        return REVIEWER_ERROR

    def readings(self, scores: Floats, observed: Integers, weight: Floats) -> list[Reading]:
        """One explanation."""
        p = self.probability(scores)
        share = np.diagonal(self.deviation) @ (weight @ p)
        return [Reading(1.0, self.majority, p, float(share), self.deviation)]


def annotator_table(labels: Labels, noise: AnnotatorNoise) -> list[dict[str, Any]]:
    """One record an annotator: name, n_labels, accuracy with its interval, kind."""
    n_labels = np.bincount(labels.source, minlength=len(labels.sources))
    always = [f"always says {name}" for name in labels.classes]
    kinds = [INFORMATIVE, GUESSES, *always, REVERSED]
    names = [own.name for own in labels.sources if own.kind == ANNOTATOR]
    return [
        {
            "name": name,
            "n_labels": int(n_labels[a]),
            "accuracy": float(noise.accuracy[0, a]),
            "low": float(noise.accuracy[1, a]),
            "high": float(noise.accuracy[2, a]),
            "kind": kinds[noise.kind[a]],
        }
        for a, name in enumerate(names)
    ]


def counted(
    posterior: Floats,
    said: Statements,
    is_informed: NDArray[np.bool_],
    correlation: float = CORRELATION,
) -> Floats:
    """The posterior where labels of one row count for fewer, as annotators err together.

    What the columns say is tempered with them: their probabilities were found beside these labels,
    and are as much too sure (a smaller loss on sentences than labels alone, on products alike).
    """
    return _normalised(np.maximum(posterior, 1e-300) ** said.power(is_informed, correlation))
