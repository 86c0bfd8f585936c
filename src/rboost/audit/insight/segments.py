"""Where wrong labels concentrate: values or ranges of single columns with many of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.audit.insight.usual import value_in_words
from rboost.audit.wording import format_value
from rboost.table.columns import CATEGORY, DATE, NAME, NUMBER, TEXT
from rboost.table.features import ColumnEncoder, Features

# The fewest rows of a segment, and the most ranges or values of a column.
FEWEST_ROWS, MOST_RANGES, MOST_VALUES = 20, 5, 20
# It is named when its rate lies this many standard errors above that of the other rows: about what
# the largest of a thousand segments without any difference reaches.
STANDARD_ERRORS = 3.5
# And when it matters: the fewest wrong labels, the lowest share of its rows, and the lowest ratio
# to the share elsewhere.
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


def find_segments(
    features: Features | None, issue_probability: Floats, most: int = 10
) -> tuple[Segment, ...]:
    """The segments with the most wrong labels beyond what other rows have, at most ``most``."""
    known = np.isfinite(issue_probability)
    wrong = issue_probability[known]
    found: list[tuple[float, Segment]] = []
    for place, own in enumerate([] if features is None else features.encoder.columns):
        assert features is not None
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
    least = max(LEAST_RATE, TIMES * segment.other_rate)
    return segment.rate >= least and segment.expected_wrong >= FEWEST_WRONG


def _parts(own: ColumnEncoder, values: Floats) -> list[tuple[str, NDArray[np.bool_]]]:
    """The ranges or frequent values of a column, in words, each with its rows."""
    missing = np.isnan(values)
    distinct, counts = np.unique(values[~missing], return_counts=True)
    parts = [("missing", missing)] if missing.any() and own.kind not in (NAME, TEXT) else []
    if own.kind in (NUMBER, DATE) and len(distinct) > MOST_RANGES:
        # Edges are values of the column: between infinite ones nothing can be interpolated.
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
