"""Rows that repeat others, label and all."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.table.features import for_trees

# Repeated rows are worth a warning from this many, and from this share of the table.
MANY_COPIES, LARGE_SHARE = 20, 0.05
# Stands for a missing value where rows are compared.
UNUSUAL = -7654.321


def warn_of_copies(X: Any, labels: Any) -> None:
    """Warn where rows are repeated with their labels, so that no row is really left out."""
    first = find_copies(X, labels)
    if first is not None:
        n_copies = int(np.count_nonzero(first != np.arange(len(first))))
        warnings.warn(
            f"{n_copies} rows of X repeat others, always with the same label. If they are copies, "
            "a wrong label confirms itself and the noise is underestimated: pass each row once, "
            "with sample_weight.",
            stacklevel=3,
        )


def find_copies(X: Any, labels: Any) -> Integers | None:
    """For each row the first that it repeats, label and all; None where few do.

    Repetitions of a few possible rows have labels of both kinds now and then. Copies never do.
    """
    if sparse.issparse(X):
        return None
    try:
        values = np.asarray(for_trees(X))
        # Rows that differ in their first columns are no copies, which is soon found out.
        for columns in (values[:, :3], values):
            keys = _row_keys(columns)
            in_order = np.sort(keys)
            n_copies = np.count_nonzero(in_order[1:] == in_order[:-1])
            if n_copies < max(MANY_COPIES, LARGE_SHARE * len(keys)):
                return None
    except (IndexError, TypeError, ValueError, OverflowError):
        return None  # text, categories and other shapes are the estimator's business
    labels = np.asarray(labels)
    _, place, group = np.unique(keys, return_index=True, return_inverse=True)
    first: Integers = place[group]
    for block in gen_batches(len(first), 4096):  # rows of one key may differ after all
        same = (values[block] == values[first[block]]) | (
            np.isnan(values[block]) & np.isnan(values[first[block]])
        )
        differs = ~same.all(axis=1)
        first[block] = np.where(differs, np.arange(len(first))[block], first[block])
    return first if np.array_equal(labels, labels[first]) else None


def _row_keys(values: NDArray[Any]) -> Floats:
    """A weighted sum of each row: equal for equal rows, and for hardly any others."""
    factors = np.random.RandomState(0).uniform(0.5, 1.5, values.shape[1])
    keys = np.empty(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(len(values), 4096):
            rows = values[block].astype(np.float64)
            keys[block] = np.einsum("ij,j", rows, factors)
            if not np.isfinite(keys[block]).all():
                rows = np.nan_to_num(rows, nan=UNUSUAL, posinf=0, neginf=0)
                keys[block] = np.nan_to_num(np.einsum("ij,j", rows, factors))
    return keys
