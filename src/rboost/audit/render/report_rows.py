"""Suspects and rows without a label as the report shows them: every text short and harmless."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render.wording import one_line, shortened, visible

if TYPE_CHECKING:
    from rboost.audit.result import LabelAudit

# What is shown at most; the rest is in the list of suspects, which has no limit.
MOST_SUSPECTS, MOST_UNLABELLED = 500, 200
LONGEST_CELL, LONGEST_NAME = 200, 60
# Bytes that the values of all rows may take together, and what the markup of one takes.
MOST_BYTES, MARKUP_BYTES = 1_000_000, 30


@dataclass(frozen=True)
class Cell:
    """A column and the value that a row has in it."""

    column: str
    value: str


@dataclass(frozen=True)
class ReasonShown:
    """A column that speaks against a label: its value, and what rows with that label have."""

    column: str
    value: str
    typical: str


@dataclass(frozen=True)
class RowShown:
    """A row of the report; ``n_left_out`` columns found no room."""

    name: str
    given: str
    suggested: str
    probability_wrong: float
    probability_suggested: float
    reasons: tuple[ReasonShown, ...]
    agreeing: tuple[str, ...]
    cells: tuple[Cell, ...]
    n_left_out: int


def suspects_shown(audit: LabelAudit, suspects: Suspects) -> list[RowShown]:
    """The suspects, most suspicious first, with reasons and values; at most 500."""
    rows = suspects.rows[:MOST_SUSPECTS]
    room = MOST_BYTES // max(1, len(rows))
    return [_shown(audit, one, room) for one in audit.explain_all(rows)]


def unlabelled_shown(audit: LabelAudit) -> list[RowShown]:
    """Rows without a label, the surest suggestion first; at most 200."""
    rows = audit.missing()
    sure = audit.inference.posterior[rows].max(axis=1)
    rows = rows[(-sure).argsort(kind="stable")[:MOST_UNLABELLED]]
    return [_shown(audit, one, 0) for one in audit.explain_all(rows)]


def _shown(audit: LabelAudit, explanation: Explanation, room: int) -> RowShown:
    cells = _cells(audit.table, explanation.row, room)
    return RowShown(
        one_line(audit.ids[explanation.row], LONGEST_NAME),
        one_line(explanation.given, LONGEST_NAME),
        one_line(explanation.suggested, LONGEST_NAME),
        explanation.probability_wrong,
        explanation.probability_suggested,
        tuple(
            ReasonShown(
                one_line(reason.column, LONGEST_NAME),
                one_line(reason.value, LONGEST_NAME),
                one_line(reason.typical, LONGEST_NAME),
            )
            for reason in explanation.reasons
        ),
        tuple(one_line(audit.ids[row], LONGEST_NAME) for row in explanation.agreeing),
        cells,
        audit.table.shape[1] - len(cells),
    )


def _cells(table: Any, row: int, room: int) -> tuple[Cell, ...]:
    """The values of a row, column by column, as long as there is room for them."""
    cells: list[Cell] = []
    for k, column in enumerate(table.columns):
        # One by one, as a whole row would turn whole numbers into fractions.
        value = visible(shortened(table.iat[row, k], LONGEST_CELL))
        cell = Cell(one_line(column, LONGEST_NAME), value)
        room -= len(escape(cell.column + cell.value).encode()) + MARKUP_BYTES
        if room < 0:
            break
        cells.append(cell)
    return tuple(cells)
