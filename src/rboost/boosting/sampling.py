"""Which rows a base learner sees, and with what weights.

Each way takes the weights of all rows, the fraction ``max_samples``, a random state and the largest
number of rows that the learner has use for, if there is one. It returns the chosen rows and their
weights; None stands for rows that count equally.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

Rows = NDArray[np.intp] | slice


def all_rows(
    weights: Floats,
    max_samples: float,
    random_state: np.random.RandomState,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """Every row, weighted."""
    return slice(None), weights


def uniform_rows(
    weights: Floats,
    max_samples: float,
    random_state: np.random.RandomState,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """A fraction of the rows without replacement, weighted."""
    n_rows, n_drawn = len(weights), _n_drawn(weights, max_samples)
    if max_rows is not None and max_rows < n_drawn:
        # The generator of old permutes all rows to draw a few.
        generator = np.random.default_rng(random_state.randint(2**31 - 1))
        rows = np.sort(generator.choice(n_rows, max_rows, replace=False, shuffle=False))
    else:
        drawn = np.zeros(n_rows, dtype=bool)
        drawn[random_state.permutation(n_rows)[:n_drawn]] = True
        rows = np.flatnonzero(drawn)
    return rows, weights[rows]


def rows_by_weight(
    weights: Floats,
    max_samples: float,
    random_state: np.random.RandomState,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """Rows drawn with replacement in proportion to their weights, then counted equally."""
    probability = weights / weights.sum()
    n_drawn = _n_drawn(weights, max_samples)
    if max_rows is not None:
        n_drawn = min(n_drawn, max_rows)
    return random_state.choice(len(weights), size=n_drawn, p=probability), None


def _n_drawn(weights: Floats, max_samples: float) -> int:
    return max(1, round(max_samples * len(weights)))


SAMPLINGS: dict[
    str,
    Callable[[Floats, float, np.random.RandomState, int | None], tuple[Rows, Floats | None]],
] = {"none": all_rows, "uniform": uniform_rows, "weights": rows_by_weight}
