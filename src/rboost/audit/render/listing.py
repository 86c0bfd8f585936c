"""Suspects as a table: one row each, with the reasons."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost.audit.insight.explanation import Explanation
from rboost.audit.render.wording import shortened
from rboost.io.packages import package


def list_rows(explanations: list[Explanation], ids: Any, id_name: str) -> Any:
    """A pandas frame of rows, what they are labelled, what is suggested, and why."""
    columns = {
        id_name: [ids[one.row] for one in explanations],
        "given_label": [one.given for one in explanations],
        "suggested_label": [one.suggested for one in explanations],
        "probability_wrong": np.round([one.probability_wrong for one in explanations], 4),
        "probability_suggested": np.round([one.probability_suggested for one in explanations], 4),
        "against_given_label": [in_words(one) for one in explanations],
        "nearest_agreeing_rows": [
            ", ".join(str(ids[k]) for k in one.agreeing) for one in explanations
        ],
    }
    return package("pandas").DataFrame(columns)


def in_words(explanation: Explanation) -> str:
    """The reasons in one line."""
    return "; ".join(
        f"{reason.column} = {shortened(reason.value)} (usually {shortened(reason.typical)})"
        for reason in explanation.reasons
    )
