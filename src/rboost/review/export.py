"""The answers as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rboost.audit import LabelAudit, TableLabels
from rboost.audit.disk.request import AT_RANDOM, YES
from rboost.audit.labels import NO_LABEL
from rboost.packages import package
from rboost.review.agreement import agreement
from rboost.review.answers import Answer, Log
from rboost.review.labels import with_answers
from rboost.review.store import AnswerStore
from rboost.table.writing import write_csv


def write_checked(audit: LabelAudit, store: AnswerStore, path: Path) -> None:
    """Write the answers to an audit, and what was checked before, as a file for ``--trusted``.

    Somebody else may write the file at the same time, so what ends up there must be looked at
    last: until nothing was added since.
    """
    while True:
        log = store.log()
        write_csv(checked_frame(audit, with_answers(audit.labels, log), log), path)
        if store.log().version == log.version:
            return


def checked_frame(audit: LabelAudit, labels: TableLabels, log: Log) -> Any:
    """The answers to an audit as a frame, the oldest first, then rows that were checked before.

    ``labels`` are those of the audit after the answers. Nothing is checked where the person was
    unsure. Trusted rows that are not of the table have no id by which the table could be found to
    hold them, and are left out.
    """
    answers = list(log.current.values())
    checked = labels.checked
    answered = [answer.row for answer in answers]
    before = np.setdiff1d(np.flatnonzero(checked != NO_LABEL), answered)
    before = before[before < len(audit) - audit.n_extra]
    rows = np.concatenate([np.array(answered, dtype=np.intp), before])
    chosen = [NO_LABEL if answer.label is None else answer.label for answer in answers]
    none = [""] * len(before)
    found = agreement(log)
    disputed = found.disagreements if found else {}
    columns = {
        "given_label": labels.names(labels.given[rows]),
        "checked_label": labels.names(np.array([*chosen, *checked[before]], np.intp)),
        "answer": [answer.answer for answer in answers] + ["checked before"] * len(before),
        "time": [answer.time for answer in answers] + none,
        AT_RANDOM: np.where(labels.at_random[rows], YES, ""),
        "reviewer": [answer.reviewer for answer in answers] + none,
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
