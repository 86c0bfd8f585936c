"""AdaBoost without rows that become too heavy: Karmaker & Kwek (2006).

"A boosting approach to remove class label noise", International Journal of Hybrid Intelligent
Systems 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.fitting import Rows
from rboost.literature.boosters.reweighting import (
    ReweightingBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.literature.boosters.tree_booster import Addend, Step
from rboost.literature.boosters.wrong_labels import share_of_wrong_labels


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
        Numbers of the training rows that were dropped, in the order of X.
    """

    max_weight: float = 5.0
    max_removed: float | str = "estimate"
    removed_: Integers = field(init=False)

    _requirements: ClassVar[Requirements] = {
        "max_weight": Number(1, finite=False),
        "max_removed": Either((OneOf(("estimate",)), Number(0, high=1, closed=True))),
    }

    def _fit(self, rows: Rows) -> None:
        super()._fit(rows)
        self.removed_ = np.flatnonzero(rows.sample_weight)[self.removed_]

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
        share = self.max_removed
        if isinstance(share, str):
            share = share_of_wrong_labels(rows, random.randint(np.iinfo(np.int32).max))
        n_rows = len(rows.labels)
        droppable = share * rows.sample_weight.sum()
        start = Remaining(np.zeros(n_rows), np.ones(n_rows, dtype=bool), droppable)
        addends, end = self._rounds(rows, start, random)
        self.removed_ = np.flatnonzero(~end.kept)
        return addends

    def _row_weights(self, rows: Rows, state: Remaining) -> Floats:
        margins = np.where(state.kept, rows.labels * state.scores, np.inf)
        return exponential_weights(rows, margins)

    def _add(
        self, tree: Any, rows: Rows, state: Remaining, weights: Floats
    ) -> tuple[Addend, Remaining] | None:
        votes = tree.predict(rows.X)
        step = adaboost_step(weights, rows.labels * votes)
        if step <= 0:
            return None
        state = state._replace(scores=state.scores + step * votes)
        return Step(tree, step), self._without_outliers(rows, state)

    def _without_outliers(self, rows: Rows, state: Remaining) -> Remaining:
        """Drop the heaviest rows that are too heavy, as many as may be; never all of a class."""
        weights = self._row_weights(rows, state) / rows.sample_weight
        mean = np.average(weights[state.kept], weights=rows.sample_weight[state.kept])
        heaviest = np.argsort(-weights, kind="stable")
        dropped = np.cumsum(rows.sample_weight[heaviest]) <= state.droppable
        outliers = heaviest[dropped & (weights[heaviest] > self.max_weight * mean)]
        kept = state.kept.copy()
        kept[outliers] = False
        if len(np.unique(rows.labels[kept])) < 2:
            return state
        left = state.droppable - rows.sample_weight[outliers].sum()
        return state._replace(kept=kept, droppable=left)
