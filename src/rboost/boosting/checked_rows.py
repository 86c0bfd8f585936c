"""Rows that were checked once, so that not every learner of an ensemble checks them again.

Trees of scikit-learn compute in float32 and can be told that rows are ready, kernel machines too.
On a few hundred rows their checks take longer than the learners.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost._typing import Floats, Integers
from rboost.boosting.votes import VOTES
from rboost.learners.kernel import RandomKernelClassifier

# Somebody's own class of trees may have another ``fit``.
TREES = (DecisionTreeClassifier, ExtraTreeClassifier)


class CheckedRows:
    """Rows of X, converted once to what trees take; other learners are given X as it is."""

    def __init__(self, X: Any) -> None:
        self._X = X

    @property
    def _holds_floats(self) -> bool:
        return isinstance(self._X, np.ndarray) and self._X.dtype.kind == "f"

    @cached_property
    def _for_trees(self) -> Any:
        """Finite float32, or None where only a tree itself knows what to do."""
        if not self._holds_floats:
            return None
        with np.errstate(over="ignore"):
            rows = np.asarray(self._X, dtype=np.float32)
        return rows if np.isfinite(rows).all() else None

    def _ready_for(self, learner: Any) -> bool:
        return type(learner) in TREES and self._for_trees is not None

    def fit(self, learner: Any, rows: Integers | slice, targets: Integers, **weighted: Any) -> Any:
        """Fit a learner to some of the rows."""
        if self._ready_for(learner):
            return learner.fit(self._for_trees[rows], targets, check_input=False, **weighted)
        return learner.fit(self._X[rows], targets, **weighted)

    def votes(self, learner: Any, votes: str, n_classes: int, rows: Any = slice(None)) -> Floats:
        """What a learner says of some of the rows, as class probabilities."""
        if self._ready_for(learner):
            return VOTES[votes](learner, self._for_trees[rows], n_classes, check_input=False)
        if type(learner) is RandomKernelClassifier and self._holds_floats and votes != "class":
            return VOTES[votes](learner, self._X[rows], n_classes, check_input=False)
        return VOTES[votes](learner, self._X[rows], n_classes)
