"""Suspects as a table: one row each, with the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rboost.audit.features import import_pandas
from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render.wording import shortened

if TYPE_CHECKING:
    from rboost.audit.result import LabelAudit

# Reasons take time; beyond this many suspects, and rows without a label, the list goes on without.
MOST_EXPLAINED = 500


def list_suspects(audit: LabelAudit, suspects: Suspects, verbose: bool = False) -> Any:
    """The suspects, most suspicious first, then rows without a label and their suggestions."""
    missing = audit.missing()
    rows = np.concatenate([suspects.rows, missing])
    explained = np.concatenate([suspects.rows[:MOST_EXPLAINED], missing[:MOST_EXPLAINED]])
    found = {one.row: one for one in audit.explain_all(explained, verbose)}
    suggested = audit.suggested[rows]
    columns = {
        audit.id_name: audit.ids[rows].tolist(),
        "given_label": audit.labels.names(audit.labels.given[rows]),
        "suggested_label": audit.labels.names(suggested),
        "probability_wrong": audit.issue_probability[rows].round(4),
        "probability_suggested": audit.inference.posterior[rows, suggested].round(4),
        "against_given_label": [in_words(found[row]) if row in found else "" for row in rows],
        "nearest_agreeing_rows": [
            ", ".join(str(audit.ids[k]) for k in found[row].agreeing) if row in found else ""
            for row in rows
        ],
    }
    return import_pandas().DataFrame(columns)


def in_words(explanation: Explanation) -> str:
    """The reasons in one line."""
    return "; ".join(
        f"{reason.column} = {shortened(reason.value)} (usually {shortened(reason.typical)})"
        for reason in explanation.reasons
    )
