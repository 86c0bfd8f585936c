"""The base of boosters that reweight: rows that are hard so far count for more.

Labels ỹ and votes h(x) are −1 or +1, scores F are positive for class +1, weights D are not
negative; all have shape (n_rows,).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from rboost._typing import Floats
from rboost.engines.rounds import step_size
from rboost.fitting import Rows
from rboost.literature.boosters.tree_booster import Addend, Step, TreeBooster, fit_weighted

State = TypeVar("State")


class ReweightingBooster(TreeBooster, Generic[State]):
    """Boosting of classification trees, each fitted to the labels with weights D.

    A booster says what it remembers between rounds, how that weighs the rows, and what a tree
    fitted to these weights adds.
    """

    @abstractmethod
    def _row_weights(self, rows: Rows, state: State) -> Floats:
        """D, up to a factor; with the sample weights in it."""

    @abstractmethod
    def _add(
        self, tree: Any, rows: Rows, state: State, weights: Floats
    ) -> tuple[Addend, State] | None:
        """What the fitted tree adds and what is known then; None when nothing is left to gain.

        ``weights`` are D with the sum 1.
        """

    def _base_learners(self) -> list[Any]:
        return [DecisionTreeClassifier(max_leaf_nodes=self.max_splits + 1)]

    def _rounds(
        self, rows: Rows, state: State, random: np.random.RandomState
    ) -> tuple[list[Addend], State]:
        """Boost from what is known before the first round to what is known after the last."""
        addends: list[Addend] = []
        for tree in self._seeded_trees(random):
            weights = self._row_weights(rows, state)
            fit_weighted(tree, rows, rows.labels, weights)
            added = self._add(tree, rows, state, weights / weights.sum())
            if added is None:
                break
            addend, state = added
            addends.append(addend)
        return addends, state


class MarginBooster(ReweightingBooster[Floats]):
    """Boosters that remember one number for each row, the scores F or what replaces them."""

    def _start(self, rows: Rows) -> Floats:
        """What is known before the first round."""
        return np.zeros(len(rows.labels))

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
        addends, _ = self._rounds(rows, self._start(rows), random)
        return addends

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        return exponential_weights(rows, rows.labels * state)


class SteppingBooster(MarginBooster):
    """Boosters that add α·h with a step size α of their own."""

    @abstractmethod
    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        """The step size α for votes h; not positive when they are of no use."""

    def _add(
        self, tree: Any, rows: Rows, state: Floats, weights: Floats
    ) -> tuple[Addend, Floats] | None:
        votes = tree.predict(rows.X)
        step = self._step(rows, state, weights, votes)
        return (Step(tree, step), state + step * votes) if step > 0 else None


class AdaBoost(SteppingBooster):
    """D ∝ e^(−ỹF) and α = ½·ln((1 − ε)/ε); scikit-learn's AdaBoostClassifier with small trees."""

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        return adaboost_step(weights, rows.labels * votes)


def exponential_weights(rows: Rows, margins: Floats) -> Floats:
    """e^(−margin) of each row times its sample weight, scaled so that no exponential exceeds 1."""
    return rows.sample_weight * np.exp(margins.min() - margins)


def adaboost_step(weights: Floats, agreement: Floats) -> float:
    """α = ½·ln((1 + r) / (1 − r)) for the edge r = Σ D·ỹ·h; 0 when there is none."""
    return step_size(float(weights @ (1 + agreement)), float(weights @ (1 - agreement)))
