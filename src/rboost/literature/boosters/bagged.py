"""BB, bagged boosting: Krieger, Long & Wyner, "Boosting noisy data" (2001)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.calibration import agree_with_decision
from rboost.literature.boosters.adaboost import AdaBoost
from rboost.literature.boosters.tree_booster import Addend, TreeBooster
from rboost.tables import Table


@dataclass(frozen=True)
class Member:
    """One boosted classifier, which has one vote."""

    addends: list[Addend]

    def predict(self, X: Any) -> Floats:
        """−1 or +1 for each row, the sign of its score."""
        scores = sum((addend.predict(X) for addend in self.addends), np.zeros(X.shape[0]))
        return np.where(scores > 0, 1.0, -1.0)


class BaggedBoostClassifier(TreeBooster):
    """BB: AdaBoost on many bootstrap samples, and the vote of what comes out.

    Boosting lowers the bias and chases single rows; bagging averages out what depends on them. Each
    sample has about 63 % of the rows, so that no row, wrong or not, is chased by all members.

    Parameters
    ----------
    n_bags : int, default=25
        Number of bootstrap samples; an odd one leaves no ties.
    n_estimators : int, default=50
        Number of rounds in each.
    max_splits : int, default=2
        Splits of each tree.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples and of the order in which a tree tries features.
    n_jobs : int, default=None
        Threads used by prediction.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two class labels.
    estimators_ : list
        The boosted classifiers.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.
    """

    _requirements: ClassVar[Requirements] = {
        **TreeBooster._requirements,
        "n_bags": Number(1, integer=True, closed=True),
    }

    def __init__(
        self,
        *,
        n_bags: int = 25,
        n_estimators: int = 50,
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
        self.n_bags = n_bags

    def _boosted(self) -> AdaBoost:
        return AdaBoost(n_estimators=self.n_estimators, max_splits=self.max_splits)

    def _base_learners(self) -> list[Any]:
        return self._boosted()._base_learners()

    def _boost(self, table: Table, random: np.random.RandomState) -> Iterator[Addend]:
        total = table.sample_weight.sum()
        for _ in range(self.n_bags):
            counts = random.multinomial(round(total), table.sample_weight / total)
            rows = np.flatnonzero(counts)
            bag = replace(
                table,
                X=table.X[rows],
                labels=table.labels[rows],
                sample_weight=counts[rows].astype(np.float64),
                trusted=table.trusted[rows],
            )
            yield Member(list(self._boosted()._boost(bag, random)))

    def _decision(self, scores: Floats, n_learners: int) -> Floats:
        return scores / n_learners  # the mean vote

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision((1 + scores) / 2, scores)
