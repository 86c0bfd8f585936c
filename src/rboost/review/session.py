"""Review: an audit, the answers to it, and what follows from both.

A snapshot holds what was fitted last and the same with all answers so far; the result of the next
fit replaces both. No lock is held while any is computed.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rboost.audit import Explanation, LabelAudit
from rboost.audit.disk.folder import CHECKED, STORE
from rboost.audit.labels import NO_LABEL
from rboost.review.answers import CHANGE, KEEP, UNSURE, Answer, ConflictError, Log
from rboost.review.background import Job, Refresher
from rboost.review.estimate import Changes, compare, estimate
from rboost.review.explanations import Explanations
from rboost.review.export import write_checked
from rboost.review.labels import with_answers
from rboost.review.queue import ORDERS, still_open
from rboost.review.snapshot import SECOND, Snapshot, Wanted, after_answers, take_snapshot
from rboost.review.store import AnswerStore

# Writes an audit whose model was fitted again to where the audit is kept.
Save = Callable[[LabelAudit], None]
# Rows that are explained before anybody asks for them, and before a new order holds.
N_AHEAD, N_AT_ONCE = 20, 10


class Review:
    """People's review of an audit; any number of threads may use it."""

    def __init__(
        self,
        audit: LabelAudit,
        store: AnswerStore,
        *,
        checked_csv: Path,
        save: Save | None = None,
        images_root: Path | None = None,
    ) -> None:
        self.store, self.checked_csv, self._save = store, checked_csv, save
        self.images_root = images_root
        self._explanations = Explanations()
        self._swapping = threading.Lock()
        self._wanted = Wanted()
        log = store.log()
        self.fingerprint = fingerprint(audit)
        self.snapshot = take_snapshot(audit, log)
        self.start = self._estimate_at_start(log)
        self.refit_job = Job()
        self.updating = Refresher(self._update, quiet=0.5, longest=10.0)
        self.exporting = Refresher(self.export, quiet=0.2, longest=2.0)
        self.explaining = Refresher(self._explain_ahead, quiet=0.1, longest=1.0)
        self.exporting.ask()
        self.explaining.ask()

    def _estimate_at_start(self, log: Log) -> dict[str, Any]:
        """What was known before the first answer."""
        known = self.store.recall("start")
        if known is None:
            untouched = after_answers(self.snapshot.fitted, Log(0, {}, log.touched))
            known = self.store.remember("start", json.dumps(asdict(estimate(untouched))))
        return dict(json.loads(known))

    def _update(self) -> None:
        """Infer again from the answers; leave it if a fit has replaced the audit meanwhile."""
        while True:
            fitted, log = self.snapshot.fitted, self.store.log()
            if log.version == self.snapshot.version:
                return
            snapshot = take_snapshot(fitted, log)
            self._explain_ahead(snapshot, N_AT_ONCE)
            with self._swapping:
                if self.snapshot.fitted is fitted:
                    self.snapshot = snapshot
                    break
        self.explaining.ask()

    def next_rows(
        self, wanted: Wanted, count: int = 1, skipped: Iterable[int] = ()
    ) -> tuple[list[int], int]:
        """The rows to look at next, and how many are open, those that are skipped included."""
        if wanted.order not in (*ORDERS, SECOND):
            orders = ", ".join((*ORDERS, SECOND))
            raise ValueError(f"There is no order {wanted.order!r}; choose one of {orders}.")
        for name, label in (("given", wanted.given), ("suggested", wanted.suggested)):
            if label is not None:
                self._check_label(name, label)
        self._wanted = wanted
        found = self.snapshot.open_rows(wanted, self.store.log())
        rows = still_open(found, len(self.snapshot.fitted), skipped)[:count]
        return rows.tolist(), len(found)

    def explain(self, row: int, seconds: float | None = None) -> Explanation | None:
        """Why the model doubts a row; None if that takes longer than somebody wants to wait."""
        return self._explanations.of(self.snapshot.fitted, row, seconds)

    def _explain_ahead(self, snapshot: Snapshot | None = None, n_rows: int = N_AHEAD) -> None:
        """Explain the rows that will be asked for next."""
        snapshot = snapshot or self.snapshot
        rows = snapshot.open_rows(self._wanted, self.store.log())[:n_rows]
        self._explanations.make_ahead(snapshot.fitted, rows.tolist())

    def answer(
        self,
        key: str,
        row: int,
        answer: str,
        label: int | None,
        expects: int | None = None,
        reviewer: str = "",
        comment: str = "",
    ) -> Answer:
        """Write down what a person said of a row; it is safe when this returns."""
        label = self._check_answer(row, answer, label)
        saved = self.store.add(key, row, answer, label, expects, reviewer, comment)
        self._after_change()
        return saved

    def answer_all(
        self,
        key: str,
        rows: list[int],
        answer: str,
        label: int | None,
        reviewer: str = "",
        comment: str = "",
        expects: int | None = None,
    ) -> list[Answer]:
        """Write down the same answer to several rows, all or none."""
        said = [(row, answer, self._check_answer(row, answer, label)) for row in rows]
        saved = self.store.add_all(key, said, reviewer, comment, expects)
        self._after_change()
        return saved

    def _after_change(self) -> None:
        for work in (self.exporting, self.updating, self.explaining):
            work.ask()

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
        self._check_label("label", label)
        if label == given:
            raise ValueError("This is the given label; keep it instead.")
        return label

    def _check_label(self, name: str, label: int | None) -> None:
        n_classes = len(self.snapshot.fitted.classes)
        if label is None or not 0 <= label < n_classes:
            raise ValueError(f"{name} must be the number of a class, 0 to {n_classes - 1}.")

    def check_row(self, row: int) -> None:
        """Fail with one sentence if there is no such row."""
        if not 0 <= row < len(self.snapshot.fitted):
            raise LookupError(
                f"There is no row {row}; rows are 0 to {len(self.snapshot.fitted) - 1}."
            )

    def undo(self, key: str, number: int | None = None, reviewer: str = "") -> list[Answer]:
        """Take back an answer, by default all of the person's last action."""
        undone = self.store.undo(key, number, reviewer)
        self._after_change()
        return undone

    def export(self) -> None:
        """Write all answers, and what was checked before, to checked.csv."""
        write_checked(self.snapshot.fitted, self.store, self.checked_csv)

    def refit(self) -> None:
        """Begin to fit the model again, in the background, with all answers so far."""
        labels = self.snapshot.fitted.labels
        if np.array_equal(with_answers(labels, self.store.log()).checked, labels.checked):
            raise ValueError("There is nothing to learn from yet; keep or change a label first.")
        if not self.refit_job.start(self._refit):
            raise ConflictError("The model is being fitted already.")

    def _refit(self) -> Changes:
        fitted, log = self.snapshot.fitted, self.store.log()
        found = fitted.refitted(with_answers(fitted.labels, log))
        if self._save is not None:
            self._save(found)
        changes = compare(after_answers(fitted, log), found)
        snapshot = take_snapshot(found, log)
        with self._swapping:
            self.snapshot = snapshot
        self._after_change()  # for the answers that were given meanwhile
        return changes

    def finish(self) -> None:
        """Return when nothing runs in the background, however long a fit takes.

        A process that ends while compiled code runs in a thread ends badly.
        """
        self.refit_job.wait(None)
        for work in (self.updating, self.exporting, self.explaining):
            work.wait(None)


def open_review(
    audit: LabelAudit, folder: Path, save: Save | None = None, images_root: Path | None = None
) -> Review:
    """The review of an audit whose folder keeps the answers.

    ``save`` is called with every audit that a new fit makes. Cells that name images mean files
    below ``images_root``.
    """
    store = _open_store(audit, folder)
    return Review(audit, store, checked_csv=folder / CHECKED, save=save, images_root=images_root)


def _open_store(audit: LabelAudit, folder: Path) -> AnswerStore:
    return AnswerStore(folder / STORE, fingerprint(audit), len(audit), len(audit.classes))


def export_answers(audit: LabelAudit, folder: Path, path: str | None = None) -> Path:
    """Write checked.csv without a review of the audit being open; return where it is."""
    if not (folder / STORE).exists():
        raise ValueError(f"{folder} has no answers yet; give some with: rboost review {folder}")
    target = Path(path) if path else folder / CHECKED
    with closing(_open_store(audit, folder)) as store:
        write_checked(audit, store, target)
    return target


def with_saved_answers(audit: LabelAudit, folder: Path) -> LabelAudit:
    """The audit after the answers that its folder keeps, if there are any."""
    if not (folder / STORE).exists():
        return audit
    with closing(_open_store(audit, folder)) as store:
        return after_answers(audit, store.log())


def fingerprint(audit: LabelAudit) -> str:
    """Tells audits of different rows, given labels or classes apart, and survives a new fit."""
    digest = hashlib.sha256()
    parts = (audit.labels.name, *audit.classes)
    for part in (parts, audit.ids.tolist()):
        text = json.dumps([str(each) for each in part])
        digest.update(f"{len(text)}:{text}".encode())
    digest.update(audit.labels.given.astype("<i8").tobytes())
    return digest.hexdigest()
