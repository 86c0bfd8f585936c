"""AdaBoost without rows that become too heavy: Karmaker & Kwek (2006).

"A boosting approach to remove class label noise", International Journal of Hybrid Intelligent
Systems 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Either, Number, OneOf, Requirements, all_or_nothing
from rboost.literature.boosters.reweighting import (
    ReweightingBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.literature.boosters.tree_booster import Addend, Step, TreeBooster
from rboost.literature.boosters.wrong_labels import share_of_wrong_labels
from rboost.tables import Table


class Remaining(NamedTuple):
    """The scores F so far, which rows are still in, and what weight may still be dropped."""

    scores: Floats
    kept: NDArray[np.bool_]
    droppable: float


@dataclass(eq=False, repr=False, kw_only=True)
class OutlierRemovalBoostClassifier(ReweightingBooster[Remaining]):
    """AdaBoost that drops a row for good once its weight passes a threshold.

    Weights are AdaBoost's, D ∝ e^(−ỹF), with the sum 1 over the rows that are left. A row that is
    missed again and again, as mislabelled ones are, soon weighs many times as much as the mean.

    Parameters
    ----------
    max_weight : float, default=5.0
        A row is dropped when it weighs more than this many times the mean; infinity drops none and
        gives AdaBoost.
    max_removed : "estimate" or float, default="estimate"
        The largest share of the rows that may be dropped. Without a limit (1.0, as in the paper)
        the threshold goes on to drop rows that are merely hard once the wrong ones are gone.
        "estimate" is the share of wrong labels, found without clean ones by noise-aware Platt
        scaling of a forest's scores on left-out rows. It needs two rows of each class.

    Attributes
    ----------
    removed_ : ndarray of int
        Numbers of the training rows that were dropped, without those of weight 0.
    """

    max_weight: float = 5.0
    max_removed: float | str = "estimate"
    removed_: Integers = field(init=False)

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "max_weight": Number(1, finite=False),
        "max_removed": Either((OneOf(("estimate",)), Number(0, high=1, closed=True))),
    }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit as every booster does, and number the dropped rows as they are in X."""
        with all_or_nothing(self):
            super().fit(X, y, sample_weight)
            weight = np.asarray(1.0 if sample_weight is None else sample_weight)
            if weight.ndim:  # a number for all rows leaves none out
                self.removed_ = np.flatnonzero(weight)[self.removed_]
        return self

    def _boost(self, table: Table, random: np.random.RandomState) -> list[Addend]:
        share = self.max_removed
        if isinstance(share, str):
            share = share_of_wrong_labels(table, random.randint(np.iinfo(np.int32).max))
        n_rows = len(table.labels)
        droppable = share * table.sample_weight.sum()
        start = Remaining(np.zeros(n_rows), np.ones(n_rows, dtype=bool), droppable)
        addends, end = self._rounds(table, start, random)
        self.removed_ = np.flatnonzero(~end.kept)
        return addends

    def _row_weights(self, table: Table, state: Remaining) -> Floats:
        margins = np.where(state.kept, table.labels * state.scores, np.inf)
        return exponential_weights(table, margins)

    def _add(
        self, tree: Any, table: Table, state: Remaining, weights: Floats
    ) -> tuple[Addend, Remaining] | None:
        votes = tree.predict(table.X)
        step = adaboost_step(weights, table.labels * votes)
        if step <= 0:
            return None
        state = state._replace(scores=state.scores + step * votes)
        return Step(tree, step), self._without_outliers(table, state)

    def _without_outliers(self, table: Table, state: Remaining) -> Remaining:
        """Drop the heaviest rows that are too heavy, as many as may be; never all of a class."""
        weights = self._row_weights(table, state) / table.sample_weight
        mean = np.average(weights[state.kept], weights=table.sample_weight[state.kept])
        heaviest = np.argsort(-weights, kind="stable")
        dropped = np.cumsum(table.sample_weight[heaviest]) <= state.droppable
        rows = heaviest[dropped & (weights[heaviest] > self.max_weight * mean)]
        kept = state.kept.copy()
        kept[rows] = False
        if len(np.unique(table.labels[kept])) < 2:
            return state
        left = state.droppable - table.sample_weight[rows].sum()
        return state._replace(kept=kept, droppable=left)
