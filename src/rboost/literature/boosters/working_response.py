"""Boosters that fit working responses: Newton steps on a loss, by least squares.

The base of them, and Gentle AdaBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression"
(2000).

Labels are −1 or +1, scores F are positive for class +1; all have shape (n_rows,).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from rboost._typing import Floats
from rboost.fitting import Rows
from rboost.literature.boosters.tree_booster import Addend, Step, TreeBooster, fit_weighted


class WorkingResponseBooster(TreeBooster):
    """Boosting of regression trees, each fitted to a response z with weights w.

    For a loss L, z = −L'(F) / L''(F) and w = L''(F): the weighted least-squares fit of z is then a
    Newton step for F, restricted to what a tree can say.
    """

    # What a unit of the response is worth in units of the score.
    _step: ClassVar[float] = 1.0

    @abstractmethod
    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Response z and weight w of each row; only ratios of the weights matter."""

    def _base_learners(self) -> list[Any]:
        return [DecisionTreeRegressor(max_leaf_nodes=self.max_splits + 1)]

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
        scores = np.zeros(len(rows.labels))
        addends: list[Addend] = []
        for tree in self._seeded_trees(random):
            response, weights = self._working_response(rows.labels, scores)
            fit_weighted(tree, rows, response, rows.sample_weight * weights)
            addends.append(Step(tree, self._step))
            scores = scores + addends[-1].predict(rows.X)
        return addends


class GentleBoostClassifier(WorkingResponseBooster):
    """Gentle AdaBoost: each round adds a regression tree fitted to the labels ±1.

    f(x) = E_D[ỹ | x] by weighted least squares is a Newton step on the exponential loss, and a
    gentle one: it never exceeds 1, where the full step ½·log-odds has no bound.
    """

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        margins = labels * scores
        return labels, np.exp(margins.min() - margins)  # L'' = −ỹ·L' = e^(−ỹF)
