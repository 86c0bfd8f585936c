"""Boosters that limit the influence of single rows, such as mislabelled ones.

BB, bagged boosting: Krieger, Long & Wyner, "Boosting noisy data" (2001). AdaBoost without rows that
become too heavy: Karmaker & Kwek, "A boosting approach to remove class label noise", International
Journal of Hybrid Intelligent Systems 3 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.calibration import agree_with_decision
from rboost.fitting import Rows
from rboost.literature.boosting import TreeBooster, exponential_weights, share_of_wrong_labels


@dataclass(frozen=True)
class Member:
    """One boosted classifier, which has one vote."""

    addends: list[Any]

    def predict(self, X: Any) -> Floats:
        """−1 or +1 for each row, the sign of its score."""
        scores = sum((addend.predict(X) for addend in self.addends), np.zeros(X.shape[0]))
        return np.where(scores > 0, 1.0, -1.0)


@dataclass(eq=False, repr=False, kw_only=True)
class BaggedBoostClassifier(TreeBooster):
    """BB: AdaBoost on many bootstrap samples, and the vote of what comes out.

    Boosting lowers the bias and chases single rows; bagging averages out what depends on them. Each
    sample has about 63 % of the rows, so that no row, wrong or not, is chased by all members, which
    are the ``estimators_`` and have ``n_estimators`` rounds each.

    Parameters
    ----------
    n_bags : int, default=25
        Number of bootstrap samples; an odd one leaves no ties.
    """

    n_bags: int = 25
    n_estimators: int = 50

    _requirements: ClassVar[Requirements] = {"n_bags": Number(1, integer=True, closed=True)}

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Any]:
        total = rows.sample_weight.sum()
        members: list[Any] = []
        for _ in range(self.n_bags):
            counts = random.multinomial(round(total), rows.sample_weight / total)
            drawn = np.flatnonzero(counts)
            bag = replace(rows.take(drawn), sample_weight=counts[drawn].astype(np.float64))
            members.append(Member(super()._boost(bag, random)))
        return members

    def _decision(self, scores: Floats, n_learners: int) -> Floats:
        return scores / n_learners  # the mean vote

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision((1 + scores) / 2, scores)


class Remaining(NamedTuple):
    """The scores F so far, which rows are still in, and what weight may still be dropped."""

    scores: Floats
    kept: NDArray[np.bool_]
    droppable: float


@dataclass(eq=False, repr=False, kw_only=True)
class OutlierRemovalBoostClassifier(TreeBooster):
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

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Any]:
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

    def _add(self, tree: Any, rows: Rows, state: Any, weights: Floats) -> tuple[Any, Any] | None:
        added = super()._add(tree, rows, state.scores, weights)
        if added is None:
            return None
        step, scores = added
        return step, self._without_outliers(rows, state._replace(scores=scores))

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
