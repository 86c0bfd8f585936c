"""What a base learner is given: which rows, as which classes, and with what weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers

# "uniform": a fraction of the rows without replacement, weighted; "weights": rows drawn with
# replacement in proportion to their weights, then counted equally; "none": every row, weighted.
SAMPLINGS = ("none", "uniform", "weights")
# Copies of rows that weigh less than this share of the heaviest teach nothing.
NEGLIGIBLE = 1e-6


@dataclass
class Randomness:
    """Where random numbers come from; ``deck`` holds shuffled rows that are not dealt yet.

    ``seeds`` are drawn many at a time and then used one by one.
    """

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


def draw_uniformly(
    n_rows: int, max_samples: float, random: Randomness, max_rows: int | None = None
) -> NDArray[np.intp]:
    """A fraction of the rows without replacement, but no more than a learner has use for."""
    n_drawn = n_uniform(n_rows, max_samples)
    if max_rows is not None and max_rows < n_drawn:
        return random.generator.choice(n_rows, max_rows, replace=False, shuffle=False)
    return random.deal(n_rows, n_drawn)


def n_uniform(n_rows: int, max_samples: float) -> int:
    """The number of rows that a fraction comes to, at least one."""
    return max(1, round(max_samples * n_rows))


@dataclass(frozen=True)
class Copies:
    """Rows, each as often as it has targets; ``weights`` of None stand for rows that count alike.

    ``rows`` is a slice where they are all rows, once each and in order.
    """

    rows: Integers | slice
    targets: Integers
    weights: Floats | None

    def drawn(self, n_drawn: int, random: Randomness) -> Copies:
        """Some of them with replacement, in proportion to their weights."""
        assert self.weights is not None
        weights = self.weights if self.weights.any() else np.ones_like(self.weights)
        found = random.state.choice(len(weights), size=n_drawn, p=weights / weights.sum())
        rows = found if isinstance(self.rows, slice) else self.rows[found]
        return Copies(rows, self.targets[found], None)


def flip_negative(class_weights: Floats, observed: Integers) -> Copies:
    """Each row once for every class but the worst, with what that class is worth beyond the worst.

    Σⱼ wⱼ·1(h ≠ j) = const + Σⱼ (wⱼ − minₗ wₗ)·1(h ≠ j), so a learner that minimises the right side
    minimises the left. Of two classes one is left: where the paper's weight w is negative, that is
    the opposite label with weight |w|.
    """
    excess = class_weights - class_weights.min(axis=1, keepdims=True)
    if class_weights.shape[1] == 2:  # also rows of weight 0, which some learners count
        other = 1 - observed
        flipped = excess[np.arange(len(other)), other] > 0
        return Copies(slice(None), np.where(flipped, other, observed), excess.sum(axis=1))
    largest = excess.max()
    if largest <= 0:
        return Copies(slice(None), observed, np.zeros(len(observed)))
    rows, targets = np.nonzero(excess > NEGLIGIBLE * largest)
    return Copies(rows, targets, excess[rows, targets])


def keep_labels(class_weights: Floats, observed: Integers) -> Copies:
    """The label as observed, with |w|: not what eq. (11) asks for, but nearer to the paper."""
    own = class_weights[np.arange(len(observed)), observed]
    return Copies(slice(None), observed, np.abs(own - class_weights.mean(axis=1)))


# What a base learner is given for a row that is more certain than its label deserves, whose weight
# in the paper is negative; the paper does not say.
NEGATIVE_WEIGHTS = {"flip": flip_negative, "keep": keep_labels}
