"""Training rows with labels of K classes, checked, and those whose labels are known to be right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rboost._typing import Floats, Integers
from rboost._validation import check_class_labels, check_sample_weight
from rboost.noise.matrix import check_flip_counts
from rboost.tables import as_counts, check_counted_rows, check_trusted_labels, stack_rows


@dataclass(frozen=True)
class Rows:
    """Rows with the positions of their labels and positive weights.

    ``trusted`` labels are known to be right; ``flip_counts[j, k]`` of those rows had the label k
    before they turned out as class j.
    """

    X: Any
    observed: Integers
    sample_weight: Floats
    trusted: NDArray[np.bool_]
    n_classes: int
    flip_counts: Floats | None = None

    @cached_property
    def prevalence(self) -> Floats:
        """The share of each label."""
        counts = np.bincount(self.observed, self.sample_weight, minlength=self.n_classes)
        return counts / counts.sum()


def training_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """The rows of validated X, without those of weight 0, and the classes.

    Weights that cannot be numbers of repetitions are scaled to a mean of 1: a weight of 2 means a
    row that stands there twice, and 400 rows are surer than 4.
    """
    classes, observed = check_class_labels(y)
    if X.shape[0] != len(observed):
        raise ValueError(
            f"X has {X.shape[0]} rows but y has {len(observed)}; pass one label a row."
        )
    weight = check_sample_weight(sample_weight, observed)
    kept = weight > 0
    if not kept.all():
        X, observed, weight = X[kept], observed[kept], weight[kept]
        is_left = np.bincount(observed, minlength=len(classes)) > 0
        if not is_left.all():
            raise ValueError(
                f"sample_weight is zero on all rows of class {classes[~is_left].tolist()[0]!r}; "
                "give some rows of each class a positive weight."
            )
    weight = as_counts(weight)
    return Rows(X, observed, weight, np.zeros(len(observed), dtype=bool), len(classes)), classes


def trusted_rows(
    X_trusted: Any,
    y_trusted: Any,
    flip_counts: ArrayLike | None,
    classes: NDArray[Any],
    check_X: Callable[[Any], Any],
) -> Rows | None:
    """The rows whose labels are right, or None when there are no such rows."""
    observed = check_trusted_labels(X_trusted, y_trusted, classes)
    check_counted_rows(flip_counts, observed)
    if observed is None:
        return None
    try:
        X_trusted = check_X(X_trusted)
    except ValueError as error:
        problem = " ".join(str(error).split())
        raise ValueError(
            f"X_trusted must have the columns of X and hold what X may hold: {problem}"
        ) from error
    ones, counts = np.ones(len(observed)), check_flip_counts(flip_counts, len(classes))
    return Rows(X_trusted, observed, ones, ones.astype(bool), len(classes), counts)


def _check_all_classes(trusted: Rows) -> None:
    """Fail when trusted rows that probabilities are calibrated on lack a class."""
    n_found = len(np.unique(trusted.observed))
    if n_found < trusted.n_classes:
        found = "one class" if n_found == 1 else f"{n_found} of {trusted.n_classes} classes"
        raise ValueError(
            f"y_trusted holds only {found}; without out_of_bag probabilities are calibrated on "
            "trusted rows alone, so pass rows of every class."
        )


def arranged(rows: Rows, trusted: Rows | None, out_of_bag: bool) -> tuple[Rows, Rows | None]:
    """The rows to train on and those to calibrate on: with ``out_of_bag`` trusted rows are both."""
    if out_of_bag:
        return (rows if trusted is None else _join(rows, trusted)), None
    if trusted is not None:
        _check_all_classes(trusted)
    return rows, trusted


def _join(first: Rows, second: Rows) -> Rows:
    """Put trusted rows behind the others; they count as much."""
    weight = second.sample_weight * first.sample_weight.mean()
    return replace(
        second,
        X=stack_rows(first.X, second.X),
        observed=np.concatenate([first.observed, second.observed]),
        sample_weight=np.concatenate([first.sample_weight, weight]),
        trusted=np.concatenate([first.trusted, second.trusted]),
    )
