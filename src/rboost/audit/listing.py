"""Suspects as a table: one row each, with the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rboost.audit.explanation import Explanation
from rboost.audit.features import import_pandas
from rboost.audit.suspects import Suspects
from rboost.audit.wording import shortened

if TYPE_CHECKING:
    from rboost.audit.result import LabelAudit

LONGEST_VALUE = 80


def list_suspects(audit: LabelAudit, suspects: Suspects, verbose: bool = False) -> Any:
    """The suspects, most suspicious first, then rows without a label and their suggestions."""
    rows = np.concatenate([suspects.rows, audit.missing()])
    found = audit.explain_all(rows, verbose)
    columns = {
        audit.id_name: audit.ids[rows].tolist(),
        "given_label": [one.given for one in found],
        "suggested_label": [one.suggested for one in found],
        "probability_wrong": [round(one.probability_wrong, 4) for one in found],
        "probability_suggested": [round(one.probability_suggested, 4) for one in found],
        "against_given_label": [in_words(one) for one in found],
        "nearest_agreeing_rows": [
            ", ".join(str(audit.ids[row]) for row in one.agreeing) for one in found
        ],
    }
    return import_pandas().DataFrame(columns)


def in_words(explanation: Explanation) -> str:
    """The reasons in one line."""
    return "; ".join(
        f"{reason.column} = {shortened(reason.value, LONGEST_VALUE)} "
        f"(usually {shortened(reason.typical, LONGEST_VALUE)})"
        for reason in explanation.reasons
    )
