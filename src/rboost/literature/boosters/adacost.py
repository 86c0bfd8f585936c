"""AdaCost: Fan, Stolfo, Zhang & Chan, "Misclassification cost-sensitive boosting" (1999)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import OneOf, Requirements
from rboost.literature.boosters.costs import row_costs
from rboost.literature.boosters.reweighting import (
    MarginBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.literature.boosters.tree_booster import Addend, Step, TreeBooster
from rboost.tables import Rows


def inside(agreement: Floats, costs: Floats, mean_cost: float) -> Floats:
    """β = 1 ∓ ½·(c − c̄), for right and wrong votes."""
    return 1 - 0.5 * agreement * (costs - mean_cost)


def outside(agreement: Floats, costs: Floats, mean_cost: float) -> Floats:
    """β = 1: costs are in the weights at the start and stay there, as factors."""
    return np.ones_like(agreement)


def as_in_the_paper(agreement: Floats, costs: Floats, mean_cost: float) -> Floats:
    """β = ½ ∓ ½·c, for right and wrong votes."""
    return 0.5 - 0.5 * agreement * costs


# The factor β inside the exponential, for costs c ≤ 1 and agreement ỹ·h.
COST_FACTORS = {"inside": inside, "outside": outside, "paper": as_in_the_paper}


@dataclass(eq=False, repr=False, kw_only=True)
class AdaCostClassifier(MarginBooster):
    """AdaCost: dear rows gain more weight by an error and lose less by a success.

    With the costs cᵢ at most 1, weights start as D ∝ cᵢ and follow D ← D·e^(−α·ỹ·h·β), with the
    step α = ½·ln((1 + r)/(1 − r)) for the edge r = Σ D·ỹ·h·β, divided by the largest β where that
    exceeds 1, as the bound behind it asks for. Choices of β for right and wrong votes:

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

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "cost_factor": OneOf(tuple(COST_FACTORS)),
    }

    def _costs(self, rows: Rows) -> Floats:
        costs = row_costs(self.class_costs, rows)
        return costs / costs.max()

    def _start(self, rows: Rows) -> Floats:
        return -np.log(self._costs(rows))

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        return exponential_weights(rows, state)

    def _add(
        self, tree: Any, rows: Rows, state: Floats, weights: Floats
    ) -> tuple[Addend, Floats] | None:
        agreement, costs = rows.labels * tree.predict(rows.X), self._costs(rows)
        mean_cost = float(np.average(costs, weights=rows.sample_weight))
        adjusted = agreement * COST_FACTORS[self.cost_factor](agreement, costs, mean_cost)
        bound = max(1.0, float(np.abs(adjusted).max()))
        step = adaboost_step(weights, adjusted / bound) / bound
        return (Step(tree, step), state + step * adjusted) if step > 0 else None
