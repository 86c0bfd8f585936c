"""Which rows a base learner sees, and with what weights.

Each way takes the weights of all rows, the fraction ``max_samples`` and a random state, and returns
the chosen rows and their weights; None stands for rows that count equally.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

Rows = NDArray[np.intp] | slice


def all_rows(
    weights: Floats, max_samples: float, random_state: np.random.RandomState
) -> tuple[Rows, Floats | None]:
    """Every row, weighted."""
    return slice(None), weights


def uniform_rows(
    weights: Floats, max_samples: float, random_state: np.random.RandomState
) -> tuple[Rows, Floats | None]:
    """A fraction of the rows without replacement, weighted."""
    rows = np.sort(random_state.permutation(len(weights))[: _n_drawn(weights, max_samples)])
    return rows, weights[rows]


def rows_by_weight(
    weights: Floats, max_samples: float, random_state: np.random.RandomState
) -> tuple[Rows, Floats | None]:
    """Rows drawn with replacement in proportion to their weights, then counted equally."""
    probability = weights / weights.sum()
    return random_state.choice(
        len(weights), size=_n_drawn(weights, max_samples), p=probability
    ), None


def _n_drawn(weights: Floats, max_samples: float) -> int:
    return max(1, round(max_samples * len(weights)))


SAMPLINGS: dict[
    str,
    Callable[[Floats, float, np.random.RandomState], tuple[Rows, Floats | None]],
] = {"none": all_rows, "uniform": uniform_rows, "weights": rows_by_weight}
