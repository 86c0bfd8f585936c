"""Boosters that are told what the errors of each class cost.

AdaCost: Fan, Stolfo, Zhang & Chan, "Misclassification cost-sensitive boosting" (1999), and
cost-sensitive AdaBoost: Masnadi-Shirazi & Vasconcelos, "Cost-sensitive boosting" (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from rboost._typing import Floats
from rboost._validation import OneOf, Requirements
from rboost.engines.rounds import MAX_STEP
from rboost.fitting import Rows
from rboost.literature.boosting import Step, TreeBooster, adaboost_step, exponential_weights

# Of two costs that differ by more the smaller one would be lost in rounding.
LARGEST_RATIO = 1e6


def row_costs(class_costs: Any, rows: Rows) -> Floats:
    """The cost of an error on each row, "balanced" meaning 1 over the frequency of its class."""
    if isinstance(class_costs, str) and class_costs == "balanced":
        return 1 / rows.prevalence[rows.observed]
    try:
        costs = np.asarray(class_costs, dtype=np.float64)
    except (TypeError, ValueError):
        costs = np.zeros(0)
    if costs.shape != (2,) or not np.all(costs > 0) or costs.max() > LARGEST_RATIO * costs.min():
        raise ValueError(
            "class_costs must be 'balanced' or two positive numbers, the costs of an error on a row"
            " of each class in sorted order, neither of them more than a million times the other, "
            f"not {class_costs!r}."
        )
    return costs[rows.observed]


# The factor β inside the exponential, for agreement ỹ·h, costs c ≤ 1 and their mean c̄.
COST_FACTORS: dict[str, Callable[[Floats, Floats, float], Floats]] = {
    "inside": lambda agreement, costs, mean_cost: 1 - 0.5 * agreement * (costs - mean_cost),
    "outside": lambda agreement, costs, mean_cost: np.ones_like(agreement),
    "paper": lambda agreement, costs, mean_cost: 0.5 - 0.5 * agreement * costs,
}


@dataclass(eq=False, repr=False, kw_only=True)
class AdaCostClassifier(TreeBooster):
    """AdaCost: costly rows gain more weight by an error and lose less by a success.

    With the costs cᵢ at most 1, weights start as D ∝ cᵢ and follow D ← D·e^(−α·ỹ·h·β), with the
    step α = ½·ln((1 + r)/(1 − r)) for the edge r = Σ D·ỹ·h·β, divided by the largest β where that
    exceeds 1, as the bound behind it asks for. Choices of β for right and wrong votes::

        "inside"    1 ∓ ½·(cᵢ − c̄), with the mean cost c̄: the paper's, centred.
        "outside"   1. Costs are factors of the exponentials, the loss is Σ cᵢ·e^(−ỹF), and it is
                    AdaBoost with the costs as sample weights.
        "paper"     ½ ∓ ½·cᵢ. Right votes on rows of the highest cost teach nothing; where costs are
                    alike, or labels noisy, no tree has an edge and boosting ends before it begins.

    With either of the first two, equal costs give AdaBoost.

    Parameters
    ----------
    class_costs : "balanced" or array-like of shape (2,), default="balanced"
        What an error on a row of each class costs, classes in sorted order; only the ratio matters.
        "balanced" takes 1 over the frequency of the class.
    cost_factor : {"inside", "outside", "paper"}, default="inside"
        Where the costs come in: the β above.
    """

    class_costs: Any = "balanced"
    cost_factor: str = "inside"

    _requirements: ClassVar[Requirements] = {"cost_factor": OneOf(tuple(COST_FACTORS))}

    def _costs(self, rows: Rows) -> Floats:
        costs = row_costs(self.class_costs, rows)
        return costs / costs.max()

    def _start(self, rows: Rows) -> Floats:
        return -np.log(self._costs(rows))

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        return exponential_weights(rows, state)

    def _add(self, tree: Any, rows: Rows, state: Any, weights: Floats) -> tuple[Any, Any] | None:
        agreement, costs = rows.labels * tree.predict(rows.X), self._costs(rows)
        mean_cost = float(np.average(costs, weights=rows.sample_weight))
        adjusted = agreement * COST_FACTORS[self.cost_factor](agreement, costs, mean_cost)
        bound = max(1.0, float(np.abs(adjusted).max()))
        step = adaboost_step(weights, adjusted / bound) / bound
        return (Step(tree, step), state + step * adjusted) if step > 0 else None


@dataclass(eq=False, repr=False, kw_only=True)
class CostSensitiveBoostClassifier(TreeBooster):
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
