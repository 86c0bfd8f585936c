"""The base learners that RBoostClassifier boosts unless told otherwise.

Learners that err in different ways, taken in turn: trees that look for the best cut among a few
columns, trees with cuts at random, and smooth kernel machines. Small leaves and penalties keep each
of them from following single labels. On a large table, where sorting columns or growing to the last
leaf takes long, the trees are grown on bins and those with random cuts have a few hundred leaves,
which several classes share, since each of them has a tree of its own.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost.learners import HistogramTreeClassifier, RandomKernelClassifier

# Tables with more rows than this are large.
SMALL_TABLE = 10_000
# Leaves of all trees on bins together, and the fewest of one.
MANY_LEAVES, FEWEST_LEAVES = 1022, 63


def default_pool(X: Any = None, n_classes: int = 2) -> list[Any]:
    """New base learners of three kinds that suit the rows of X."""
    if X is None or X.shape[0] <= SMALL_TABLE or sparse.issparse(X):
        return [
            DecisionTreeClassifier(max_depth=6, max_features="sqrt"),
            ExtraTreeClassifier(min_samples_leaf=5, max_features=None),
            RandomKernelClassifier(),
        ]
    n_leaves = max(FEWEST_LEAVES, MANY_LEAVES // n_classes)
    return [
        HistogramTreeClassifier(max_depth=6, max_features="sqrt", max_rows=20_000),
        HistogramTreeClassifier(max_leaf_nodes=n_leaves, min_samples_leaf=10, max_cuts=8),
        RandomKernelClassifier(n_components=64),
    ]
