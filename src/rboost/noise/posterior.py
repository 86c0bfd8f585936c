"""Posteriors of the noise: which noise matrices are probable, and p(y | score) averaged over them.

``NoisePosterior`` is what every inference returns. Here are the posterior of two classes
(``NoiseAwarePlatt``) and, for any number of classes, the mixture of flipped and guessed labels
(``FlippedOrGuessed``).

Credible intervals come from *cells*: each has a lower end, an upper end and a probability that is
spread evenly between them. A cell of width 0 is an atom.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import qmc
from sklearn.utils import gen_batches

from rboost import native
from rboost._typing import Floats, Integers
from rboost.noise.matrix import with_rates

# Lower ends, upper ends and probabilities of cells.
Cells = tuple[Floats, Floats, Floats]

# The credible interval of the share of wrong labels begins at 0 if that makes it at most this many
# times as long as the shortest one.
HARDLY_LONGER = 1.1
# Scores farther from the center than this many standard deviations are clipped, so that sinh stays
# finite.
FARTHEST = 20.0
# Rows for which all noise matrices of the grid are evaluated at once; bounds the memory.
BLOCK_ROWS = 4096
# The share of wrong labels is integrated over this many rows of a larger table.
SHARE_ROWS = 2000
# The prior mean of the share of guessed labels, which is uniform on [0, 1], and the number of
# quasi-random draws from that prior.
MEAN_SHARE, N_DRAWS = 0.5, 256
# The shares of guessed labels that are compared when checked rows can tell them apart.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# The smallest prior probability of an assumption about the noise, so that checked rows can still
# speak for one that scores and labels have ruled out.
LEAST_WEIGHT = 1e-3


def shortest_interval(cells: Cells, level: float) -> tuple[float, float]:
    """The shortest interval of probability ``level``."""
    compiled = native.compiled()
    if compiled is not None:
        return compiled.shortest_interval(*cells, level)
    ends, before, up_to = _distribution(cells)
    last = np.searchsorted(up_to, before + level * (1 - 1e-9))
    first = np.flatnonzero(last < len(ends))
    shortest = first[int(np.argmin(ends[last[first]] - ends[first]))]
    return float(ends[shortest]), float(ends[last[shortest]])


def lowest_interval(cells: Cells, level: float) -> tuple[float, float]:
    """The interval of probability ``level`` that begins at the smallest possible value."""
    ends, _, up_to = _distribution(cells)
    last = min(int(np.searchsorted(up_to, level * (1 - 1e-9))), len(ends) - 1)
    return float(ends[0]), float(ends[last])


def _distribution(cells: Cells) -> tuple[Floats, Floats, Floats]:
    """All ends of cells, the probability of smaller values, and that of values no larger."""
    low, high, weights = cells
    ends = np.unique(np.concatenate([low, high]))
    share = (ends[:, np.newaxis] - low) / np.maximum(high - low, 1e-12)
    return ends, np.clip(share, 0, 1) @ weights, np.clip(share + (high <= low), 0, 1) @ weights


def mixed_cells(cells: Cells, share: float, low: Floats, high: Floats, others: float) -> Cells:
    """The mixture of cells with weight ``share`` and equally probable ones with ``others``."""
    weights = np.append(share * cells[2], np.full(len(low), others / len(low)))
    return np.append(cells[0], low), np.append(cells[1], high), weights


class NoisePosterior(ABC):
    """The posterior of the noise, and the calibration of scores that goes with it.

    Scores of two classes have shape (n_rows,), of more (n_rows, K).
    """

    @property
    @abstractmethod
    def noise_matrix(self) -> Floats:
        """The estimate of ``noise_matrix[j, k] = p(observed k | true j)``."""

    @property
    def flips(self) -> NoisePosterior:
        """The posterior given that flips depend on the true class alone."""
        return self

    @property
    def for_groups(self) -> NoisePosterior:
        """The posterior that all groups of rows share, where groups have their own flip rates."""
        return self.flips

    @abstractmethod
    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row, shape (n_rows, K)."""

    @abstractmethod
    def rate_cells(self, true: int, observed: int) -> Cells:
        """The posterior distribution of p(observed | true)."""

    @abstractmethod
    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """The posterior distribution of the share of wrong labels."""

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        found = np.empty_like(self.noise_matrix)
        for j, k in np.ndindex(found.shape):
            low, high, weight = self.rate_cells(j, k)
            middle, within = (low + high) / 2, (high - low) ** 2 / 12
            found[j, k] = np.sqrt(weight @ ((middle - weight @ middle) ** 2 + within))
        return found

    def interval(self, level: float = 0.9) -> Floats:
        """Shortest credible intervals of each p(observed | true).

        Returns an array of shape (2, K, K): the matrix of lower ends, then that of upper ends.
        """
        matrix = self.noise_matrix
        found = np.empty((2, *matrix.shape))
        for j, k in np.ndindex(matrix.shape):
            found[:, j, k] = shortest_interval(self.rate_cells(j, k), level)
        # The shortest interval may leave out the estimate; it is then extended up to it.
        return np.stack([np.minimum(found[0], matrix), np.maximum(found[1], matrix)])

    def wrong_share_interval(
        self, scores: Floats, observed: Integers, level: float = 0.9
    ) -> tuple[float, float, float]:
        """Posterior mean of the share of wrong labels, and a credible interval for it.

        The shortest interval, unless one that begins at a share of 0 is hardly longer.
        """
        mean = float(self.issue_probability(scores, observed).mean())
        cells = self.wrong_share_cells(scores, observed)
        shortest, lowest = shortest_interval(cells, level), lowest_interval(cells, level)
        if lowest[0] == 0 and lowest[1] <= HARDLY_LONGER * (shortest[1] - shortest[0]):
            return mean, *lowest
        return mean, *shortest

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ): the probability that each label is wrong."""
        observed = np.asarray(observed).astype(np.intp)
        right = self.posterior(scores, observed)[np.arange(len(observed)), observed]
        return np.clip(1 - right, 0.0, 1.0)

    def log_odds(self, scores: Floats) -> Floats:
        """Log-odds of class 1, shape (n_rows,); of more classes log p(y = j), (n_rows, K)."""
        logs = np.log(np.maximum(self.probability(scores), 1e-300))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def threshold(self, lowest: float, highest: float) -> float:
        """The score in this range where two classes are equally probable, else the nearer end."""
        ends = self.log_odds(np.array([lowest, highest]))
        if ends[0] >= 0:
            return lowest
        if ends[1] <= 0:
            return highest
        return float(brentq(lambda score: self.log_odds(np.array([score]))[0], lowest, highest))


@dataclass(frozen=True)
class Steepening:
    """A transformation of scores whose log-odds is not linear in them.

    Mean votes of learners that were fitted to wrong labels are never unanimous: where the true
    class is certain the log-odds of the mean vote level off, and log p(y = 1) / p(y = 0) grows
    faster than the score. A straight line then leaves certain rows in doubt and takes part of the
    noise for overlap of the classes; in large tables this bias exceeds the standard error. So
    scores are made steeper away from their center,

        z → sinh(k·z) / k,    z = (score − center) / spread,

    which is z itself for a strength k of 0. It is constant beyond ``FARTHEST``.
    """

    strength: float = 0.0
    center: float = 0.0
    spread: float = 1.0

    def __call__(self, scores: Floats) -> Floats:
        """Transform scores."""
        if self.strength == 0:
            return scores
        z = np.clip((scores - self.center) / self.spread, -FARTHEST, FARTHEST)
        return np.sinh(self.strength * z) / self.strength

    def inverse(self, steeper: float) -> float:
        """The score whose transformed value this is."""
        if self.strength == 0:
            return steeper
        z = float(np.arcsinh(self.strength * steeper)) / self.strength
        return self.center + self.spread * z


UNCHANGED = Steepening()


@dataclass(frozen=True, eq=False)
class NoiseAwarePlatt(NoisePosterior):
    """Noise-aware Platt scaling: a mixture of sigmoids over a grid of noise matrices.

    ``rates`` (n_points, 2) holds γ01 and γ10 of each noise matrix of the grid, ``weights`` its
    posterior probability; it represents the cell of rates from ``lowest`` to ``highest``. Given the
    noise matrix, p(y = 1 | score) is a sigmoid of the transformed score (``steepening``) with its
    own slope and offset. The mixture is increasing in the score. Labels are 0 or 1.
    """

    rates: Floats
    lowest: Floats
    highest: Floats
    slopes: Floats
    offsets: Floats
    weights: Floats
    steepening: Steepening = UNCHANGED

    @property
    def noise_matrix(self) -> Floats:
        """The posterior mean of the noise matrix."""
        return with_rates(*(self.weights @ self.rates))

    def rate_cells(self, true: int, observed: int) -> Cells:
        """The posterior distribution of p(observed | true)."""
        low, high = self.lowest[:, true], self.highest[:, true]
        return (1 - high, 1 - low, self.weights) if true == observed else (low, high, self.weights)

    def wrong_share_cells(self, scores: Floats, observed: ArrayLike) -> Cells:
        """The posterior distribution of the share of wrong labels.

        The smallest and largest rates of each cell of the grid give the ends of the share. In large
        tables it is computed from rows that are evenly spaced in the order of labels and scores.
        """
        label = np.asarray(observed) > 0
        order = np.lexsort((scores, label))
        n_rows = min(len(order), SHARE_ROWS)
        rows = order[((np.arange(n_rows) + 0.5) * len(order) / n_rows).astype(int)]
        true, label = expit(self._margins(self.steepening(scores[rows]))), label[rows]
        low, high = (_wrong(r, true, label).mean(axis=1) for r in (self.lowest, self.highest))
        return low, high, self.weights

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = 0) and p(ỹ = 1) for each score, shape (n_rows, 2)."""
        into_1, into_0 = self.rates.T
        informative = replace(self, weights=self.weights * (1 - into_1 - into_0))
        positive = self.weights @ into_1 + informative(scores)
        return np.column_stack([1 - positive, positive])

    def log_odds(self, scores: Floats) -> Floats:
        """log p(y = 1) − log p(y = 0) for each score."""
        return self._of_rows(
            "mixture_log_odds", scores, lambda m, _: self._log_mean(m) - self._log_mean(-m)
        )

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        # The weights sum to 1 up to rounding.
        return self._of_rows(
            "mixture_probability", scores, lambda m, _: np.minimum(self.weights @ expit(m), 1.0)
        )

    def probability(self, scores: Floats) -> Floats:
        """Return p(y = 0) and p(y = 1) for each score, shape (n_rows, 2)."""
        positive = self(scores)
        return np.column_stack([1 - positive, positive])

    def posterior(self, scores: Floats, observed: ArrayLike) -> Floats:
        """Return p(y = 0) and p(y = 1) given score and observed label, shape (n_rows, 2)."""
        wrong = self.issue_probability(scores, observed)
        positive = np.where(np.asarray(observed) > 0, 1 - wrong, wrong)
        return np.column_stack([1 - positive, positive])

    def issue_probability(self, scores: Floats, labels: ArrayLike) -> Floats:
        """p(y ≠ ỹ | score, ỹ): the probability that each label is wrong."""
        is_positive = np.asarray(labels) > 0

        def of_block(margins: Floats, rows: slice) -> Floats:
            wrong = _wrong(self.rates, expit(margins), is_positive[rows])
            return np.minimum(self.weights @ wrong, 1.0)

        return self._of_rows("issue_probability", scores, of_block, is_positive, self.rates)

    def threshold(self, lowest: float, highest: float) -> float:
        """The score in this range where both classes are equally probable, else the nearer end."""
        compiled = native.compiled()
        if compiled is None:
            return super().threshold(lowest, highest)
        ends = self.steepening(np.array([lowest, highest])).tolist()
        found = compiled.mixture_threshold(self.slopes, self.offsets, self.weights, *ends)
        return min(max(self.steepening.inverse(found), lowest), highest)

    def _of_rows(
        self, name: str, scores: Floats, of_block: Callable[[Floats, slice], Floats], *others: Any
    ) -> Floats:
        """Call the compiled function of this name, or else evaluate margins in blocks of rows."""
        scores, compiled = self.steepening(scores), native.compiled()
        if compiled is not None:
            columns = np.ascontiguousarray(scores, dtype=np.float64), *others
            function: Callable[..., Floats] = getattr(compiled, name)
            return function(*columns, self.slopes, self.offsets, self.weights)
        blocks = gen_batches(len(scores), BLOCK_ROWS) if len(scores) else ()
        found = [of_block(self._margins(scores[rows]), rows) for rows in blocks]
        return np.concatenate([np.zeros(0), *found])

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


def _wrong(rates: Floats, true: Floats, is_positive: NDArray[np.bool_]) -> Floats:
    """p(y ≠ ỹ | score, ỹ) for each noise matrix and row, from p(y = 1 | score)."""
    into_1, into_0 = rates[:, :1], rates[:, 1:]
    wrong = np.where(is_positive, into_1 * (1 - true), into_0 * true)
    right = np.where(is_positive, (1 - into_0) * true, (1 - into_1) * (1 - true))
    return wrong / np.maximum(wrong + right, 1e-300)


@dataclass(frozen=True, eq=False)
class FlippedOrGuessed(NoisePosterior):
    """A mixture of two explanations of wrong labels: flips, and guesses with weight ``guessed``.

    A flip has a rate that depends on the true class alone, and leaves a trace: p(ỹ | x) levels off
    before any label is certain. Real labels are also wrong where a row looks like another class.
    Let a share ρ_k of the labels k be guesses by whoever looked at the row: draws from the class
    probabilities that the columns imply, independent of the true class given x. With
    c_k = p(ỹ = k | x),

        p(y = j | x, ỹ = k) = (1 − ρ_k)·1(j = k) + ρ_k·c_j,
        p(y = j | x) = c_j·(1 − ρ_j) + c_j·Σ_k ρ_k·c_k ≈ c_j,

    exact where all ρ are equal, and in the prior mean. So the likelihood of scores and labels does
    not depend on ρ, the model of the observed labels needs no correction, and a label is suspicious
    as far as the scores contradict it. Each ρ_k keeps its prior, uniform on [0, 1]; credible
    intervals are correspondingly wide until rows are checked.

    ``flipped`` is the posterior given flips. ``overlap`` has the curve c of the observed labels
    given guesses, ``together[j, k]`` the mean over rows of c_j·c_k.
    """

    flipped: NoisePosterior
    overlap: NoisePosterior
    guessed: float
    together: Floats

    @property
    def noise_matrix(self) -> Floats:
        """That of the more probable explanation: the mean of the flips, or the identity."""
        return self.flipped.noise_matrix if self.guessed <= 0.5 else np.eye(self.n_classes)

    @property
    def flips(self) -> NoisePosterior:
        """The posterior given flips."""
        return self.flipped

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.together)

    def rate_cells(self, true: int, observed: int) -> Cells:
        """The posterior distribution of p(observed | true)."""
        shares = _draws(self.n_classes)
        joint = self.together[true] * shares  # p(true, guessed as k)
        joint[:, true] += self.together[true].sum() * (1 - shares[:, true])
        rate = joint[:, observed] / joint.sum(axis=1)
        return self._mixed(self.flipped.rate_cells(true, observed), rate)

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """The posterior distribution of the share of wrong labels."""
        n_classes, observed = self.n_classes, np.asarray(observed).astype(np.intp)
        curve = self.overlap.observed_probability(scores)
        doubt = 1 - curve[np.arange(len(curve)), observed]
        by_label = np.bincount(observed, doubt, minlength=n_classes) / len(curve)
        flipped = self.flipped.wrong_share_cells(scores, observed)
        return self._mixed(flipped, _draws(n_classes) @ by_label)

    def _mixed(self, flipped: Cells, guessed: Floats) -> Cells:
        return mixed_cells(flipped, 1 - self.guessed, guessed, guessed, self.guessed)

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        curve = self.overlap.observed_probability(scores)
        return (1 - self.guessed) * self.flipped.probability(scores) + self.guessed * curve

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row."""
        curve = self.overlap.observed_probability(scores)
        return (1 - self.guessed) * self.flipped.observed_probability(scores) + self.guessed * curve

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        flipped = self.flipped.posterior(scores, observed)
        if not self.guessed:
            return flipped
        guessed = self._if_guessed(MEAN_SHARE, scores, observed)
        return (1 - self.guessed) * flipped + self.guessed * guessed

    def assumptions(self, scores: Floats, observed: Integers) -> list[Floats]:
        """p(y = j | score, ỹ) of each row given flips, then given each share of guesses."""
        guessed = [self._if_guessed(share, scores, observed) for share in SHARES]
        return [self.flipped.posterior(scores, observed), *guessed]

    def assumption_weights(self) -> Floats:
        """The probability of each assumption, at least ``LEAST_WEIGHT``."""
        weights = np.array([1 - self.guessed, *[self.guessed / len(SHARES)] * len(SHARES)])
        return np.maximum(weights, LEAST_WEIGHT)

    def _if_guessed(self, share: float, scores: Floats, observed: Integers) -> Floats:
        found = share * self.overlap.observed_probability(scores)
        found[np.arange(len(found)), np.asarray(observed).astype(np.intp)] += 1 - share
        return found


def _draws(n_classes: int) -> Floats:
    """Quasi-random draws of the shares of guessed labels, uniform over the unit cube."""
    return qmc.Halton(n_classes, scramble=False).random(N_DRAWS + 1)[1:]


def seen_together(curve: Floats, weight: Floats | None = None) -> Floats:
    """The mean over rows of p(y = j)·p(y = k), shape (K, K)."""
    weighted = curve if weight is None else curve * weight[:, np.newaxis]
    return weighted.T @ curve / weighted.sum()
