"""Modest AdaBoost: Vezhnevets & Vezhnevets (2005), "teaching AdaBoost to generalize better"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.fitting import Rows
from rboost.literature.boosters.reweighting import MarginBooster
from rboost.literature.boosters.tree_booster import Addend


@dataclass(frozen=True)
class LeafValues:
    """A tree whose leaves were given other values."""

    tree: Any
    value_of_leaf: Floats

    def predict(self, X: Any) -> Floats:
        """The value of the leaf each row falls into."""
        return self.value_of_leaf[self.tree.apply(X)]


class ModestBoostClassifier(MarginBooster):
    """Modest AdaBoost: a leaf says less where it is right about rows that are right already.

    With D the boosting weights and D̄ ∝ 1 − D the inverse ones, P±(leaf) = p_D(ỹ = ±1, x in leaf)
    and P̄±(leaf) = p_D̄(ỹ = ±1, x in leaf), a tree adds

        f(leaf) = P₊·(1 − P̄₊) − P₋·(1 − P̄₋).

    Boosting stops when every leaf of a tree is worth 0.
    """

    def _add(
        self, tree: Any, rows: Rows, state: Floats, weights: Floats
    ) -> tuple[Addend, Floats] | None:
        # A row of weight 2 stands for two rows, each with half its share of D.
        inverse = np.maximum(rows.sample_weight - weights, 0)
        leaf = tree.apply(rows.X)
        value = leaf_values(leaf, rows.labels, weights, inverse / inverse.sum())
        if np.all(np.abs(value) <= 1e-12):
            return None
        return LeafValues(tree, value), state + value[leaf]


def leaf_values(leaf: Any, labels: Floats, weights: Floats, inverse: Floats) -> Floats:
    """f of each leaf, by its number; ``weights`` and ``inverse`` sum to 1."""

    def mass(of: Floats, label: float) -> Floats:
        return np.bincount(leaf, weights=of * (labels == label)).astype(np.float64)

    return mass(weights, 1) * (1 - mass(inverse, 1)) - mass(weights, -1) * (1 - mass(inverse, -1))
