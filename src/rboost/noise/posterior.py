"""Posteriors of the noise: which noise matrices are probable, and p(y | score) averaged over them.

``NoisePosterior`` is what every inference returns; ``NoiseAwarePlatt`` is that of two classes whose
labels were flipped at random.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import beta as beta_distribution
from scipy.stats import norm
from sklearn.utils import gen_batches

from rboost import native
from rboost._typing import Floats, Integers
from rboost.noise.matrix import with_rates

# Scores farther from the center than this many standard deviations are clipped, so that sinh stays
# finite.
FARTHEST = 20.0
# The number of noise matrices of the grid that stand for all of them.
N_READINGS = 8
# Rows for which all noise matrices of the grid are evaluated at once; bounds the memory.
BLOCK_ROWS = 4096
# Ends of intervals below this are 0.
TINY = 2e-3
# The standard deviation of a shift of a list's log-odds of being wrong, beside that of all rows.
# Halved, intervals of lists miss the truth in one of six tables instead of one of twelve.
LIST_MISFIT = 0.75
# No list is so sure that q·(1 − q) is less than this on average: without it, intervals of short
# lists of small tables are narrow where the inference is too sure, and most of them miss.
LEAST_SPREAD = 0.2
# Quantiles of a standard normal variable between which .9 lies.
NORMAL_95 = float(norm.ppf(0.95))
# Equally probable values of a standard normal variable.
NORMAL: Floats = norm.ppf((np.arange(16) + 0.5) / 16)
_QUANTILES = (np.arange(199) + 0.5) / 199


def beta_interval(mean: Floats, variance: Floats) -> Floats:
    """Shortest intervals of probability .9 of beta distributions, lower ends and upper ends.

    Where the variance exceeds that of a density that decreases from 0 or 1 on, the interval reaches
    at least as far from there as that of a normal distribution.
    """
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    rarer = np.minimum(mean, 1 - mean)
    widest = rarer**2 * (1 - rarer) / (1 + rarer)
    size = mean * (1 - mean) / np.clip(variance, 1e-12, widest) - 1
    levels = _QUANTILES.reshape(-1, *[1] * mean.ndim)
    values = beta_distribution.ppf(levels, mean * size, (1 - mean) * size)
    values[0] = np.where(values[0] < 1e-4, 0, values[0])
    values[-1] = np.where(values[-1] > 1 - 1e-4, 1, values[-1])
    inside = int(np.ceil(0.9 * len(levels)))
    low, high = values[:-inside], values[inside:]
    narrowest = np.argmin(high - low, axis=0)[np.newaxis]
    lower, upper = (np.take_along_axis(end, narrowest, axis=0)[0] for end in (low, high))
    reach = norm.ppf(0.95) * np.sqrt(variance)
    beyond = variance > widest
    lower = np.where(beyond, np.clip(mean - reach, 0, lower), lower)
    return np.stack([lower, np.where(beyond, np.clip(mean + reach, upper, 1), upper)])


def weighted_quantiles(
    values: Floats, weight: Floats, low: float, high: float
) -> tuple[Floats, Floats]:
    """Two weighted quantiles of each column of values, (n, m); weights (n,) sum to 1."""
    order = np.argsort(values, axis=0)
    reached = np.cumsum(weight[order], axis=0)
    ranked = np.take_along_axis(values, order, axis=0)
    first, last = (
        np.take_along_axis(ranked, np.argmax(reached >= at - 1e-9, axis=0)[np.newaxis], axis=0)[0]
        for at in (low, high)
    )
    return first, last


class Doubt(NamedTuple):
    """A number of rows, and the mean over them of q·(1 − q), q = p(the label is wrong)."""

    n_rows: int
    spread: Floats | float

    @classmethod
    def of(cls, wrong: Floats) -> Doubt:
        """Of the probabilities of rows, the last axis."""
        return cls(wrong.shape[-1], np.sum(wrong * (1 - wrong), axis=-1) / max(wrong.shape[-1], 1))

    def deviation(
        self, listed: Doubt, common: Floats | float, misfit: float = LIST_MISFIT
    ) -> Floats | float:
        """The standard deviation of the share of wrong labels in a list of some of these rows.

        ``common`` is that of the share among all rows, but for chance. If all log-odds of being
        wrong move together, the share of the list moves listed.spread / spread times as far. The
        log-odds of the list move by themselves as well, and chance decides which labels are wrong.
        """
        left = 1 - listed.n_rows / max(self.n_rows, 1)
        moved = common * listed.spread / np.maximum(self.spread, 1e-12)
        spread = np.maximum(listed.spread, LEAST_SPREAD * left)
        return np.sqrt(spread / max(listed.n_rows, 1) + moved**2 + (misfit * left * spread) ** 2)

    def interval(
        self, listed: Floats, of_all: tuple[float, float], misfit: float = LIST_MISFIT
    ) -> tuple[float, float]:
        """A 90 % interval of the share of wrong labels in a list of some of these rows.

        From the probabilities of the list and the interval ``of_all`` rows, where nothing more is
        known of what the rows of a list have in common.
        """
        common = (of_all[1] - of_all[0]) / (2 * NORMAL_95)
        reach = NORMAL_95 * float(self.deviation(Doubt.of(listed), common, misfit))
        mean = float(listed.mean())
        return max(mean - reach, 0.0), min(mean + reach, 1.0)


class Reading(NamedTuple):
    """One explanation of scores and labels: a noise matrix, and p(y = j | score) of rows, (n, K).

    ``deviation`` is the standard deviation of the share of flipped labels given this reading,
    ``rate_deviation`` (K, K) that of its rates. Of overlap nothing was flipped.
    """

    weight: float
    noise_matrix: Floats
    probability: Floats
    deviation: float = 0.0
    rate_deviation: Floats | float = 0.0
    is_overlap: bool = False


class NoisePosterior(ABC):
    """The posterior of the noise, and the calibration of scores that goes with it.

    Scores of two classes have shape (n_rows,), of more (n_rows, K).
    """

    @property
    @abstractmethod
    def noise_matrix(self) -> Floats:
        """The estimate of ``noise_matrix[j, k] = p(observed k | true j)``."""

    @property
    def mean_rates(self) -> Floats:
        """Expected shares p(observed k | true j), whatever the labels depend on."""
        return self.noise_matrix

    @property
    def likelier_matrix(self) -> Floats:
        """The noise matrix with which models are fitted."""
        return self.noise_matrix

    @property
    def flips(self) -> NoisePosterior:
        """The posterior given that flips depend on the true class alone."""
        return self

    @property
    def for_groups(self) -> NoisePosterior:
        """The posterior that all groups of rows share, where groups have their own flip rates."""
        return self.flips

    @property
    def error_rate(self) -> float:
        """The expected share of answers of people that are wrong; 0 where nobody answered."""
        return 0.0

    @property
    def error_rates(self) -> Floats:
        """The same of each reviewer, or of all alike, (1,)."""
        return np.array([self.error_rate])

    @property
    def largest_error_rate(self) -> float:
        """The error rate of reviewers that is exceeded with a probability of at most .05."""
        return 0.0

    @abstractmethod
    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row, shape (n_rows, K)."""

    def readings(self, scores: Floats, observed: Integers, weight: Floats) -> list[Reading]:
        """Explanations by flips at random, with probabilities that sum to 1."""
        raise NotImplementedError

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        raise NotImplementedError

    def interval(self) -> Floats:
        """90 % intervals of each p(observed | true), shape (2, K, K): lower ends, upper ends."""
        matrix = self.noise_matrix
        low, high = beta_interval(matrix, self.standard_error**2)
        return np.stack([np.minimum(low, matrix), np.maximum(high, matrix)])

    def wrong_shares(
        self, scores: Floats, observed: Integers, listed: Integers | None = None
    ) -> tuple[Floats, Floats]:
        """Values of the share of wrong labels among listed rows, or all; and their probabilities.

        Given flips at random; chance decides which rows they meet.
        """
        n_rows = max(len(scores), 1)
        values, weights = [], []
        each, observed = np.arange(len(scores)), np.asarray(observed).astype(np.intp)
        for reading in self.readings(scores, observed, np.full(len(scores), 1 / n_rows)):
            joint = reading.probability * reading.noise_matrix.T[observed]
            wrong = 1 - joint[each, observed] / np.maximum(joint.sum(axis=1), 1e-300)
            own = wrong if listed is None else wrong[listed]
            deviation = Doubt.of(wrong).deviation(Doubt.of(own), reading.deviation)
            values.append(np.clip(np.sum(own) / max(len(own), 1) + deviation * NORMAL, 0, 1))
            weights.append(np.full(len(NORMAL), reading.weight / len(NORMAL)))
        return np.concatenate(values), np.concatenate(weights)

    def wrong_share_interval(
        self,
        scores: Floats,
        observed: Integers,
        level: float = 0.9,
        *,
        listed: Integers | None = None,
    ) -> tuple[float, float, float]:
        """The mean of the share of wrong labels, and an interval that holds it.

        Of all rows, or of those at the positions ``listed``, such as the most suspicious.
        """
        wrong = self.issue_probability(scores, observed)
        mean = float((wrong if listed is None else wrong[listed]).mean())
        values, weight = self.wrong_shares(scores, observed, listed)
        below = self.left_out_below(level)
        low, high = weighted_quantiles(values[:, np.newaxis], weight, below, below + level)
        return mean, (0.0 if low[0] < TINY else float(low[0])), float(high[0])

    def left_out_below(self, level: float) -> float:
        """The probability of values below an interval."""
        return (1 - level) / 2

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

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        within = (self.highest - self.lowest) ** 2 / 12
        variance = self.weights @ ((self.rates - self.weights @ self.rates) ** 2 + within)
        return np.sqrt(np.repeat(variance[:, np.newaxis], 2, axis=1))

    def readings(self, scores: Floats, observed: Integers, weight: Floats) -> list[Reading]:
        """Some noise matrices of the grid that stand for all, evenly along the share of flips."""
        low, high, chance = self.lowest, self.highest, self.weights
        label = np.asarray(observed) > 0
        true = expit(self._margins(self.steepening(scores)))
        shares = np.stack([_wrong(ends, true, label) @ weight for ends in (low, high)])
        share = shares.mean(axis=0)
        order = np.argsort(share)
        middles = (np.arange(N_READINGS) + 0.5) / N_READINGS
        reached = np.searchsorted(np.cumsum(chance[order]), middles)
        points, counts = np.unique(order[np.minimum(reached, len(order) - 1)], return_counts=True)
        width = np.abs(shares[1] - shares[0]) / np.sqrt(12)
        deviation = np.sqrt(chance @ (share - chance @ share) ** 2 + width**2)
        rates = self.standard_error
        return [
            Reading(
                float(n / N_READINGS),
                with_rates(*self.rates[point]),
                np.column_stack([1 - true[point], true[point]]),
                float(deviation[point]),
                rates,
            )
            for point, n in zip(points.tolist(), counts.tolist(), strict=True)
        ]

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
