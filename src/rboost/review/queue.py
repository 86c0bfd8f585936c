"""Which row to look at next.

An answer teaches as much as is unknown before it: the entropy of the row's true class given
everything, −Σ_j p_j log p_j. A label that is surely wrong teaches little when it is corrected, and
neither does one that is surely right.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit


def entropy(probability: Floats) -> Floats:
    """−Σ_j p_j log p_j of each row, in nats.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.review.queue import entropy
    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    p = np.clip(probability, 0.0, 1.0)
    logarithm = np.log(p, where=p > 0, out=np.zeros_like(p))
    return np.abs((p * logarithm).sum(axis=1))  # the sum is ≤ 0; this leaves no −0


# What is worth most comes first.
ORDERS: dict[str, Callable[[LabelAudit], Floats]] = {
    "informative": lambda audit: entropy(audit.inference.posterior),
    # Rows without a label have nothing that could be wrong, and come last.
    "suspicious": lambda audit: np.nan_to_num(audit.issue_probability, nan=-1.0),
}


def rank(audit: LabelAudit, order: str) -> Integers:
    """Positions of all rows that nobody checked, in this order; ties as in the table."""
    unchecked = np.flatnonzero(~audit.labels.is_checked)
    worth = ORDERS[order](audit)[unchecked]
    return unchecked[np.argsort(-worth, kind="stable")]


def first_open(ranking: Integers, *closed: Container[int]) -> int | None:
    """The first row of a ranking that is in none of the sets."""
    for row in ranking:
        if not any(int(row) in rows for rows in closed):
            return int(row)
    return None
