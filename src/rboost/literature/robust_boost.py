"""RobustBoost: Freund, "A more robust boosting algorithm" (2009).

Margins are m = ỹF and agreements ỹ·h, with labels ỹ and votes h of −1 or +1; both have shape
(n_rows,). Time t runs from 0 to 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, erfcinv

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.calibration import agree_with_decision
from rboost.fitting import Rows
from rboost.literature.boosting import Step, TreeBooster, share_of_wrong_labels

# Relative accuracy of a step in time.
ACCURACY = 1e-7
# Bounds of the search for a goal: 0 would be AdaBoost's, ½ is met by any guess.
LOWEST_GOAL, HIGHEST_GOAL = 0.01, 0.45
# Steps of the search, a bisection on the logarithm of the goal.
SEARCH_RUNS = 6


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


class Progress(NamedTuple):
    """Where boosting is: the potential of its goal, which stays, scores F and time t."""

    potential: Potential
    scores: Floats
    time: float


@dataclass(eq=False, repr=False, kw_only=True)
class RobustBoostClassifier(TreeBooster):
    """RobustBoost: boosting that gives up on rows too far on the wrong side.

    Rows weigh w = e^(−(m − μ(t))²/σ(t)²), the slope of a potential that is not convex and changes
    with time. A round with the votes h moves scores and time, F ← F·e^(−Δt) + Δs·h, such that h has
    no edge left, Σ w·ỹ·h = 0, while the mean potential stays what it was. Boosting ends at t = 1.

    Parameters
    ----------
    error_goal : "estimate" or float, default="estimate"
        ε, the share of training rows that may end with a margin below ``margin_goal``, less than ½.
        Too low a goal is never met: boosting gets stuck before t = 1, as no tree has an edge. Too
        high a one is met by the first tree. "estimate" finds it without clean labels: the lowest
        goal that is met within ``n_estimators`` rounds and that is not below the share of wrong
        labels, which noise-aware Platt scaling of a forest's scores on left-out rows tells. It
        needs two rows of each class.
    margin_goal : float, default=1.0
        θ, the margin that the other rows are to have.
    margin_width : float, default=0.1
        σ_f, how sharply margins are judged in the end.

    Attributes
    ----------
    error_goal_ : float
        The given or estimated goal.
    time_ : float
        The time t at the end: 1 when the goal was reached.
    """

    error_goal: float | str = "estimate"
    margin_goal: float = 1.0
    margin_width: float = 0.1
    n_estimators: int = 300

    _requirements: ClassVar[Requirements] = {
        "error_goal": Either((OneOf(("estimate",)), Number(0, high=0.499))),
        "margin_goal": Number(0, closed=True),
        "margin_width": Number(0),
    }

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Any]:
        seed = random.randint(np.iinfo(np.int32).max)
        if isinstance(self.error_goal, str):
            addends, end = self._search(rows, seed)
        else:
            addends, end = self._run(rows, float(self.error_goal), seed)
        self.error_goal_, self.time_ = end.potential.error_goal, end.time
        if end.time < 1:
            stuck = len(addends) < self.n_estimators
            warnings.warn(
                f"RobustBoost ended at time {self.time_:.2f} of 1, before its error_goal of "
                f"{self.error_goal_:.3g} was met; raise "
                f"{'error_goal, as no tree has an edge' if stuck else 'n_estimators'}.",
                stacklevel=5,
            )
        return addends

    def _run(self, rows: Rows, goal: float, seed: int) -> tuple[list[Any], Progress]:
        """Boost with a goal."""
        potential = Potential(goal, self.margin_goal, self.margin_width)
        start = Progress(potential, np.zeros(len(rows.labels)), 0.0)
        return self._rounds(rows, start, np.random.RandomState(seed))

    def _search(self, rows: Rows, seed: int) -> tuple[list[Any], Progress]:
        """Boost with the lowest goal that is met and not below the share of wrong labels."""
        lowest, best = HIGHEST_GOAL, self._run(rows, HIGHEST_GOAL, seed)
        if best[1].time < 1:
            return best
        wrong = share_of_wrong_labels(rows, seed)
        too_low, middle = 0.0, float(np.clip(wrong, LOWEST_GOAL, HIGHEST_GOAL))
        for _ in range(SEARCH_RUNS):
            found = self._run(rows, middle, seed)
            if found[1].time >= 1:
                lowest, best = middle, found
            else:
                too_low = middle
            if too_low == 0:  # the share of wrong labels itself is within reach
                break
            middle = math.sqrt(too_low * lowest)
        return best

    def _row_weights(self, rows: Rows, state: Progress) -> Floats:
        return rows.sample_weight * state.potential.slope(rows.labels * state.scores, state.time)

    def _add(self, tree: Any, rows: Rows, state: Any, weights: Floats) -> tuple[Any, Any] | None:
        if state.time >= 1:
            return None
        votes = tree.predict(rows.X)
        move = find_move(
            state.potential,
            rows.labels * state.scores,
            rows.labels * votes,
            rows.sample_weight,
            state.time,
        )
        if move is None:
            return None
        time, step = move
        scores = math.exp(state.time - time) * state.scores + step * votes
        # All scores shrink alike as time goes by, so F·e^t is a plain sum of the steps times e^t.
        return Step(tree, step * math.exp(time)), state._replace(scores=scores, time=time)

    def _positive_probability(self, scores: Floats) -> Floats:
        """The share of the votes, by their steps; there is no model of probabilities behind it."""
        total = sum(addend.step for addend in self.estimators_) or 1.0
        return agree_with_decision((1 + scores / total) / 2, scores)
