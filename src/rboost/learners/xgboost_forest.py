"""Trees that XGBoost grew on bins, as a Forest that takes the columns themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.learners.bins import LAST_LEVEL, MISSING_LEVEL, MOST_CODES, Bins
from rboost.learners.forest import Forest


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
        gain=_joined(in_order, "loss_changes", np.float64)[is_split],
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
