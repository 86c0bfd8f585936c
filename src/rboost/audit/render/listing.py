"""Suspects as a table: one row each, with the reasons."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost.audit.insight.explanation import Explanation, Reason
from rboost.audit.render.wording import one_line, shortened
from rboost.packages import package

NO_REASON = "no single column stands out"


def list_rows(explanations: list[Explanation], ids: Any, id_name: str, table: Any) -> Any:
    """A pandas frame of rows: what they are labelled, what is suggested, why, and their values."""
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
    pandas = package("pandas")
    listed = pandas.DataFrame(columns)
    values = table.iloc[[one.row for one in explanations]].reset_index(drop=True)
    values.columns = renamed(values.columns, list(listed.columns))
    return pandas.concat([listed, values], axis=1)


def renamed(columns: Any, taken: list[str]) -> list[str]:
    """Names of columns, with something before those that are taken."""
    names = [str(name) for name in columns]
    used = {*taken, *names}
    for place, name in enumerate(names):
        if name in taken:
            while names[place] in used:
                names[place] = f"table_{names[place]}"
            used.add(names[place])
    return names


def in_words(explanation: Explanation) -> str:
    """The reasons in one line; nothing where none were looked for, which leaves no neighbours."""
    if not explanation.reasons:
        return NO_REASON if explanation.given and explanation.agreeing else ""
    return "; ".join(
        f"{reason.column} = {shortened(reason.value)} ({usually(reason, explanation)})"
        for reason in explanation.reasons
    )


def usually(reason: Reason, explanation: Explanation, longest: int = 80) -> str:
    """What rows of both labels have where this row has something else."""
    return (
        f"usually {one_line(reason.typical, longest)} for '{one_line(explanation.given, 24)}', "
        f"{one_line(reason.typical_suggested, longest)} for "
        f"'{one_line(explanation.suggested, 24)}'"
    )
