"""What a review keeps in the folder of its audit: the answers, and the same as a table."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from rboost.audit import LabelAudit, TableLabels
from rboost.audit.arguments import AT_RANDOM, YES
from rboost.audit.disk.folder import CHECKED, STORE
from rboost.audit.labels import NO_LABEL
from rboost.packages import package
from rboost.review.answers import CHANGE, KEEP, Answer, Log, agreement
from rboost.review.snapshot import after_answers, with_answers
from rboost.review.store import AnswerStore
from rboost.table.writing import write_table


def fingerprint(audit: LabelAudit) -> str:
    """Tells audits of different rows, given labels or classes apart, and survives a new fit."""
    digest = hashlib.sha256()
    parts = (audit.labels.name, *audit.classes)
    for part in (parts, audit.ids.tolist()):
        text = json.dumps([str(each) for each in part])
        digest.update(f"{len(text)}:{text}".encode())
    digest.update(audit.labels.given.astype("<i8").tobytes())
    return digest.hexdigest()


def open_store(audit: LabelAudit, folder: Path) -> AnswerStore:
    """The answers to an audit, which may be none yet."""
    return AnswerStore(folder / STORE, fingerprint(audit), len(audit), len(audit.classes))


def with_saved_answers(audit: LabelAudit, folder: Path) -> LabelAudit:
    """The audit after the answers that its folder keeps, if there are any."""
    if not (folder / STORE).exists():
        return audit
    with closing(open_store(audit, folder)) as store:
        return after_answers(audit, store.log())


def export_answers(audit: LabelAudit, folder: Path, path: str | None = None) -> Path:
    """Write checked.csv without a review of the audit being open; return where it is."""
    if not (folder / STORE).exists():
        raise ValueError(f"{folder} has no answers yet; give some with: rboost review {folder}")
    target = Path(path) if path else folder / CHECKED
    with closing(open_store(audit, folder)) as store:
        write_checked(audit, store, target)
    return target


def import_answers(audit: LabelAudit, folder: Path, said: dict[str, dict[int, int]]) -> int:
    """Write down answers that were given elsewhere, by people and rows; return how many are new.

    Those of one person are taken back together, but for answers that replace an earlier one.
    """
    n_new = 0
    with closing(open_store(audit, folder)) as store:
        for reviewer, labels in said.items():
            own = store.log().own(reviewer)
            new = {row: k for row, k in labels.items() if row not in own or own[row].label != k}
            n_new += len(new)
            given = audit.labels.given
            answers = [(row, KEEP if k == given[row] else CHANGE, k) for row, k in new.items()]
            for one in answers:
                if one[0] in own:
                    store.add(str(uuid4()), *one, own[one[0]].number, reviewer)
            if first := [one for one in answers if one[0] not in own]:
                store.add_all(str(uuid4()), first, reviewer)
        write_checked(audit, store, folder / CHECKED)
    return n_new


def write_checked(
    audit: LabelAudit, store: AnswerStore, path: Path, reviewer: str | None = None
) -> None:
    """Write the answers to an audit, and what was checked before, as a file for ``--trusted``.

    Of one reviewer alone, if one is named.
    Another process may write the file at the same time, so it is written again until no answer was
    added meanwhile.
    """
    while True:
        log = store.log()
        frame = _checked_frame(audit, log)
        if reviewer is not None:
            frame = frame[frame["reviewer"] == reviewer]
        write_table(frame, path, guarded=True)
        if store.log().version == log.version:
            return


def _checked_frame(audit: LabelAudit, log: Log) -> Any:
    """What each person says as a frame, the oldest first, then what was checked before.

    Nothing is checked where the person was unsure. Trusted rows that are not of the table have no
    id by which the table could be found to hold them, and are left out.
    """
    labels, answers = with_answers(audit.labels, log), log.standing
    before = audit.labels.answers.without(
        [*log.touched, *range(len(audit) - audit.n_extra, len(audit))]
    )
    rows = np.append(np.array([answer.row for answer in answers], dtype=np.intp), before.row)
    said = [NO_LABEL if answer.label is None else answer.label for answer in answers]
    none = [""] * len(before)
    found = agreement(log)
    disputed = found.disagreements if found else {}
    columns = {
        "given_label": labels.names(labels.given[rows]),
        "checked_label": labels.names([*said, *before.stated.tolist()]),
        "answer": [answer.answer for answer in answers] + ["checked before"] * len(before),
        "time": [answer.time for answer in answers] + none,
        AT_RANDOM: np.where(labels.at_random[rows], YES, ""),
        "reviewer": [answer.reviewer for answer in answers]
        + [before.names[k] for k in before.reviewer],
        "comment": [answer.comment for answer in answers] + none,
        "disagreement": [_in_words(labels, disputed.get(row, [])) for row in rows.tolist()],
    }
    columns.pop(audit.id_name, None)  # rows must be found again by their ids
    return package("pandas").DataFrame({audit.id_name: audit.ids[rows], **columns})


def _in_words(labels: TableLabels, answers: list[Answer]) -> str:
    """Who says what; all of them chose a label."""
    names = labels.names(answer.label for answer in answers if answer.label is not None)
    return ", ".join(
        f"{answer.reviewer or '(no name)'}: {name}"
        for answer, name in zip(answers, names, strict=True)
    )
