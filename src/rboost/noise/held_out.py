"""What held-out scores and labels say: the noise, the next L, and the class of each row.

A row's held-out score comes from a model that was not fitted to it. Engines hand such scores to a
:class:`NoiseInference`, which answers with the likelihoods that they go on with; only it knows what
the patterns of statements mean. :func:`judge` says for every row which class is the true one.

Few rows can stand for many: of two classes, scores are counted in narrow bins, which processes can
add up; of more, rows are sampled by their number. Either way they keep their patterns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rboost._typing import Codes, Floats, Integers
from rboost.labels import NO_CLASS, Labels, Patterns
from rboost.noise.groups import GroupedNoise, infer_group_noise
from rboost.noise.inference import infer_noise
from rboost.noise.likelihood import Likelihood, likeliest
from rboost.noise.posterior import NoisePosterior

# Up to this many rows stand for themselves.
MOST_ROWS = 60_000
# Width of the bins of log-odds, which are cut off beyond these ends.
BIN_WIDTH, FARTHEST = 1 / 64, 32
N_BINS = round(2 * FARTHEST / BIN_WIDTH)
# The smallest p(y = j | score) that a posterior is divided by to get a likelihood.
SMALLEST_PRIOR = 1e-6


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
        return self.likelihoods(self.noise(rows).noise_matrix)

    def __call__(self, rows: ScoredRows) -> Floats:
        """p(what was said | true class j) of each pattern, (K, n_patterns)."""
        noise, n_groups = self.noise(rows), self.patterns.n_groups
        if not n_groups:
            return self.likelihoods(noise.noise_matrix)
        group, label = self.patterns.group[rows.code], self.patterns.label[rows.code]
        by_group = infer_group_noise(
            rows.scores, label, group, noise=noise, n_groups=n_groups,
            sample_weight=rows.weight, trusted=self.patterns.trusted[rows.code],
        )  # fmt: skip
        return self.likelihoods(by_group.noise_matrix)

    def likelihoods(self, noise_matrix: Floats) -> Floats:
        """Likelihoods of patterns for a noise matrix, or for one of each group, (G, K, K)."""
        shape = len(self.patterns.sources), *noise_matrix.shape[-2:]
        matrices = np.empty(shape)
        matrices[: self.patterns.n_groups or 1] = noise_matrix
        return self.patterns.likelihoods(matrices)


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
    has_label = labels.given != NO_CLASS
    return infer_noise(
        scores, labels.observed, sample_weight=weight, trusted=labels.known != NO_CLASS,
        checked=np.where(has_label, labels.checked, NO_CLASS), noise_matrix=known_noise,
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
    with threadpool_limits(1, "blas"):
        return infer_group_noise(
            scores, np.where(is_known, known, labels.given), labels.group, noise=noise,
            n_groups=labels.n_groups, sample_weight=weight, trusted=is_known,
            before=labels.given,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Judgement:
    """``posterior[i, j]`` = p(true class j | row i and all that was said of it), with the noise.

    Rows that people checked, and trusted ones, are certain.
    """

    noise: NoisePosterior
    by_group: GroupedNoise | None
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
    given, has_label = labels.given, labels.given != NO_CLASS
    if has_label.all():
        posterior = _posterior(noise, by_group, scores, given, labels.group)
    else:
        posterior = noise.probability(scores)
        own = np.flatnonzero(has_label)
        posterior[own] = _posterior(noise, by_group, scores[own], given[own], labels.group[own])
    for known in (labels.known, labels.checked):
        rows = np.flatnonzero(known != NO_CLASS)
        posterior[rows] = 0.0
        posterior[rows, known[rows]] = 1.0
    return Judgement(noise, by_group, posterior, given)


def _posterior(
    noise: NoisePosterior,
    by_group: GroupedNoise | None,
    scores: Floats,
    given: Integers,
    group: Integers,
) -> Floats:
    if by_group is None:
        return noise.posterior(scores, given)
    return by_group.posterior(scores, given, group)


def likelihood_of_answers(judged: Judgement, scores: Floats, weight: Floats) -> Likelihood:
    """L ∝ p(y | score, what was said) / p(y | score): what answers teach of every label.

    A model that agrees with the scores then has the posterior that was learnt from the answers.
    """
    prior = np.maximum(judged.noise.probability(scores), SMALLEST_PRIOR)
    rows = judged.posterior / prior
    return Likelihood.dense(rows / rows.max(axis=1, keepdims=True), weight)
