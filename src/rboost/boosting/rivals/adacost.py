"""AdaCost: Fan, Stolfo, Zhang & Chan, "AdaCost: misclassification cost-sensitive boosting" (1999)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import OneOf, Requirements
from rboost.boosting.rivals.costs import row_costs
from rboost.boosting.rivals.reweighting import (
    ReweightingBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.boosting.rivals.tree_booster import Addend, Step, TreeBooster
from rboost.tables import Table

# Where the adjustment β(c) starts, for right and for wrong votes alike, at which cost.
#   "centred"   1 at the mean cost: equal costs give AdaBoost.
#   "paper"     ½ at no cost. With equal costs right votes then teach nothing, and no tree has an edge.
ADJUSTMENTS = ("centred", "paper")


class AdaCostClassifier(ReweightingBooster[Floats]):
    """AdaCost: rows that are dear gain more weight by an error and lose less by a success.

    With the costs cᵢ at most 1, weights start as D ∝ cᵢ and follow

        D ← D·e^(−α·ỹ·h·β),    β = 1 − ½·(cᵢ − c̄) where h = ỹ,  1 + ½·(cᵢ − c̄) where h ≠ ỹ,

    so that the cost is a factor outside the exponential of the score. The step is
    α = ½·ln((1 + r)/(1 − r)) for the edge r = Σ D·ỹ·h·β, divided by the largest β where that
    exceeds 1, as the bound behind it asks for.

    Parameters
    ----------
    class_costs : "balanced" or array-like of shape (2,), default="balanced"
        What an error on a row of each class costs, classes in sorted order; only the ratio matters.
        "balanced" takes 1 over the frequency of the class.
    adjustment : {"centred", "paper"}, default="centred"
        "centred" is the β above, with the mean cost c̄. "paper" is β = ½ ∓ ½·cᵢ: where costs are
        alike no tree has a positive edge, and boosting ends before it begins.
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

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "adjustment": OneOf(ADJUSTMENTS),
    }

    def __init__(
        self,
        *,
        class_costs: Any = "balanced",
        adjustment: str = "centred",
        n_estimators: int = 150,
        max_splits: int = 2,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            max_splits=max_splits,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_costs = class_costs
        self.adjustment = adjustment

    def _costs(self, table: Table) -> Floats:
        costs = row_costs(self.class_costs, table)
        return costs / costs.max()

    def _start(self, table: Table) -> Floats:
        return -np.log(self._costs(table))

    def _row_weights(self, table: Table, state: Floats) -> Floats:
        return exponential_weights(table, state)

    def _add(
        self, tree: Any, table: Table, state: Floats, weights: Floats
    ) -> tuple[Addend, Floats] | None:
        agreement = table.labels * tree.predict(table.X)
        adjusted = agreement * self._adjustment(table, agreement)
        bound = max(1.0, float(np.abs(adjusted).max()))
        step = adaboost_step(float(weights @ adjusted) / bound) / bound
        return (Step(tree, step), state + step * adjusted) if step > 0 else None

    def _adjustment(self, table: Table, agreement: Floats) -> Floats:
        """β of each row."""
        costs = self._costs(table)
        if self.adjustment == "paper":
            return 0.5 - 0.5 * agreement * costs
        return 1 - 0.5 * agreement * (costs - np.average(costs, weights=table.sample_weight))
