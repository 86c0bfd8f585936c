"""How each column was read, and how much the model makes of it.

A column matters as far as the model's probabilities move when its values are exchanged among rows:
the share of the probability that goes to other classes, averaged over rows. It is measured on the
fitted model, which knows these rows: it says what the model uses, not what is true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from rboost.audit.scorers import TableModel
from rboost.table.columns import CATEGORY, NAME
from rboost.table.features import ColumnEncoder, Features

# Rows that are scored in all, and of each column at least and at most.
ROWS_IN_ALL, FEWEST_ROWS, MOST_ROWS = 20_000, 20, 300


@dataclass(frozen=True)
class ColumnReading:
    """What a column was taken for; ``why`` says why it was left aside, where it was.

    ``importance`` is None where there is no model, and where the column was left aside.
    """

    name: str
    kind: str
    why: str = ""
    importance: float | None = None


def read_columns(features: Features | None, model: TableModel | None) -> tuple[ColumnReading, ...]:
    """All columns of the table, those that matter most first, those left aside last."""
    if features is None:
        return ()
    columns = features.encoder.columns
    used = [k for k, own in enumerate(columns) if not why_unused(own)]
    importance = {} if model is None else column_importance(model, features, used)
    found = [
        ColumnReading(own.name, CATEGORY if own.is_truth else own.kind, "", importance.get(k))
        if k in used
        else ColumnReading(own.name, "", why_unused(own))
        for k, own in enumerate(columns)
    ]
    return tuple(sorted(found, key=lambda one: -1.0 if one.importance is None else one.importance,
                        reverse=True))  # fmt: skip


def why_unused(own: ColumnEncoder) -> str:
    """Why a column tells nothing; empty if it may tell something."""
    if own.is_empty:
        return "empty"
    if own.is_constant:
        return "the same in every row"
    return "another word in every row, like a name" if own.kind == NAME else ""


def column_importance(
    model: TableModel, features: Features, columns: list[int]
) -> dict[int, float]:
    """How much of the probability moves, on average, when a column is exchanged among rows."""
    random = np.random.RandomState(0)
    n_rows = int(np.clip(ROWS_IN_ALL // max(1, len(columns)), FEWEST_ROWS, MOST_ROWS))
    rows = random.permutation(len(features))[:n_rows]
    found = {}
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        before = model.probability(features[rows])
        for k in columns:
            others = random.permutation(rows)
            changed = features.exchanged(rows, others, np.full(len(rows), k))
            moved = np.abs(model.probability(changed) - before).sum(axis=1) / 2
            found[k] = float(moved.mean())
    return found
