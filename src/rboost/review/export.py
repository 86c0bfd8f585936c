"""The answers as a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost.audit import LabelAudit
from rboost.audit.disk.request import AT_RANDOM, YES
from rboost.audit.labels import NO_LABEL
from rboost.io.packages import package
from rboost.review.store import Answer


def checked_frame(audit: LabelAudit, answers: list[Answer]) -> Any:
    """The answers to an audit as a frame, the oldest first, then rows that were checked before.

    Nothing is checked where the person was unsure. Trusted rows that are not of the table have no
    id by which the table could be found to hold them, and are left out.
    """
    checked = audit.labels.checked
    answered = [answer.row for answer in answers]
    before = np.setdiff1d(np.flatnonzero(checked != NO_LABEL), answered)
    before = before[before < len(audit) - audit.n_extra]
    rows = np.concatenate([np.array(answered, dtype=np.intp), before])
    labels = [NO_LABEL if answer.label is None else answer.label for answer in answers]
    return package("pandas").DataFrame(
        {
            audit.id_name: audit.ids[rows],
            "given_label": audit.labels.names(audit.labels.given[rows]),
            "checked_label": audit.labels.names(np.array([*labels, *checked[before]], np.intp)),
            "answer": [answer.answer for answer in answers] + ["checked before"] * len(before),
            "time": [answer.time for answer in answers] + [""] * len(before),
            AT_RANDOM: np.where(audit.labels.at_random[rows], YES, ""),
        }
    )
