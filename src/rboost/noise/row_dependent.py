"""Errors that depend on the row, on top of flips at random: what can be known of wrong labels.

Scores and labels say how p(ỹ | x) levels off, and no more. A *reading* explains it: by flips at
random, with one noise matrix T and its calibration p(y | x); or by overlap of the classes, T = I.
Readings are weighted by evidence. Each leaves an overlap V = mean of Σ_j p(j | x, ỹ)·(1 − p_j),
which two further stories fit equally well: the label knows more of the row than the columns do,
and is right; or the class is certain, and the label that disagrees with it is wrong. So labels,
before any flip, are wrong with probability

    p(wrong | x, k) = σ(logit(1 − p_k) + λ).

λ = −∞: all right; λ = 0: drawn from p, a guess; λ = ∞: all wrong. λ is such that the mean is u·V.
One u for all rows and classes is what the prior below is about; without answers of people data say
nothing about it, and the interval of wrong labels has its width.

Rows are ranked by flips and by margin (:meth:`RowDependentNoise.order`), and a table of quantiles
turns the rank into a probability: of all levels of u together, and of each alone.

Shapes: K classes, A levels (a group of readings and a cell of u), Q knots of the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit, softmax
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise.many_classes import FEW_CLASSES
from rboost.noise.posterior import (
    NORMAL,
    TINY,
    Doubt,
    NoisePosterior,
    Reading,
    weighted_quantiles,
)

# The prior of u: 0 with probability RIGHT, and RIGHT_IF_FLIPS where flips explain all the doubt;
# RIGHT doubled, intervals are a tenth narrower and miss one in eight of real tables. Else uniform
# up to LARGEST, with a tail of probability TAIL up to LARGEST_TAIL: a class of which most labels
# are missing. Where overlap is large it is not all errors: the density falls as exp(−u·V / USUAL);
# halved, intervals of tables whose classes overlap become narrower.
RIGHT, RIGHT_IF_FLIPS = 0.3, 0.9
LARGEST, TAIL, LARGEST_TAIL, USUAL = 1.2, 0.1, 4.0, 0.5
# Cells of u, and those of its tail.
N_CELLS, N_TAIL = 12, 3
# The calibration is only roughly a sigmoid, so flips are known no better than from about this many
# rows; doubled, intervals of large tables are a third narrower.
KNOWN_ROWS = 5000.0
# What is taken for flips and is overlap, or the reverse: its standard deviation, as a share of the
# smaller of the two. Doubled, intervals of tables with flips are a tenth wider and hold in 99 %.
MISFIT = 0.2
# Rows that stand for all: those ranked first, and others at even distances; fewer where there are
# many classes, but no fewer than FEWEST_ROWS.
TOP_ROWS, EVEN_ROWS, ROWS_TIMES_CLASSES, FEWEST_ROWS = 500, 1500, 60_000, 600
# With more than FEW_CLASSES classes these rows are too few for the rates of each class. Rates are
# found as if there were PSEUDO_ROWS more of each class, with the flips of the reading and as many
# other errors as all classes have; and all cells of u > 0 are one level of rates, as K² numbers for
# each level take much memory. Of them so many are computed at once.
PSEUDO_ROWS, RATES_AT_ONCE = 20.0, 2**20
N_KNOTS = 256
# Of more rows so many, drawn at random, stand for all.
MOST_ROWS = 60_000
# Probabilities below this, and above 1 less this, are not told apart.
LEAST = 1e-6
# Rows are ranked by the probability that the label was flipped and, as far as flips are not told
# apart, by the margin. It counts 1 − (t / TOLD_APART)³, where t = Σ w² / Σ w, w = p(flipped): of
# labels drawn in proportion to w so many are expected to be flipped. Doubled, errors near the
# boundary are ranked better, and flips of one class and errors beside a rare class much worse.
TOLD_APART = 0.37
# Of more than two classes this share of the log-margin is added to the log-odds of flips, which
# count up to FARTHEST: networks' probabilities are surer than noise that is inferred from them, and
# the log-margin ranks what is beyond. LOG_MARGIN doubled, they are ranked better and flips of one
# class worse; FARTHEST doubled, they are ranked worse, and errors near the boundary too.
LOG_MARGIN, FARTHEST = 0.5, 5.0
# Shares of guessed labels that answers of people are compared with. If none was guessed, answers
# against labels are mistakes; it is the last, as saved models number these shares.
GUESSED_SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.0)
# Numbers from −1 to 1, spread evenly beside ``NORMAL``: places within a cell of u.
EVEN = 2 * (np.arange(len(NORMAL)) * 0.6180339887498949 % 1) - 1
# Rows whose order differs by less are ranked alike.
ALIKE = 1e-6
LAMBDAS = np.linspace(-9, 7, 33)


class Cells(NamedTuple):
    """Cells of u with their prior probabilities; the first is u = 0."""

    low: Floats
    high: Floats
    weight: Floats


def prior_of_u(flipped: float, doubt: float, is_known: bool = False) -> Cells:
    """The prior for a share of flips and the overlap V that is left beside them."""
    tail = np.geomspace(LARGEST, LARGEST_TAIL, N_TAIL + 1)[1:]
    ends = np.concatenate([[0], np.linspace(0, LARGEST, N_CELLS + 1), tail])
    low, high = ends[:-1], ends[1:]
    by_flips = flipped / max(flipped + doubt, 1e-9)
    right = RIGHT + (RIGHT_IF_FLIPS - RIGHT) * by_flips
    weight = np.repeat([right, (1 - TAIL) / N_CELLS, TAIL / N_TAIL], [1, N_CELLS, N_TAIL])
    weight[1:] *= (1 - right) * np.exp(-np.minimum((low + high) / 2, LARGEST) * doubt / USUAL)[1:]
    if is_known:
        weight[1:] = 0
    return Cells(low, high, weight / weight.sum())


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that stand for all ``n_rows``: how much each counts is ``weight``."""

    scores: Floats
    observed: Integers
    weight: Floats
    n_rows: float

    def fewer(self, order: Floats) -> Sample:
        """The rows that are ranked first by ``order``, and others at even distances."""
        n_classes = 2 if self.scores.ndim == 1 else self.scores.shape[1]
        most = max(ROWS_TIMES_CLASSES // n_classes, FEWEST_ROWS)
        n_top = min(TOP_ROWS, most // 4)
        n_even = min(EVEN_ROWS, most - n_top)
        ranked = np.lexsort((self.observed, order))[::-1]
        ranked = ranked[self.weight[ranked] > 0]
        top, rest = ranked[:n_top], ranked[n_top:]
        weight = self.weight[rest]
        if len(rest) > n_even:  # rows that count for several, bins of scores, stand for more
            reached = np.cumsum(weight)
            places = np.searchsorted(reached, (np.arange(n_even) + 0.5) / n_even * reached[-1])
            rest = rest[np.minimum(places, len(rest) - 1)]
            weight = np.full(n_even, reached[-1] / n_even)
        rows, own = np.append(top, rest), np.append(self.weight[top], weight)
        return Sample(self.scores[rows], self.observed[rows], own / own.sum(), self.n_rows)


class Node(NamedTuple):
    """A reading, and p(y = j | x, ỹ) of the sampled rows in each cell of u.

    ``flipped`` and ``overlap`` are the shares of labels that it takes for flips and, beside them,
    for doubt.
    """

    reading: Reading
    flipped: float
    overlap: float
    cells: Cells
    posterior: Floats  # (cells, n, K)


def _nodes(readings: list[Reading], sample: Sample, is_known: bool) -> Iterator[Node]:
    each = np.arange(len(sample.observed))
    for reading in readings:
        p = np.clip(reading.probability, LEAST, 1 - LEAST)
        joint = p * reading.noise_matrix.T[sample.observed]
        post = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        overlap = float(sample.weight @ (post * (1 - p)).sum(axis=1))
        flipped = float(1 - sample.weight @ post[each, sample.observed])
        cells = prior_of_u(flipped, overlap, is_known)
        x = logit(1 - p)
        means = [sample.weight @ (post * expit(x + by)).sum(axis=1) for by in LAMBDAS]
        middles = (cells.low + cells.high)[1:] / 2
        found = np.empty((len(cells.weight), *p.shape))
        found[0] = post
        for number, by in enumerate(np.interp(middles * overlap, means, LAMBDAS), start=1):
            moved = post * expit(x + by)  # p(label before flips is j, and wrong)
            back = moved / (1 - p)
            found[number] = post - moved + p * (back.sum(axis=1, keepdims=True) - back)
        yield Node(reading, flipped, overlap, cells, found)


@dataclass(frozen=True, eq=False)
class Levels:
    """What is known of wrong labels, level by level.

    ``knots`` (Q,) are values of the order of rows, ``issue`` (A, Q) the probability there that a
    label is wrong, ``mean_issue`` (Q,) that of all levels. ``weight`` (A,) is the probability of a
    level, ``half`` (A,) half the width of its cell, as a share of its mean, ``deviation`` (A,) how
    far readings differ within it, ``is_right`` (A,) whether u is 0. ``n_rows`` is how many rows
    they were found from. ``rates`` (K, K) and ``rate_interval`` (2, K, K) are p(given k | true j).
    ``margin_weight``, from 0 to 1, is how much the margin counts in the order of rows.
    """

    knots: Floats
    issue: Floats
    mean_issue: Floats
    weight: Floats
    half: Floats
    deviation: Floats
    is_right: Floats
    n_rows: float
    rates: Floats
    rate_interval: Floats
    margin_weight: float = 0.0


class Moments:
    """Weighted means and variances of values, level by level."""

    def __init__(self, n_levels: int, *shape: int) -> None:
        self.weight = np.zeros(n_levels)
        self.total, self.squared = (np.zeros((n_levels, *shape)) for _ in range(2))

    def add(
        self, level: Integers, weight: Floats, values: Floats, variance: Floats | float
    ) -> None:
        """Values of some levels, each with the variance around it."""
        each = weight.reshape(-1, *[1] * (values.ndim - 1))
        np.add.at(self.weight, level, weight)
        np.add.at(self.total, level, each * values)
        np.add.at(self.squared, level, each * (values**2 + variance))

    def of_levels(self) -> tuple[Floats, Floats, Floats]:
        """Weights that sum to 1, means and standard deviations of the levels that have a weight."""
        kept = np.flatnonzero(self.weight > 0)
        weight = self.weight[kept]
        each = weight.reshape(-1, *[1] * (self.total.ndim - 1))
        mean = self.total[kept] / each
        variance = np.maximum(self.squared[kept] / each - mean**2, 0)
        return weight / weight.sum(), mean, np.sqrt(variance)


def find_levels(readings: list[Reading], sample: Sample, order: Floats, is_known: bool) -> Levels:
    """Average over readings, within cells of u, apart for flips and for overlap."""
    n, n_classes = len(sample.observed), readings[0].probability.shape[1]
    n_cells, each = 1 + N_CELLS + N_TAIL, np.arange(n)
    level_of_rates = np.arange(2 * n_cells)
    if n_classes > FEW_CLASSES:
        level_of_rates = (level_of_rates % n_cells > 0) + 2 * (level_of_rates >= n_cells)
    share, half, issue = Moments(2 * n_cells), Moments(2 * n_cells), Moments(2 * n_cells, n)
    rates = Moments(level_of_rates[-1] + 1, n_classes, n_classes)
    by_label = csr_array((sample.weight, (sample.observed, each)), shape=(n_classes, n))
    open_ = 1 + sample.n_rows / KNOWN_ROWS
    for node in _nodes(readings, sample, is_known):
        cells, reading = node.cells, node.reading
        own = reading.weight * cells.weight
        at = np.arange(n_cells) + (n_cells if reading.is_overlap else 0)
        wrong = np.clip(1 - node.posterior[:, each, sample.observed], 0, 1)
        mean = wrong @ sample.weight
        middle, width = (cells.low + cells.high) / 2, cells.high - cells.low
        widest = np.append(0.0, np.gradient(mean[1:], middle[1:]) * width[1:])
        misfit = (MISFIT * min(node.overlap, node.flipped)) ** 2
        share.add(at, own, mean, reading.deviation**2 * open_ + misfit)
        half.add(at, own, widest / 2, 0.0)
        issue.add(at, own, wrong, 0.0)
        for cell in gen_batches(n_cells, max(1, RATES_AT_ONCE // n_classes**2)):
            joint = np.stack([(by_label @ each_cell).T for each_cell in node.posterior[cell]])
            if n_classes > FEW_CLASSES:
                more = mean[cell] - mean[0]
                joint += PSEUDO_ROWS / n * _with_more(reading.noise_matrix, more)
            classes = np.maximum(joint.sum(axis=2, keepdims=True), 1e-12)
            found = joint / classes
            # Of misfit each rate has the part of the flips that are its own.
            off = found * (1 - np.eye(n_classes))
            part = off / np.maximum((off * classes).sum(axis=(1, 2), keepdims=True), 1e-12)
            chance = found * (1 - found) / np.maximum(classes * sample.n_rows, 1)
            variance = reading.rate_deviation**2 * open_ + misfit * part**2 + chance
            rates.add(level_of_rates[at[cell]], own[cell], found, variance)
    is_right = (np.flatnonzero(share.weight > 0) % n_cells == 0).astype(np.float64)
    weight, mean, deviation = share.of_levels()
    halves, by_row = half.of_levels()[1], issue.of_levels()[1]
    knots, tables = _tables(order, sample.weight, np.vstack([weight @ by_row, by_row]))
    mean_rates, interval = _rates(*rates.of_levels(), below=_below(weight, is_right, 0.9))
    return Levels(
        knots, tables[1:], tables[0], weight, halves / np.maximum(mean, 1e-12), deviation, is_right,
        sample.n_rows, mean_rates, interval,
    )  # fmt: skip


def _tables(order: Floats, weight: Floats, issue: Floats) -> tuple[Floats, Floats]:
    """Knots of the order, and at each the quantile of every row of ``issue`` that has its rank."""
    ranked = np.argsort(order, kind="stable")
    before = np.cumsum(weight[ranked]) - weight[ranked] / 2
    rank = np.linspace(0, len(ranked) - 1, min(N_KNOTS, len(ranked))).round().astype(np.intp)
    tables = np.empty((len(issue), len(rank)))
    for own, values in zip(tables, issue, strict=True):
        by_value = np.argsort(values, kind="stable")
        reached = np.cumsum(weight[by_value]) - weight[by_value] / 2
        own[:] = np.interp(before[rank], reached, values[by_value])
    # Of rows that are ranked alike all have the mean, whichever of them comes first.
    knots = order[ranked][rank]
    place = np.cumsum(np.append(False, np.diff(knots) > ALIKE))
    counts = np.bincount(place)
    means = [np.bincount(place, own) / counts for own in (knots, *tables)]
    return means[0], np.stack(means[1:])


def _below(weight: Floats, is_right: Floats, level: float) -> float:
    return (1 - level) / 2 * max(float(weight @ is_right), 0.1)


def _with_more(noise_matrix: Floats, share: Floats) -> Floats:
    """Noise after which each of these shares of labels is changed to any other, (n, K, K)."""
    n_classes = len(noise_matrix)
    spread = np.clip(share, 0, 1)[:, None, None] / (n_classes - 1)
    return (1 - n_classes * spread) * noise_matrix + spread


def _rates(weight: Floats, rate: Floats, deviation: Floats, below: float) -> tuple[Floats, Floats]:
    """Means of rates and 90 % intervals. ``below`` is left out on the side of fewer errors."""
    mean: Floats = np.tensordot(weight, rate, 1)
    is_right = np.eye(len(mean), dtype=bool)
    wrong = np.where(is_right, 1 - rate, rate)
    found = np.empty((2, *mean.shape))
    repeated = np.repeat(weight / len(NORMAL), len(NORMAL))
    for j in range(len(mean)):
        drawn = wrong[:, None, j] + NORMAL[:, None] * deviation[:, None, j]
        drawn = np.clip(drawn.reshape(-1, len(mean)), 0, 1)
        found[:, j] = weighted_quantiles(drawn, repeated, below, below + 0.9)
    low, high = np.where(found < TINY, 0, found)
    low, high = np.where(is_right, 1 - high, low), np.where(is_right, 1 - low, high)
    return mean, np.stack([np.minimum(low, mean), np.maximum(high, mean)])


def weight_of_margin(wrong: Floats, weight: Floats) -> float:
    """How much the margin counts in the order of rows, by the probability that each was flipped."""
    told_apart = float(weight @ wrong**2) / max(float(weight @ wrong), 1e-300)
    return max(0.0, 1 - (told_apart / TOLD_APART) ** 3)


def _margin(values: Floats, observed: Integers) -> Floats:
    """How far the largest value of another class exceeds that of the label."""
    each, others = np.arange(len(observed)), values.copy()
    others[each, observed] = -np.inf
    found: Floats = others.max(axis=1) - values[each, observed]
    return found


@dataclass(frozen=True, eq=False)
class RowDependentNoise(NoisePosterior):
    """What is known of the noise: flips at random, overlap, and errors that depend on the row.

    ``flipped`` is the posterior given flips at random, ``overlap`` has the curve of the labels
    where nothing was flipped, ``overlapping`` is how likely that is. ``basis`` has the rows that
    :attr:`levels` are found from, or the levels.
    """

    flipped: NoisePosterior
    overlap: NoisePosterior
    overlapping: float
    basis: Sample | Levels
    is_known: bool = False

    @classmethod
    def of(
        cls,
        flipped: NoisePosterior,
        overlap: NoisePosterior,
        overlapping: float,
        scores: Floats,
        observed: Integers,
        weight: Floats,
        is_known: bool = False,
    ) -> RowDependentNoise:
        """From the readings of rows; rows of weight 0 say nothing."""
        n_rows, n_all = float(weight.sum()), len(scores)
        if n_all > MOST_ROWS:
            some = np.random.default_rng(0).choice(n_all, MOST_ROWS, replace=False, shuffle=False)
            scores, observed, weight = scores[some], observed[some], weight[some]
        basis = Sample(np.asarray(scores, np.float64), observed, weight, n_rows)
        return cls(flipped, overlap, overlapping, basis, is_known)

    @cached_property
    def margin_weight(self) -> float:
        """How much the margin counts in the order of rows, from 0 to 1."""
        if isinstance(self.basis, Levels):
            return self.basis.margin_weight
        rows = self.basis
        wrong = self.flipped.issue_probability(rows.scores, rows.observed)
        return 0.0 if self.is_known else weight_of_margin(wrong, rows.weight)

    @cached_property
    def levels(self) -> Levels:
        """What is known of wrong labels; found when it is first asked for."""
        if isinstance(self.basis, Levels):
            return self.basis
        order = self.order(self.basis.scores, self.basis.observed)
        sample, readings = self.basis.fewer(order), []
        if self.overlapping < 1:
            readings = self.flipped.readings(sample.scores, sample.observed, sample.weight)
            readings = [r._replace(weight=(1 - self.overlapping) * r.weight) for r in readings]
        if self.overlapping > 0:
            curve = self.overlap.observed_probability(sample.scores)
            readings.append(
                Reading(self.overlapping, np.eye(curve.shape[1]), curve, is_overlap=True)
            )
        order = self.order(sample.scores, sample.observed)
        found = find_levels(readings, sample, order, self.is_known)
        return replace(found, margin_weight=self.margin_weight)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.flipped.noise_matrix)

    @property
    def flips(self) -> NoisePosterior:
        """The posterior given flips at random."""
        return self.flipped

    @property
    def likelier_matrix(self) -> Floats:
        """The noise matrix of the likelier of flips and overlap, with which models are fitted."""
        return self.flipped.noise_matrix if self.overlapping <= 0.5 else np.eye(self.n_classes)

    @property
    def noise_matrix(self) -> Floats:
        """The posterior mean given flips at random."""
        return self.flipped.noise_matrix

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation given flips at random."""
        return self.flipped.standard_error

    @property
    def mean_rates(self) -> Floats:
        """Expected shares p(observed k | true j), whatever the labels depend on."""
        return self.levels.rates

    def deviations_of_flips(self) -> tuple[float, Floats]:
        """Standard deviations of the share of wrong labels and of rates, given flips alone."""
        if self.overlapping == 1 or self.is_known:
            return 0.0, np.zeros((self.n_classes, self.n_classes))
        open_ = 1 + self.levels.n_rows / KNOWN_ROWS
        return float(self.levels.deviation[0]), self.standard_error * np.sqrt(open_)

    def interval(self) -> Floats:
        """90 % intervals of the shares of labels in each class, whatever they depend on."""
        if self.is_known:
            return np.stack([self.noise_matrix] * 2)
        low, high = self.levels.rate_interval
        matrix = self.noise_matrix
        return np.stack([np.minimum(low, matrix), np.maximum(high, matrix)])

    def order(self, scores: Floats, observed: Integers) -> Floats:
        """What rows are ranked by, the most suspicious the largest."""
        scores, observed = np.asarray(scores, np.float64), np.asarray(observed).astype(np.intp)
        wrong, by_margin = self.flipped.issue_probability(scores, observed), self.margin_weight
        if by_margin:
            raw = np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores
            raw, curve = softmax(raw, axis=1), self.overlap.observed_probability(scores)
            margin = (_margin(raw, observed) + _margin(curve, observed)) / 2
            wrong = (1 - by_margin) * wrong + by_margin * (1 + margin) / 2
        found = logit(np.clip(wrong, LEAST, 1 - LEAST))
        if self.is_known or scores.ndim == 1:
            return found
        moved = np.clip(found, -FARTHEST, FARTHEST) + LOG_MARGIN * _margin(scores, observed)
        return by_margin * found + (1 - by_margin) * moved

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ): the probability that each label is wrong."""
        levels = self.levels
        return np.interp(self.order(scores, observed), levels.knots, levels.mean_issue)

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        return self._with_issue(scores, observed, self.issue_probability(scores, observed))

    def assumptions(self, scores: Floats, observed: Integers) -> list[Floats]:
        """p(y = j | score, ỹ) of each row given flips, and given each share of guessed labels.

        A guess is drawn from the class probabilities that the columns imply, c:
        p(y = j | x, ỹ = k) = (1 − ρ)·1(j = k) + ρ·c_j. Answers choose between these.
        """
        each, given = np.arange(len(observed)), np.asarray(observed).astype(np.intp)
        curve = self.overlap.observed_probability(scores)
        found = [self.flipped.posterior(scores, observed)]
        for share in GUESSED_SHARES:
            found.append(share * curve)
            found[-1][each, given] += 1 - share
        return found

    def assumption_weights(self) -> Floats:
        """The probability of each assumption."""
        others = self.overlapping / len(GUESSED_SHARES)
        return np.array([1 - self.overlapping, *[others] * len(GUESSED_SHARES)])

    def _with_issue(self, scores: Floats, observed: Integers, issue: Floats) -> Floats:
        """Classes other than the label share ``issue`` as they do if labels were flipped."""
        observed = np.asarray(observed).astype(np.intp)
        each = np.arange(len(observed))
        if self.n_classes == 2:
            found = np.empty((len(observed), 2))
            found[each, 1 - observed] = issue
        else:
            found = self.flipped.posterior(scores, observed) + LEAST * self.probability(scores)
            found[each, observed] = 0
            total = found.sum(axis=1, keepdims=True)
            found *= issue[:, np.newaxis] / np.maximum(total, 1e-300)
        found[each, observed] = 1 - issue
        return found

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        found = (1 - self.overlapping) * self.flipped.probability(scores)
        return found + self.overlapping * self.overlap.observed_probability(scores)

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row."""
        found = (1 - self.overlapping) * self.flipped.observed_probability(scores)
        return found + self.overlapping * self.overlap.observed_probability(scores)

    def wrong_shares(
        self, scores: Floats, observed: Integers, listed: Integers | None = None
    ) -> tuple[Floats, Floats]:
        """Values of the share of wrong labels among listed rows, or all; their probabilities."""
        levels, order = self.levels, self.order(scores, observed)
        everything = _hats(order, levels.knots)
        own = everything if listed is None else _hats(order[listed], levels.knots)
        n_listed = len(order) if listed is None else len(listed)
        issue, uncertain = levels.issue, levels.issue * (1 - levels.issue)
        rows = Doubt(len(order), uncertain @ everything)
        some = Doubt(n_listed, uncertain @ own)
        deviation = np.asarray(rows.deviation(some, levels.deviation))
        half = levels.half * (issue @ everything) * some.spread / np.maximum(rows.spread, 1e-12)
        values = (
            issue @ own + np.multiply.outer(EVEN, half) + np.multiply.outer(NORMAL, deviation)
        ).T
        weight = np.repeat(levels.weight / len(NORMAL), len(NORMAL))
        return np.clip(values, 0, 1).ravel(), weight

    def left_out_below(self, level: float) -> float:
        """As little is left out below as holds ``level`` of what is likely if u is 0."""
        return _below(self.levels.weight, self.levels.is_right, level)


def _hats(values: Floats, knots: Floats) -> Floats:
    """The mean over values of the weight that linear interpolation gives each knot."""
    if len(knots) == 1 or not len(values):
        return np.full(len(knots), 1.0 / len(knots))
    place = np.clip(np.searchsorted(knots, values) - 1, 0, len(knots) - 2)
    width = knots[place + 1] - knots[place]
    share = np.clip((values - knots[place]) / np.where(width > 0, width, 1), 0, 1)
    found = np.bincount(place, 1 - share, len(knots)) + np.bincount(place + 1, share, len(knots))
    return found / len(values)
