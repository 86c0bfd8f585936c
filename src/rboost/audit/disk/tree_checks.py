"""Trees from a file, checked before they predict.

A tree is an array of nodes that refer to each other and to columns by number. The compiled code
that walks it checks none of them, so wrong ones would read memory that is not the tree's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

from rboost.engines.learners import Ensemble
from rboost.learners.forest import Forest


def check_trees(model: Any) -> None:
    """Fail with one sentence when a tree anywhere in a model leads out of itself or of its rows."""
    for tree, n_columns in _trees(model, 0):
        is_sound = (
            _sound_tree if isinstance(tree, Tree)
            else _sound_forest if isinstance(tree, Forest)
            else _sound_predictor
        )  # fmt: skip
        if not is_sound(tree, n_columns):
            raise ValueError(
                "The model holds a tree whose nodes lead nowhere, so the file was changed or "
                "damaged; run rboost audit again to make a new one."
            )


def _trees(part: Any, n_columns: int) -> Iterator[tuple[Any, int]]:
    """Every tree in a model, with the number of columns of the rows that it will be given.

    Forests do not let their trees check the rows again, so the smaller number counts there.
    """
    if isinstance(part, (Tree, Forest)) or hasattr(part, "predict_binned"):
        yield part, n_columns
        return
    if isinstance(part, dict):
        inner = list(part.values())
    elif isinstance(part, (list, tuple)):
        inner = list(part)
    elif isinstance(part, np.ndarray):
        inner = part.ravel().tolist() if part.dtype == object else []
    elif type(part).__module__.partition(".")[0] in ("rboost", "sklearn", "skrub"):
        own = vars(part) if hasattr(part, "__dict__") else {}
        inner = list(own.values())
        if isinstance(part, Ensemble):
            n_columns = 0  # they check the rows themselves, which may be a table's encoded columns
        elif isinstance(part, BaseEstimator):
            own_columns = int(own.get("n_features_in_", 0))
            is_tree_of_forest = "tree_" in own and n_columns
            n_columns = min(n_columns, own_columns) if is_tree_of_forest else own_columns
    else:
        inner = []
    for value in inner:
        yield from _trees(value, n_columns)


def _lead_forward(left: Any, right: Any, numbers: NDArray[np.intp], n_nodes: int) -> bool:
    """Whether the children of some nodes are later nodes, so that every walk ends."""
    children = np.stack([left, right]).astype(np.float64)
    return bool(np.all((children > numbers) & (children < n_nodes)))


def _sound_tree(tree: Any, n_columns: int) -> bool:
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    splits = np.flatnonzero(left != -1)
    columns = feature[splits]
    return (
        tree.node_count > 0
        and _lead_forward(left[splits], right[splits], splits, tree.node_count)
        and bool(np.all((columns >= 0) & (columns < n_columns)))
    )


def _sound_predictor(tree: Any, n_columns: int) -> bool:
    nodes = tree.nodes
    splits = np.flatnonzero(nodes["is_leaf"] == 0)
    split = nodes[splits]
    columns = split["feature_idx"]
    categories = split["bitset_idx"][split["is_categorical"] != 0]
    return (
        len(nodes) > 0
        and _lead_forward(split["left"], split["right"], splits, len(nodes))
        and bool(np.all((columns >= 0) & (columns < n_columns)))
        and bool(np.all(categories < len(tree.raw_left_cat_bitsets)))
    )


def _sound_forest(forest: Forest, n_columns: int) -> bool:
    whole = ("feature", "left", "right", "category_set", "set_starts", "roots")
    n_nodes, sizes = len(forest.feature), np.diff(forest.set_starts)

    def lead(children: NDArray[np.int32], after: Any) -> bool:
        inner = (children > after) & (children < n_nodes)
        return bool(np.all(np.where(children < 0, ~children < len(forest.leaf_value), inner)))

    return (
        all(getattr(forest, name).dtype == np.int32 for name in whole)
        and all(
            getattr(forest, name).shape == (n_nodes,)
            for name in ("feature", "threshold", "left", "right", "nan_left", "category_set")
        )
        and lead(forest.left, np.arange(n_nodes))
        and lead(forest.right, np.arange(n_nodes))
        and lead(forest.roots, -1)
        and min(forest.n_boosters, forest.n_outputs) > 0
        and len(forest.roots) % (forest.n_boosters * forest.n_outputs) == 0
        and bool(np.all((forest.feature >= 0) & (forest.feature < n_columns)))
        and bool(np.all(forest.category_set < len(sizes)))
        and forest.set_starts[0] == 0
        and bool(np.all(sizes > 0))
        and bool(forest.set_starts[-1] <= len(forest.bitset))
    )
