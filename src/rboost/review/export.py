"""checked.csv: the answers as a table that a spreadsheet may open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rboost._typing import Integers
from rboost.audit import LabelAudit
from rboost.audit.features import import_pandas
from rboost.audit.labels import MISSING
from rboost.io.spreadsheets import write_csv
from rboost.review.store import Answer


def checked_frame(audit: LabelAudit, answers: list[Answer], checked: Integers) -> Any:
    """The answers as a frame, the oldest first, then rows that were checked before.

    Nothing is checked where the person was unsure. Trusted rows that are not of the table have no
    id by which the table could be found to hold them, and are left out.
    """
    answered = [answer.row for answer in answers]
    before = np.setdiff1d(np.flatnonzero(checked != MISSING), answered)
    before = before[before < len(audit) - audit.n_extra]
    rows = np.concatenate([np.array(answered, dtype=np.intp), before])
    labels = [MISSING if answer.label is None else answer.label for answer in answers]
    return import_pandas().DataFrame(
        {
            audit.id_name: audit.ids[rows],
            "given_label": audit.labels.names(audit.labels.given[rows]),
            "checked_label": audit.labels.names(np.array([*labels, *checked[before]], np.intp)),
            "answer": [answer.answer for answer in answers] + ["checked before"] * len(before),
            "time": [answer.time for answer in answers] + [""] * len(before),
        }
    )


def write_checked(audit: LabelAudit, answers: list[Answer], checked: Integers, path: Path) -> None:
    """Write the answers to a file, which is replaced as a whole."""
    write_csv(checked_frame(audit, answers, checked), path)
