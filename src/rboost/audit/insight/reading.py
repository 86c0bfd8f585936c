"""How each column was read, and how much the model makes of it.

A column matters as far as the model's probabilities move when its values are exchanged among rows:
the share of the probability that goes to other classes, averaged over rows. It is measured on the
fitted model, which knows these rows: it says what the model uses, not what is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.features import column_of_feature, names_of_rows
from rboost.audit.scorers import TableModel

# Rows that are scored in all, and of each column at least and at most.
ROWS_IN_ALL, FEWEST_ROWS, MOST_ROWS = 20_000, 20, 300
NUMBER, CATEGORY, DATE, TEXT = "number", "category", "date", "text"
KINDS = {
    "numeric": NUMBER, "low_cardinality": CATEGORY, "datetime": DATE, "high_cardinality": TEXT,
}  # fmt: skip


@dataclass(frozen=True)
class ColumnReading:
    """What a column was taken for; ``why`` says why it was left aside, where it was.

    ``importance`` is None where there is no model, and where the column was left aside.
    """

    name: str
    kind: str
    why: str = ""
    importance: float | None = None


def read_columns(
    table: Any, features: Floats, vectorizer: Any, model: TableModel | None
) -> tuple[ColumnReading, ...]:
    """All columns of the table, those that matter most first, those left aside last."""
    source = column_of_feature(vectorizer, table)
    kinds = {} if vectorizer is None else vectorizer.column_to_kind_
    names = _names(table, vectorizer)
    importance: dict[int, float | None] = dict.fromkeys(np.unique(source).tolist())
    if model is not None:
        importance.update(column_importance(model, features, source))
    found = [
        ColumnReading(str(name), _kind(table[name], kinds.get(name)), "", importance[k])
        if k in importance
        else ColumnReading(str(name), "", _why(table[name], name in names))
        for k, name in enumerate(table.columns)
    ]
    return tuple(sorted(found, key=lambda one: -1.0 if one.importance is None else one.importance,
                        reverse=True))  # fmt: skip


def column_importance(model: TableModel, features: Floats, source: Integers) -> dict[int, float]:
    """How much of the probability moves, on average, when a column is exchanged among rows."""
    random = np.random.RandomState(0)
    columns = np.unique(source)
    n_rows = int(np.clip(ROWS_IN_ALL // max(1, len(columns)), FEWEST_ROWS, MOST_ROWS))
    rows = random.permutation(len(features))[:n_rows]
    found = {}
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        before = model.probability(features[rows])
        for k in columns.tolist():
            changed, own = features[rows].copy(), source == k
            changed[:, own] = changed[random.permutation(len(rows))][:, own]
            moved = np.abs(model.probability(changed) - before).sum(axis=1) / 2
            found[k] = float(moved.mean())
    return found


def _kind(column: Any, kind: str | None) -> str:
    from pandas.api.types import is_bool_dtype

    return CATEGORY if is_bool_dtype(column) else KINDS.get(str(kind), TEXT)


def _names(table: Any, vectorizer: Any) -> list[str]:
    """Columns that were left aside as names of rows."""
    if vectorizer is None:
        return names_of_rows(table)
    return [name for _, names in vectorizer.specific_transformers for name in names]


def _why(column: Any, is_name: bool) -> str:
    if is_name:
        return "another word in every row, like a name"
    if column.nunique(dropna=False) == 1 and column.notna().any():
        return "the same in every row"
    return "empty"  # also of words that say so, such as N/A
