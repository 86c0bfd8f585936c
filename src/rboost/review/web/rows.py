"""Rows of an audit as the page receives them: text only, of bounded length."""

from __future__ import annotations

from typing import Any

import numpy as np

from rboost._validation import is_missing
from rboost.audit import Explanation, LabelAudit
from rboost.audit.labels import NO_LABEL

# Longest text of a cell, and of the cells and the name of a row that is there for comparison.
LONGEST, LONGEST_BESIDE, LONGEST_NAME_BESIDE = 2000, 200, 40

Json = dict[str, Any]


def cell(value: Any, longest: int = LONGEST) -> Json | None:
    """A value as text, None if it is missing; ``length`` says how long it was if it was cut.

    Examples
    --------
    >>> from rboost.review.web.rows import cell
    >>> cell(0.1 + 0.2), cell(float("nan")), cell("abcdef", longest=3)
    ({'text': '0.3'}, None, {'text': 'abc', 'length': 6})
    """
    if is_missing(value):
        return None
    is_float = isinstance(value, (float, np.floating))
    text = f"{value:.10g}" if is_float else str(value)
    if len(text) <= longest:
        return {"text": text}
    return {"text": text[:longest], "length": len(text)}


def name_of(audit: LabelAudit, row: int, longest: int = LONGEST_BESIDE) -> str:
    """What a row is called."""
    found = cell(audit.ids[row], longest)
    return "" if found is None else found["text"] + ("…" if "length" in found else "")


def columns_of(table: Any) -> list[Any]:
    """The columns of a frame, whose cells are found ten times as fast as those of the frame."""
    return [table.iloc[:, k].array for k in range(table.shape[1])]


def values_of(columns: list[Any], row: int, longest: int = LONGEST) -> list[Json | None]:
    """The cells of a row, one for each column; each keeps its own type that way."""
    return [cell(column[row], longest) for column in columns]


def position(label: int) -> int | None:
    """The position of a class, None where there is no label."""
    return None if label == NO_LABEL else int(label)


def describe_row(audit: LabelAudit, columns: list[Any], row: int, longest: int = LONGEST) -> Json:
    """What a person needs to judge a row, without what the model thinks of it."""
    return {
        "row": row,
        "id": name_of(audit, row),
        "given": position(audit.labels.given[row]),
        "values": values_of(columns, row, longest),
    }


def describe_neighbours(
    live: LabelAudit, columns: list[Any], explanation: Explanation | None
) -> list[Json]:
    """The nearest rows of both sides, the nearest first, with the labels they have by now."""
    if explanation is None:
        return []
    rows = explanation.agreeing + explanation.opposing
    distances = explanation.agreeing_distance + explanation.opposing_distance
    return [
        {
            "row": row,
            "id": name_of(live, row, LONGEST_NAME_BESIDE),
            "label": position(live.labels.current[row]),
            "is_checked": bool(live.labels.is_checked[row]),
            "distance": round(distance, 3),
            "values": values_of(columns, row, LONGEST_BESIDE),
        }
        for distance, row in sorted(zip(distances, rows, strict=True))
    ]


def reveals_nothing(audit: LabelAudit, row: int) -> bool:
    """Whether neighbours can be shown without telling which label the model suggests.

    They carry the given and the suggested label. Only where these are the two classes that there
    are does this give nothing away.
    """
    return len(audit.classes) == 2 and audit.labels.given[row] != NO_LABEL


def describe_suggestion(live: LabelAudit, row: int) -> Json:
    """How likely the label is to be wrong, after all answers so far, and what it would be then."""
    given, posterior = live.labels.given[row], live.inference.posterior[row]
    suggested = int(live.suggested[row])
    return {
        "suggested": suggested,
        "probability_suggested": float(posterior[suggested]),
        "probability_wrong": None if given == NO_LABEL else float(1 - posterior[given]),
    }


def describe_opinion(live: LabelAudit, row: int, explanation: Explanation | None) -> Json:
    """What the model thinks, and why, as far as that is known."""
    reasons = [
        {
            "column": reason.column,
            "value": cell(reason.value, LONGEST_BESIDE),
            "typical": reason.typical[:LONGEST_BESIDE],
            "typical_suggested": reason.typical_suggested[:LONGEST_BESIDE],
            "strength": round(reason.strength, 3),
        }
        for reason in (explanation.reasons if explanation else ())
    ]
    return {**describe_suggestion(live, row), "reasons": reasons}


def describe_similar(
    live: LabelAudit, columns: list[Any], row: int, is_opinion_shown: bool
) -> Json:
    """A row beside others to which the same answer may be given."""
    details = describe_row(live, columns, row, LONGEST_BESIDE)
    if is_opinion_shown:
        details["opinion"] = describe_suggestion(live, row)
    return details
