"""What noise-aware Platt scaling has inferred: p(y | score), and how much noise there may be.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each noise matrix of a grid; each has its own
slope and offset of p(y = 1 | s) = σ(slope·s + offset). Labels are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logsumexp
from sklearn.utils import gen_batches

from rboost import native
from rboost._typing import Floats, Integers
from rboost.noise.interval import Cells
from rboost.noise.matrix import with_rates
from rboost.noise.platt.steepening import UNCHANGED, Steepening
from rboost.noise.posterior import NoisePosterior

# Rows for which every noise matrix of the grid is evaluated at a time.
BLOCK_ROWS = 4096
# Rows that stand for all when the share of wrong labels is asked for.
SHARE_ROWS = 2000


@dataclass(frozen=True, eq=False)
class NoiseAwarePlatt(NoisePosterior):
    """p(y = 1 | score), averaged over what the noise may be; never decreases.

    ``weights`` are the posterior probabilities of the noise matrices with ``rates``; each stands
    for the cell of rates from ``lowest`` to ``highest``. Slopes and offsets are those of the scores
    after their ``steepening``.
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
        """Where p(observed | true) lies with which probability."""
        low, high = self.lowest[:, true], self.highest[:, true]
        return (1 - high, 1 - low, self.weights) if true == observed else (low, high, self.weights)

    def wrong_share_cells(self, scores: Floats, observed: ArrayLike) -> Cells:
        """Where the share of labels that are wrong lies with which probability.

        Each noise matrix of the grid says what share is wrong; the lowest and highest rates of its
        cell say from where to where. Some rows, evenly spaced in the order of labels and scores,
        stand for all where there are many.
        """
        label = np.asarray(observed) > 0
        rows = _spaced_rows(scores, label)
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
        scores, compiled = self.steepening(scores), native.compiled()
        if compiled is not None:
            return compiled.mixture_log_odds(_floats(scores), *self._mixture)

        def of_block(block: slice) -> Floats:
            margins = self._margins(scores[block])
            return self._log_mean(margins) - self._log_mean(-margins)

        return _blockwise(of_block, len(scores))

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        scores, compiled = self.steepening(scores), native.compiled()
        if compiled is not None:
            return compiled.mixture_probability(_floats(scores), *self._mixture)
        found = _blockwise(
            lambda block: self.weights @ expit(self._margins(scores[block])), len(scores)
        )
        return np.minimum(found, 1.0)  # the weights sum to 1 up to rounding

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
        """p(y ≠ ỹ | score, ỹ): how likely each label is to be wrong."""
        is_positive = np.asarray(labels) > 0
        scores, compiled = self.steepening(scores), native.compiled()
        if compiled is not None:
            return compiled.issue_probability(
                _floats(scores), is_positive, self.rates, *self._mixture
            )

        def of_block(block: slice) -> Floats:
            true = expit(self._margins(scores[block]))
            return self.weights @ _wrong(self.rates, true, is_positive[block])

        return np.minimum(_blockwise(of_block, len(scores)), 1.0)

    def threshold(self, lowest: float, highest: float) -> float:
        """The score between two others where both classes are equally likely, else the nearer."""
        compiled = native.compiled()
        if compiled is not None:
            ends = self.steepening(np.array([lowest, highest])).tolist()
            found = self.steepening.inverse(compiled.mixture_threshold(*self._mixture, *ends))
            return min(max(found, lowest), highest)
        return super().threshold(lowest, highest)

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


def _wrong(rates: Floats, true: Floats, is_positive: NDArray[np.bool_]) -> Floats:
    """p(y ≠ ỹ | score, ỹ) for each noise matrix and row, from p(y = 1 | score)."""
    into_1, into_0 = rates[:, :1], rates[:, 1:]
    wrong = np.where(is_positive, into_1 * (1 - true), into_0 * true)
    right = np.where(is_positive, (1 - into_0) * true, (1 - into_1) * (1 - true))
    return wrong / np.maximum(wrong + right, 1e-300)


def _spaced_rows(scores: Floats, label: NDArray[np.bool_]) -> Integers:
    order = np.lexsort((scores, label))
    n_rows = min(len(order), SHARE_ROWS)
    return order[((np.arange(n_rows) + 0.5) * len(order) / n_rows).astype(int)]


def _floats(scores: ArrayLike) -> Floats:
    return np.ascontiguousarray(scores, dtype=np.float64)


def _blockwise(of_block: Callable[[slice], Floats], n_rows: int) -> Floats:
    """Put together what is computed for blocks of rows, so that memory does not grow with them."""
    if not n_rows:
        return np.zeros(0)
    return np.concatenate([of_block(block) for block in gen_batches(n_rows, BLOCK_ROWS)])
