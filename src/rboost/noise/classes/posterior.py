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
from rboost.noise.posterior import Cells, NoisePosterior

# Rows for which every kind of noise is evaluated at a time.
BLOCK_ROWS = 8192
# A rate that a kind of noise leaves to slips may be up to this, but hardly: the cube of a uniform
# number, which prefers small ones.
RARE = 0.05
# Rates and shares below this count as 0.
TINY = 1e-4
# Each rate of each kind stands for this many equally likely values.
N_VALUES = 99
_QUANTILES = (np.arange(N_VALUES) + 0.5) / N_VALUES


@dataclass(frozen=True, eq=False)
class ClassesPosterior(NoisePosterior):
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

    def rate_cells(self, true: int, observed: int) -> Cells:
        """Where p(observed | true) lies with which probability."""
        values = []
        for fit in self.fits:
            mean, is_kept = float(fit.noise_matrix[true, observed]), true == observed
            deviation = _deviation(fit, fit.layout.kind.directions[:, true, observed])
            spread = _values(fit, 1 - mean if is_kept else mean, deviation)
            values.append(1 - spread if is_kept else spread)
        return self._atoms(values)

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        return self._mean(scores, lambda fit, block, rows: fit.true_probability(block))

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        observed = np.asarray(observed)

        def of_fit(fit: Fit, block: Floats, rows: slice) -> Floats:
            return true_posterior(fit.true_probability(block), observed[rows], fit.noise_matrix)

        return self._mean(scores, of_fit)

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """Where the share of labels that are wrong lies with which probability."""
        observed, values = np.asarray(observed), []
        for fit in self.fits:
            alone = ClassesPosterior((fit,), np.ones(1), self.spread)
            share = float(alone.issue_probability(scores, observed).mean())
            classes = alone.probability(scores).mean(axis=0)
            # How the share changes with each rate, given how frequent classes are.
            lost = -np.einsum("j,mjj->m", classes, fit.layout.kind.directions)
            values.append(_values(fit, share, _deviation(fit, lost)))
        return self._atoms(values)

    def _atoms(self, values: list[Floats]) -> Cells:
        """Equally likely values of each kind of noise, as cells without width."""
        found = np.concatenate(values)
        found = np.where(found < TINY, 0.0, found)
        return found, found, np.repeat(self.weights / N_VALUES, N_VALUES)

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row."""
        return self._mean(
            scores, lambda fit, block, rows: fit.true_probability(block) @ fit.noise_matrix
        )

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


def _deviation(fit: Fit, direction: Floats) -> float:
    """Standard deviation, within one kind of noise, of what changes so with each of its rates."""
    return float(np.sqrt(np.maximum(direction @ fit.covariance @ direction, 0.0)))


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
