"""Columns: how each was read, how much it matters, in which of its values labels are wrong.

The importance of a column is a permutation importance: the share of the probability that moves to
other classes when its values are exchanged among rows, averaged over rows. It is measured on
the rows that the model was fitted to: it says what the model uses, not what is true.
Wrong labels concentrate in segments: values or ranges of a single column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.audit.fit import TableModel, used_columns, why_unused
from rboost.audit.insight.likeness import relevance
from rboost.audit.insight.usual import value_in_words
from rboost.audit.wording import format_value
from rboost.native.threads import one_blas_thread
from rboost.table.columns import CATEGORY, DATE, NAME, NUMBER, TEXT
from rboost.table.features import ColumnEncoder, Features, standardized

# Rows that are scored in all, and of each column at least and at most.
ROWS_IN_ALL, FEWEST_SCORED, MOST_SCORED = 20_000, 20, 300
# Columns whose importance is measured, those first that are expected to matter most: as many as
# keep their number times that of all columns below this, as time is in proportion to both. Rows
# that tell which these are, where the model does not.
MOST_MEASURED, MOST_TOLD = 500_000, 2000
# The fewest rows of a segment; the most ranges and values of a column.
FEWEST_ROWS, MOST_RANGES, MOST_VALUES = 20, 5, 20
# Significance cutoff of the difference in rates between a segment and all other rows, in standard
# errors: about the maximum of a thousand segments without any difference.
STANDARD_ERRORS = 3.5
# A segment must also have this many wrong labels, this share of its rows wrong, and this ratio of
# that to the share of other rows.
FEWEST_WRONG, LEAST_RATE, LEAST_RATIO = 1.0, 0.01, 1.5


@dataclass(frozen=True)
class ColumnReading:
    """What a column was taken for; ``why`` says why it was left aside, where it was.

    ``importance`` is None where there is no model, where the column was left aside, and for most
    columns of a wide table, for which it is not measured.
    """

    name: str
    kind: str
    why: str = ""
    importance: float | None = None


def read_columns(features: Features, model: TableModel | None) -> tuple[ColumnReading, ...]:
    """All columns of the table, those that matter most first, those left aside last."""
    columns, used = features.encoder.columns, used_columns(features)
    importance = {} if model is None else column_importance(model, features, used)
    found = [
        ColumnReading(own.name, CATEGORY if own.is_truth else own.kind, "", importance.get(k))
        if k in used
        else ColumnReading(own.name, "", why_unused(own))
        for k, own in enumerate(columns)
    ]
    # The order is that of the table where nothing is measured.
    found.sort(key=lambda one: (bool(one.why), one.importance is None, -(one.importance or 0)))
    return tuple(found)


def column_importance(
    model: TableModel, features: Features, columns: list[int]
) -> dict[int, float]:
    """How much of the probability moves, on average, when a column is exchanged among rows.

    Of wide tables it is measured for some columns alone.
    """
    found = {}
    most = max(1, MOST_MEASURED // len(features.encoder.columns))
    if len(columns) > most:
        worth = _expected_importance(model, features, columns)
        columns = [columns[i] for i in np.argsort(-worth, kind="stable")[:most]]
    random = np.random.RandomState(0)
    n_rows = int(np.clip(ROWS_IN_ALL // max(1, len(columns)), FEWEST_SCORED, MOST_SCORED))
    rows = random.permutation(len(features))[:n_rows]
    with one_blas_thread():
        before = model.probability(features[rows])
        for k in columns:
            others = random.permutation(rows)
            changed = features.exchanged(rows, others, np.full(len(rows), k))
            moved = np.abs(model.probability(changed) - before).sum(axis=1) / 2
            found[k] = float(moved.mean())
    return found


def _expected_importance(model: TableModel, features: Features, columns: list[int]) -> Floats:
    """The importances that the scorer has, or how relevant columns are for its predictions."""
    by_model = getattr(model.scorer, "feature_importances_", np.ones(0))
    if len(by_model) == len(columns):  # it was fitted to these
        return np.asarray(by_model)
    some = features[np.random.RandomState(0).permutation(len(features))[:MOST_TOLD]].only(columns)
    predicted = model.probability(some).argmax(axis=1)
    return relevance(standardized(some.dense), some.encoder.source("dense"), predicted)


@dataclass(frozen=True)
class Segment:
    """Rows with a value, or values in a range, of one column."""

    column: str
    values: str
    n_rows: int
    expected_wrong: float
    other_rate: float

    @property
    def rate(self) -> float:
        """The expected share of wrong labels among its rows."""
        return self.expected_wrong / self.n_rows


def find_segments(
    features: Features, issue_probability: Floats, most: int = 10
) -> tuple[Segment, ...]:
    """The segments with the most wrong labels beyond what other rows have, at most ``most``."""
    known = np.isfinite(issue_probability)
    wrong = issue_probability[known]
    found: list[tuple[float, Segment]] = []
    for place, own in enumerate(features.encoder.columns):
        for values, members in _parts(own, features.values[known, place]):
            n_rows = int(members.sum())
            if not FEWEST_ROWS <= n_rows <= len(wrong) - FEWEST_ROWS:
                continue
            inside, outside = wrong[members], wrong[~members]
            error = np.sqrt(inside.var() / n_rows + outside.var() / len(outside))
            difference = float(inside.mean() - outside.mean())
            segment = Segment(own.name, values, n_rows, float(inside.sum()), float(outside.mean()))
            if difference > STANDARD_ERRORS * error and _matters(segment):
                found.append((difference * n_rows, segment))
    found.sort(key=lambda entry: -entry[0])
    return tuple(segment for _, segment in found[:most])


def _matters(segment: Segment) -> bool:
    least = max(LEAST_RATE, LEAST_RATIO * segment.other_rate)
    return segment.rate >= least and segment.expected_wrong >= FEWEST_WRONG


def _parts(own: ColumnEncoder, values: Floats) -> list[tuple[str, NDArray[np.bool_]]]:
    """The ranges or frequent values of a column, in words, each with its rows."""
    missing = np.isnan(values)
    distinct, counts = np.unique(values[~missing], return_counts=True)
    parts = [("missing", missing)] if missing.any() and own.kind not in (NAME, TEXT) else []
    if own.kind in (NUMBER, DATE) and len(distinct) > MOST_RANGES:
        # Edges are values that occur, as they are named.
        shares = np.linspace(0, 1, MOST_RANGES + 1)
        edges = np.unique(np.nanquantile(values, shares, method="lower"))
        for k, (low, high) in enumerate(pairwise(edges)):
            is_last = k == len(edges) - 2
            members = (values >= low) & ((values <= high) if is_last else (values < high))
            # The next range begins with this edge, so what is named is what occurs.
            ends = [values[members].min(), values[members].max()]
            words = [value_in_words(own, end) if own.kind == DATE else format_value(end)
                     for end in ends]  # fmt: skip
            parts.append((" to ".join(dict.fromkeys(words)), members))
        return parts
    if own.kind in (NUMBER, DATE, CATEGORY):
        for k in np.argsort(-counts, kind="stable")[:MOST_VALUES]:
            if counts[k] >= FEWEST_ROWS:
                parts.append((value_in_words(own, distinct[k]), values == distinct[k]))
    return parts
