"""Labelled rows that a base learner is fitted to, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import check_class_labels, check_sample_weight


class Rows(NamedTuple):
    """Rows, the positions of their labels among the classes, and their positive weights."""

    X: Any
    observed: Integers
    sample_weight: Floats

    def part(self, rows: Any) -> Rows:
        """Some of the rows."""
        return Rows(self.X[rows], self.observed[rows], self.sample_weight[rows])


def training_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """The rows of validated X without those of weight 0, and the classes that are among them."""
    classes, observed = check_class_labels(y)
    if X.shape[0] != len(observed):
        n_rows = X.shape[0]
        raise ValueError(f"X has {n_rows} rows but y has {len(observed)}; pass one label a row.")
    weight = check_sample_weight(sample_weight, observed)
    rows = Rows(X, observed, weight)
    if np.all(weight > 0):
        return rows, classes
    rows = rows.part(weight > 0)
    present, observed = np.unique(rows.observed, return_inverse=True)
    return rows._replace(observed=observed), classes[present]
