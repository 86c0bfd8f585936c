"""Noise-aware Platt scaling: which flips, and which sigmoid, explain the observed labels.

The scores s are of rows that the scorer was not trained on; on its training rows it explains wrong
labels as well as right ones. The true class follows a sigmoid, so the observed label follows

    p(ỹ = 1 | s) = γ01 + (1 − γ01 − γ10)·σ(a·s + b),

eq. (3) with the single feature s. On a few hundred rows noise and overlap of the classes look much
alike, and the likelihood is flat: its maximum overshoots. So the rates are averaged over: each
noise matrix of a grid counts by its evidence, the likelihood integrated over a and b, and by how
plausible its kind is beforehand (``structures.py``). Each keeps its best a and b.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each point of the grid, ``lines`` (n_points, 2)
slope and offset. Labels are 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp
from sklearn.utils import gen_batches

from rboost import native
from rboost._typing import Floats
from rboost.noise.matrix import check_flip_counts, check_noise_matrix, rates_of, with_rates
from rboost.noise.platt.bend import BENDS, MANY_ROWS, STRAIGHT, Bend
from rboost.noise.platt.label_counts import count_rows
from rboost.noise.platt.sigmoid import Counts, fit_lines
from rboost.noise.platt.structures import STRUCTURES, Grid, explore

# Rows for which every noise matrix of the grid is evaluated at a time.
BLOCK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class NoiseAwarePlatt:
    """p(y = 1 | score), averaged over what the noise may be; never decreases.

    ``weights`` are the posterior probabilities of the noise matrices with ``rates``; each stands
    for the cell of rates from ``lowest`` to ``highest``. Slopes and offsets refer to bent scores.
    """

    rates: Floats
    lowest: Floats
    highest: Floats
    slopes: Floats
    offsets: Floats
    weights: Floats
    bend: Bend = STRAIGHT

    @property
    def noise_matrix(self) -> Floats:
        """The posterior mean of the noise matrix."""
        return with_rates(*(self.weights @ self.rates))

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each entry of the noise matrix."""
        centred = self.rates - self.weights @ self.rates
        within = (self.highest - self.lowest) ** 2 / 12
        deviation = np.sqrt(self.weights @ (centred**2 + within))
        return np.column_stack([deviation, deviation])

    def interval(self, level: float = 0.9) -> Floats:
        """Shortest intervals that hold the entries with probability ``level``.

        Returns an array of shape (2, 2, 2): the matrix of lower ends, then that of upper ends.
        """
        (low_0, high_0), (low_1, high_1) = (
            _shortest(self.lowest[:, j], self.highest[:, j], self.weights, level) for j in (0, 1)
        )
        lower = np.array([[1 - high_0, low_0], [low_1, 1 - high_1]])
        return np.stack([lower, np.array([[1 - low_0, high_0], [high_1, 1 - low_1]])])

    def log_odds(self, scores: Floats) -> Floats:
        """log p(y = 1) − log p(y = 0) for each score."""
        scores, compiled = self.bend(scores), native.compiled()
        if compiled is not None:
            return compiled.mixture_log_odds(_floats(scores), *self._mixture)

        def of_block(block: slice) -> Floats:
            margins = self._margins(scores[block])
            return self._log_mean(margins) - self._log_mean(-margins)

        return _blockwise(of_block, len(scores))

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        scores, compiled = self.bend(scores), native.compiled()
        if compiled is not None:
            return compiled.mixture_probability(_floats(scores), *self._mixture)
        found = _blockwise(
            lambda block: self.weights @ expit(self._margins(scores[block])), len(scores)
        )
        return np.minimum(found, 1.0)  # the weights sum to 1 up to rounding

    def issue_probability(self, scores: Floats, labels: ArrayLike) -> Floats:
        """p(y ≠ ỹ | score, ỹ): how likely each label is to be wrong."""
        is_positive = np.asarray(labels) > 0
        scores, compiled = self.bend(scores), native.compiled()
        if compiled is not None:
            return compiled.issue_probability(
                _floats(scores), is_positive, self.rates, *self._mixture
            )
        into_1, into_0 = self.rates[:, :1], self.rates[:, 1:]

        def of_block(block: slice) -> Floats:
            true = expit(self._margins(scores[block]))
            label = is_positive[block]
            wrong = np.where(label, into_1 * (1 - true), into_0 * true)
            right = np.where(label, (1 - into_0) * true, (1 - into_1) * (1 - true))
            return self.weights @ (wrong / np.maximum(wrong + right, 1e-300))

        return np.minimum(_blockwise(of_block, len(scores)), 1.0)

    def threshold(self, lowest: float, highest: float) -> float:
        """The score between two others where both classes are equally likely, else the nearer."""
        compiled = native.compiled()
        if compiled is not None:
            ends = self.bend(np.array([lowest, highest])).tolist()
            found = self.bend.inverse(compiled.mixture_threshold(*self._mixture, *ends))
            return min(max(found, lowest), highest)
        ends = self.log_odds(np.array([lowest, highest]))
        if ends[0] >= 0:
            return lowest
        if ends[1] <= 0:
            return highest
        return float(brentq(lambda score: self.log_odds(np.array([score]))[0], lowest, highest))

    @property
    def _mixture(self) -> tuple[Floats, Floats, Floats]:
        """What the compiled twin has to know of p(y = 1 | score)."""
        return self.slopes, self.offsets, self.weights

    def _log_mean(self, margins: Floats) -> Floats:
        """log Σ w·σ(margin) over the noise matrices."""
        mean = self.weights @ expit(margins)
        tiny = mean < 1e-290  # rare, and logarithms of sums are slow
        log_mean = np.log(np.where(tiny, 1.0, mean))
        if tiny.any():
            weights = self.weights[:, np.newaxis]
            log_mean[tiny] = logsumexp(log_expit(margins[:, tiny]), axis=0, b=weights)
        return log_mean

    def _margins(self, scores: Floats) -> Floats:
        return np.multiply.outer(self.slopes, scores) + self.offsets[:, np.newaxis]


def _floats(scores: ArrayLike) -> Floats:
    return np.ascontiguousarray(scores, dtype=np.float64)


def _blockwise(of_block: Callable[[slice], Floats], n_rows: int) -> Floats:
    """Put together what is computed for blocks of rows, so that memory does not grow with them."""
    if not n_rows:
        return np.zeros(0)
    return np.concatenate([of_block(block) for block in gen_batches(n_rows, BLOCK_ROWS)])


# Unanimity of a few hundred votes is not certainty: it is read as if this share more votes had been
# cast, for both classes in proportion to their frequency.
SMOOTHING = 0.01


def smoothed_log_odds(probability: Floats, prevalence: float) -> Floats:
    """log(p / (1 − p)), smoothed.

    The share of votes of an ensemble is a probability; its log-odds is what a sigmoid is linear in.
    ``prevalence`` is the share of label 1: a rare class has small probabilities, which must not all
    be smoothed to the same.
    """
    more, less = SMOOTHING * prevalence, SMOOTHING * (1 - prevalence)
    return np.log(probability + more) - np.log(1 - probability + less)


def probability_of(log_odds: Floats, prevalence: float) -> Floats:
    """The inverse of :func:`smoothed_log_odds`."""
    return (1 + SMOOTHING) * expit(log_odds) - SMOOTHING * prevalence


def fit_noise_aware_platt(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    trusted: ArrayLike | None = None,
    flip_counts: ArrayLike | None = None,
    noise_matrix: ArrayLike | None = None,
) -> NoiseAwarePlatt:
    """Infer the noise and the sigmoid from scores of rows that the scorer was not trained on.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Scores, larger for class 1.
    labels : array-like of shape (n_rows,)
        Observed labels, 0 or 1.
    sample_weight : array-like of shape (n_rows,), default=None
        How often each row counts.
    trusted : array-like of bool of shape (n_rows,), default=None
        Rows whose labels are known to be right.
    flip_counts : array-like of shape (2, 2), default=None
        Where trusted rows had an observed label before it was checked: ``flip_counts[j, k]`` of
        them had the label k and are of class j. Needed when rows were not picked for the check by
        chance, but for instance because their labels looked wrong.
    noise_matrix : array-like of shape (2, 2), default=None
        The noise matrix, where it is known; only the sigmoid is then fitted.

    Returns
    -------
    calibration : NoiseAwarePlatt
        A function from scores to probabilities of the true class, with the inferred noise.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.calibration import fit_noise_aware_platt
    >>> from rboost.noise import asymmetric, flip_labels
    >>> random = np.random.RandomState(0)
    >>> scores = random.normal(scale=3, size=3000)
    >>> true = random.uniform(size=3000) < 1 / (1 + np.exp(-2 * scores))
    >>> observed, _ = flip_labels(true, asymmetric(0.3, from_class=0), random_state=0)
    >>> fit_noise_aware_platt(scores, observed).noise_matrix.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """
    counts, center, spread = count_rows(scores, labels, sample_weight, trusted)
    counts = replace(counts, flips=check_flip_counts(flip_counts, n_classes=2))
    known = None
    if noise_matrix is not None:
        known = rates_of(check_noise_matrix(noise_matrix, n_classes=2))[np.newaxis]
    best = _fit_bent(counts, STRAIGHT, center, spread, known)
    if counts.observed.sum() + counts.trusted.sum() >= MANY_ROWS:
        for strength in BENDS:
            bent = _fit_bent(counts, Bend(strength, center, spread), center, spread, known)
            if bent[0] <= best[0]:
                break  # the evidence rises to its largest and falls from there
            best = bent
    return best[1]


def _fit_bent(
    counts: Counts, bend: Bend, center: float, spread: float, known_rates: Floats | None
) -> tuple[float, NoiseAwarePlatt]:
    """The log-evidence for a bend, and what follows from it; ``counts`` has standard scores."""
    if bend.strength:
        bent = bend(center + spread * counts.scores)
        mass = counts.observed.sum(axis=0) + counts.trusted.sum(axis=0)
        center = float(np.average(bent, weights=mass))
        spread = math.sqrt(np.average((bent - center) ** 2, weights=mass)) or 1.0  # constant scores
        counts = replace(counts, scores=(bent - center) / spread)
    if known_rates is None:
        grid = explore(STRUCTURES, counts)
    else:
        lines, evidence = fit_lines(counts, known_rates)
        grid = Grid(known_rates, known_rates, known_rates, lines, evidence)
    largest = grid.log_weights.max()
    weights = np.exp(grid.log_weights - largest)
    slopes = grid.lines[:, 0] / spread
    offsets = grid.lines[:, 1] - slopes * center
    log_evidence = float(largest + math.log(weights.sum()))
    weights /= weights.sum()
    return log_evidence, NoiseAwarePlatt(
        grid.rates, grid.lowest, grid.highest, slopes, offsets, weights, bend
    )


def _shortest(low: Floats, high: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """Shortest interval of probability ``level`` when each weight is spread over its cell."""
    compiled = native.compiled()
    if compiled is not None:
        return compiled.shortest_interval(low, high, weights, level)
    ends = np.unique(np.concatenate([low, high]))
    width = np.maximum(high - low, 1e-12)
    # A cell without width is an atom: it lies inside an interval that begins or ends at it.
    up_to = np.clip((ends[:, np.newaxis] - low) / width + (high <= low), 0, 1) @ weights
    before = np.clip((ends[:, np.newaxis] - low) / width, 0, 1) @ weights
    last = np.searchsorted(up_to, before + level * (1 - 1e-9))
    first = np.flatnonzero(last < len(ends))
    lengths = ends[last[first]] - ends[first]
    shortest = first[int(np.argmin(lengths))]
    return float(ends[shortest]), float(ends[last[shortest]])
