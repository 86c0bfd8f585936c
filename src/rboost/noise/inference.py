"""What held-out scores and labels say: the noise, the next L, and the class of each row.

Scores must be held out: on its training rows a scorer explains wrong labels as well as right ones.
:func:`infer_noise` has the posterior of the noise. Two classes have one score a row, and their
noise is integrated over (``noise/platt.py``); more have one score for each class, and one joint
model with several kinds of noise (``noise/classes.py``).

Engines hand scores to a :class:`NoiseInference`, which answers with the likelihoods that they go on
with; only it knows what patterns of statements mean. :func:`judge` says for every row which class
is the true one. Few rows can stand for many: of two classes, scores are counted in narrow bins,
which processes can add up; of more, rows are sampled by their number. They keep their patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Codes, Floats, Integers
from rboost.labels import FIRST_ERROR, NO_CLASS, Labels, Patterns
from rboost.native.threads import one_blas_thread
from rboost.noise.annotators import AnnotatorNoise, Statements, fit_annotators
from rboost.noise.answers import answer_likelihood, learn_from_answers
from rboost.noise.classes import compare_kinds, fit_known_noise
from rboost.noise.groups import GroupedNoise, infer_group_noise
from rboost.noise.likelihood import likeliest
from rboost.noise.majorities import annotator_noise
from rboost.noise.matrix import symmetric
from rboost.noise.platt import fit_noise_aware_platt, read_two_ways
from rboost.noise.posterior import NoisePosterior
from rboost.noise.row_dependent import RowDependentNoise

# Pseudo-counts that smooth mean votes, as a share of all votes: a few hundred unanimous votes are
# no certainty. They are in proportion to the class frequencies, because equal ones would make the
# small probabilities of a rare class indistinguishable.
SMOOTHING = 0.01
# Width of the bins of log-odds, which are cut off beyond these ends.
BIN_WIDTH, FARTHEST = 1 / 64, 32
# The least likelihood of an answer: of a class that is certain otherwise it is not impossible.
LEAST_LIKELIHOOD = 1e-12
N_BINS = round(2 * FARTHEST / BIN_WIDTH)


def infer_noise(
    scores: ArrayLike,
    observed: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    checked: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoisePosterior:
    """Infer the noise, and the calibration of scores, from held-out scores and labels.

    Parameters
    ----------
    scores : array-like of shape (n_rows,) or (n_rows, n_classes)
        Scores by a model that was not fitted to the row. Of two classes, one score a row, larger
        for class 1; of more, one for each class, such as logarithms of probabilities.
    observed : array-like of shape (n_rows,)
        Observed labels as positions of classes, 0 to n_classes − 1.
    sample_weight : array-like of shape (n_rows,), default=None
        The weight of each row in the likelihood.
    trusted : array-like of bool of shape (n_rows,), default=None
        Rows whose labels are known to be right.
    checked : array-like of shape (n_rows,) or (n_rows, n_reviewers), default=None
        Classes that people found on checking rows that have an observed label, as positions; −1
        for unchecked rows. Of several people one column each. Rows may be selected for checking by
        label and score.
    noise_matrix : array-like of shape (n_classes, n_classes), default=None
        The noise matrix, where it is known; only the calibration of scores is then fitted.

    Returns
    -------
    posterior : NoisePosterior
        The noise matrix with intervals, and probabilities of true classes for any scores.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.noise import asymmetric, flip_labels, infer_noise
    >>> random = np.random.RandomState(0)
    >>> scores = random.normal(scale=3, size=3000)
    >>> true = (random.uniform(size=3000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    >>> observed, _ = flip_labels(true, asymmetric(0.3, from_class=0), random_state=0)
    >>> infer_noise(scores, observed).noise_matrix.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """
    array, label = np.asarray(scores), np.asarray(observed)
    is_binary = array.ndim == 1
    readings: tuple[NoisePosterior, NoisePosterior, float]
    if noise_matrix is not None:
        fit = fit_noise_aware_platt if is_binary else fit_known_noise
        known = fit(array, label, sample_weight, trusted=trusted, noise_matrix=noise_matrix)
        readings = known, known, 0.0
    elif is_binary:
        readings = read_two_ways(array, label, sample_weight, trusted)
    else:
        readings = compare_kinds(array, label, sample_weight, trusted)
    weights = np.ones(len(array)) if sample_weight is None else np.asarray(sample_weight, float)
    if trusted is not None and np.any(trusted):
        weights = np.where(trusted, 0.0, weights)
    label = label.astype(np.intp, copy=False)
    flipped, overlap, share = readings
    is_known = noise_matrix is not None
    found = RowDependentNoise.of(flipped, overlap, share, array, label, weights, is_known)
    answers = None if checked is None else check_answers(checked, array, found)
    if answers is None:
        return found
    rows = weights > 0
    return learn_from_answers(found, array[rows], label[rows], answers[rows], weights[rows])


def check_answers(checked: ArrayLike, scores: Floats, found: NoisePosterior) -> Integers | None:
    """Positions of the classes that reviewers chose, (n, R); None where no row was checked."""
    answers = np.asarray(checked)
    n_classes = len(found.noise_matrix)
    if answers.ndim == 1:
        answers = answers[:, np.newaxis]
    is_shaped = answers.ndim == 2 and len(answers) == len(scores)
    if not is_shaped or not np.isin(answers, np.arange(-1, n_classes)).all():
        raise ValueError(
            f"checked must have the position of a class, 0 to {n_classes - 1}, or -1 for each row; "
            "of several reviewers one column each."
        )
    return answers.astype(np.intp) if np.any(answers >= 0) else None


def prevalence_of(observed: Integers, n_classes: int, weight: Floats | None = None) -> Floats:
    """The share of each label, shape (n_classes,)."""
    counts = np.bincount(observed, weight, n_classes)
    return counts / counts.sum()


def smoothed_scores(probability: Floats, prevalence: Floats) -> Floats:
    """Scores of smoothed class probabilities, in which calibration is linear.

    The log-odds of class 1 of two classes, shape (n,); the logarithms of more, (n, K).
    ``prevalence`` is the share of each label.
    """
    logarithms = np.log(probability + SMOOTHING * prevalence)
    return logarithms if logarithms.shape[1] > 2 else logarithms[:, 1] - logarithms[:, 0]


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Held-out scores of rows, their patterns of statements, and weights."""

    scores: Floats
    code: Codes
    weight: Floats

    def take(self, rows: NDArray[np.bool_] | Integers) -> ScoredRows:
        """Some of the rows."""
        return ScoredRows(self.scores[rows], self.code[rows], self.weight[rows])


def count_scores(rows: ScoredRows, n_patterns: int) -> Floats:
    """The weight of the rows of each bin and pattern, and the weighted sum of their scores."""
    scores = np.asarray(rows.scores, dtype=np.float64)
    bins = np.clip((scores + FARTHEST) / BIN_WIDTH, 0, N_BINS - 1).astype(np.intp)
    cell = bins * n_patterns + rows.code
    n_cells = n_patterns * N_BINS
    sums = [np.bincount(cell, own, n_cells) for own in (rows.weight, rows.weight * scores)]
    return np.stack(sums)


def counted_rows(counts: Floats, n_patterns: int) -> ScoredRows:
    """One row for each bin and pattern that any row has."""
    cell = np.flatnonzero(counts[0])
    weight, sums = counts[:, cell]
    return ScoredRows(sums / weight, cell % n_patterns, weight)


class NoiseInference:
    """Turns held-out scores into likelihoods of what was said, and remembers the last noise found.

    ``known_noise`` fixes the noise matrix of given labels; else it is inferred.
    """

    def __init__(self, patterns: Patterns, known_noise: Floats | None = None) -> None:
        self.patterns, self.known_noise = patterns, known_noise
        self._last: tuple[ScoredRows, NoisePosterior] | None = None

    def noise(self, rows: ScoredRows) -> NoisePosterior:
        """What the noise may be; nothing is inferred twice from the same scores."""
        if self._last is None or not _are_alike(self._last[0], rows):
            label, trusted = self.patterns.label[rows.code], self.patterns.trusted[rows.code]
            found = infer_noise(
                rows.scores, label, sample_weight=rows.weight, trusted=trusted,
                noise_matrix=self.known_noise,
            )  # fmt: skip
            # A copy, as boosters write their scores in place.
            self._last = ScoredRows(rows.scores.copy(), rows.code, rows.weight), found
        return self._last[1]

    def common(self, rows: ScoredRows) -> Floats:
        """Likelihoods with one noise matrix for all groups, which takes a fraction of the time."""
        return self.likelihoods(self.noise(rows).likelier_matrix)

    def quick(self, rows: ScoredRows) -> Floats:
        """The same by sparse structures alone where there are more than two classes.

        For engines that infer noise only to go on: it takes a tenth of the joint model's time.
        """
        if self.known_noise is not None or rows.scores.ndim == 1:
            return self.common(rows)
        label, trusted = self.patterns.label[rows.code], self.patterns.trusted[rows.code]
        flipped, _, guessed = compare_kinds(rows.scores, label, rows.weight, trusted, quickly=True)
        is_clean = guessed > 0.5
        return self.likelihoods(np.eye(rows.scores.shape[1]) if is_clean else flipped.noise_matrix)

    def __call__(self, rows: ScoredRows) -> Floats:
        """p(what was said | true class j) of each pattern, (K, n_patterns)."""
        noise, n_groups = self.noise(rows), self.patterns.n_groups
        if not n_groups:
            return self.likelihoods(noise.likelier_matrix)
        group, label = self.patterns.group[rows.code], self.patterns.label[rows.code]
        by_group = infer_group_noise(
            rows.scores, label, group, noise=noise, n_groups=n_groups,
            sample_weight=rows.weight, trusted=self.patterns.trusted[rows.code],
        )  # fmt: skip
        return self.likelihoods(by_group.noise_matrix)

    def likelihoods(self, noise_matrix: Floats) -> Floats:
        """Likelihoods of patterns for a noise matrix, or for one of each group, (G, K, K)."""
        n_sources = len(self.patterns.sources)
        matrices = np.tile(np.eye(noise_matrix.shape[-1]), (n_sources, 1, 1))
        matrices[: self.patterns.n_groups or 1] = noise_matrix
        return self.patterns.likelihoods(matrices)


class AnnotatorInference:
    """The same for labels of several annotators; every row has a column of likelihoods."""

    def __init__(self, labels: Labels) -> None:
        self.said = Statements.of(labels)
        self._last: tuple[ScoredRows, AnnotatorNoise] | None = None

    def noise(self, rows: ScoredRows) -> AnnotatorNoise:
        """What annotators' noise may be; nothing is inferred twice from the same scores."""
        if self._last is None or not _are_alike(self._last[0], rows):
            fit = fit_annotators(self._said_of(rows), rows.scores, rows.weight)
            found = AnnotatorNoise.of(fit)
            self._last = ScoredRows(rows.scores.copy(), rows.code, rows.weight), found
        return self._last[1]

    def final(self, rows: ScoredRows) -> AnnotatorNoise:
        """The same at the end of a fit, with intervals of what annotators have in common."""
        return annotator_noise(self._said_of(rows), rows.scores, rows.weight)

    def _said_of(self, rows: ScoredRows) -> Statements:
        is_all = np.array_equal(rows.code, np.arange(self.said.n_rows))
        return self.said if is_all else self.said.take(rows.code.astype(np.intp))

    def __call__(self, rows: ScoredRows) -> Floats:
        """p(all that was said of row i | true class j), (K, n_rows), up to a factor a row."""
        noise = self.noise(rows)
        return self.likelihoods(noise.matrices, noise.is_informed)

    common = quick = __call__

    def first_likelihoods(self) -> Floats:
        """The same before any noise is inferred: all annotators err alike."""
        n_annotators = self.said.n_annotators
        matrix = symmetric(FIRST_ERROR, self.said.n_classes)
        return self.likelihoods(np.tile(matrix, (n_annotators, 1, 1)), np.ones(n_annotators, bool))

    def likelihoods(self, matrices: Floats, is_informed: NDArray[np.bool_]) -> Floats:
        """Likelihoods of rows for a noise matrix of each annotator."""
        said = self.said
        logs = said.power(is_informed) * said._replace(known=None).log_likelihood(matrices)
        if said.known is not None:
            logs = logs + np.log(np.maximum(said.known, LEAST_LIKELIHOOD))
        return np.exp(logs - logs.max(axis=1, keepdims=True)).T


def _are_alike(first: ScoredRows, second: ScoredRows) -> bool:
    return (
        np.array_equal(first.scores, second.scores)
        and np.array_equal(first.code, second.code)
        and np.array_equal(first.weight, second.weight)
    )


def infer_with_answers(
    scores: Floats, labels: Labels, weight: Floats | None, known_noise: Floats | None = None
) -> NoisePosterior:
    """What the noise may be, given the answers of people who checked rows as well."""
    if labels.n_annotators:
        return annotator_noise(Statements.of(labels), scores, weight)
    has_label = labels.given[:, np.newaxis] != NO_CLASS
    answers = labels.answers.columns if labels.has_answers else None
    return infer_noise(
        scores, labels.observed, sample_weight=weight, trusted=labels.known != NO_CLASS,
        checked=None if answers is None else np.where(has_label, answers, NO_CLASS),
        noise_matrix=known_noise,
    )  # fmt: skip


def infer_by_group(
    noise: NoisePosterior, scores: Floats, labels: Labels, weight: Floats | None = None
) -> GroupedNoise | None:
    """The noise of each group of given labels; None without a context.

    The classes of rows that people checked are known, beside the label that they came with.
    """
    if not labels.n_groups:
        return None
    known = np.where(labels.checked != NO_CLASS, labels.checked, labels.known)
    is_known = known != NO_CLASS
    with one_blas_thread():
        return infer_group_noise(
            scores, np.where(is_known, known, labels.given), labels.group, noise=noise,
            n_groups=labels.n_groups, sample_weight=weight, trusted=is_known,
            before=labels.given,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Judgement:
    """``posterior[i, j]`` = p(true class j | row i and all that was said of it), with the noise.

    Trusted rows are certain; an answer may be wrong, at the rate at which its reviewer errs.
    """

    noise: NoisePosterior
    posterior: Floats
    given: Integers

    @property
    def issue(self) -> Floats:
        """How likely each given label is to be wrong; NaN where there is none."""
        return wrong_probability(self.posterior, self.given)

    @property
    def likeliest(self) -> Integers:
        """The most probable class of each row; of equally probable ones, that of the label."""
        return likeliest(self.posterior, np.maximum(self.given, 0))


def wrong_probability(posterior: Floats, given: Codes) -> Floats:
    """How likely each given label is to be wrong; NaN where there is none."""
    wrong = np.clip(1 - posterior[np.arange(len(given)), given], 0.0, 1.0)
    return np.where(given == NO_CLASS, np.nan, wrong)


def judge(
    noise: NoisePosterior, scores: Floats, labels: Labels, by_group: GroupedNoise | None = None
) -> Judgement:
    """Say how likely each class is to be the true one, of every row."""
    own = np.flatnonzero(labels.given != NO_CLASS)
    given, group = labels.given[own], labels.group[own]
    labelled = scores if len(own) == len(labels) else scores[own]
    if isinstance(noise, AnnotatorNoise):
        found = noise.judged(labelled, Statements.of(labels.take(own)))
    elif by_group is None:
        found = noise.posterior(labelled, given)
    else:
        found = by_group.posterior(labelled, given, group)
    posterior = found
    if len(own) < len(labels):
        posterior = noise.probability(scores)
        posterior[own] = found
    answered = np.flatnonzero(labels.checked != NO_CLASS)
    if len(answered):
        columns = labels.answers.columns[answered]
        said = answer_likelihood(columns, labels.n_classes, noise.error_rates)
        joint = posterior[answered] * np.maximum(said, LEAST_LIKELIHOOD)
        posterior[answered] = joint / joint.sum(axis=1, keepdims=True)
    trusted = np.flatnonzero(labels.known != NO_CLASS)
    posterior[trusted] = np.eye(labels.n_classes)[labels.known[trusted]]
    return Judgement(noise, posterior, labels.given)
