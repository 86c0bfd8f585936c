"""Rows of an audit as the page receives them: text only, of bounded length.

Described by themselves, with what the model thinks of them, and beside rows that hold a text or
that are like another.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost._validation import is_missing
from rboost.audit import Explanation, LabelAudit
from rboost.audit.fit import suggested_classes
from rboost.audit.insight.likeness import Points
from rboost.audit.labels import NO_LABEL
from rboost.audit.render.text import describe_reason
from rboost.noise.inference import judge
from rboost.review.snapshot import Json

# Longest text of a cell, and of the cells and the name of a row that is there for comparison.
LONGEST, LONGEST_BESIDE, LONGEST_NAME_BESIDE = 2000, 200, 40
# Classes other than the given one that are offered first.
MOST_PROBABLE = 5
# Rows that a search lists, and characters shown on either side of what was found.
MOST_FOUND, AROUND = 20, 40


def cell(value: Any, longest: int = LONGEST) -> Json | None:
    """A value as text, None if it is missing; ``length`` says how long it was if it was cut.

    Examples
    --------
    >>> from rboost.review.web.rows import cell
    >>> cell(0.1 + 0.2), cell(float("nan")), cell("abcdef", longest=3)
    ({'text': '0.3'}, None, {'text': 'abc', 'length': 6})
    """
    text = _as_text(value)
    if text is None or len(text) <= longest:
        return None if text is None else {"text": text}
    return {"text": text[:longest], "length": len(text)}


def _as_text(value: Any) -> str | None:
    if is_missing(value):
        return None
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)


def name_of(audit: LabelAudit, row: int, longest: int = LONGEST_BESIDE) -> str:
    """What a row is called."""
    name = _as_text(audit.ids[row]) or ""
    return name if len(name) <= longest else f"{name[:longest]}…"


def position(label: int) -> int | None:
    """The position of a class, None where there is no label."""
    return None if label == NO_LABEL else int(label)


def describe_row(audit: LabelAudit, columns: list[Any], row: int, longest: int = LONGEST) -> Json:
    """What a person needs to judge a row, without what the model thinks of it."""
    return {
        "row": row,
        "id": name_of(audit, row),
        "given": position(audit.labels.given[row]),
        "values": [cell(column[row], longest) for column in columns],
    }


def describe_votes(audit: LabelAudit, row: int) -> list[Json]:
    """What each of several annotators said of a row."""
    labels = audit.labels
    said = np.flatnonzero((labels.row == row) & (labels.source < labels.n_annotators))
    return [
        {"annotator": cell(labels.sources[a].name, LONGEST_BESIDE), "label": int(k)}
        for a, k in zip(labels.source[said].tolist(), labels.stated[said], strict=True)
    ]


def describe_neighbours(
    live: LabelAudit, columns: list[Any], explanation: Explanation, unseen: Set[int]
) -> list[Json]:
    """The nearest rows of both sides, the nearest first, with the labels they have by now.

    Those of ``unseen`` rows are the given ones: what others say of them is not told.
    """
    rows = explanation.agreeing + explanation.opposing
    distances = explanation.agreeing_distance + explanation.opposing_distance
    return [
        {
            "row": row,
            "id": name_of(live, row, LONGEST_NAME_BESIDE),
            "label": position(
                live.labels.given[row] if row in unseen else live.labels.current[row]
            ),
            "is_checked": row not in unseen and bool(live.labels.is_checked[row]),
            "values": [cell(column[row], LONGEST_BESIDE) for column in columns],
        }
        for _, row in sorted(zip(distances, rows, strict=True))
    ]


def reveals_nothing(audit: LabelAudit, row: int) -> bool:
    """Whether neighbours can be shown without telling which label the model suggests.

    They carry the given and the suggested label. Only where these are the two classes that there
    are does this give nothing away.
    """
    return len(audit.classes) == 2 and audit.labels.given[row] != NO_LABEL


def judged(live: LabelAudit, row: int) -> tuple[Floats, int]:
    """p(true class) of a row without the answers to it, and the likeliest class but the given one.

    The answers to other rows have taught the model; those to this one would be repeated to whoever
    looks at it again.
    """
    if not live.labels.is_checked[row]:
        return live.inference.posterior[row], int(live.suggested[row])
    found, labels = live.inference, live.labels.take([row])
    labels = labels.with_checked(np.array([NO_LABEL]), np.array([False]))
    posterior = judge(found.noise, live.scores[[row]], labels, found.by_group).posterior
    (suggested,) = suggested_classes(posterior, found.probability[[row]], labels)
    return posterior[0], int(suggested)


def describe_suggestion(live: LabelAudit, row: int) -> Json:
    """How likely the label is to be wrong, and what it would be then, without answers to the row.

    ``probability_if_wrong`` is that of the likeliest other class if the label is wrong. It
    ``is_suggested`` where it is likelier than the label.
    """
    given, (posterior, suggested) = live.labels.given[row], judged(live, row)
    wrong = None if given == NO_LABEL else float(1 - posterior[given])
    probable = float(posterior[suggested])
    return {
        "suggested": suggested,
        "is_suggested": wrong is None or bool(probable > posterior[given]),
        "probability_if_wrong": probable
        if wrong is None
        else min(probable / max(wrong, 1e-300), 1),
        "probability_wrong": wrong,
        "is_answered": bool(live.labels.is_checked[row]),
    }


def describe_opinion(live: LabelAudit, row: int, explanation: Explanation) -> Json:
    """What the model thinks, and why."""
    reasons = [
        {"column": reason.column, "sentence": describe_reason(explanation, reason)}
        for reason in explanation.reasons
    ]
    return {
        **describe_suggestion(live, row),
        **_describe_texts(live, row, explanation),
        "reasons": reasons,
        "probable": most_probable(live, row),
    }


def _describe_texts(live: LabelAudit, row: int, explanation: Explanation) -> Json:
    """The strongest words, and texts in parts by the places of their columns.

    None where answers have changed which label is suggested since the words were found.
    """
    (suggested,) = live.labels.names([judged(live, row)[1]])
    if suggested != explanation.suggested:
        return {"words": [], "texts": {}}
    places = {str(column): k for k, column in enumerate(live.table.columns)}
    return {
        "words": [word[:LONGEST_NAME_BESIDE] for word in explanation.words],
        "texts": {places[one.column]: one.parts(LONGEST) for one in explanation.texts},
    }


def most_probable(live: LabelAudit, row: int) -> list[int]:
    """The likeliest classes other than the given one, the suggested one first."""
    posterior, suggested = judged(live, row)
    # Where posteriors are 0 the columns decide.
    order = np.argsort(-(posterior + 1e-9 * live.inference.probability[row]), kind="stable")
    others = order[(order != live.labels.given[row]) & (order != suggested)]
    return [suggested, *others[: MOST_PROBABLE - 1].tolist()]


# ---- Rows that hold a text, and rows that are like another ----


def find(audit: LabelAudit, columns: list[Any], text: str) -> Json:
    """Rows whose id is the text, contains it, or whose cells do; case does not matter."""
    wanted = text.casefold()
    matches: dict[int, tuple[str, str]] = {}
    names = [audit.id_name, *map(str, audit.table.columns)]
    for name, cells in zip(names, [audit.ids, *columns], strict=True):
        for row, value in enumerate(map(_as_text, cells)):
            if value is not None and wanted in value.casefold():
                matches.setdefault(row, (name, value))
    # Rows whose id equals the text come first; the order is kept otherwise.
    rows = sorted(matches, key=lambda row: (_as_text(audit.ids[row]) or "").casefold() != wanted)
    found = [
        {
            "row": row,
            "id": name_of(audit, row),
            "given": position(audit.labels.given[row]),
            "column": matches[row][0][:LONGEST_BESIDE],
            "snippet": _snippet(matches[row][1], wanted),
        }
        for row in rows[:MOST_FOUND]
    ]
    return {"found": found, "total": len(matches)}


def _snippet(text: str, wanted: str) -> str:
    """The part of a text around what was found."""
    place = max(text.casefold().find(wanted), 0)
    start, end = max(place - AROUND, 0), place + len(wanted) + AROUND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def similar(
    live: LabelAudit,
    columns: list[Any],
    points: Points,
    row: int,
    answered: Iterable[int],
    count: int,
    is_opinion_shown: bool,
) -> list[Json]:
    """The nearest rows with the same given label that nobody has looked at.

    Distances are those of ``points``. Where the opinion is shown the suggestion is the
    same as well; else the choice would tell it.
    """
    labels = live.labels
    is_alike = (labels.given == labels.given[row]) & ~labels.is_checked
    if is_opinion_shown:
        is_alike &= live.suggested == live.suggested[row]
    is_alike[[row, *answered]] = False
    rows = np.flatnonzero(is_alike)
    distance = points.distances(np.array([row]), rows)[0]
    nearest = rows[np.argsort(distance, kind="stable")[:count]].tolist()
    described = [describe_row(live, columns, each, LONGEST_BESIDE) for each in nearest]
    if is_opinion_shown:
        for each in described:
            each["opinion"] = describe_suggestion(live, each["row"])
    return described
