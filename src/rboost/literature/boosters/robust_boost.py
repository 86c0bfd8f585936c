"""RobustBoost: Freund, "A more robust boosting algorithm" (2009)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.calibration import agree_with_decision
from rboost.literature.boosters.potential import Potential, find_move
from rboost.literature.boosters.reweighting import ReweightingBooster
from rboost.literature.boosters.tree_booster import Addend, Step, TreeBooster
from rboost.literature.boosters.wrong_labels import share_of_wrong_labels
from rboost.tables import Table

# Goals between which one is looked for: 0 would be AdaBoost's, ½ is met by any guess.
LOWEST_GOAL, HIGHEST_GOAL = 0.01, 0.45
# Goals that the search tries; each halves the distance, in logarithms, to the lowest that is met.
SEARCH_RUNS = 6


class Progress(NamedTuple):
    """Where boosting is: scores F and time t."""

    scores: Floats
    time: float


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
    n_estimators : int, default=300
        Largest number of rounds; low goals take many.
    max_splits : int, default=2
        Splits of each tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which a tree tries features, and of the folds of the estimate.
    n_jobs : int, default=None
        Threads used by prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list
        The trees with their steps.
    error_goal_ : float
        The given or estimated goal.
    time_ : float
        The time t at the end: 1 when the goal was reached.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    """

    time_: float

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "error_goal": Either((OneOf(("estimate",)), Number(0, high=0.499))),
        "margin_goal": Number(0, closed=True),
        "margin_width": Number(0),
    }

    def __init__(
        self,
        *,
        error_goal: float | str = "estimate",
        margin_goal: float = 1.0,
        margin_width: float = 0.1,
        n_estimators: int = 300,
        max_splits: int = 2,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_estimators=n_estimators,
            max_splits=max_splits,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.error_goal = error_goal
        self.margin_goal = margin_goal
        self.margin_width = margin_width

    def _boost(self, table: Table, random: np.random.RandomState) -> Iterator[Addend]:
        seed = random.randint(np.iinfo(np.int32).max)
        if isinstance(self.error_goal, str):
            addends = self._search(table, seed)
        else:
            addends = self._run(table, float(self.error_goal), seed)
        yield from addends
        if self.time_ < 1:
            stuck = len(addends) < self.n_estimators
            warnings.warn(
                f"RobustBoost ended at time {self.time_:.2f} of 1, before its error_goal of "
                f"{self.error_goal_:.3g} was met; raise "
                f"{'error_goal, as no tree has an edge' if stuck else 'n_estimators'}.",
                stacklevel=4,
            )

    def _run(self, table: Table, goal: float, seed: int) -> list[Addend]:
        self.error_goal_ = goal
        return list(super()._boost(table, np.random.RandomState(seed)))

    def _search(self, table: Table, seed: int) -> list[Addend]:
        """Boost with the lowest goal that is met and not below the share of wrong labels."""
        goal, addends = HIGHEST_GOAL, self._run(table, HIGHEST_GOAL, seed)
        if self.time_ < 1:
            return addends
        wrong = share_of_wrong_labels(table, seed)
        too_low, middle = 0.0, float(np.clip(wrong, LOWEST_GOAL, HIGHEST_GOAL))
        for _ in range(SEARCH_RUNS):
            found = self._run(table, middle, seed)
            if self.time_ >= 1:
                goal, addends = middle, found
            else:
                too_low = middle
            if too_low == 0:  # the share of wrong labels itself is within reach
                break
            middle = math.sqrt(too_low * goal)
        self.error_goal_, self.time_ = goal, 1.0
        return addends

    def _start(self, table: Table) -> Progress:
        self.time_ = 0.0
        return Progress(np.zeros(len(table.labels)), self.time_)

    @property
    def _potential(self) -> Potential:
        return Potential(self.error_goal_, self.margin_goal, self.margin_width)

    def _row_weights(self, table: Table, state: Progress) -> Floats:
        return table.sample_weight * self._potential.slope(table.labels * state.scores, state.time)

    def _add(
        self, tree: Any, table: Table, state: Progress, weights: Floats
    ) -> tuple[Addend, Progress] | None:
        if state.time >= 1:
            return None
        votes = tree.predict(table.X)
        move = find_move(
            self._potential,
            table.labels * state.scores,
            table.labels * votes,
            table.sample_weight,
            state.time,
        )
        if move is None:
            return None
        self.time_, step = move
        scores = math.exp(state.time - self.time_) * state.scores + step * votes
        # All scores shrink alike as time goes by, so F·e^t is a plain sum of the steps times e^t.
        return Step(tree, step * math.exp(self.time_)), Progress(scores, self.time_)

    def _positive_probability(self, scores: Floats) -> Floats:
        """The share of the votes, by their steps; there is no model of probabilities behind it."""
        total = sum(addend.step for addend in self.estimators_) or 1.0
        return agree_with_decision((1 + scores / total) / 2, scores)
