"""BB, bagged boosting: Krieger, Long & Wyner, "Boosting noisy data" (2001)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.calibration import agree_with_decision
from rboost.fitting import Rows
from rboost.literature.boosters.reweighting import AdaBoost
from rboost.literature.boosters.tree_booster import Addend, TreeBooster


@dataclass(frozen=True)
class Member:
    """One boosted classifier, which has one vote."""

    addends: list[Addend]

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

    def _boosted(self) -> AdaBoost:
        return AdaBoost(n_estimators=self.n_estimators, max_splits=self.max_splits)

    def _base_learners(self) -> list[Any]:
        return self._boosted()._base_learners()

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
        total = rows.sample_weight.sum()
        members: list[Addend] = []
        for _ in range(self.n_bags):
            counts = random.multinomial(round(total), rows.sample_weight / total)
            drawn = np.flatnonzero(counts)
            bag = replace(rows.take(drawn), sample_weight=counts[drawn].astype(np.float64))
            members.append(Member(self._boosted()._boost(bag, random)))
        return members

    def _decision(self, scores: Floats, n_learners: int) -> Floats:
        return scores / n_learners  # the mean vote

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision((1 + scores) / 2, scores)
