"""Whether the first line of a table has the names of its columns, or is a row like the others.

Each column may speak for one or the other: its first cell is compared with the cells below. One
column that speaks for names settles it. A row is only called so on two signs, since names are odd
at times: years over numbers, or a category called like one of its values.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rboost._typing import Integers
from rboost.table.cells import (
    LOOKS_LIKE_DATE,
    date_format,
    is_missing_word,
    number_style,
    read_dates,
)
from rboost.table.delimited import reprs

# Cells that are looked at: of this many rows, fewer of a wide table. Fewer rows say too little.
MOST_ROWS, MOST_CELLS, FEWEST_ROWS = 1000, 10**6, 10
# A column that has no other cells than this share of them hardly has one in its first row.
HARDLY_ANY = 0.01
# The share of rows that may be headers again, where files were joined.
MOST_HEADERS = 0.1
# The share of numbers that may be far from those below them.
MOST_FAR = 0.1
# From how many words on a cell is a sentence, and up to how many it is a name.
SENTENCE, NAME = 5, 3
# Points for a row that are enough, and those of a cell that can only be a name.
ENOUGH, ONLY_A_NAME = 2, float("-inf")


@dataclass(frozen=True)
class _Cell:
    """The first cell of a column beside those below: what speaks for a row, and its number."""

    text: str
    points: float = 0
    value: float = np.nan
    recurs: bool = False
    is_far: bool = False  # from the numbers below


def check_header(header: Sequence[str], columns: Sequence[Any], path: Path) -> None:
    """Fail with one sentence if the names of columns look like a row."""
    cells = _first_cells(header, columns)
    numbers = [cell for cell in cells if not np.isnan(cell.value)]
    if sum(cell.points for cell in cells) + _points_of_numbers(numbers) >= ENOUGH:
        texts = dict.fromkeys(cell.text for cell in cells if cell.points or cell.recurs)
        raise ValueError(
            f"The first line of {path} looks like a row and not like names of columns, as "
            f"{reprs(list(texts), 3)} might stand below it; say --no-header if it is a row, "
            "--header if it has the names (in Python header=False or header=True)."
        )


def _first_cells(header: Sequence[str], columns: Sequence[Any]) -> list[_Cell]:
    n_rows = min(MOST_ROWS, max(MOST_CELLS // len(header), 100))
    first = [cell.strip() for cell in header]
    rows = zip(*(column.slice(0, n_rows).to_pylist() for column in columns), strict=True)
    stripped = [[(cell or "").strip() for cell in row] for row in rows]
    below = [row for row in stripped if row != first]
    if len(below) < (1 - MOST_HEADERS) * len(stripped):
        below = stripped
    if len(below) < FEWEST_ROWS:
        return []
    return [_look(*pair) for pair in zip(first, zip(*below, strict=True), strict=True)]


def _look(text: str, column: Sequence[str]) -> _Cell:
    counts = Counter(word for word in column if not is_missing_word(word))
    if is_missing_word(text) or counts.total() < FEWEST_ROWS:
        return _Cell(text)
    words, times = list(counts), np.array(list(counts.values()))
    style = number_style(words, times)
    if style is not None:
        numbers = style.read(words)
        value, low, high = float(style.read([text])[0]), np.nanmin(numbers), np.nanmax(numbers)
        if np.isnan(value):
            return _Cell(text, ONLY_A_NAME if _hardly_any(times[np.isnan(numbers)], times) else 0)
        is_far = not 2 * low - high <= value <= 2 * high - low
        return _Cell(text, 0, value, text in counts, is_far)
    return _Cell(text, _points_of_word(text, counts, words, times))


def _points_of_word(text: str, counts: Counter[str], words: list[str], times: Integers) -> float:
    """The points of the first cell of a column of categories, sentences, dates or names."""
    has_digits = np.array([re.search("[0-9]", word) is not None for word in words])
    if _hardly_any(times[~has_digits], times) and not re.search("[0-9]", text):
        return ONLY_A_NAME
    if LOOKS_LIKE_DATE.fullmatch(text) and _is_date(text, words, times):
        return ENOUGH
    if text in counts:
        return float(len(words) <= times.sum() / 2)
    if _hardly_any(times[times == 1], times):
        return ONLY_A_NAME
    if np.median([len(word.split()) for word in words]) <= NAME:
        return 0
    n_words = len(text.split())
    if n_words <= NAME:
        return ONLY_A_NAME
    return float(n_words >= SENTENCE and not text.endswith("?"))  # surveys ask in their headers


def _hardly_any(some: Integers, times: Integers) -> bool:
    return bool(some.sum() <= HARDLY_ANY * times.sum())


def _is_date(text: str, words: list[str], times: Integers) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whether day or month is first does not matter here
        how = date_format(words, times, "")
    return how is not None and bool(np.isfinite(read_dates([text], how)).all())


def _points_of_numbers(cells: list[_Cell]) -> float:
    """The points of numbers over numbers, which may be names: years, positions, wave lengths.

    Such names are no two alike, rise or fall, and are mostly of another size than what is below.
    """
    if not cells:
        return 0
    if np.mean([cell.is_far for cell in cells]) > MOST_FAR:
        return ONLY_A_NAME
    values = np.array([cell.value for cell in cells])
    recurs = np.array([cell.recurs for cell in cells])
    steps = np.diff(values)
    is_ordered = len(values) < 3 or (steps > 0).all() or (steps < 0).all()
    has_fractions = bool((values != np.round(values)).any())
    are_alike = len(set(values)) < len(values)
    if is_ordered or not recurs.any():
        return float(has_fractions)
    return ENOUGH if has_fractions or are_alike or recurs.mean() >= 0.5 else 0
