"""What the errors of each class cost, for boosters that are told."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.tables import Rows

# Of two costs that differ by more the smaller one would be lost in rounding.
LARGEST_RATIO = 1e6


def row_costs(class_costs: Any, rows: Rows) -> Floats:
    """The cost of an error on each row, "balanced" meaning 1 over the frequency of its class."""
    if isinstance(class_costs, str) and class_costs == "balanced":
        costs = 1 / rows.prevalence
    else:
        costs = check_costs(class_costs)
    return costs[rows.observed]


def check_costs(class_costs: Any) -> Floats:
    """Two positive costs, or one sentence."""
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
    return costs
