"""Two estimators of the literature that read the noise off p(ỹ | x), to compare with.

``observed`` has a column for each class; the noise matrix is ``[true, observed]``.
"""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats, Integers
from rboost.noise.matrix import keep_informative

# The share of rows at the upper end of the probabilities that anchor points skip as outliers.
ANCHOR_SHARE = 0.03


def anchor_points(observed: Floats) -> Floats:
    """Read the rates off rows that are certainly of one class (Liu & Tao 2016).

    There p(ỹ = k | x) is γjk. Such are the rows of the largest p(ỹ = j | x); a quantile stands for
    them.
    """
    place = (1 - ANCHOR_SHARE) * (len(observed) - 1)
    below = int(place)
    matrix = []
    for k in range(observed.shape[1]):
        order = np.argsort(observed[:, k], kind="stable")
        low, high = observed[order[[below, min(below + 1, len(order) - 1)]]]
        matrix.append(low + (place - below) * (high - low))
    return keep_informative(np.array(matrix))


def trusted_counting(observed: Floats, labels: Integers) -> Floats:
    """Average p(ỹ | x) over trusted rows, whose ``labels`` are true (Hendrycks et al. 2018)."""
    classes = range(observed.shape[1])
    return keep_informative(np.array([observed[labels == k].mean(axis=0) for k in classes]))
