"""Boosters with a loss of their own, or other values in the leaves of their trees.

Gentle AdaBoost and LogitBoost: Friedman, Hastie & Tibshirani, "Additive logistic regression"
(2000). Modest AdaBoost: Vezhnevets & Vezhnevets (2005), "teaching AdaBoost to generalize better".
η-boost: Takenouchi & Eguchi, "Robustifying AdaBoost by adding the naive error rate" (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.engines.rounds import MAX_STEP
from rboost.fitting import Rows
from rboost.literature.boosting import TreeBooster, WorkingResponseBooster

# Responses of LogitBoost are multiples of 1 over this.
GRID = 1024


class GentleBoostClassifier(WorkingResponseBooster):
    """Gentle AdaBoost: each round adds a regression tree fitted to the labels ±1.

    f(x) = E_D[ỹ | x] by weighted least squares is a Newton step on the exponential loss, and a
    gentle one: it never exceeds 1, where the full step ½·log-odds has no bound.
    """

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        margins = labels * scores
        return labels, np.exp(margins.min() - margins)  # L'' = −ỹ·L' = e^(−ỹF)


@dataclass(eq=False, repr=False, kw_only=True)
class LogitBoostClassifier(WorkingResponseBooster):
    """LogitBoost, algorithm 3: Newton steps on the logistic loss, each a regression tree.

    The score F is half the log-odds, p = p(ỹ = 1 | x) = 1 / (1 + e^(−2F)). Each round fits

        z = (1(ỹ = 1) − p) / (p·(1 − p))    with weights    w = p·(1 − p)

    by least squares and adds half of it to F. The loss log(1 + e^(−2ỹF)) grows linearly where the
    exponential one explodes, so a wrong label pulls less than in AdaBoost; but it is convex, and
    the construction of Long & Servedio defeats it too.

    Responses are cut off at ±``max_response``, which the paper recommends for the sake of rounding
    and which is more than that: a row that is far on the wrong side then pulls with z·w → 0 instead
    of 1, as if the loss were not convex. Cut off at 4, LogitBoost survives Long & Servedio.

    Parameters
    ----------
    max_response : float, default=4.0
        Where responses are cut off, "between 2 and 4" in the paper; infinity never does.
    """

    max_response: float = 4.0

    _requirements: ClassVar[Requirements] = {"max_response": Number(2, closed=True, finite=False)}
    _unit: ClassVar[float] = 0.5

    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        # z is 1/p for class 1 and −1/(1 − p) for class 0: the label over its own probability.
        own = expit(2 * labels * scores)
        weights = own * expit(-2 * labels * scores)
        smallest = max(1 / self.max_response, np.finfo(np.float64).eps)  # 0 has no inverse
        response = 1 / np.maximum(own, smallest)
        # On a grid, as the weights are: equally good splits stay equally good in any order of rows.
        return labels * np.round(response * GRID) / GRID, weights


@dataclass(frozen=True)
class LeafValues:
    """A tree whose leaves were given other values."""

    tree: Any
    value_of_leaf: Floats

    def predict(self, X: Any) -> Floats:
        """The value of the leaf each row falls into."""
        return self.value_of_leaf[self.tree.apply(X)]


class ModestBoostClassifier(TreeBooster):
    """Modest AdaBoost: a leaf says less where it is right about rows that are right already.

    With D the boosting weights and D̄ ∝ 1 − D the inverse ones, P±(leaf) = p_D(ỹ = ±1, x in leaf)
    and P̄±(leaf) = p_D̄(ỹ = ±1, x in leaf), a tree adds

        f(leaf) = P₊·(1 − P̄₊) − P₋·(1 − P̄₋).

    Boosting stops when every leaf of a tree is worth 0.
    """

    def _add(self, tree: Any, rows: Rows, state: Any, weights: Floats) -> tuple[Any, Any] | None:
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


@dataclass(eq=False, repr=False, kw_only=True)
class EtaBoostClassifier(TreeBooster):
    """η-boost: AdaBoost for labels that are wrong most often where the classes meet.

    The loss Σ U(−ỹF) with U(z) = (1 − η)·e^z + η·z mixes AdaBoost's with the number of errors, the
    naive error rate: its weights D ∝ (1 − η)·e^(−ỹF) + η never forget a row. Given enough data, its
    minimum is at F with p(y = 1 | x) = 1 / (1 + e^(−2F)) if labels are flipped with a probability
    that is η/2 on the boundary and falls with the distance from it,

        p(flip | x) = η / ((1 − η)·(e^F + e^(−F)) + 2η).

    The multi-class sequel is Takenouchi et al., "Robust boosting algorithm against mislabeling in
    multiclass problems" (2008).

    Parameters
    ----------
    eta : float, default=0.1
        Twice the share of wrong labels on the boundary, below 1; 0 gives AdaBoost.
    """

    eta: float = 0.1

    _requirements: ClassVar[Requirements] = {"eta": Number(0, high=0.999, closed=True)}

    def _row_weights(self, rows: Rows, state: Floats) -> Floats:
        exponential, uniform = self._parts(rows, state)
        return exponential + uniform

    def _parts(self, rows: Rows, scores: Floats) -> tuple[Floats, Floats]:
        """(1 − η)·e^(−ỹF) and η of each row, both divided by the largest e^(−ỹF)."""
        margins = rows.labels * scores
        lowest = min(margins.min(), 0.0)
        return (
            (1 - self.eta) * rows.sample_weight * np.exp(lowest - margins),
            self.eta * rows.sample_weight * np.exp(lowest),
        )

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        exponential, uniform = self._parts(rows, scores)
        right = votes == rows.labels
        return eta_step(
            float(exponential[right].sum()),
            float(exponential[~right].sum()),
            float(uniform @ (rows.labels * votes)),
        )


def eta_step(falling: float, rising: float, naive_edge: float) -> float:
    """The α that minimises falling·e^(−α) + rising·e^α − naive_edge·α.

    The derivative times e^α is the quadratic rising·a² − naive_edge·a − falling of a = e^α, which
    has one positive root. It is at most ``MAX_STEP``, where nothing rises.
    """
    half = naive_edge / 2
    root = np.sqrt(half**2 + rising * falling)
    # Of two ways to write the root, the one in which nothing cancels.
    numerator, denominator = (half + root, rising) if half > 0 else (falling, root - half)
    if denominator <= 0:
        return MAX_STEP
    with np.errstate(divide="ignore"):  # falling = 0: the votes are all wrong
        return float(min(np.log(numerator) - np.log(denominator), MAX_STEP))
