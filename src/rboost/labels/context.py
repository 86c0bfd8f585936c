"""Groups of rows from columns that say how labels came about: who gave them, where, when.

Words and numbers of few values are groups as they are; dates and numbers of many values are cut
into a few ranges; rows without a value are a group of their own. Groups of several columns are the
combinations of their values. Groups of very few rows are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._typing import Floats, Integers
from rboost.table.cells import ISO, read_dates
from rboost.table.columns import DATE, Column, as_text, named_columns, read_column

MISSING, OTHER = "(missing)", "(other)"
# Numbers and dates are cut into ranges, so many at most, where they have more than so many values,
# or fewer than so many rows a value.
MOST_RANGES, MOST_VALUES, ROWS_PER_VALUE = 6, 50, 30
# A group has at least so many rows, and there are at most so many groups.
FEWEST_ROWS, MOST_GROUPS = 10, 100
DAY = 86_400.0


@dataclass(frozen=True, eq=False)
class Groups:
    """The position of each row's group, −1 for rows of none, the groups' names, and of what."""

    position: Integers
    names: tuple[str, ...]
    column: str = "group"

    def __len__(self) -> int:
        return len(self.names)

    def followed_by(self, n_rows: int) -> Groups:
        """The same with further rows, which are of no group."""
        return Groups(np.append(self.position, np.full(n_rows, -1)), self.names, self.column)


def group_rows(context: Any, n_rows: int) -> Groups:
    """Divide rows into groups.

    Parameters
    ----------
    context : array-like of shape (n_rows,) or (n_rows, n_columns), frame or dict of columns
        Words, numbers, dates; any may be missing.
    n_rows : int
        How many rows there are.

    Returns
    -------
    groups : Groups
        The group of each row, and the names of groups, in order.
    """
    titled = _titled(context)
    titles = [title for title, _ in titled]
    coded = []
    for title, values in titled:
        column = _read(values, title)
        if len(column) != n_rows:
            raise ValueError(
                f"context has {len(column)} rows but X has {n_rows}; pass one entry a row."
            )
        coded.append(_coded(column))
    position = np.column_stack([codes for codes, _ in coded])
    present, place = np.unique(position, axis=0, return_inverse=True)
    names = [
        ", ".join(texts[k] for k, (_, texts) in zip(row, coded, strict=True)) for row in present
    ]
    return Groups(*_merged(place.ravel(), names, titles), ", ".join(titles))


def _titled(context: Any) -> list[tuple[str, Any]]:
    """The columns of a context with their names."""
    if isinstance(context, Mapping):
        found = [(str(title), values) for title, values in context.items()]
    elif _is_one_column(context):
        name = getattr(context, "name", None)
        found = [("group" if name is None else str(name), context)]
    else:
        found = named_columns(context) if np.prod(np.shape(context)[1:]) else []
    if not found:
        raise ValueError("context has no column; leave it out, or pass the group of each row.")
    return found


def _is_one_column(context: Any) -> bool:
    if isinstance(context, (list, tuple)):
        rows = (list, tuple, np.ndarray)
        lengths = {len(row) if isinstance(row, rows) else None for row in context}
        return len(lengths) != 1 or lengths == {None}
    if hasattr(context, "columns"):
        return False
    n_dimensions = len(getattr(context, "shape", ()))
    if n_dimensions > 2:
        raise ValueError(
            "context must be one column, or rows and columns, not an array of the shape "
            f"{context.shape}."
        )
    return n_dimensions < 2


def _read(values: Any, title: str) -> Column:
    try:
        return read_column(values, title)
    except TypeError as error:
        raise ValueError(f"context: {error}") from error


def _coded(column: Column) -> tuple[Integers, list[str]]:
    """The number of each row's value or range, and what these are called, in order."""
    values, is_date = column.numbers, column.holds == DATE
    if values is None and column.words:
        known = read_dates(column.words, ISO)
        if np.isfinite(known).all():
            values, is_date = column.of_words(known), True
    if values is None:
        assert column.codes is not None
        return _ordered(column.codes, column.words)
    return _cut(values, _times_in_words(values) if is_date else _range, is_date)


def _ordered(codes: Integers, texts: Sequence[str]) -> tuple[Integers, list[str]]:
    """Words in alphabetical order, those that are missing last."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts) + 1, dtype=np.intp)
    place[order] = np.arange(len(texts))
    place[-1] = len(texts)
    return place[codes], [*(texts[k] for k in order), MISSING]


def _cut(
    values: Floats, describe: Callable[[float, float], str], are_times: bool
) -> tuple[Integers, list[str]]:
    """Each value by itself, or ranges with as many rows each as possible; missing ones last."""
    known = np.isfinite(values)
    distinct = np.unique(values[known])
    few = min(MOST_VALUES, max(2, known.sum() // ROWS_PER_VALUE))
    if len(distinct) <= (MOST_RANGES if are_times else few):
        lows = highs = distinct
    else:
        shares = np.arange(MOST_RANGES) / MOST_RANGES
        lows = np.unique(np.quantile(values[known], shares, method="higher"))
        highs = np.append(distinct[np.searchsorted(distinct, lows[1:]) - 1], distinct[-1])
    codes = np.searchsorted(lows, values, side="right") - 1
    names = [describe(low, high) for low, high in zip(lows, highs, strict=True)]
    return np.where(known, codes, len(names)), [*names, MISSING]


def _range(low: float, high: float) -> str:
    first, last = (as_text(float(f"{value:.6g}")) for value in (low, high))
    return first if low == high else f"{first} to {last}"


def _times_in_words(values: Floats) -> Callable[[float, float], str]:
    """How to write ranges of times: as days, unless they all lie within two."""
    known = values[np.isfinite(values)]
    unit = "D" if not len(known) or np.ptp(known) >= 2 * DAY else "m"

    def describe(low: float, high: float) -> str:
        first, last = (
            str(np.datetime64(int(value // 1), "s").astype(f"datetime64[{unit}]"))
            for value in (low, high)
        )
        return first if first == last else f"{first} to {last}"

    return describe


def _merged(
    place: Integers, names: list[str], titles: list[str]
) -> tuple[Integers, tuple[str, ...]]:
    """Keep groups of enough rows, and put the others together."""
    counts = np.bincount(place, minlength=len(names))
    largest = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
    kept = np.sort(largest[counts[largest] >= FEWEST_ROWS])
    if not len(kept):
        raise ValueError(
            f"context ({', '.join(titles)}) divides the rows into groups of fewer than "
            f"{FEWEST_ROWS}; use columns whose values many rows share."
        )
    new_place = np.full(len(names), len(kept))
    new_place[kept] = np.arange(len(kept))
    found = [names[k] for k in kept] + ([OTHER] if len(kept) < len(names) else [])
    return new_place[place], tuple(found)
