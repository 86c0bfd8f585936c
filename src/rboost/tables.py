"""Rows with labels, checked: what a classifier trains on and what it may trust."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost._validation import check_binary_labels, check_labels, check_sample_weight


@dataclass(frozen=True)
class Table:
    """Rows with labels −1 or +1 and positive weights; ``trusted`` labels are known to be right.

    ``flip_counts[j, k]`` of the trusted rows had the label k before they turned out as class j.
    """

    X: Any
    labels: Floats
    sample_weight: Floats
    trusted: NDArray[np.bool_]
    flip_counts: Floats | None = None

    @property
    def classes(self) -> Floats:
        """The labels as 0.0 and 1.0."""
        return (self.labels > 0).astype(np.float64)

    @property
    def prevalence(self) -> float:
        """The share of label +1."""
        # Not a product of vectors: threads of BLAS would go on spinning beside those of the rounds.
        positive = np.sum(self.sample_weight, where=self.labels > 0)
        return float(positive / self.sample_weight.sum())


def training_table(X: Any, y: Any, sample_weight: Any) -> tuple[Table, NDArray[Any]]:
    """Build the table of validated rows X, without those of weight 0, and return the classes."""
    classes, encoded = check_binary_labels(y)
    if X.shape[0] != len(encoded):
        raise ValueError(f"X has {X.shape[0]} rows but y has {len(encoded)}; pass one label a row.")
    weight = check_sample_weight(sample_weight, encoded)
    rows = weight > 0
    labels = _signed(encoded[rows])
    trusted = np.zeros(len(labels), dtype=bool)
    return Table(X if rows.all() else X[rows], labels, weight[rows], trusted), classes


def weights_as_counts(table: Table, largest: float = 1e6) -> Table:
    """The table with its weights :func:`as_counts`."""
    return replace(table, sample_weight=as_counts(table.sample_weight, largest))


def as_counts(weight: Floats, largest: float = 1e6) -> Floats:
    """The weights, divided by their mean where they cannot be numbers of repetitions.

    A weight of 2 means a row that stands there twice, and calibration on 400 rows is surer than on
    4. Weights that sum to 1, or of any scale that no count has, can only mean shares.
    """
    mean = weight.mean()
    return weight if 1 <= mean <= largest else weight / mean


def trusted_table(
    X_trusted: Any,
    y_trusted: Any,
    classes: NDArray[Any],
    check_X: Callable[[Any], Any],
    *,
    both_classes: bool = False,
) -> Table | None:
    """Build the table of rows whose labels are right, or None when there are no such rows."""
    encoded = check_trusted_labels(X_trusted, y_trusted, classes)
    if encoded is None:
        return None
    try:
        X_trusted = check_X(X_trusted)
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise ValueError(
            f"X_trusted must have the columns of X and hold what X may hold: {problem}"
        ) from error
    if both_classes and len(np.unique(encoded)) < 2:
        raise ValueError(
            "y_trusted holds only one class; without out_of_bag probabilities are calibrated on "
            "trusted rows alone, so pass rows of both."
        )
    n_rows = len(encoded)
    return Table(X_trusted, _signed(encoded), np.ones(n_rows), np.ones(n_rows, dtype=bool))


def check_trusted_labels(X_trusted: Any, y_trusted: Any, classes: NDArray[Any]) -> Integers | None:
    """Return the position of each trusted label among the classes, None without trusted rows."""
    if X_trusted is None and y_trusted is None:
        return None
    if X_trusted is None or y_trusted is None:
        raise ValueError("X_trusted and y_trusted belong together; pass both or neither.")
    labels = check_labels(y_trusted, name="y_trusted")
    n_rows = X_trusted.shape[0] if hasattr(X_trusted, "shape") else len(X_trusted)
    if n_rows != len(labels):
        raise ValueError(
            f"X_trusted has {n_rows} rows but y_trusted has {len(labels)}; pass one label a row."
        )
    is_class = labels[:, np.newaxis] == classes
    if not is_class.any(axis=1).all():
        raise ValueError(
            f"y_trusted holds the classes {np.unique(labels)} but y holds {classes}; "
            "use the same labels in both."
        )
    return is_class.argmax(axis=1)


def check_counted_rows(flip_counts: Any, trusted: Any) -> None:
    """Fail when there are counts of trusted rows, but no such rows."""
    if flip_counts is not None and trusted is None:
        raise ValueError(
            "flip_counts counts trusted rows; pass X_trusted and y_trusted too, or leave it out."
        )


def join(first: Table, second: Table | None) -> Table:
    """Put the rows of two tables into one; those of the second count as much as the first's."""
    if second is None:
        return first
    second = replace(second, sample_weight=second.sample_weight * first.sample_weight.mean())
    return Table(
        stack_rows(first.X, second.X),
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.sample_weight, second.sample_weight]),
        np.concatenate([first.trusted, second.trusted]),
        second.flip_counts,
    )


# Repeated rows are worth a warning from this many, and from this share of the table.
MANY_COPIES, LARGE_SHARE = 20, 0.05


def warn_of_copies(X: Any, labels: Any) -> None:
    """Warn where rows are repeated with their labels, so that no row is really left out.

    Repetitions of a few possible rows have labels of both kinds now and then. Copies never do.
    """
    if sparse.issparse(X):
        return
    try:
        values = np.asarray(X)
        # Rows that differ in their first columns are no copies, which is soon found out.
        for columns in (values[:, :3], values):
            keys = _row_keys(columns)
            in_order = np.sort(keys)
            n_copies = np.count_nonzero(in_order[1:] == in_order[:-1])
            if n_copies < max(MANY_COPIES, LARGE_SHARE * len(keys)):
                return
    except (IndexError, TypeError, ValueError):
        return  # text, categories and other shapes are the estimator's business
    labels = np.asarray(labels)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if np.array_equal(labels, labels[first[group]]):
        warnings.warn(
            f"{n_copies} rows of X repeat others, always with the same label. If they are copies, "
            "a wrong label confirms itself and the noise is underestimated: pass each row once, "
            "with sample_weight.",
            stacklevel=3,
        )


def _row_keys(values: NDArray[Any]) -> Floats:
    """A weighted sum of each row: equal for equal rows, and for hardly any others."""
    factors = np.random.RandomState(0).uniform(0.5, 1.5, values.shape[1])
    keys = np.empty(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(len(values), 4096):
            rows = values[block].astype(np.float64)
            keys[block] = np.einsum("ij,j", rows, factors)
            if not np.isfinite(keys[block]).all():
                rows = np.nan_to_num(rows, posinf=0, neginf=0)
                keys[block] = np.nan_to_num(np.einsum("ij,j", rows, factors))
    return keys


def stack_rows(first: Any, second: Any) -> Any:
    """Put the rows of two arrays, sparse matrices or data frames of one kind under each other."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    module = type(first).__module__.partition(".")[0]
    if module in ("pandas", "polars"):  # importing either here would make it a dependency
        columns = list(first.columns)
        if not hasattr(second, "columns"):
            names = {"columns" if module == "pandas" else "schema": columns}
            second = type(first)(second, **names)
        if set(second.columns) != set(columns):
            raise ValueError(
                f"X_trusted must have the columns of X, {columns}, but has {list(second.columns)}."
            )
        return sys.modules[module].concat([first, second[columns]])
    first = np.asarray(first)
    second = second.toarray() if sparse.issparse(second) else np.asarray(second)
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"X_trusted must have the columns of X: its rows have the shape {second.shape[1:]}, "
            f"those of X {first.shape[1:]}."
        )
    return np.concatenate([first, second])


def _signed(encoded: Integers) -> Floats:
    return np.where(encoded > 0, 1.0, -1.0)
