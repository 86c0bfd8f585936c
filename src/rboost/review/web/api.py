"""What the page asks and tells, route by route: plain dictionaries in and out."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from rboost.audit.disk.folder import CHECKED
from rboost.review.answers import CHANGE, KEEP, UNSURE, Answer, Log, agreement
from rboost.review.folder import write_checked
from rboost.review.precision import FEWEST_ANSWERS, N_NEXT
from rboost.review.queue import DEFAULT_ORDER, SECOND
from rboost.review.session import Review
from rboost.review.snapshot import Json
from rboost.review.web import content as read
from rboost.review.web import rows as show
from rboost.review.web.images import display_of, read_image

# Answers that are listed, and disagreements.
MOST_LISTED, MOST_DISPUTED = 200, 50
# What a row is picked for whose answer is doubtful, and what stands above it.
LOOK_AGAIN = "again"
AGAIN = "Please look again: the answer that this row has may be a mistake."


class ReviewApi:
    """Each method answers one route; what it returns becomes JSON.

    Mistakes of who asks are ValueErrors, rows that do not exist LookupErrors.
    """

    def __init__(self, review: Review) -> None:
        self.review = review
        table = review.snapshot.fitted.table  # a new fit is of the same one
        # Cells of a column are found ten times as fast as those of the frame, and keep their type.
        self._columns = [table.iloc[:, k].array for k in range(table.shape[1])]

    def about(self, query: Json) -> Json:
        """What never changes while the page is open."""
        audit = self.review.snapshot.fitted
        return {
            "classes": [show.cell(name, 200) for name in audit.classes],
            "columns": [str(column)[:200] for column in audit.table.columns],
            "constant": [
                k for k, own in enumerate(audit.features.encoder.columns) if own.is_constant
            ],
            "kinds": self._kinds,
            "id_name": audit.id_name[:200],
            "label_name": audit.labels.name[:200],
            # The folders of the machine are not the reviewers' business.
            "checked_csv": CHECKED if self._is_shared else str(self.review.checked_csv),
            "is_blind": self.review.blind,
            "reviewer": read.reviewer(query) if self._is_shared else None,
        }

    @property
    def _is_shared(self) -> bool:
        """Whether several reviewers are served, so that ``reviewer`` says whose secret it is."""
        return self.review.team is not None

    def _unseen(self, reviewer: str) -> set[int]:
        """Rows of a shared review of which this reviewer must not see what others say of them."""
        log = self.review.store.log()
        return set(log.current) - set(log.own(reviewer)) if self._is_shared else set()

    @cached_property
    def _kinds(self) -> list[str]:
        kinds = [display_of(column, self.review.images_root) for column in self._columns]
        for k in self.review.snapshot.fitted.features.texts:
            if kinds[k] != "image":
                kinds[k] = "text"
        return kinds

    def next(self, query: Json) -> Json:
        """The rows to look at next."""
        order = query.get("order") or DEFAULT_ORDER
        rows = self.review.next_rows(
            order,
            read.count(query, 1, read.MOST_DESCRIBED),
            read.number(query, "given"),
            read.number(query, "suggested"),
            read.reviewer(query),
            read.skipped(query),
            query.get("fit", ""),
        )
        unseen = self._unseen(read.reviewer(query))
        why = {row: self.review.why(SECOND if row in unseen else order, row) for row in rows}
        described = self._described(rows, query)
        for details in described:
            # Why a row was picked tells part of what the model thinks, as its opinion does.
            if _is_opinion_asked(query) or order == SECOND:
                details["why"] = LOOK_AGAIN if "sentence" in details else why[details["row"]]
        return {"rows": described}

    def row(self, query: Json) -> Json:
        """A row, answered or not."""
        [row] = self._described([self._asked_row(query)], query)
        return {"row": row}

    def _asked_row(self, query: Json) -> int:
        if not read.is_digits(query.get("row", "")):
            raise LookupError("There is no such row.")
        row = int(query["row"])
        self.review.check_row(row)
        return row

    def _described(self, rows: list[int], query: Json) -> list[Json]:
        """Rows without the model's opinion, unless that is asked for by ``opinion=1``.

        It is ``pending`` as long as the first explanations are being made, which nobody waits for.
        """
        live, log = self.review.snapshot.live, self.review.store.log()
        reviewer, is_asked = read.reviewer(query), _is_opinion_asked(query)
        unseen = self._unseen(reviewer)
        explained = [
            row
            for row in rows
            if row not in unseen and (is_asked or show.reveals_nothing(live, row))
        ]
        is_pending = self.review.explaining.status == "running"
        found = [] if is_pending else zip(explained, self.review.explain(explained), strict=True)
        explanations = dict(found)
        doubtful = log.unconfirmed(self.review.snapshot.doubtful)
        described = []
        for row in rows:
            present = log.own(reviewer).get(row)
            others = [each for each in log.of_row(row) if each.reviewer != reviewer]
            details = show.describe_row(live, self._columns, row)
            details["present"] = self.describe(present) if present else None
            details["others"] = [self.describe(each) for each in others] if present else []
            if present or not self.review.blind:
                details["votes"] = show.describe_votes(live, row)
            if row in unseen:  # the model has learnt the answer of somebody else
                details["independent"] = True
            elif row in doubtful:
                details["sentence"] = AGAIN
            details["pending"] = is_pending and row in explained
            if row in explanations:
                why = explanations[row]
                details["neighbours"] = show.describe_neighbours(live, self._columns, why, unseen)
                if is_asked:
                    details["opinion"] = show.describe_opinion(live, row, why)
            described.append(details)
        return described

    def describe(self, answer: Answer) -> Json:
        """An answer, with the name and the given label of its row."""
        audit = self.review.snapshot.fitted
        details = asdict(answer)
        del details["action"]
        given = show.position(audit.labels.given[answer.row])
        return {**details, "id": show.name_of(audit, answer.row), "given": given}

    def find(self, query: Json) -> Json:
        """Rows that hold a text."""
        return show.find(self.review.snapshot.fitted, self._columns, read.search(query))

    def similar(self, query: Json) -> Json:
        """Rows that are like one, and that nobody has looked at."""
        row, snapshot = self._asked_row(query), self.review.snapshot
        answered = set(self.review.store.log().current)
        if self.review.team is not None:
            answered |= self.review.team.of_others(read.reviewer(query))
        count = read.count(query, 12, read.MOST_SIMILAR)
        is_shown = _is_opinion_asked(query) and row not in self._unseen(read.reviewer(query))
        points = snapshot.fitted.points
        rows = show.similar(snapshot.live, self._columns, points, row, answered, count, is_shown)
        return {"rows": rows}

    def image(self, query: Json) -> tuple[bytes, str]:
        """The image that a cell names, and its kind."""
        row, table = self._asked_row(query), self.review.snapshot.fitted.table
        column = read.number(query, "column")
        if column is None or column >= table.shape[1]:
            raise LookupError("There is no such column.")
        return read_image(self.review.images_root, str(table.iat[row, column]))

    def answers(self, query: Json) -> Json:
        """The latest answers, the last first, and all rows that a person was unsure of.

        In a shared review they are the reviewer's own, so that second opinions are independent.
        """
        log = self.review.store.log()
        standing = log.own(read.reviewer(query)) if self._is_shared else log.current
        current = list(standing.values())[::-1]
        unsure = [answer for answer in current if answer.answer == UNSURE]
        return {
            "answers": [self.describe(answer) for answer in current[:MOST_LISTED]],
            "unsure": [self.describe(answer) for answer in unsure[:MOST_LISTED]],
        }

    def progress(self, query: Json) -> Json:
        """What was answered, what follows from it, and how a new fit goes."""
        review, log = self.review, self.review.store.log()
        if log.version != review.snapshot.version and review.updating.status != "running":
            review.updating.ask()  # another process may have written
        kinds = [answer.answer for answer in log.current.values()]
        snapshot, job = review.snapshot, review.refit_job
        is_before = snapshot.fitted.labels.is_checked
        is_before[list(log.touched)] = False
        unseen = self._unseen(read.reviewer(query))
        doubtful = [row for row in log.unconfirmed(snapshot.doubtful) if row not in unseen]
        return {
            "version": log.version,
            "answered": len(kinds),
            "confirmed": kinds.count(KEEP),
            "corrected": kinds.count(CHANGE),
            "unsure": kinds.count(UNSURE),
            "open": int(len(is_before) - is_before.sum() - len(kinds)),
            "without_label": len(snapshot.live.missing()),
            "reviewers": [
                {"name": name, "answered": len(own)} for name, own in log.by_reviewer.items()
            ],
            "agreement": self._agreement(log, unseen),
            "doubtful": self._answers_to(log, doubtful),
            "until": review.until,
            "is_enough": review.is_enough and snapshot.version == log.version,
            "fewest": FEWEST_ANSWERS,
            "n_next": N_NEXT,
            "forecast": review.forecasting.result,
            "start": review.start,
            "now": snapshot.estimate,
            "is_current": snapshot.version == log.version,
            "update_error": review.updating.error,
            "export_error": review.exporting.error,
            "refit": {
                "state": job.status,
                "error": job.error,
                "changes": job.result,
                "n_fits": job.n_done,
            },
        }

    def _agreement(self, log: Log, unseen: set[int]) -> Json | None:
        found = agreement(log)
        if found is None:
            return None
        return {
            "rows": found.n_rows,
            "agreed": found.n_agreed,
            "kappa": found.kappa,
            "disagreements": self._answers_to(
                log, [row for row in found.disagreements if row not in unseen]
            ),
        }

    def _answers_to(self, log: Log, rows: Iterable[int]) -> list[Json]:
        """Some rows, each with what everybody says of it."""
        audit, suggested = self.review.snapshot.fitted, self.review.snapshot.live.suggested
        return [
            {
                "row": row,
                "id": show.name_of(audit, row),
                "suggested": int(suggested[row]),
                "answers": [self.describe(answer) for answer in log.of_row(row)],
            }
            for row in list(rows)[:MOST_DISPUTED]
        ]

    def answer(self, content: Json) -> Json:
        """Save what a person said; what the model thought follows in the reply."""
        row, before = read.whole(content, "row"), self.review.snapshot.live
        saved = self.review.answer(read.key(content), row, **_said(content))
        votes = show.describe_votes(before, row) if self.review.blind else []
        opinion = show.describe_suggestion(before, row)
        return {"saved": self.describe(saved), "opinion": opinion, "votes": votes}

    def answer_all(self, content: Json) -> Json:
        """Save the same answer to several rows."""
        saved = self.review.answer_all(read.key(content), read.rows(content), **_said(content))
        return {"saved": [self.describe(answer) for answer in saved]}

    def undo(self, content: Json) -> Json:
        """Take back an answer or an action; the reply says which answers."""
        number = read.whole_or_none(content, "number")
        undone = self.review.undo(read.key(content), number, read.reviewer(content))
        return {"undone": [self.describe(answer) for answer in undone]}

    def refit(self, content: Json) -> Json:
        """Begin to fit the model again."""
        self.review.refit()
        return {"state": "running"}

    def export(self, query: Json) -> bytes:
        """checked.csv, written to the folder and sent; sent also where the folder is gone.

        In a shared review reviewers are sent their own answers.
        """
        who = read.reviewer(query) if self._is_shared else None
        with contextlib.suppress(OSError):
            self.review.export()
        with tempfile.TemporaryDirectory(prefix="rboost-") as folder:
            path = Path(folder) / CHECKED
            write_checked(self.review.snapshot.fitted, self.review.store, path, who)
            return path.read_bytes()


def _is_opinion_asked(query: Json) -> bool:
    """Whether what the model thinks may be told."""
    return bool(query.get("opinion") == "1")


def _said(content: Json) -> Json:
    """What a person says of one row or of several; whether it makes sense is seen later."""
    return {
        "answer": content.get("answer"),
        "label": read.whole_or_none(content, "label"),
        "expects": read.whole_or_none(content, "expects"),
        "reviewer": read.reviewer(content),
        "comment": read.comment(content),
    }
