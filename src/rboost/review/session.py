"""Review: an audit, the answers to it, and what follows from both.

Three audits of the same rows matter: ``fitted`` is what was fitted last, ``live`` the same with all
answers so far, and the result of the next fit replaces both. No lock is held while any is computed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rboost._typing import Integers
from rboost.audit import Explanation, LabelAudit, Labels
from rboost.audit.labels import NO_LABEL
from rboost.io.spreadsheets import write_csv
from rboost.review.background import Job, Refresher
from rboost.review.estimate import Changes, Estimate, compare, estimate
from rboost.review.export import checked_frame
from rboost.review.queue import ORDERS, first_open, random_draws, rank
from rboost.review.store import CHANGE, KEEP, UNSURE, Answer, AnswerStore, ConflictError, Log

# Audits the same rows again. It is given the class of every row that a person has checked, by its
# position, where others count as unchecked, and which of them were drawn at random.
Rerun = Callable[[dict[int, int], frozenset[int]], LabelAudit]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is known at a moment; replaced as a whole."""

    fitted: LabelAudit
    live: LabelAudit
    version: int
    estimate: Estimate
    rankings: dict[str, Integers]


class Review:
    """A person's review of an audit; any number of threads may use it."""

    def __init__(
        self, audit: LabelAudit, store: AnswerStore, *, rerun: Rerun, checked_csv: Path
    ) -> None:
        self.store, self.checked_csv, self._rerun = store, checked_csv, rerun
        self._explaining = threading.Lock()
        self._swapping = threading.Lock()
        log = store.log()
        self.fingerprint = fingerprint(audit)
        self.snapshot = _snapshot(audit, log)
        untouched = _with_answers(audit, _labels(audit, Log(0, {}, log.touched)))
        start = json.dumps(asdict(estimate(untouched)))
        self.start: dict[str, Any] = json.loads(store.remember("start", start))
        self.refit_job = Job()
        self.updating = Refresher(self._update)

    def _update(self) -> None:
        """Infer again from the answers; leave it if a fit has replaced the audit meanwhile."""
        while True:
            fitted, log = self.snapshot.fitted, self.store.log()
            if log.version == self.snapshot.version:
                return
            snapshot = _snapshot(fitted, log)
            with self._swapping:
                if self.snapshot.fitted is fitted:
                    self.snapshot = snapshot
                    return

    def next_row(self, order: str, skipped: Container[int] = ()) -> int | None:
        """The row to look at next; None when all were answered."""
        if order not in ORDERS:
            raise ValueError(f"There is no order {order!r}; choose one of {', '.join(ORDERS)}.")
        return first_open(self.snapshot.rankings[order], self.store.log().current, skipped)

    def explain(self, row: int) -> Explanation:
        """Why the model doubts a row."""
        with self._explaining:
            return self.snapshot.fitted.explain(row)

    def answer(
        self, key: str, row: int, answer: str, label: int | None, expects: int | None = None
    ) -> Answer:
        """Write down what a person said of a row; it is safe when this returns."""
        label = self._check_answer(row, answer, label)
        saved = self.store.add(key, row, answer, label, expects)
        self.updating.ask()
        return saved

    def _check_answer(self, row: int, answer: str, label: int | None) -> int | None:
        """The label that an answer stands for."""
        audit = self.snapshot.fitted
        self.check_row(row)
        if audit.labels.is_checked[row] and row not in self.store.log().touched:
            raise ConflictError("This row came with a checked label; there is nothing to answer.")
        given = int(audit.labels.given[row])
        if answer == UNSURE:
            return None
        if answer == KEEP:
            if given == NO_LABEL:
                raise ValueError("This row has no label to keep; choose one.")
            return given
        if answer != CHANGE:
            raise ValueError("answer must be keep, change or unsure.")
        if label is None or not 0 <= label < len(audit.classes):
            raise ValueError(f"label must be the number of a class, 0 to {len(audit.classes) - 1}.")
        if label == given:
            raise ValueError("This is the given label; keep it instead.")
        return label

    def check_row(self, row: int) -> None:
        """Fail with one sentence if there is no such row."""
        if not 0 <= row < len(self.snapshot.fitted):
            raise LookupError(
                f"There is no row {row}; rows are 0 to {len(self.snapshot.fitted) - 1}."
            )

    def undo(self, key: str, number: int | None = None) -> Answer:
        """Take back an answer, by default the last one."""
        undone = self.store.undo(key, number)
        self.updating.ask()
        return undone

    def export(self) -> Path:
        """Write all answers, and what was checked before, to checked.csv."""
        fitted, log = self.snapshot.fitted, self.store.log()
        labels = _labels(fitted, log)
        frame = checked_frame(replace(fitted, labels=labels), list(log.current.values()))
        write_csv(frame, self.checked_csv)
        return self.checked_csv

    def refit(self) -> None:
        """Begin to fit the model again, in the background, with all answers so far."""
        fitted = self.snapshot.fitted
        if np.array_equal(_labels(fitted, self.store.log()).checked, fitted.labels.checked):
            raise ValueError("There is nothing to learn from yet; keep or change a label first.")
        if not self.refit_job.start(self._refit):
            raise ConflictError("The model is being fitted already.")

    def _refit(self) -> Changes:
        fitted, log = self.snapshot.fitted, self.store.log()
        labels = _labels(fitted, log)
        rows = np.flatnonzero(labels.is_checked)
        found = self._rerun(
            dict(zip(rows.tolist(), labels.checked[rows].tolist(), strict=True)),
            frozenset(np.flatnonzero(labels.at_random).tolist()),
        )
        if fingerprint(found) != self.fingerprint:
            raise ValueError("The new audit is of other rows, labels or classes; nothing changed.")
        changes = compare(_with_answers(fitted, labels), found)
        snapshot = _snapshot(found, log)
        with self._swapping:
            self.snapshot = snapshot
        self.updating.ask()  # for the answers that were given meanwhile
        return changes

    def finish(self) -> None:
        """Return when nothing runs in the background, however long a fit takes.

        A process that ends while compiled code runs in a thread ends badly.
        """
        self.refit_job.wait(None)
        self.updating.wait(None)


def open_review(audit: LabelAudit, folder: Path, rerun: Rerun) -> Review:
    """The review of an audit whose folder keeps the answers."""
    store = AnswerStore(folder / "review.sqlite", fingerprint(audit))
    return Review(audit, store, rerun=rerun, checked_csv=folder / "checked.csv")


def fingerprint(audit: LabelAudit) -> str:
    """Tells audits of different rows, given labels or classes apart, and survives a new fit."""
    digest = hashlib.sha256()
    parts = (audit.labels.name, *audit.classes)
    for part in (parts, audit.ids.tolist()):
        text = json.dumps([str(each) for each in part])
        digest.update(f"{len(text)}:{text}".encode())
    digest.update(audit.labels.given.astype("<i8").tobytes())
    return digest.hexdigest()


def _labels(audit: LabelAudit, log: Log) -> Labels:
    """What is checked, and what by chance: what the audit came with, and the answers of the log.

    An audit that was fitted to answers holds them as checked. Some may have been taken back since,
    so only rows that never had an answer count as checked beforehand.
    """
    checked = audit.labels.checked.copy()
    checked[list(log.touched)] = NO_LABEL
    for row, answer in log.current.items():
        checked[row] = NO_LABEL if answer.label is None else answer.label
    at_random = audit.labels.at_random.copy()
    is_closed = checked != NO_LABEL
    is_closed[list(log.current)] = True
    at_random[random_draws(audit.labels, len(log.current), is_closed)] = True
    return audit.labels.with_checked(checked, at_random)


def _with_answers(audit: LabelAudit, labels: Labels) -> LabelAudit:
    return audit.with_checked(labels.checked, labels.at_random)


def _snapshot(fitted: LabelAudit, log: Log) -> Snapshot:
    live = _with_answers(fitted, _labels(fitted, log))
    unsure = [row for row, answer in log.current.items() if answer.label is None]
    rankings = {order: rank(live, order, unsure) for order in ORDERS}
    return Snapshot(fitted, live, log.version, estimate(live), rankings)
