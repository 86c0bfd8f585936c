"""LogitBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression" (2000), algorithm 3."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.special import expit

from rboost._typing import Floats
from rboost.boosting.rivals.working_response import WorkingResponseBooster

# The paper's remedies against rows that are fitted too well or too badly: responses are cut off
# here ("between 2 and 4"), and weights are never smaller than twice the smallest difference.
LARGEST_RESPONSE = 4.0
SMALLEST_WEIGHT = 2 * np.finfo(np.float64).eps


class LogitBoostClassifier(WorkingResponseBooster):
    """LogitBoost: Newton steps on the logistic loss, each a regression tree.

    The score F is half the log-odds, p = p(ỹ = 1 | x) = 1 / (1 + e^(−2F)). Each round fits

        z = (1(ỹ = 1) − p) / (p·(1 − p))    with weights    w = p·(1 − p)

    by least squares and adds half of it to F. The loss log(1 + e^(−2ỹF)) grows linearly where the
    exponential one explodes, so a wrong label pulls less than in AdaBoost; but it is convex, and
    the construction of Long & Servedio defeats it too.

    Parameters
    ----------
    n_estimators : int, default=150
        Number of rounds.
    max_splits : int, default=2
        Splits of each tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which a tree tries features.
    n_jobs : int, default=None
        Threads used by prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list
        The trees with their steps.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    """

    _step: ClassVar[float] = 0.5

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        # z is 1/p for class 1 and −1/(1 − p) for class 0: the label over the odds for it.
        own = expit(2 * labels * scores)
        weights = np.maximum(own * expit(-2 * labels * scores), SMALLEST_WEIGHT)
        return labels / np.maximum(own, 1 / LARGEST_RESPONSE), weights
