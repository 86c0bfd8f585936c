"""LogitBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression" (2000), algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.literature.boosters.working_response import WorkingResponseBooster

# Responses are multiples of 1 over this.
GRID = 1024


@dataclass(eq=False, repr=False, kw_only=True)
class LogitBoostClassifier(WorkingResponseBooster):
    """LogitBoost: Newton steps on the logistic loss, each a regression tree.

    The score F is half the log-odds, p = p(ỹ = 1 | x) = 1 / (1 + e^(−2F)). Each round fits

        z = (1(ỹ = 1) − p) / (p·(1 − p))    with weights    w = p·(1 − p)

    by least squares and adds half of it to F. The loss log(1 + e^(−2ỹF)) grows linearly where the
    exponential one explodes, so a wrong label pulls less than in AdaBoost; but it is convex, and
    the construction of Long & Servedio defeats it too.

    Responses are cut off at ±``max_response``, which the paper recommends for the sake of rounding
    and which is more than that: a row that is far on the wrong side then pulls with z·w → 0 instead
    of 1, as if the loss were not convex. Cut off at 4, LogitBoost survives Long & Servedio.

    Parameters
    ----------
    max_response : float, default=4.0
        Where responses are cut off, "between 2 and 4" in the paper; infinity never does.
    """

    max_response: float = 4.0

    _requirements: ClassVar[Requirements] = {"max_response": Number(2, closed=True, finite=False)}
    _step: ClassVar[float] = 0.5

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        # z is 1/p for class 1 and −1/(1 − p) for class 0: the label over its own probability.
        own = expit(2 * labels * scores)
        weights = own * expit(-2 * labels * scores)
        smallest = max(1 / self.max_response, np.finfo(np.float64).eps)  # 0 has no inverse
        response = 1 / np.maximum(own, smallest)
        # On a grid, as the weights are: equally good splits stay equally good in any order of rows.
        return labels * np.round(response * GRID) / GRID, weights
