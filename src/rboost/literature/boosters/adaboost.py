"""AdaBoost of small trees, the special case that others are compared with and built from."""

from __future__ import annotations

from rboost._typing import Floats
from rboost.literature.boosters.reweighting import (
    SteppingBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.tables import Table


class AdaBoost(SteppingBooster):
    """D ∝ e^(−ỹF) and α = ½·ln((1 − ε)/ε); scikit-learn's AdaBoostClassifier with small trees."""

    def _row_weights(self, table: Table, state: Floats) -> Floats:
        return exponential_weights(table, table.labels * state)

    def _step(self, table: Table, scores: Floats, weights: Floats, votes: Floats) -> float:
        return adaboost_step(weights, table.labels * votes)
