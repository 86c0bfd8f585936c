"""What the native kernels compute, in NumPy: their specification, and what runs without them.

The other kernels have their specification where the method is: the rounds of a linear learner in
:mod:`rboost.engines.rounds`, the noisy logistic fit in :mod:`rboost.learners.logistic_objective`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rboost._typing import Floats

BLOCK_ROWS = 1024


def linear_scores(
    X: NDArray[Any],
    coefs: Floats,
    intercepts: Floats,
    steps: Floats,
    center: Floats,
    probability: bool,
    n_threads: int,
) -> Floats:
    """Σ α·h(x) of each row for linear learners, in blocks of rows that fit into the cache.

    A learner votes 2σ(m) − 1 or the sign of its margin m = coef·x + intercept. The margin is
    computed from x − center, so that columns far from 0 lose no digits.
    """
    levels = intercepts + coefs @ center
    scores = np.zeros(len(X))
    for begin in range(0, len(X), BLOCK_ROWS):
        block = slice(begin, begin + BLOCK_ROWS)
        margins = (X[block] - center) @ coefs.T + levels
        votes = 2 * expit(margins) - 1 if probability else np.where(margins > 0, 1.0, -1.0)
        scores[block] = votes @ steps
    return scores


def forest_scores(
    X: NDArray[Any],
    feature: NDArray[np.int32],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    nan_left: NDArray[np.bool_],
    category_set: NDArray[np.int32],
    set_starts: NDArray[np.int32],
    bitset: NDArray[np.uint32],
    leaf_value: Floats,
    roots: NDArray[np.int32],
    n_outputs: int,
    n_threads: int,
) -> Floats:
    """The sums of the leaf values of trees, shape (n_rows, n_outputs); tree t counts for t mod K.

    A root or child that is negative is the leaf ~number. Values up to the threshold go left, and
    so do whole numbers in the set of categories of a node; NaN goes left where the node says so.
    """
    scores = np.zeros((len(X), n_outputs))
    for begin in range(0, len(X), BLOCK_ROWS):
        rows = X[begin : begin + BLOCK_ROWS]
        node = np.tile(roots, (len(rows), 1))
        while (walking := np.nonzero(node >= 0))[0].size:
            at = node[walking]
            value = rows[walking[0], feature[at]].astype(np.float64)
            goes_left = np.where(np.isnan(value), nan_left[at], value <= threshold[at])
            categories = category_set[at] >= 0
            goes_left[categories] = _in_sets(
                value[categories], category_set[at[categories]], set_starts, bitset
            )
            node[walking] = np.where(goes_left, left[at], right[at])
        values = leaf_value[~node].reshape(len(rows), -1, n_outputs)
        scores[begin : begin + BLOCK_ROWS] = values.sum(axis=1)
    return scores


def _in_sets(
    value: Floats,
    sets: NDArray[np.int32],
    set_starts: NDArray[np.int32],
    bitset: NDArray[np.uint32],
) -> NDArray[np.bool_]:
    """Whether the whole part of each value is in its set; NaN and negative numbers are in none."""
    known = (value > -1) & (value < 2**31)
    word, bit = np.divmod(np.where(known, value, 0).astype(np.int64), 32)
    known &= word < np.diff(set_starts)[sets]
    words = bitset[np.where(known, set_starts[sets] + word, 0)]
    return known & (words >> bit.astype(np.uint32) & 1 == 1)
