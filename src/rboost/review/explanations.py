"""Explanations of rows, some of them made before anybody asks."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from rboost.audit import Explanation, LabelAudit


class Explanations:
    """What one audit after the other says of its rows.

    One row is explained at a time; a person who waits comes before rows that are made ahead.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._n_waiting = 0
        self._is_busy = False
        self._audit: LabelAudit | None = None
        self._known: dict[int, Explanation] = {}

    def of(self, audit: LabelAudit, row: int, seconds: float | None = None) -> Explanation | None:
        """Why the model of an audit doubts a row; None if that cannot be begun in time."""
        found = self._known_of(audit).get(row)
        if found is not None:
            return found
        if seconds is not None and seconds <= 0:
            return None
        with self._turn:
            self._n_waiting += 1
            is_free = self._turn.wait_for(lambda: not self._is_busy, seconds)
            self._n_waiting -= 1
            if not is_free:
                self._turn.notify_all()  # for those that let this one go first
                return None
            self._is_busy = True
        return self._make(audit, row)

    def make_ahead(self, audit: LabelAudit, rows: Iterable[int]) -> None:
        """Explain rows that will soon be asked for."""
        for row in rows:
            if row in self._known_of(audit):
                continue
            with self._turn:
                self._turn.wait_for(lambda: not self._is_busy and not self._n_waiting)
                self._is_busy = True
            self._make(audit, row)

    def _make(self, audit: LabelAudit, row: int) -> Explanation:
        try:
            found = self._known_of(audit)[row] = audit.explain(row)
            return found
        finally:
            with self._turn:
                self._is_busy = False
                self._turn.notify_all()

    def _known_of(self, audit: LabelAudit) -> dict[int, Explanation]:
        with self._turn:
            if audit is not self._audit:
                self._audit, self._known = audit, {}
            return self._known
