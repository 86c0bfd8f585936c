"""What the page asks and tells, route by route: plain dictionaries in and out."""

from __future__ import annotations

import uuid
from dataclasses import asdict

from rboost.review.queue import ORDERS
from rboost.review.session import Review
from rboost.review.store import CHANGE, KEEP, UNSURE, Answer
from rboost.review.web.rows import (
    Json,
    cell,
    describe_neighbours,
    describe_opinion,
    describe_row,
    describe_suggestion,
    name_of,
    position,
    reveals_nothing,
)

DEFAULT_ORDER = next(iter(ORDERS))
# Answers that are listed, and rows that one question may leave out.
MOST_LISTED, MOST_SKIPPED = 200, 1000


class ReviewApi:
    """Each method answers one route; what it returns becomes JSON.

    Mistakes of who asks are ValueErrors, rows that do not exist LookupErrors.
    """

    def __init__(self, review: Review) -> None:
        self.review = review

    def about(self, query: Json) -> Json:
        """What never changes while the page is open."""
        audit = self.review.snapshot.fitted
        return {
            "classes": [cell(name, 200) for name in audit.classes],
            "columns": [str(column)[:200] for column in audit.table.columns],
            "id_name": audit.id_name[:200],
            "label_name": audit.labels.name[:200],
            "n_rows": len(audit),
            "orders": list(ORDERS),
            "checked_csv": str(self.review.checked_csv),
        }

    def next(self, query: Json) -> Json:
        """The row to look at next."""
        skipped = query.get("skip", "").split(",") if query.get("skip") else []
        if len(skipped) > MOST_SKIPPED or not all(map(_is_digits, skipped)):
            raise ValueError(f"skip must hold at most {MOST_SKIPPED} positions, with commas.")
        row = self.review.next_row(query.get("order", DEFAULT_ORDER), set(map(int, skipped)))
        return {"row": None} if row is None else {"row": self._row(row, query)}

    def row(self, query: Json) -> Json:
        """A row, answered or not."""
        if not _is_digits(query["row"]):
            raise LookupError("There is no such row.")
        row = int(query["row"])
        self.review.check_row(row)
        return {"row": self._row(row, query)}

    def _row(self, row: int, query: Json) -> Json:
        """The row without the model's opinion, unless that is asked for by ``opinion=1``."""
        snapshot, explanation = self.review.snapshot, self.review.explain(row)
        present = self.review.store.log().current.get(row)
        details = describe_row(snapshot.live, row)
        details["present"] = self._answer(present) if present else None
        is_asked = query.get("opinion") == "1"
        if is_asked or reveals_nothing(snapshot.live, row):
            details["neighbours"] = describe_neighbours(snapshot.live, explanation)
        if is_asked:
            details["opinion"] = describe_opinion(snapshot.live, explanation)
        return details

    def _answer(self, answer: Answer) -> Json:
        audit = self.review.snapshot.fitted
        given = position(audit.labels.given[answer.row])
        return {**asdict(answer), "id": name_of(audit, answer.row), "given": given}

    def answers(self, query: Json) -> Json:
        """The latest answers, the last first, and all rows that a person was unsure of."""
        current = list(self.review.store.log().current.values())[::-1]
        unsure = [answer for answer in current if answer.answer == UNSURE]
        return {
            "answers": [self._answer(answer) for answer in current[:MOST_LISTED]],
            "unsure": [self._answer(answer) for answer in unsure[:MOST_LISTED]],
            "total": len(current),
        }

    def progress(self, query: Json) -> Json:
        """What was answered, what follows from it, and how a new fit goes."""
        review, log = self.review, self.review.store.log()
        if log.version != review.snapshot.version:
            review.updating.ask()  # another process may have written
        kinds = [answer.answer for answer in log.current.values()]
        snapshot, job = review.snapshot, review.refit_job
        return {
            "version": log.version,
            "answered": len(kinds),
            "confirmed": kinds.count(KEEP),
            "corrected": kinds.count(CHANGE),
            "unsure": kinds.count(UNSURE),
            "open": len(snapshot.rankings[DEFAULT_ORDER]),
            "without_label": len(snapshot.live.missing()),
            "start": review.start,
            "now": asdict(snapshot.estimate),
            "is_current": snapshot.version == log.version,
            "problem": review.updating.error,
            "refit": {
                "state": job.status,
                "error": job.error,
                "changes": asdict(job.result) if job.result else None,
            },
        }

    def answer(self, content: Json) -> Json:
        """Save what a person said; what the model thought follows in the reply."""
        row, answer = _whole(content, "row"), content.get("answer")
        if not isinstance(answer, str):
            raise ValueError("answer must be keep, change or unsure.")
        label = _whole_or_none(content, "label")
        expects = _whole_or_none(content, "expects")
        before = self.review.snapshot.live
        saved = self.review.answer(_key(content), row, answer, label, expects)
        opinion = describe_suggestion(before, row)
        return {"saved": self._answer(saved), "opinion": opinion}

    def undo(self, content: Json) -> Json:
        """Take back an answer; the reply says which."""
        number = _whole_or_none(content, "number")
        return {"undone": self._answer(self.review.undo(_key(content), number))}

    def refit(self, content: Json) -> Json:
        """Begin to fit the model again."""
        self.review.refit()
        return {"state": "running"}

    def export(self, query: Json) -> bytes:
        """checked.csv, written to the folder and sent."""
        return self.review.export().read_bytes()


def _whole_or_none(content: Json, name: str) -> int | None:
    return None if content.get(name) is None else _whole(content, name)


def _whole(content: Json, name: str) -> int:
    """A whole number of the content that a database can hold."""
    value = content.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**63:
        raise ValueError(f"{name} must be a whole number.")
    return value


def _key(content: Json) -> str:
    """The name of a request, by which a second try is known."""
    try:
        return str(uuid.UUID(content.get("key")))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError("key must be a UUID.") from error


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19
