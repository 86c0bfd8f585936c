"""Probabilities that another model gave for the rows of a table, as scores of an audit.

They must come from models that were not fitted to the row (out of fold, or of a model trained on
other data): a model knows the labels it was fitted to, wrong ones as well.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.noise.inference import prevalence_of, smoothed_scores
from rboost.table.delimited import listed

# How far the probabilities of a row may be from 1 together: some are rounded to few digits.
TOLERANCE = 0.02
ROUNDING = 1e-9
# Held-out predictions of real tables do not agree with all labels at once; those of this many rows
# and more that do are probably of a model that has seen them.
MANY_ROWS = 50


def given_scores(probabilities: Any, labels: TableLabels) -> Floats:
    """Scores of all rows: (n,) of two classes, else (n, K), as models of an audit give them."""
    values, total = _columns_of_classes(probabilities, labels)
    if len(values) != len(labels):
        raise ValueError(
            f"probabilities has {len(values)} rows but y has {len(labels)}; pass one a row."
        )
    is_between = ((values >= -ROUNDING) & (values <= 1 + TOLERANCE)).all(axis=1)
    if not is_between.all():
        row = int(is_between.argmin())
        raise ValueError(
            f"probabilities must lie between 0 and 1, but row {row + 1} has "
            f"{listed(list(values[row].round(4).tolist()), 5)}; pass probabilities, not scores."
        )
    if (abs(total - 1) > TOLERANCE).any():
        row = int(abs(total - 1).argmax())
        raise ValueError(
            f"The probabilities of a row must add up to 1, but those of row {row + 1} to "
            f"{total[row]:.4g}; pass one column for each class."
        )
    # Where only rare labels are probable, which are no classes, all classes are as likely.
    values = values.clip(ROUNDING)
    values = values / values.sum(axis=1, keepdims=True)
    labelled = labels.given != NO_LABEL
    agrees = values.argmax(axis=1)[labelled] == labels.given[labelled]
    if len(agrees) >= MANY_ROWS and agrees.all():
        warnings.warn(
            "The probabilities agree with every label: a model that was fitted to these rows knows "
            "their labels, wrong ones too; pass probabilities of rows that it had not seen, as "
            "cross_val_predict gives them.",
            stacklevel=3,
        )
    return smoothed_scores(values, prevalence_of(labels.given[labelled], len(labels.classes)))


def _columns_of_classes(probabilities: Any, labels: TableLabels) -> tuple[Floats, Floats]:
    """One column for each class, in their order, and the sum over them and labels that are rare."""
    names = labels.class_names
    rare = sorted({str(label) for label in labels.written[labels.given == NO_LABEL]} - {""})
    if hasattr(probabilities, "columns") and hasattr(probabilities, "to_numpy"):
        place = {str(name): k for k, name in enumerate(probabilities.columns)}
        places = {name: place.get(name, place.get(f"p({name})", -1)) for name in [*names, *rare]}
        absent = [name for name in names if places[name] < 0]
        if absent:
            raise ValueError(
                f"probabilities has no column for the class {absent[0]!r}; name one column after "
                f"each class: {listed(names)}."
            )
        there = [k for k in places.values() if k >= 0]
        values = _floats(probabilities.to_numpy()[:, there])
        return values[:, : len(names)], values.sum(axis=1)
    values = _floats(probabilities)
    if values.ndim == 1 and len(names) == 2:
        values = np.column_stack([1 - values, values])
    if values.ndim != 2 or values.shape[1] != len(names):
        too_rare = f" ({listed(rare, 5)} has too few rows)" if rare else ""
        raise ValueError(
            f"probabilities has the shape {values.shape}, but there are {len(labels)} rows and "
            f"{len(names)} classes{too_rare}; pass a row of probabilities for each row, in the "
            f"order {listed(names)}, or a frame whose columns are called like the labels."
        )
    return values, values.sum(axis=1)


def _floats(values: Any) -> Floats:
    try:
        dense = values.toarray() if issparse(values) else values
        return np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "probabilities must be a table of numbers, one column for each class."
        ) from error
