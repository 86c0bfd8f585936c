"""Suspects and rows without a label as the report shows them: every text short and harmless."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from rboost.audit.insight.explanation import Explanation
from rboost.audit.render.wording import one_line, shortened, visible

LONGEST_CELL, LONGEST_NAME = 200, 60
# Bytes that the markup of one value takes.
MARKUP_BYTES = 30


@dataclass(frozen=True)
class RowShown:
    """A row of the report: names of it and of rows like it, and its values by their columns.

    ``n_left_out`` columns found no room.
    """

    name: Any
    explanation: Explanation
    agreeing: tuple[Any, ...]
    cells: tuple[tuple[str, str], ...]
    n_left_out: int


def show_rows(explanations: list[Explanation], table: Any, ids: Any, room: int) -> list[RowShown]:
    """The rows with their values, of which each takes at most ``room`` bytes."""
    shown = []
    for one in explanations:
        cells = _cells(table, one.row, room)
        agreeing = tuple(ids[row] for row in one.agreeing)
        shown.append(RowShown(ids[one.row], one, agreeing, cells, table.shape[1] - len(cells)))
    return shown


def _cells(table: Any, row: int, room: int) -> tuple[tuple[str, str], ...]:
    """The values of a row, column by column, as long as there is room for them."""
    cells: list[tuple[str, str]] = []
    for k, column in enumerate(table.columns):
        # One by one, as a whole row would turn whole numbers into fractions.
        value = visible(shortened(table.iat[row, k], LONGEST_CELL))
        name = one_line(column, LONGEST_NAME)
        room -= len(escape(name + value).encode()) + MARKUP_BYTES
        if room < 0:
            break
        cells.append((name, value))
    return tuple(cells)
