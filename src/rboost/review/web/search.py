"""Rows that hold a text, and rows that are like another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.audit import LabelAudit
from rboost.review.web.rows import LONGEST_BESIDE, Json, cell, name_of, position

MOST_FOUND = 20
# Characters shown on either side of what was found.
AROUND = 40


def find(audit: LabelAudit, text: str) -> Json:
    """Rows whose id is the text, contains it, or whose cells do; case does not matter."""
    wanted = text.casefold()
    matches: dict[int, tuple[str, str]] = {}
    names = _texts(audit.ids)
    # What equals the text comes first; the order is kept otherwise.
    for row, name in sorted(names, key=lambda each: each[1].casefold() != wanted):
        if wanted in name.casefold():
            matches[row] = audit.id_name, name
    for k, column in enumerate(audit.table.columns):
        for row, value in _texts(audit.table.iloc[:, k]):
            if row not in matches and wanted in value.casefold():
                matches[row] = str(column), value
    first = list(matches.items())[:MOST_FOUND]
    found = [
        {
            "row": row,
            "id": name_of(audit, row),
            "given": position(audit.labels.given[row]),
            "column": column[:LONGEST_BESIDE],
            "snippet": _snippet(value, wanted),
        }
        for row, (column, value) in first
    ]
    return {"found": found, "total": len(matches)}


def _texts(values: Iterable[Any]) -> list[tuple[int, str]]:
    """Every value as the page shows it."""
    shown = [(row, cell(value, longest=2**31)) for row, value in enumerate(values)]
    return [(row, found["text"]) for row, found in shown if found is not None]


def _snippet(text: str, wanted: str) -> str:
    """The part of a text around what was found."""
    place = max(text.casefold().find(wanted), 0)
    start, end = max(place - AROUND, 0), place + len(wanted) + AROUND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def similar(
    live: LabelAudit,
    points: Floats,
    row: int,
    answered: Iterable[int],
    count: int,
    is_opinion_shown: bool,
) -> list[int]:
    """The nearest rows with the same given label that nobody has looked at.

    Distances are those of ``points``, one a row. Where the opinion is shown the suggestion is the
    same as well; else the choice would tell it.
    """
    labels = live.labels
    is_alike = (labels.given == labels.given[row]) & ~labels.is_checked
    if is_opinion_shown:
        is_alike &= live.suggested == live.suggested[row]
    is_alike[[row, *answered]] = False
    rows = np.flatnonzero(is_alike)
    distance = np.square(points[rows] - points[row]).sum(axis=1)
    return list(rows[np.argsort(distance, kind="stable")[:count]].tolist())
