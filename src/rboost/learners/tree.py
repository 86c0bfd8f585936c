"""Trees of scikit-learn, grown without the checks of their ``fit``, which take longer than a tree.

A round of boosting grows one tree on rows, targets and weights that were checked before the first
round. Its compiled builder is called as ``fit`` calls it, so that the tree is the same. The builder
is no public interface; its arguments have been these from scikit-learn 1.6 to 1.9. Where they are
others, ``is_plain_tree`` is False of every tree, and ``fit`` grows it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost._typing import Floats, Integers

try:
    from sklearn.tree._classes import CRITERIA_CLF, DENSE_SPLITTERS
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree
except ImportError:  # a later scikit-learn
    CRITERIA_CLF = DENSE_SPLITTERS = {}

# What ``grow_tree`` leaves out must be switched off.
SWITCHED_OFF = {
    "class_weight": None, "max_leaf_nodes": None, "monotonic_cst": None, "ccp_alpha": 0.0,
    "min_weight_fraction_leaf": 0.0, "min_impurity_decrease": 0.0,
}  # fmt: skip
DEEPEST = 2**31 - 1


def is_plain_tree(learner: Any) -> bool:
    """Whether ``grow_tree`` grows what ``fit`` does; a subclass may have another ``fit``."""
    if type(learner) not in (DecisionTreeClassifier, ExtraTreeClassifier) or not _is_as_known():
        return False
    depth = DEEPEST if learner.max_depth is None else learner.max_depth
    least = ((learner.min_samples_leaf, 1), (learner.min_samples_split, 2), (depth, 1))
    return (
        all(getattr(learner, name) == off for name, off in SWITCHED_OFF.items())
        and all(type(value) is int and value >= low for value, low in least)
        and (
            learner.max_depth is None or (type(learner.max_depth) is int and learner.max_depth > 0)
        )
        and learner.max_features in (None, "sqrt")
        and learner.criterion in CRITERIA_CLF
        and learner.splitter in DENSE_SPLITTERS
        and type(learner.random_state) is int
    )


@cache
def _is_as_known() -> bool:
    """Whether the compiled builder takes the arguments that it is given here."""
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    rows = np.array([[0.0], [1.0]], dtype=np.float32)
    try:
        grown = grow_tree(stump, rows, np.array([0, 1]))
        return bool(np.array_equal(grown.predict(rows), [0, 1]))
    except (AttributeError, KeyError, NameError, TypeError, ValueError):
        return False


def grow_tree(
    learner: Any,
    X: NDArray[np.float32],
    targets: Integers,
    sample_weight: Floats | None = None,
) -> Any:
    """Fit a plain tree to dense rows that are finite or NaN; targets are positions of classes."""
    n_columns, leaf = X.shape[1], learner.min_samples_leaf
    present = np.flatnonzero(np.bincount(targets))
    y = np.searchsorted(present, targets).astype(np.float64).reshape(-1, 1)
    missing = np.isnan(X).any(axis=0)
    n_classes = np.array([len(present)], dtype=np.intp)
    max_features = n_columns if learner.max_features is None else max(1, int(np.sqrt(n_columns)))
    criterion = CRITERIA_CLF[learner.criterion](1, n_classes)
    random = np.random.RandomState(learner.random_state)
    splitter = DENSE_SPLITTERS[learner.splitter](criterion, max_features, leaf, 0.0, random, None)
    builder = DepthFirstTreeBuilder(
        splitter, max(learner.min_samples_split, 2 * leaf), leaf, 0.0,
        learner.max_depth or DEEPEST, 0.0,
    )  # fmt: skip
    tree = Tree(n_columns, n_classes, 1)
    builder.build(tree, X, y, sample_weight, missing if missing.any() else None)
    learner.tree_, learner.classes_, learner.n_classes_ = tree, present, n_classes[0]
    learner.n_features_in_, learner.n_outputs_, learner.max_features_ = n_columns, 1, max_features
    return learner
