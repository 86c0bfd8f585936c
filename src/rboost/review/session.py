"""Review: an audit, the answers to it, and what follows from both.

A snapshot holds what was fitted last and the same with all answers so far; the result of the next
fit replaces both. No lock is held while any is computed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from rboost._typing import Integers
from rboost.audit import Explanation, LabelAudit
from rboost.audit.disk.folder import CHECKED
from rboost.audit.labels import NO_LABEL
from rboost.review.answers import CHANGE, KEEP, UNSURE, Answer, ConflictError, Log
from rboost.review.background import Task
from rboost.review.folder import fingerprint, open_store, write_checked
from rboost.review.leases import Team
from rboost.review.precision import UNTIL, forecast, is_enough
from rboost.review.queue import DEFAULT_ORDER, ORDERS, SECOND
from rboost.review.snapshot import (
    Json,
    Snapshot,
    after_answers,
    compare,
    estimate,
    take_snapshot,
    with_answers,
)

# The model is fitted again after this many answers that it has not learnt from, or this share of
# all answers if that is more, so that fits become as rare as answers become many.
LEARN_EVERY, LEARN_SHARE = 10, 0.2
# A forecast takes several times as long as an update, and changes slowly.
FORECAST_EVERY = 5
# Rows that are explained before anybody asks for them.
N_FIRST = 5
# Writes an audit whose model was fitted again to where the audit is kept.
Save = Callable[[LabelAudit], None]


class Review:
    """People's review of an audit; any number of threads may use it.

    The answers, and checked.csv, are in ``folder``. ``save`` is called with every audit that a new
    fit makes. Cells that name images mean files below ``images_root``. With ``blind`` what
    annotators said of a row is shown once a reviewer has answered it. The review is done when the
    share of wrong labels is known up to ``until`` percentage points on either side. One that
    ``learns`` fits the model again by itself after some answers. A ``team`` has rows handed out to
    one of its reviewers at a time.
    """

    def __init__(
        self,
        audit: LabelAudit,
        folder: Path,
        save: Save | None = None,
        images_root: Path | None = None,
        blind: bool = False,
        until: float = UNTIL,
        learns: bool = False,
        team: Team | None = None,
    ) -> None:
        if blind and not audit.labels.n_annotators:
            raise ValueError(
                "Each row has one label, so there is nothing to hide from reviewers; leave --blind "
                "out."
            )
        self._save, self.images_root, self.blind, self.until = save, images_root, blind, until
        self._learns, self._is_ending, self.team = learns, False, team
        self.store, self.checked_csv = open_store(audit, folder), folder / CHECKED
        self._swapping, self._explaining = threading.Lock(), threading.Lock()
        log = self.store.log()
        self.fingerprint = fingerprint(audit)
        self.snapshot = take_snapshot(audit, log)
        self.start = self._estimate_at_start(log)
        self.refit_job = Task(self._refit)
        self.updating = Task(self._update, quiet=0.5, longest=10.0)
        self.exporting = Task(self.export, quiet=0.2, longest=2.0)
        self.explaining = Task(lambda: self._explain_first(self.snapshot))
        self.forecasting = Task(self._forecast, quiet=0.5, longest=20.0)
        for task in (self.exporting, self.explaining, self.forecasting):
            task.ask()

    def _estimate_at_start(self, log: Log) -> Json:
        """What was known before the first answer."""
        known = self.store.recall("start")
        if known is None:
            untouched = after_answers(self.snapshot.fitted, Log(0, {}, log.touched))
            known = self.store.remember("start", json.dumps(estimate(untouched)))
        return dict(json.loads(known))

    def _update(self) -> None:
        """Infer again from the answers; leave it if a fit has replaced the audit meanwhile."""
        while True:
            fitted, log = self.snapshot.fitted, self.store.log()
            if log.version == self.snapshot.version:
                return
            snapshot = take_snapshot(fitted, log)
            with self._swapping:
                if self.snapshot.fitted is fitted:
                    self.snapshot = snapshot
                    break
        if not len(log.current) % FORECAST_EVERY:
            self.forecasting.ask()
        if self._is_due(log) and not self._is_ending:
            self.refit_job.start()

    def _is_due(self, log: Log) -> bool:
        """Whether there are enough answers for another fit, and none has failed."""
        if not self._learns or self.refit_job.status not in ("idle", "done"):
            return False
        labels = self.snapshot.fitted.labels
        changed = with_answers(labels, log).answers.said ^ labels.answers.said
        n_new = len({row for row, _, _ in changed})
        return bool(n_new >= max(LEARN_EVERY, LEARN_SHARE * len(log.current)))

    def _forecast(self) -> float | None:
        snapshot, log = self.snapshot, self.store.log()
        return None if self.is_enough else forecast(snapshot, log, lambda: not self._is_ending)

    @property
    def is_enough(self) -> bool:
        """Whether the share of wrong labels is known as well as was asked for."""
        return is_enough(self.snapshot, len(self.store.log().current), self.until)

    def next_rows(
        self,
        order: str = DEFAULT_ORDER,
        count: int = 1,
        given: int | None = None,
        suggested: int | None = None,
        reviewer: str = "",
        skipped: Iterable[int] = (),
        fit: str = "",
    ) -> list[int]:
        """The rows to look at next, of a given and a suggested class if these are named.

        ``fit`` keeps to rows that fit no class, or that are between classes.

        Rows whose answers are doubtful come first, once some others were answered in between: those
        that the reviewer has not answered, and once more those that the reviewer has. In a team
        those answered by others do, and rows for second opinions; what others have on their pages
        is left out.
        """
        if self.team is None:
            found = self._open_rows(order, given, suggested, reviewer, skipped, fit)
            return found[:count].tolist()
        with self.team.turn:
            found = self._open_rows(order, given, suggested, reviewer, skipped, fit)
            return self.team.hand_out(reviewer, found.tolist(), count, skipped)

    def _open_rows(
        self,
        order: str,
        given: int | None,
        suggested: int | None,
        reviewer: str,
        skipped: Iterable[int],
        fit: str,
    ) -> Integers:
        """All rows that a reviewer may be asked, in an order."""
        if order not in (*ORDERS, SECOND):
            orders = ", ".join((*ORDERS, SECOND))
            raise ValueError(f"There is no order {order!r}; choose one of {orders}.")
        snapshot, log = self.snapshot, self.store.log()
        if order == SECOND:
            ranking, closed = np.array(list(log.current), dtype=np.intp), log.own(reviewer)
            again, last = [], list[int]()
        else:
            ranking, closed = snapshot.rankings[order].rows, log.current
            again, last = log.due_again(snapshot.doubtful, reviewer), []
            if self.team is not None:
                again, last = self.team.first_and_last(log, again, reviewer)
        is_open = ~np.isin(ranking, [*closed])
        found = np.concatenate([again, ranking[is_open], last]).astype(np.intp)
        found = found[~np.isin(found, [*skipped])]
        if given is not None:
            self._check_label("given", given)
            found = found[snapshot.live.labels.given[found] == given]
        if suggested is not None:
            self._check_label("suggested", suggested)
            found = found[snapshot.live.suggested[found] == suggested]
        if fit:
            found = found[snapshot.fitted.row_fit()[found] == fit]
        return found

    def why(self, order: str, row: int) -> str:
        """What a row was picked for in an order."""
        return SECOND if order == SECOND else self.snapshot.rankings[order].why(row)

    def explain(self, rows: list[int], of: Snapshot | None = None) -> list[Explanation]:
        """Why the model doubts each row; several together take little longer than one."""
        # Explanations limit the threads of the whole process, which must not overlap.
        with self._explaining:
            return (of or self.snapshot).fitted.explain_all(np.array(rows, dtype=np.intp))

    def _explain_first(self, snapshot: Snapshot) -> None:
        """Explain a few rows, which takes far longer for the first rows than for all others."""
        self.explain(snapshot.rankings[DEFAULT_ORDER].rows[:N_FIRST].tolist(), snapshot)

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
        if self.team is not None:
            self.team.release(reviewer, [row])
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
        if self.team is not None:
            self.team.release(reviewer, rows)
        return saved

    def _after_change(self) -> None:
        self.exporting.ask()
        self.updating.ask()

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
        if self.team is not None:
            self.team.hold(reviewer, [answer.row for answer in undone])
        return undone

    def export(self) -> None:
        """Write all answers, and what was checked before, to checked.csv."""
        self.store.check_there()
        write_checked(self.snapshot.fitted, self.store, self.checked_csv)

    def refit(self) -> None:
        """Begin to fit the model again, in the background, with all answers so far."""
        labels = self.snapshot.fitted.labels
        if with_answers(labels, self.store.log()).answers.said == labels.answers.said:
            raise ValueError("There is nothing to learn from yet; keep or change a label first.")
        if not self.refit_job.start():
            raise ConflictError("The model is being fitted already.")

    def _refit(self) -> Json:
        fitted, log = self.snapshot.fitted, self.store.log()
        found = fitted.refitted(with_answers(fitted.labels, log))
        if self._save is not None:
            self._save(found)
        changes = compare(after_answers(fitted, log), found)
        snapshot = take_snapshot(found, log)
        self._explain_first(snapshot)
        with self._swapping:
            self.snapshot = snapshot
        self._after_change()  # for the answers that were given meanwhile
        return changes

    def finish(self) -> None:
        """Return when nothing runs in the background, however long a fit takes.

        A process that ends while compiled code runs in a thread ends badly.
        """
        self._is_ending = True
        for task in (
            self.updating, self.refit_job, self.forecasting, self.explaining, self.exporting,
        ):  # fmt: skip
            task.wait(None)
