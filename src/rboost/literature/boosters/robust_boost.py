"""RobustBoost: Freund, "A more robust boosting algorithm" (2009)."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.calibration import agree_with_decision
from rboost.fitting import Rows
from rboost.literature.boosters.potential import Potential, find_move
from rboost.literature.boosters.reweighting import ReweightingBooster
from rboost.literature.boosters.tree_booster import Addend, Step
from rboost.literature.boosters.wrong_labels import share_of_wrong_labels

# Goals between which one is looked for: 0 would be AdaBoost's, ½ is met by any guess.
LOWEST_GOAL, HIGHEST_GOAL = 0.01, 0.45
# Goals that the search tries; each halves the distance, in logarithms, to the lowest that is met.
SEARCH_RUNS = 6


class Progress(NamedTuple):
    """Where boosting is: the potential of its goal, which stays, scores F and time t."""

    potential: Potential
    scores: Floats
    time: float


@dataclass(eq=False, repr=False, kw_only=True)
class RobustBoostClassifier(ReweightingBooster[Progress]):
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

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
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

    def _run(self, rows: Rows, goal: float, seed: int) -> tuple[list[Addend], Progress]:
        """Boost with a goal."""
        potential = Potential(goal, self.margin_goal, self.margin_width)
        start = Progress(potential, np.zeros(len(rows.labels)), 0.0)
        return self._rounds(rows, start, np.random.RandomState(seed))

    def _search(self, rows: Rows, seed: int) -> tuple[list[Addend], Progress]:
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

    def _add(
        self, tree: Any, rows: Rows, state: Progress, weights: Floats
    ) -> tuple[Addend, Progress] | None:
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
