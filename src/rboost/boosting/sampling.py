"""Which rows a base learner sees, and with what weights.

Each way takes the weights of all rows, the fraction ``max_samples``, randomness and the largest
number of rows that the learner has use for, if there is one. It returns the chosen rows and their
weights; None stands for rows that count equally.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

Rows = NDArray[np.intp] | slice


@dataclass
class Randomness:
    """Where random numbers come from; rows that are shuffled but not dealt yet, seeds in store."""

    state: np.random.RandomState
    deck: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    seeds: list[int] = field(default_factory=list)

    @cached_property
    def generator(self) -> np.random.Generator:
        """Draws a few rows of many, where the random state would permute all of them."""
        return np.random.default_rng(self.state.randint(2**31 - 1))

    def deal(self, n_rows: int, n_drawn: int) -> NDArray[np.intp]:
        """Take rows from a shuffled deck of all, and shuffle anew when too few are left.

        So the learners that are dealt halves come in pairs, and every row is left out by one of
        each pair: all rows are judged by equally many learners.
        """
        if len(self.deck) < n_drawn:
            self.deck = self.state.permutation(n_rows)
        rows, self.deck = self.deck[:n_drawn], self.deck[n_drawn:]
        return rows

    def seed(self) -> int:
        """A number for the ``random_state`` of a base learner."""
        if not self.seeds:  # drawing many at once is cheaper
            self.seeds = self.state.randint(2**31 - 1, size=64).tolist()
        return self.seeds.pop()


def all_rows(
    weights: Floats,
    max_samples: float,
    random: Randomness,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """Every row, weighted."""
    return slice(None), weights


def uniform_rows(
    weights: Floats,
    max_samples: float,
    random: Randomness,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """A fraction of the rows without replacement, weighted."""
    rows = np.sort(draw_uniformly(len(weights), max_samples, random, max_rows))
    return rows, weights[rows]


def draw_uniformly(
    n_rows: int, max_samples: float, random: Randomness, max_rows: int | None = None
) -> NDArray[np.intp]:
    """A fraction of the rows without replacement, but no more than a learner has use for."""
    n_drawn = n_uniform(n_rows, max_samples)
    if max_rows is not None and max_rows < n_drawn:
        return random.generator.choice(n_rows, max_rows, replace=False, shuffle=False)
    return random.deal(n_rows, n_drawn)


def rows_by_weight(
    weights: Floats,
    max_samples: float,
    random: Randomness,
    max_rows: int | None = None,
) -> tuple[Rows, Floats | None]:
    """Rows drawn with replacement in proportion to their weights, then counted equally."""
    probability = weights / weights.sum()
    n_drawn = n_uniform(len(weights), max_samples)
    if max_rows is not None:
        n_drawn = min(n_drawn, max_rows)
    return random.state.choice(len(weights), size=n_drawn, p=probability), None


def n_uniform(n_rows: int, max_samples: float) -> int:
    """The number of rows that a fraction comes to, at least one."""
    return max(1, round(max_samples * n_rows))


SAMPLINGS: dict[
    str,
    Callable[[Floats, float, Randomness, int | None], tuple[Rows, Floats | None]],
] = {"none": all_rows, "uniform": uniform_rows, "weights": rows_by_weight}
