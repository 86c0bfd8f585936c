"""Gentle AdaBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression" (2000)."""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats
from rboost.literature.boosters.working_response import WorkingResponseBooster


class GentleBoostClassifier(WorkingResponseBooster):
    """Gentle AdaBoost: each round adds a regression tree fitted to the labels ±1.

    f(x) = E_D[ỹ | x] by weighted least squares is a Newton step on the exponential loss, and a
    gentle one: it never exceeds 1, where the full step ½·log-odds has no bound.
    """

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        margins = labels * scores
        return labels, np.exp(margins.min() - margins)  # L'' = −ỹ·L' = e^(−ỹF)
