"""Where wrong labels concentrate: values or ranges of single columns with many of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.audit.wording import format_value

# A segment has at least this many rows, and is one of so many ranges or values of its column.
FEWEST_ROWS, MOST_RANGES, MOST_VALUES = 20, 5, 20
# It is named when its rate lies this many standard errors above that of the other rows: about what
# the largest of a thousand segments without any difference reaches.
STANDARD_ERRORS = 3.5
# And when it matters: so many wrong labels at least, such a share of its rows, so many times as
# many as elsewhere.
FEWEST_WRONG, LEAST_RATE, TIMES = 1.0, 0.01, 1.5


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


def find_segments(table: Any, issue_probability: Floats, most: int = 10) -> tuple[Segment, ...]:
    """The segments with the most wrong labels beyond what other rows have, at most ``most``."""
    known = np.isfinite(issue_probability)
    wrong = issue_probability[known]
    found: list[tuple[float, Segment]] = []
    for column in table.columns:
        for values, members in _parts(table[column][known]):
            n_rows = int(members.sum())
            if not FEWEST_ROWS <= n_rows <= len(wrong) - FEWEST_ROWS:
                continue
            inside, outside = wrong[members], wrong[~members]
            error = np.sqrt(inside.var() / n_rows + outside.var() / len(outside))
            difference = float(inside.mean() - outside.mean())
            segment = Segment(
                str(column), values, n_rows, float(inside.sum()), float(outside.mean())
            )
            if difference > STANDARD_ERRORS * error and _matters(segment):
                found.append((difference * n_rows, segment))
    found.sort(key=lambda entry: -entry[0])
    return tuple(segment for _, segment in found[:most])


def _matters(segment: Segment) -> bool:
    least = max(LEAST_RATE, TIMES * segment.other_rate)
    return segment.rate >= least and segment.expected_wrong >= FEWEST_WRONG


def _parts(column: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """The ranges or frequent values of a column, in words, each with its rows."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    missing = column.isna().to_numpy()
    parts = [("missing", missing)] if missing.any() else []
    if is_numeric_dtype(column) and not is_bool_dtype(column) and column.nunique() > MOST_RANGES:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        # Edges are values of the column: between infinite ones nothing can be interpolated.
        shares = np.linspace(0, 1, MOST_RANGES + 1)
        edges = np.unique(np.nanquantile(values, shares, method="lower"))
        for k, (low, high) in enumerate(pairwise(edges)):
            is_last = k == len(edges) - 2
            members = (values >= low) & ((values <= high) if is_last else (values < high))
            # The next range begins with this edge, so what is named is what occurs.
            ends = values[members].min(), values[members].max()
            parts.append((" to ".join(dict.fromkeys(map(format_value, ends))), members))
        return parts
    frequent = column.value_counts().head(MOST_VALUES)
    if len(frequent) and frequent.iloc[0] >= FEWEST_ROWS:
        parts += [(str(value), (column == value).to_numpy(dtype=bool, na_value=False))
                  for value, count in frequent.items() if count >= FEWEST_ROWS]  # fmt: skip
    return parts
