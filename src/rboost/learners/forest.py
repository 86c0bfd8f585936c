"""Trees that LightGBM grew, as arrays: read once, then predicted without it.

Nodes of all trees are numbered on. A root or child that is negative is the leaf ~number. The trees
come round by round, in a round booster by booster, of a booster output by output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost import native
from rboost._typing import Floats
from rboost.native import reference

# Bits of a ``decision_type``; the next two are the kind of missing values, 2 for NaN.
CATEGORICAL, DEFAULT_LEFT = 1, 2
NAN_IS_MISSING = 2


@dataclass(frozen=True, eq=False)
class Forest:
    """The mean of the raw scores of boosters, such as those of several folds.

    Values up to the threshold of a node go left, whole numbers in its set of categories too; NaN
    goes where ``nan_left`` says. Set s is the words ``set_starts[s]:set_starts[s + 1]`` of
    ``bitset``, with a bit for each category; nodes of numbers have the set −1.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    set_starts: NDArray[np.int32]
    bitset: NDArray[np.uint32]
    leaf_value: Floats
    roots: NDArray[np.int32]
    gain: Floats
    n_outputs: int
    n_boosters: int

    @classmethod
    def from_boosters(cls, boosters: Sequence[Any], n_outputs: int, n_rounds: int) -> Forest:
        """The first rounds of LightGBM's boosters; one that stopped before adds 0 from there on.

        Their datasets must not have been made with ``zero_as_missing``.
        """
        texts = [_text_of_trees(booster, n_rounds) for booster in boosters]
        told = _by_name("".join(texts))
        n_leaves = _numbers(told, "num_leaves", np.int32)
        n_splits = n_leaves - 1
        first_node, first_leaf = _starts(n_splits), _starts(n_leaves)
        left, right = (
            np.where(
                child < 0,
                child - np.repeat(first_leaf[:-1], n_splits),  # ~(~child + the first leaf)
                child + np.repeat(first_node[:-1], n_splits),
            )
            for child in (_numbers(told, f"{side}_child", np.int32) for side in ("left", "right"))
        )
        # The last leaf is the tree of a booster that has stopped.
        values = np.append(_numbers(told, "leaf_value", np.float64) / len(boosters), 0.0)
        root = np.where(n_splits > 0, first_node[:-1], ~first_leaf[:-1])
        roots = np.full((len(boosters), n_rounds * n_outputs), -len(values), dtype=np.int32)
        n_trees = [text.count("\nTree=") for text in texts]
        for own, end, n in zip(roots, np.cumsum(n_trees), n_trees, strict=True):
            own[:n] = root[end - n : end]
        by_round = roots.reshape(len(boosters), n_rounds, n_outputs).transpose(1, 0, 2)
        return cls(
            feature=_numbers(told, "split_feature", np.int32),
            left=left,
            right=right,
            leaf_value=values,
            roots=by_round.ravel(),
            gain=_numbers(told, "split_gain", np.float64),
            n_outputs=n_outputs,
            n_boosters=len(boosters),
            **_decisions(told, n_splits),
        )

    def __len__(self) -> int:
        return len(self.roots) // (self.n_boosters * self.n_outputs)

    def scores(self, X: NDArray[Any], n_threads: int = 1) -> Floats:
        """The raw scores of rows of float32 or float64, shape (n_rows, n_outputs)."""
        score = (native.compiled() or reference).forest_scores
        return score(
            X, self.feature, self.threshold, self.left, self.right, self.nan_left,
            self.category_set, self.set_starts, self.bitset, self.leaf_value, self.roots,
            self.n_outputs, n_threads,
        )  # fmt: skip

    def feature_importances(self, n_features: int) -> Floats:
        """The share of each column in what the splits gained."""
        gains = np.bincount(self.feature, self.gain, minlength=n_features)
        return gains / (gains.sum() or 1.0)


def _text_of_trees(booster: Any, n_rounds: int) -> str:
    """What LightGBM says of the trees; this is ten times faster than to have it write JSON."""
    if n_rounds == 0:
        return ""
    text = booster.model_to_string(num_iteration=n_rounds)
    return text[text.index("\nTree=") : text.index("\nend of trees")]


def _by_name(text: str) -> dict[str, list[str]]:
    """What follows ``name=`` in the text of all trees, in their order."""
    told = defaultdict[str, list[str]](list)
    for line in text.splitlines():
        name, _, value = line.partition("=")
        told[name].append(value)
    return told


def _numbers(told: dict[str, list[str]], name: str, dtype: Any) -> NDArray[Any]:
    return np.array(" ".join(told[name]).split(), dtype=dtype)


def _starts(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where parts of these sizes begin, one after the other, and where the last one ends."""
    return np.append(0, np.cumsum(sizes)).astype(np.int32)


def _decisions(told: dict[str, list[str]], n_splits: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """How nodes decide. Of categories, a tree says the number of its set as the threshold."""
    threshold = _numbers(told, "threshold", np.float64)
    decision = _numbers(told, "decision_type", np.int32)
    categorical = decision & CATEGORICAL > 0
    # Where NaN is not a value of its own, it counts as 0.
    nan_left = np.where(
        decision >> 2 == NAN_IS_MISSING, decision & DEFAULT_LEFT > 0, threshold >= 0
    )
    first_set = np.repeat(_starts(_numbers(told, "num_cat", np.int32))[:-1], n_splits)
    bounds = _numbers(told, "cat_boundaries", np.int32)  # from 0 on for each tree
    return {
        "threshold": threshold,
        "nan_left": nan_left & ~categorical,
        "category_set": np.where(categorical, threshold + first_set, -1).astype(np.int32),
        "set_starts": _starts(np.diff(bounds)[bounds[1:] > 0]),
        "bitset": _numbers(told, "cat_threshold", np.uint32),
    }
