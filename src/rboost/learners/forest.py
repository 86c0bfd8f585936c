"""Trees that LightGBM or XGBoost grew, as arrays: read once, then predicted without either.

Nodes of all trees are numbered on. A root or child that is negative is the leaf ~number. The trees
come round by round, in a round booster by booster, of a booster output by output. Trees of XGBoost
grew on bins; thresholds are put back to the scale of the columns.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost import native
from rboost._typing import Floats
from rboost.learners.bins import LAST_LEVEL, MISSING_LEVEL, MOST_CODES, Bins
from rboost.native import reference

# Bits of a ``decision_type``; the next two are the kind of missing values, 2 for NaN.
CATEGORICAL, DEFAULT_LEFT = 1, 2
NAN_IS_MISSING = 2


@dataclass(frozen=True, eq=False)
class Forest:
    """The mean of the raw scores of boosters, such as those of several folds.

    Values up to the threshold of a node go left, whole numbers in its set of categories too; NaN
    goes where ``nan_left`` says. Set s is the words ``set_starts[s]:set_starts[s + 1]`` of
    ``bitset``, with a bit for each category; nodes of numbers have the set −1. ``importances`` are
    the shares of the columns in what the splits gained.
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
    importances: Floats
    n_outputs: int
    n_boosters: int

    @classmethod
    def from_boosters(
        cls, boosters: Sequence[Any], n_outputs: int, n_rounds: int, n_columns: int
    ) -> Forest:
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
        feature = _numbers(told, "split_feature", np.int32)
        return cls(
            feature=feature,
            left=left,
            right=right,
            leaf_value=values,
            roots=by_round.ravel(),
            importances=_shares(feature, _numbers(told, "split_gain", np.float64), n_columns),
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


def _shares(feature: NDArray[np.int32], gain: Floats, n_columns: int) -> Floats:
    """The share of each column in what the splits gained."""
    gains = np.bincount(feature, gain, minlength=n_columns)
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


def forest_of(boosters: Sequence[Any], bins: Bins, n_outputs: int) -> Forest:
    """The mean of boosters that have grown equally many rounds."""
    trees = [_trees_of(booster) for booster in boosters]
    first_of_rounds = range(0, len(trees[0]), n_outputs)
    in_order = [t for f in first_of_rounds for own in trees for t in own[f : f + n_outputs]]
    told = {name: _joined(in_order, name) for name in ("left_children", "right_children")}
    is_leaf = told["left_children"] < 0
    sizes = [len(tree["left_children"]) for tree in in_order]
    first = np.append(0, np.cumsum(sizes)).astype(np.intp)
    # Splits and leaves are numbered apart, and a leaf is known by its negative number.
    number = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(~is_leaf) - 1)
    tree_of, is_split = np.repeat(np.arange(len(sizes)), sizes), ~is_leaf
    left, right = (
        number[told[side][is_split] + first[tree_of[is_split]]].astype(np.int32)
        for side in ("left_children", "right_children")
    )
    conditions = _joined(in_order, "split_conditions", np.float64)
    feature = _joined(in_order, "split_indices")[is_split].astype(np.int32)
    gain = _joined(in_order, "loss_changes", np.float64)[is_split]
    sets = _Sets(
        bins, feature, {number[first[t] + node]: own for t, node, own in _right_sets(in_order)}
    )
    return Forest(
        feature=feature,
        threshold=_thresholds(conditions[is_split], feature, bins),
        left=np.where(sets.swapped, right, left),
        right=np.where(sets.swapped, left, right),
        nan_left=sets.of_node < 0,
        category_set=sets.of_node,
        set_starts=sets.starts,
        bitset=sets.bits,
        leaf_value=conditions[is_leaf] / len(boosters),
        roots=number[first[:-1]].astype(np.int32),
        importances=_shares(feature, gain, len(bins.edges)),
        n_outputs=n_outputs,
        n_boosters=len(boosters),
    )


def _trees_of(booster: Any) -> list[dict[str, Any]]:
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    return list(model["trees"])


def _joined(trees: list[dict[str, Any]], name: str, dtype: Any = np.intp) -> NDArray[Any]:
    return np.array([value for tree in trees for value in tree[name]], dtype=dtype)


def _right_sets(trees: list[dict[str, Any]]) -> list[tuple[int, int, list[int]]]:
    """Tree, node and the codes of categories that XGBoost sends right there."""
    return [
        (number, node, tree["categories"][start : start + size])
        for number, tree in enumerate(trees)
        for node, start, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"],
            strict=True,
        )
    ]  # fmt: skip


def _thresholds(conditions: Floats, feature: NDArray[np.int32], bins: Bins) -> Floats:
    """The largest values that go left: XGBoost sends codes below its condition there.

    Below the first bin are missing values alone. Conditions of categories mean nothing.
    """
    last = np.ceil(np.clip(np.nan_to_num(conditions), 1, MOST_CODES)).astype(np.intp) - 1
    found = np.empty(len(last))
    for place, edges in enumerate(bins.edges):
        ends = np.concatenate([[-np.inf], [] if edges is None else edges, [np.inf]])
        at = feature == place
        found[at] = ends[np.minimum(last[at], len(ends) - 1)]
    return found


class _Sets:
    """The sets of levels that go left at splits of categories, as words of bits.

    A level that is in no set goes right, and so does a missing one. So the branch of the missing
    ones is made the right one, which may swap the branches.
    """

    def __init__(
        self, bins: Bins, feature: NDArray[np.int32], right_codes: dict[int, list[int]]
    ) -> None:
        self.swapped = np.zeros(len(feature), dtype=bool)
        self.of_node = np.full(len(feature), -1, dtype=np.int32)
        words: list[NDArray[np.uint32]] = []
        for number, (node, codes) in enumerate(right_codes.items()):
            n_levels = bins.n_levels[feature[node]]
            goes_right = np.isin(np.arange(MISSING_LEVEL + 1), codes)
            self.swapped[node] = not goes_right[MISSING_LEVEL]
            listed = goes_right if self.swapped[node] else ~goes_right
            code_of_level = np.minimum(np.arange(n_levels), LAST_LEVEL)
            words.append(_as_words(listed[code_of_level]))
            self.of_node[node] = number
        self.starts = np.append(0, np.cumsum([len(own) for own in words])).astype(np.int32)
        self.bits = np.concatenate([np.zeros(0, dtype=np.uint32), *words])


def _as_words(is_in: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """A bit for each level, 32 of them a word."""
    padded = np.zeros(-(-len(is_in) // 32) * 32, dtype=bool)
    padded[: len(is_in)] = is_in
    return np.packbits(padded, bitorder="little").view(np.uint32)
