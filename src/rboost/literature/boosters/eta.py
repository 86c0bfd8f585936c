"""η-boost: Takenouchi & Eguchi, "Robustifying AdaBoost by adding the naive error rate" (2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.engines.rounds import MAX_STEP
from rboost.fitting import Rows
from rboost.literature.boosters.reweighting import SteppingBooster


@dataclass(eq=False, repr=False, kw_only=True)
class EtaBoostClassifier(SteppingBooster):
    """η-boost: AdaBoost for labels that are wrong most often where the classes meet.

    The loss Σ U(−ỹF) with U(z) = (1 − η)·e^z + η·z mixes AdaBoost's with the number of errors, the
    naive error rate: its weights D ∝ (1 − η)·e^(−ỹF) + η never forget a row. Given enough data, its
    minimum is at F with p(y = 1 | x) = 1 / (1 + e^(−2F)) if labels are flipped with a probability
    that is η/2 on the boundary and falls with the distance from it,

        p(flip | x) = η / ((1 − η)·(e^F + e^(−F)) + 2η).

    The multi-class sequel is Takenouchi et al., "Robust boosting algorithm against mislabeling in
    multiclass problems" (2008).

    Parameters
    ----------
    eta : float, default=0.1
        Twice the share of wrong labels on the boundary, below 1; 0 gives AdaBoost.
    """

    eta: float = 0.1

    _requirements: ClassVar[Requirements] = {"eta": Number(0, high=0.999, closed=True)}

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        exponential, uniform = self._parts(rows, state)
        return exponential + uniform

    def _parts(self, rows: Rows, scores: Floats) -> tuple[Floats, Floats]:
        """(1 − η)·e^(−ỹF) and η of each row, both divided by the largest e^(−ỹF)."""
        margins = rows.labels * scores
        lowest = min(margins.min(), 0.0)
        return (
            (1 - self.eta) * rows.sample_weight * np.exp(lowest - margins),
            self.eta * rows.sample_weight * np.exp(lowest),
        )

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        exponential, uniform = self._parts(rows, scores)
        right = votes == rows.labels
        return eta_step(
            float(exponential[right].sum()),
            float(exponential[~right].sum()),
            float(uniform @ (rows.labels * votes)),
        )


def eta_step(falling: float, rising: float, naive_edge: float) -> float:
    """The α that minimises falling·e^(−α) + rising·e^α − naive_edge·α.

    The derivative times e^α is the quadratic rising·a² − naive_edge·a − falling of a = e^α, which
    has one positive root. It is at most ``MAX_STEP``, where nothing rises.
    """
    half = naive_edge / 2
    root = np.sqrt(half**2 + rising * falling)
    # Of two ways to write the root, the one in which nothing cancels.
    numerator, denominator = (half + root, rising) if half > 0 else (falling, root - half)
    if denominator <= 0:
        return MAX_STEP
    with np.errstate(divide="ignore"):  # falling = 0: the votes are all wrong
        return float(min(np.log(numerator) - np.log(denominator), MAX_STEP))
