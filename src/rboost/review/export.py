"""checked.csv: the answers as a table that a spreadsheet may open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rboost.audit import LabelAudit
from rboost.audit.features import import_pandas
from rboost.review.store import Answer
from rboost.spreadsheets import write_csv


def checked_frame(audit: LabelAudit, answers: list[Answer]) -> Any:
    """The answers as a frame, the oldest first; nothing is checked where the person was unsure."""
    given = audit.labels.given[[answer.row for answer in answers]]
    return import_pandas().DataFrame(
        {
            audit.id_name: [audit.ids[answer.row] for answer in answers],
            "given_label": audit.labels.names(given),
            "checked_label": [
                "" if a.label is None else str(audit.classes[a.label]) for a in answers
            ],
            "answer": [answer.answer for answer in answers],
            "time": [answer.time for answer in answers],
        }
    )


def write_checked(audit: LabelAudit, answers: list[Answer], path: Path) -> None:
    """Write the answers to a file, which is replaced as a whole."""
    write_csv(checked_frame(audit, answers), path)
