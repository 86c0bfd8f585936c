"""Cost-sensitive AdaBoost: Masnadi-Shirazi & Vasconcelos, "Cost-sensitive boosting" (2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from rboost._typing import Floats
from rboost.literature.boosters.costs import row_costs
from rboost.literature.boosters.reweighting import SteppingBooster, exponential_weights
from rboost.losses import MAX_STEP
from rboost.tables import Rows


@dataclass(eq=False, repr=False, kw_only=True)
class CostSensitiveBoostClassifier(SteppingBooster):
    """Cost-sensitive AdaBoost: the cost of an error is inside the exponential.

    The loss Σ e^(−Cᵢ·ỹᵢ·F(xᵢ)) has the costs Cᵢ of each class in its exponents. Where costs that
    multiply weights are soon forgotten by boosting, the minimiser of this loss,

        F(x) = ln(C₁·p(ỹ = 1 | x) / (C₀·p(ỹ = 0 | x))) / (C₀ + C₁),

    has the sign of the decision of least cost. Trees are fitted to its gradient, the weights
    C·e^(−CỹF); the step α is the minimum along the tree. The costs of the two classes have the mean
    1: equal ones give AdaBoost.

    Probabilities are those of classes that count as much as they cost, so that the more probable
    class is the one to choose.

    Parameters
    ----------
    class_costs : "balanced" or array-like of shape (2,), default="balanced"
        What an error on a row of each class costs, classes in sorted order; only the ratio matters.
        "balanced" takes 1 over the frequency of the class.
    """

    class_costs: Any = "balanced"

    def _costs(self, rows: Rows) -> Floats:
        """Costs of the rows, such that those of the two classes have the mean 1."""
        costs = row_costs(self.class_costs, rows)
        return 2 * costs / (costs.min() + costs.max())

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        costs = self._costs(rows)
        return costs * exponential_weights(rows, costs * rows.labels * state)

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        return cost_step(weights, self._costs(rows), rows.labels * votes)


def cost_step(weights: Floats, costs: Floats, agreement: Floats) -> float:
    """The α that minimises Σ (weights/costs)·e^(−α·costs·agreement); 0 where α < 0 would.

    The sums over rows of one cost and one agreement do not depend on α.
    """
    kinds, kind = np.unique(np.column_stack([costs, agreement]), axis=0, return_inverse=True)
    mass = np.bincount(kind.ravel(), weights=weights)
    cost, agreed = kinds.T

    def slope(step: float) -> float:
        # All exponentials are divided by the largest, which leaves the sign.
        exponent = -step * cost * agreed
        return float(-(mass * agreed) @ np.exp(exponent - exponent.max()))

    if slope(0.0) >= 0:
        return 0.0
    return MAX_STEP if slope(MAX_STEP) < 0 else float(brentq(slope, 0.0, MAX_STEP))
