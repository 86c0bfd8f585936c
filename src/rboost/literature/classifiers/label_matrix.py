"""Labels by several annotators: a matrix with a row per sample, a column per annotator, and gaps.

``codes`` has shape (n_rows, n_annotators): 0 or 1, the position of the label among the classes, or
−1 where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from rboost._typing import Floats, Integers
from rboost._validation import (
    check_binary_labels,
    check_labels,
    check_sample_weight,
    is_missing,
    plain_labels,
)

MISSING = -1


def check_label_matrix(y: Any) -> tuple[NDArray[Any], Integers]:
    """Return the two classes, sorted, found over all entries, and the codes.

    A one-dimensional y is the labels of one annotator, who left no gaps.
    """
    if isinstance(y, np.ma.MaskedArray):
        mask, y = np.ma.getmaskarray(y), np.array(y.data, dtype=object)
        y[mask] = None
    values = _as_array(y)
    if values is None or values.ndim < 2:
        classes, codes = check_binary_labels(y)
        return classes, codes[:, np.newaxis]
    if values.ndim > 2 or values.shape[1] == 0:
        raise ValueError(
            "y must have a row per sample and a column per annotator, but its shape is "
            f"{values.shape}."
        )
    if values.shape[1] == 1:
        column_or_1d(values, warn=True)  # as every classifier does
    missing = _missing(values)
    if missing.all():
        raise ValueError("y holds no label at all; at least some rows need one.")
    said = values[~missing]
    labels = check_labels(plain_labels(said) if said.dtype.kind == "O" else said)
    found = np.unique(labels).tolist()
    if len(found) > 2:
        raise ValueError(
            f"y holds {len(found)} classes, {', '.join(map(repr, found[:3]))} among them, where "
            "annotators may choose from two; mark what nobody said with NaN or None."
        )
    codes = np.full(values.shape, MISSING)
    classes, codes[~missing] = check_binary_labels(labels)
    return classes, codes


def _as_array(y: Any) -> NDArray[Any] | None:
    """Any container as an array that keeps its gaps."""
    if y is None or isinstance(y, np.ndarray):
        return y
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    return np.array(y, dtype=object)  # a gap among strings would become the string "nan"


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.vectorize(is_missing, otypes=[bool])(values)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=bool)


def check_row_weight(sample_weight: Any, codes: Integers) -> Floats:
    """Return one weight per row, 0 for rows without a label."""
    labelled = (codes != MISSING).any(axis=1)
    weight = check_sample_weight(sample_weight, np.arange(len(codes))) * labelled
    if len(np.setdiff1d(codes[weight > 0], [MISSING])) < 2:
        raise ValueError(
            "sample_weight is zero on all rows but those of one class or none; give some rows of "
            "each class a positive weight."
        )
    return weight


def votes(codes: Integers) -> Floats:
    """The share of label 1 among the labels of each row, ½ where there is none."""
    n_labels = (codes != MISSING).sum(axis=1)
    ones = (codes == 1).sum(axis=1)
    return np.where(n_labels > 0, ones / np.maximum(n_labels, 1), 0.5)
