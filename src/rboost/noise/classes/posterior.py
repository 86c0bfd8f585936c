"""What is known of the noise of K classes once kinds of noise were compared: their mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta as beta_distribution
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.noise.classes.fit import Fit
from rboost.noise.likelihood import true_posterior

# Rows for which every kind of noise is evaluated at a time.
BLOCK_ROWS = 8192
# A rate that a kind of noise leaves to slips may be up to this, but hardly: the cube of a uniform
# number, which prefers small ones.
RARE = 0.05
# Each rate of each kind stands for this many equally likely values.
N_VALUES = 99
_QUANTILES = (np.arange(N_VALUES) + 0.5) / N_VALUES


@dataclass(frozen=True, eq=False)
class ClassesPosterior:
    """Noise and true classes, averaged over kinds of noise with these ``weights``.

    Scores are read relative to the largest of their row, in units of ``spread``.
    """

    fits: tuple[Fit, ...]
    weights: Floats
    spread: float

    @property
    def noise_matrix(self) -> Floats:
        """The posterior mean of the noise matrix."""
        return np.tensordot(self.weights, np.stack([fit.noise_matrix for fit in self.fits]), 1)

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each entry of the noise matrix."""
        means = np.stack([fit.noise_matrix for fit in self.fits])
        within = np.stack([_deviations(fit) for fit in self.fits]) ** 2
        variance = np.tensordot(self.weights, within + (means - self.noise_matrix) ** 2, 1)
        return np.sqrt(variance)

    def interval(self, level: float = 0.9) -> Floats:
        """Shortest intervals that hold the entries with probability ``level``, (2, K, K)."""
        n_classes = len(self.noise_matrix)
        found = np.empty((2, n_classes, n_classes))
        entries = [(fit, fit.noise_matrix, _deviations(fit)) for fit in self.fits]
        for j, k in np.ndindex(n_classes, n_classes):
            values = []
            for fit, mean, deviation in entries:
                flipped = 1 - mean[j, k] if j == k else mean[j, k]
                spread = _values(fit, float(flipped), float(deviation[j, k]))
                values.append(1 - spread[::-1] if j == k else spread)
            found[:, j, k] = _shortest(np.concatenate(values), self.weights, level)
        return found

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        return self._mean(scores, lambda fit, block, rows: fit.true_probability(block))

    def log_odds(self, scores: Floats) -> Floats:
        """log p(y = j | score) of each row."""
        return np.log(np.maximum(self.probability(scores), 1e-300))

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        observed = np.asarray(observed)

        def of_fit(fit: Fit, block: Floats, rows: slice) -> Floats:
            return true_posterior(fit.true_probability(block), observed[rows], fit.noise_matrix)

        return self._mean(scores, of_fit)

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ): how likely each label is to be wrong."""
        posterior = self.posterior(scores, observed)
        right = posterior[np.arange(len(posterior)), observed]
        return np.clip(1 - right, 0.0, 1.0)

    def wrong_share_interval(
        self, scores: Floats, observed: Integers, level: float = 0.9
    ) -> tuple[float, float, float]:
        """Mean, lower and upper end of the share of labels that are wrong."""
        observed, values, shares = np.asarray(observed), [], []
        for fit in self.fits:
            alone = ClassesPosterior((fit,), np.ones(1), self.spread)
            share = float(alone.issue_probability(scores, observed).mean())
            classes = alone.probability(scores).mean(axis=0)
            values.append(_values(fit, share, _share_deviation(fit, classes)))
            shares.append(share)
        low, high = _shortest(np.concatenate(values), self.weights, level)
        return float(self.weights @ shares), low, high

    def _mean(self, scores: Floats, of_fit: Callable[[Fit, Floats, slice], Floats]) -> Floats:
        """The mean over kinds of noise, computed in blocks of rows."""
        scores = relative_scores(scores) / self.spread
        found = np.zeros(scores.shape)
        for rows in gen_batches(len(scores), BLOCK_ROWS):
            for weight, fit in zip(self.weights, self.fits, strict=True):
                found[rows] += weight * of_fit(fit, scores[rows], rows)
        return found


def relative_scores(scores: Floats) -> Floats:
    """Scores less the largest of their row: a constant in a row says nothing."""
    scores = np.asarray(scores, dtype=np.float64)
    return scores - scores.max(axis=1, keepdims=True)


def _deviations(fit: Fit) -> Floats:
    """Standard deviation of each entry of the noise matrix within one kind of noise."""
    directions = fit.layout.kind.directions
    variance = np.einsum("mjk,ml,ljk->jk", directions, fit.covariance, directions)
    return np.sqrt(np.maximum(variance, 0.0))


def _share_deviation(fit: Fit, classes: Floats) -> float:
    """Standard deviation of the share of wrong labels, given how frequent classes are."""
    lost = -np.einsum("j,mjj->m", classes, fit.layout.kind.directions)
    return float(np.sqrt(max(lost @ fit.covariance @ lost, 0.0)))


def _values(fit: Fit, mean: float, deviation: float) -> Floats:
    """Equally likely values of a rate, in order, by a beta distribution with these moments."""
    if fit.layout.kind.is_known:
        return np.full(N_VALUES, mean)
    if deviation == 0:  # slips alone
        return RARE * _QUANTILES**3
    mean = min(max(mean, 1e-6), 1 - 1e-6)
    # No wider than a distribution that falls from 0 on.
    variance = min(deviation**2, mean**2 * (1 - mean) / (1 + mean))
    size = mean * (1 - mean) / variance - 1
    return beta_distribution.ppf(_QUANTILES, mean * size, (1 - mean) * size)


def _shortest(values: Floats, weights: Floats, level: float) -> tuple[float, float]:
    """Shortest interval of probability ``level``; each weight is that of N_VALUES values."""
    order = np.argsort(values, kind="stable")
    values = values[order]
    up_to = np.cumsum(np.repeat(weights, N_VALUES)[order] / N_VALUES)
    before = np.concatenate([[0.0], up_to[:-1]])
    last = np.searchsorted(up_to, before + level * (1 - 1e-9))
    first = np.flatnonzero(last < len(values))
    narrowest = first[int(np.argmin(values[last[first]] - values[first]))]
    low, high = float(values[narrowest]), float(values[last[narrowest]])
    return (0.0 if low < 1e-4 else low), high
