"""The base learners that RBoostClassifier boosts unless told otherwise.

Learners that err in different ways, taken in turn: trees that look for the best cut among a few
columns, trees with cuts at random, and smooth kernel machines. Small leaves and penalties keep each
of them from following single labels. On a large table, where sorting columns or growing to the last
leaf takes long, the trees are grown on bins and those with random cuts have a few hundred leaves.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost.learners import HistogramTreeClassifier, RandomKernelClassifier

# Tables with more rows than this are large.
SMALL_TABLE = 10_000


def default_pool(X: Any = None) -> list[Any]:
    """New base learners of three kinds that suit the rows of X."""
    if X is None or X.shape[0] <= SMALL_TABLE or sparse.issparse(X):
        return [
            DecisionTreeClassifier(max_depth=6, max_features="sqrt"),
            ExtraTreeClassifier(min_samples_leaf=5, max_features=None),
            RandomKernelClassifier(),
        ]
    return [
        HistogramTreeClassifier(max_depth=6, max_features="sqrt", max_rows=20_000),
        HistogramTreeClassifier(max_leaf_nodes=511, min_samples_leaf=10, max_cuts=8),
        RandomKernelClassifier(n_components=64),
    ]
