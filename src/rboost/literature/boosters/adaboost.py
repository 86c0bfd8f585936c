"""AdaBoost of small trees, the special case that others are compared with and built from."""

from __future__ import annotations

from rboost._typing import Floats
from rboost.literature.boosters.reweighting import SteppingBooster, adaboost_step
from rboost.tables import Rows


class AdaBoost(SteppingBooster):
    """D ∝ e^(−ỹF) and α = ½·ln((1 − ε)/ε); scikit-learn's AdaBoostClassifier with small trees."""

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        return adaboost_step(weights, rows.labels * votes)
