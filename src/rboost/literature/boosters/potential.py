"""The potential of RobustBoost and the moves that keep its mean: Freund (2009).

Margins are m = ỹF and agreements ỹ·h, with labels ỹ and votes h of −1 or +1; both have shape
(n_rows,). Time t runs from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, erfcinv

from rboost._typing import Floats

# Relative accuracy of a move, which only has to be good enough to go on from.
ACCURACY = 1e-7


@dataclass(frozen=True)
class Potential:
    """Φ(m, t) = ½·erfc((m − μ(t)) / σ(t)): what a margin is worth at a time, between 0 and 1.

    σ²(t) = (σ_f² + 1)·e^(2(1 − t)) − 1 and μ(t) = (θ − 2ρ)·e^(1 − t) + 2ρ, where ρ is such that
    Φ(0, 0) = ε. As the mean potential never grows, the share of rows with margins below θ is about
    ε at t = 1, where Φ is a step of width σ_f.
    """

    error_goal: float
    margin_goal: float
    margin_width: float

    @property
    def drift(self) -> float:
        """ρ, from Φ(0, 0) = ε."""
        reach = self.width(0.0) * float(erfcinv(2 * self.error_goal))
        return (math.e * self.margin_goal + reach) / (2 * (math.e - 1))

    def width(self, time: float) -> float:
        """σ(t)."""
        return math.sqrt((self.margin_width**2 + 1) * math.exp(2 * (1 - time)) - 1)

    def centre(self, time: float) -> float:
        """μ(t)."""
        return (self.margin_goal - 2 * self.drift) * math.exp(1 - time) + 2 * self.drift

    def distance(self, margins: Floats, time: float) -> Floats:
        """How far margins are above the centre, in widths."""
        return (margins - self.centre(time)) / self.width(time)

    def __call__(self, margins: Floats, time: float) -> Floats:
        """Φ of each margin."""
        return 0.5 * erfc(self.distance(margins, time))

    def slope(self, margins: Floats, time: float) -> Floats:
        """−∂Φ/∂m up to a factor, the weights of rows: those far on either side count for nothing.

        The largest is 1.
        """
        exponent = -(self.distance(margins, time) ** 2)
        return np.exp(exponent - exponent.max())


def find_move(
    potential: Potential, margins: Floats, agreement: Floats, sample_weight: Floats, time: float
) -> tuple[float, float] | None:
    """The next time and the step Δs of a round; None when the votes have no edge.

    At a given time the mean potential falls with Δs as long as Σ w·ỹ·h > 0, down to a minimum where
    that is 0. As time goes by the minimum grows, as a rule: the next time is where it is back at
    what the mean potential was, or the end.
    """

    def best_step(later: float) -> float:
        shrunk = math.exp(time - later) * margins

        def edge(step: float) -> float:
            slope = sample_weight * potential.slope(shrunk + step * agreement, later)
            return float(slope @ agreement) / float(slope.sum())

        return _first_root(edge, start=potential.width(later))

    def excess(later: float) -> float:
        moved = math.exp(time - later) * margins + best_step(later) * agreement
        return float(sample_weight @ potential(moved, later)) - before

    before = float(sample_weight @ potential(margins, time))
    if excess(time) >= -ACCURACY * before:
        return None
    if excess(1.0) <= 0:
        return 1.0, best_step(1.0)
    later = float(brentq(excess, time, 1.0, xtol=ACCURACY))
    if excess(later) > ACCURACY * before:
        later -= 4 * ACCURACY  # the best step jumps here: stay where the potential has not grown
    return later, best_step(later)


def _first_root(falling: Callable[[float], float], start: float) -> float:
    """Where a function that is positive at 0 becomes 0; 0 when it is not, at most 100·start."""
    if falling(0.0) <= 0:
        return 0.0
    low, high = 0.0, start
    while falling(high) > 0:
        if high > 100 * start:
            return high
        low, high = high, 2 * high
    return float(brentq(falling, low, high, xtol=ACCURACY * start))
