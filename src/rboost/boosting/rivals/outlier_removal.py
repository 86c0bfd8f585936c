"""AdaBoost without rows that become too heavy: Karmaker & Kwek (2006).

"A boosting approach to remove class label noise", International Journal of Hybrid Intelligent
Systems 3.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Floats
from rboost._validation import Number, Requirements, all_or_nothing
from rboost.boosting.rivals.reweighting import (
    ReweightingBooster,
    adaboost_step,
    exponential_weights,
)
from rboost.boosting.rivals.tree_booster import Addend, Step, TreeBooster
from rboost.tables import Table


class Remaining(NamedTuple):
    """The scores F so far, and which rows are still in."""

    scores: Floats
    kept: NDArray[np.bool_]


class OutlierRemovalBoostClassifier(ReweightingBooster[Remaining]):
    """AdaBoost that drops a row for good once its weight passes a threshold.

    Weights are AdaBoost's, D ∝ e^(−ỹF), with the sum 1 over the rows that are left. A row that is
    missed again and again, as mislabelled ones are, soon weighs many times as much as the mean.

    Parameters
    ----------
    max_weight : float, default=10.0
        A row is dropped when it weighs more than this many times the mean; infinity drops none and
        gives AdaBoost.
    n_estimators : int, default=150
        Number of rounds.
    max_splits : int, default=2
        Splits of each tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which a tree tries features.
    n_jobs : int, default=None
        Threads used by prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list
        The trees with their steps.
    removed_ : ndarray of int
        Numbers of the training rows that were dropped, without those of weight 0.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    """

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "max_weight": Number(1, finite=False),
    }

    def __init__(
        self,
        *,
        max_weight: float = 10.0,
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
        self.max_weight = max_weight

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labels of two classes, some of which may be wrong.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out.
        """
        with all_or_nothing(self):
            super().fit(X, y, sample_weight)
            weight = np.asarray(1.0 if sample_weight is None else sample_weight)
            # Numbers of rows in X; one weight for all rows leaves none out.
            rows = np.flatnonzero(weight) if weight.ndim else np.arange(len(self._kept))
            self.removed_ = rows[~self._kept]
            del self._kept
        return self

    def _start(self, table: Table) -> Remaining:
        self._kept = np.ones(len(table.labels), dtype=bool)
        return Remaining(np.zeros(len(table.labels)), self._kept)

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
        moved = Remaining(state.scores + step * votes, state.kept)
        self._kept = self._light(table, moved)
        return Step(tree, step), moved._replace(kept=self._kept)

    def _light(self, table: Table, state: Remaining) -> NDArray[np.bool_]:
        """The rows that are left and not too heavy; a class never loses all of them."""
        weights = self._row_weights(table, state)
        mean = weights.sum() / table.sample_weight[state.kept].sum()
        light = state.kept & (weights <= self.max_weight * mean * table.sample_weight)
        return light if len(np.unique(table.labels[light])) == 2 else state.kept
