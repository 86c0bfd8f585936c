"""The base learners that RBoostClassifier boosts unless told otherwise.

Learners that err in different ways, taken in turn: trees that look for the best cut among a few
columns, trees with cuts at random, and smooth kernel machines. Small leaves and penalties keep each
of them from following single labels.
"""

from __future__ import annotations

from typing import Any

from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost.learners import RandomKernelClassifier


def default_pool() -> list[Any]:
    """New base learners of three kinds."""
    return [
        DecisionTreeClassifier(max_depth=6, max_features="sqrt"),
        ExtraTreeClassifier(min_samples_leaf=5, max_features=None),
        RandomKernelClassifier(),
    ]
