"""Rows of an audit as tasks for label tools; what people say there comes back as a table.

A task of Label Studio has the row in its ``data`` and the suggested label as a prediction, so that
its project needs the labelling configuration that goes with it. A record of Argilla has the row as
one text, as names of fields may not be those of all columns, and the suggestion for the question
"label". :mod:`rboost.table.records` reads both.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

from rboost._validation import is_missing
from rboost.audit.wording import one_line, visible
from rboost.table.writing import json_value

LABEL_STUDIO, ARGILLA = TOOLS = ("label-studio", "argilla")
# What tasks call the row, and records of Argilla the question.
ITEM, TEXT, QUESTION = "columns", "text", "label"

Json = dict[str, Any]


def make_tasks(audit: Any, rows: Any, tool: str = LABEL_STUDIO) -> list[Json]:
    """A task for each of the rows, in their order."""
    if tool not in TOOLS:
        raise ValueError(f"There is no label tool {tool!r}; choose one of {', '.join(TOOLS)}.")
    make = _task if tool == LABEL_STUDIO else _record
    return [make(audit, int(row)) for row in rows]


def _values(audit: Any, row: int) -> Json:
    """The cells of a row that are not missing."""
    cells = zip(audit.table.columns, audit.table.iloc[row].astype(object).tolist(), strict=True)
    return {str(name): _value(value) for name, value in cells if not is_missing(value)}


def _value(value: Any) -> Any:
    return json_value(value.item() if hasattr(value, "item") else value)


def _about(audit: Any, row: int) -> Json:
    wrong, given = float(audit.issue_probability[row]), str(audit.labels.written[row])
    return {"given_label": given, "probability_wrong": round(wrong, 4)} if given else {}


def _suggestion(audit: Any, row: int) -> tuple[str, float]:
    """The most probable label, and how probable it is."""
    best = int(audit.inference.posterior[row].argmax())
    return audit.labels.class_names[best], round(float(audit.inference.posterior[row, best]), 4)


def _task(audit: Any, row: int) -> Json:
    label, score = _suggestion(audit, row)
    chosen = {
        "id": f"rboost-{row}",
        "from_name": audit.labels.name,
        "to_name": ITEM,
        "type": "choices",
        "value": {"choices": [label]},
    }
    predicted = {"model_version": f"rboost {version('rboost')}", "score": score, "result": [chosen]}
    own = {audit.id_name: _value(audit.ids[row]), ITEM: _values(audit, row)}
    return {"data": own | _about(audit, row), "predictions": [predicted]}


def _record(audit: Any, row: int) -> Json:
    label, score = _suggestion(audit, row)
    lines = [f"{one_line(name)}: {value}" for name, value in _values(audit, row).items()]
    return {
        "id": str(audit.ids[row]),
        "fields": {TEXT: "\n".join(lines)},
        "metadata": _about(audit, row),
        "suggestions": {QUESTION: {"value": label, "score": score, "agent": "rboost"}},
        "responses": {},
        "vectors": {},
    }


def label_studio_config(audit: Any) -> str:
    """The labelling configuration of a project for these tasks."""
    view = ElementTree.Element("View")
    ElementTree.SubElement(view, "Table", name=ITEM, value=f"${ITEM}")
    name = {"name": visible(audit.labels.name), "toName": ITEM}
    choices = ElementTree.SubElement(view, "Choices", name, choice="single-radio", required="true")
    for label in audit.labels.class_names:
        ElementTree.SubElement(choices, "Choice", value=visible(label))
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"
