"""Rows with labels, checked: what a classifier trains on and what it may trust."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost._validation import (
    check_class_labels,
    check_labels,
    check_lengths,
    check_sample_weight,
)
from rboost.encoding import EncodedRows, for_trees

# A class that no row is of any more counts as if there were so many rows of it.
LEAST_ROWS = 0.5


@dataclass(frozen=True)
class Rows:
    """Rows with the positions of their labels among the classes, and weights.

    ``trusted`` labels are known to be right. ``checked`` has what people said of rows beside their
    label, −1 where nobody looked, and ``group`` the position of each row's group, −1 for rows of
    none. ``known`` are probabilities of the true classes, (n_rows, K), to which a model is fitted
    instead of to the labels.
    """

    X: Any
    observed: Integers
    sample_weight: Floats
    trusted: NDArray[np.bool_]
    n_classes: int
    checked: Integers | None = None
    group: Integers | None = None
    known: Floats | None = None

    @cached_property
    def labels(self) -> Floats:
        """The labels of two classes as −1.0 and +1.0."""
        return np.where(self.observed > 0, 1.0, -1.0)

    @cached_property
    def class_weights(self) -> Floats:
        """How much the rows of each label weigh, or of each true class where more is known."""
        if self.known is not None:
            return self.sample_weight @ self.known + LEAST_ROWS
        weights = np.bincount(self.observed, self.sample_weight, minlength=self.n_classes)
        return weights.astype(np.float64, copy=False)

    @property
    def prevalence(self) -> Floats:
        """The share of each label, or of each true class where more is known."""
        return self.class_weights / self.class_weights.sum()

    def take(self, rows: Any) -> Rows:
        """Some of the rows, by their numbers or a mask."""
        some = {
            name: None if (values := getattr(self, name)) is None else values[rows]
            for name in ("checked", "group", "known")
        }
        observed, weight = self.observed[rows], self.sample_weight[rows]
        return Rows(self.X[rows], observed, weight, self.trusted[rows], self.n_classes, **some)

    def used(self) -> Rows:
        """The rows that have a weight."""
        used = self.sample_weight > 0
        return self if used.all() else self.take(used)

    def counted(self) -> Rows:
        """The same rows with weights :func:`as_counts`."""
        return replace(self, sample_weight=as_counts(self.sample_weight))


def checked_rows(
    X: Any, y: Any, sample_weight: Any, check_y: Callable[[Any], Any] = check_class_labels
) -> tuple[Rows, NDArray[Any]]:
    """All rows of validated X, none of them trusted, and the classes."""
    classes, observed = check_y(y)
    check_lengths(X, observed)
    weight = check_sample_weight(sample_weight, observed)
    return Rows(X, observed, weight, np.zeros(len(observed), dtype=bool), len(classes)), classes


def weighed_classes(rows: Rows, classes: NDArray[Any]) -> tuple[Rows, NDArray[Any]]:
    """The rows as they are, or without those of classes that have no weight at all."""
    if rows.prevalence.all():
        return rows, classes
    rows = rows.used()
    present, observed = np.unique(rows.observed, return_inverse=True)
    return replace(rows, observed=observed, n_classes=len(present)), classes[present]


def training_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """The rows of positive weight, of all classes, with weights as counts; and the classes."""
    rows, classes = checked_rows(X, y, sample_weight)
    check_weighed(rows.observed, rows.sample_weight, classes)
    return rows.used().counted(), classes


def check_weighed(observed: Integers, weight: Floats, classes: NDArray[Any]) -> None:
    """Fail when all rows of a class have the weight 0."""
    without = np.flatnonzero(np.bincount(observed, weight, len(classes)) == 0)
    if len(without):
        raise ValueError(
            f"sample_weight is zero on all rows of class {classes[without].tolist()[0]!r}; give "
            "some rows of each class a positive weight."
        )


def as_counts(weight: Floats, largest: float = 1e6) -> Floats:
    """The weights, divided by their mean where they cannot be numbers of repetitions.

    A weight of 2 means a row that stands there twice, and calibration on 400 rows is surer than on
    4. Weights that sum to 1, or of any scale that no count has, can only mean shares.
    """
    mean = weight.mean()
    if 1 <= mean <= largest:
        return weight
    # To 40 binary digits, so that weights of any common scale come out the same.
    digits, exponents = np.frexp(weight / mean)
    return np.ldexp(np.round(np.ldexp(digits, 40)), exponents - 40)


def trusted_rows(
    X_trusted: Any,
    y_trusted: Any,
    classes: NDArray[Any],
    check_X: Callable[[Any], Any],
) -> Rows | None:
    """The rows whose labels are right, or None when there are no such rows."""
    observed = check_trusted_labels(X_trusted, y_trusted, classes)
    if observed is None:
        return None
    try:
        X_trusted = check_X(X_trusted)
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise ValueError(
            f"X_trusted must have the columns of X and hold what X may hold: {problem}"
        ) from error
    ones = np.ones(len(observed))
    return Rows(X_trusted, observed, ones, ones.astype(bool), len(classes))


def arranged(rows: Rows, trusted: Rows | None, out_of_bag: bool) -> tuple[Rows, Rows | None]:
    """The rows to train on and those to calibrate on: with ``out_of_bag`` trusted rows are both."""
    if out_of_bag:
        return (rows if trusted is None else _join(rows, trusted)), None
    if trusted is not None:
        _check_all_classes(trusted)
    return rows, trusted


def _check_all_classes(trusted: Rows) -> None:
    """Fail when trusted rows that probabilities are calibrated on lack a class."""
    n_found = len(np.unique(trusted.observed))
    if n_found < trusted.n_classes:
        found = "one class" if n_found == 1 else f"{n_found} of {trusted.n_classes} classes"
        raise ValueError(
            f"y_trusted holds only {found}; without out_of_bag probabilities are calibrated on "
            "trusted rows alone, so pass rows of every class."
        )


def check_trusted_labels(X_trusted: Any, y_trusted: Any, classes: NDArray[Any]) -> Integers | None:
    """Return the position of each trusted label among the classes, None without trusted rows."""
    if X_trusted is None and y_trusted is None:
        return None
    if X_trusted is None or y_trusted is None:
        raise ValueError("X_trusted and y_trusted belong together; pass both or neither.")
    labels = check_labels(y_trusted, name="y_trusted")
    check_lengths(X_trusted, labels, "_trusted")
    is_class = labels[:, np.newaxis] == classes
    if not is_class.any(axis=1).all():
        raise ValueError(
            f"y_trusted holds the classes {np.unique(labels)} but y holds {classes}; "
            "use the same labels in both."
        )
    return is_class.argmax(axis=1)


def _join(first: Rows, second: Rows) -> Rows:
    """Put trusted rows behind the others; they count as much."""
    weight = second.sample_weight * first.sample_weight.mean()
    return replace(
        second,
        X=stack_rows(first.X, second.X),
        observed=np.concatenate([first.observed, second.observed]),
        sample_weight=np.concatenate([first.sample_weight, weight]),
        trusted=np.concatenate([first.trusted, second.trusted]),
        checked=_followed_by_none(first.checked, len(weight)),
        group=_followed_by_none(first.group, len(weight)),
    )


def _followed_by_none(positions: Integers | None, n_rows: int) -> Integers | None:
    return None if positions is None else np.append(positions, np.full(n_rows, -1))


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


def stack_rows(first: Any, second: Any) -> Any:
    """Put the rows of two arrays, sparse matrices or data frames of one kind under each other."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    if isinstance(first, EncodedRows):
        return first.followed_by(second)
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
