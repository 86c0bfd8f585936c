"""RobustBoost: Freund, "A more robust boosting algorithm" (2009).

Margins are m = ỹF, with labels ỹ −1 or +1. Time t runs from 0 to 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, erfcinv
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.boosting.rivals.reweighting import ReweightingBooster
from rboost.boosting.rivals.tree_booster import Addend, Step, TreeBooster
from rboost.calibration import agree_with_decision
from rboost.noise.out_of_fold import out_of_fold_outputs, platt_scores
from rboost.noise.platt import fit_noise_aware_platt
from rboost.tables import Table

# Goals between which the estimated one must lie: 0 would be AdaBoost's, ½ is met by any guess.
ATTAINABLE = (0.01, 0.45)
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
        ε, the share of training rows that may end on the wrong side of their labels, below ½. It
        should be the share of wrong labels plus that of rows that cannot be told. "estimate" finds
        it without clean labels: noise-aware Platt scaling of a forest's scores on left-out rows
        says which class each row belongs to, and ε is the share of labels that disagree.
    margin_goal : float, default=0.0
        θ, the margin that the other rows are to have.
    margin_width : float, default=0.1
        σ_f, how sharply margins are judged in the end.
    n_estimators : int, default=150
        Largest number of rounds. A goal that is too low is not reached by then.
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
        margin_goal: float = 0.0,
        margin_width: float = 0.1,
        n_estimators: int = 150,
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

    def _start(self, table: Table) -> Progress:
        goal = self.error_goal
        self.error_goal_ = self._estimated_goal(table) if isinstance(goal, str) else float(goal)
        self.time_ = 0.0
        return Progress(np.zeros(len(table.labels)), self.time_)

    def _estimated_goal(self, table: Table) -> float:
        """The share of labels that disagree with what noise-aware Platt scaling takes for true."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        scorer = RandomForestClassifier(min_samples_leaf=5, random_state=seed)
        labels, weight = table.classes.astype(np.intp), table.sample_weight
        outputs = out_of_fold_outputs(
            scorer, table.X, labels, sample_weight=weight, random_state=seed
        )
        scores = platt_scores(scorer, outputs, table.prevalence)
        wrong = fit_noise_aware_platt(scores, labels, weight).issue_probability(scores, labels)
        return float(np.clip(np.average(wrong, weights=weight), *ATTAINABLE))

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
        waiting, step = move
        self.time_ = state.time + waiting
        scores = math.exp(-waiting) * state.scores + step * votes
        # All scores shrink alike as time goes by, so F·e^t is a plain sum of the steps times e^t.
        return Step(tree, step * math.exp(self.time_)), Progress(scores, self.time_)

    def _positive_probability(self, scores: Floats) -> Floats:
        """The share of the votes, by their steps; there is no model of probabilities behind it."""
        total = sum(addend.step for addend in self.estimators_) or 1.0
        return agree_with_decision((1 + scores / total) / 2, scores)


def find_move(
    potential: Potential, margins: Floats, agreement: Floats, sample_weight: Floats, time: float
) -> tuple[float, float] | None:
    """The Δt and Δs of a round; None when the votes have no edge.

    For a given Δt, Σ w·ỹ·h = 0 is where Δs makes the mean potential smallest. The longer the time,
    the larger that minimum: Δt is where it is back at what it was, or the end.
    """

    def total(moved: Floats, at: float) -> float:
        return float(sample_weight @ potential(moved, at))

    def best_step(waiting: float) -> float:
        shrunk = math.exp(-waiting) * margins

        def edge(step: float) -> float:
            slope = potential.slope(shrunk + step * agreement, time + waiting)
            return float((sample_weight * slope) @ agreement) / float(sample_weight @ slope)

        return _first_root(edge, start=potential.width(time + waiting))

    def excess(waiting: float) -> float:
        step = best_step(waiting)
        moved = math.exp(-waiting) * margins + step * agreement
        return total(moved, time + waiting) - before

    before = total(margins, time)
    rest = 1 - time
    if excess(0.0) >= -ACCURACY * before:
        return None
    waiting = rest if excess(rest) <= 0 else float(brentq(excess, 0.0, rest, xtol=ACCURACY))
    return waiting, best_step(waiting)


def _first_root(falling: Any, start: float) -> float:
    """Where a function that is positive at 0 becomes 0; 0 when it is not, at most 100·start."""
    if falling(0.0) <= 0:
        return 0.0
    low, high = 0.0, start
    while falling(high) > 0:
        if high > 100 * start:
            return high
        low, high = high, 2 * high
    return float(brentq(falling, low, high, xtol=ACCURACY * start))
