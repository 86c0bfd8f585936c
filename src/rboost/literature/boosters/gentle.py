"""Gentle AdaBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression" (2000)."""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats
from rboost.literature.boosters.working_response import WorkingResponseBooster


class GentleBoostClassifier(WorkingResponseBooster):
    """Gentle AdaBoost: each round adds a regression tree fitted to the labels ±1.

    f(x) = E_D[ỹ | x] by weighted least squares is a Newton step on the exponential loss, and a
    gentle one: it never exceeds 1, where the full step ½·log-odds has no bound.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of rounds.
    max_splits : int, default=2
        Splits of each tree, as in the paper's baselines.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which a tree tries features.
    n_jobs : int, default=None
        Threads used by prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list
        The trees.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    """

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        margins = labels * scores
        return labels, np.exp(margins.min() - margins)  # L'' = −ỹ·L' = e^(−ỹF)
