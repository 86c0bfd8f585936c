"""What the native kernels compute, in NumPy: their specification, and what runs without them.

The other kernels have their specification where the method is: the rounds of a linear learner in
:mod:`rboost.boosting.rounds`, the noisy logistic fit in :mod:`rboost.learners.logistic_solver`.
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
