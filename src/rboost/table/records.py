"""Tables in JSON: one object a line (JSONL) or a list of objects, each a row.

What label tools export is a table as well. A task of Label Studio is a row for each annotation, or
one without any: its ``data``, the choice under the name of its control, and the ``annotator``. A
record of Argilla is a row for each person who responded: its ``id``, fields and metadata, the
response to each question, and the ``annotator``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rboost.packages import package
from rboost.table.delimited import usable_names

JSON = re.compile(rb'\s*(\{\s*"|\[\s*\{)')
ANNOTATOR = "annotator"

Record = dict[str, Any]


def read_records(content: bytes, path: Path) -> dict[str, Any]:
    """Columns of text of Arrow by name; a row that lacks a name of others is missing there."""
    arrow = package("pyarrow")
    columns: dict[str, list[str | None]] = {}
    n_rows = 0
    for number, record in enumerate(_objects(content, path), start=1):
        try:
            rows = _rows(record, f"{path}, row {number}")
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise ValueError(f"{path}, row {number} is damaged; export it again.") from error
        for row in rows:
            for name, value in row.items():
                cells = columns.setdefault(name, [None] * n_rows)
                cells.append(_text(value, name, f"{path}, row {number}"))
            n_rows += 1
            for cells in columns.values():
                if len(cells) < n_rows:
                    cells.append(None)
    names = usable_names(list(columns), path)
    cells = [arrow.chunked_array([own], type=arrow.string()) for own in columns.values()]
    return dict(zip(names, cells, strict=True))


def _objects(content: bytes, path: Path) -> Iterator[Record]:
    if content.lstrip().startswith(b"["):
        yield from _parsed(content, f"{path} is no list of JSON objects")
        return
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            yield from _parsed(b"[%b]" % line, f"Line {number} of {path} is no JSON object")


def _parsed(content: bytes, problem: str) -> list[Record]:
    """A list of objects, with numbers as they are written."""
    try:
        found = json.loads(content, parse_int=str, parse_float=str, parse_constant=str)
        if all(isinstance(one, dict) for one in found):
            return list(found)
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"{problem}; write one object a line (JSONL), a list of them, or CSV.")


def _rows(record: Record, where: str) -> list[Record]:
    """The rows that an object stands for."""
    if isinstance(record.get("data"), dict) and {"annotations", "predictions"} & record.keys():
        return _of_task(record, where)
    if isinstance(record.get("fields"), dict) and {"responses", "suggestions"} & record.keys():
        return _of_record(record)
    return [record]


def _of_task(task: Record, where: str) -> list[Record]:
    """A task of Label Studio; one that was skipped has no annotation, objects become columns."""
    data: Record = {}
    for name, value in task["data"].items():
        data |= value if isinstance(value, dict) else {name: value}
    rows = []
    for one in task.get("annotations") or []:
        if not isinstance(one, dict) or one.get("was_cancelled"):
            continue
        who = one.get("completed_by")
        row = data | {ANNOTATOR: who.get("email") if isinstance(who, dict) else who}
        for result in one.get("result") or []:
            chosen = result.get("value", {}).get("choices")
            if chosen and len(chosen) > 1:
                raise ValueError(
                    f"{where} has several choices for {result['from_name']!r}; keep one of them."
                )
            row |= {result["from_name"]: chosen[0]} if chosen else {}
        rows.append(row)
    return rows or [data]


def _of_record(record: Record) -> list[Record]:
    """A record of Argilla."""
    own = {"id": record.get("id")} | record["fields"] | (record.get("metadata") or {})
    people: dict[Any, Record] = {}
    for question, responses in (record.get("responses") or {}).items():
        for one in responses:
            row = people.setdefault(one.get("user_id"), own | {ANNOTATOR: one.get("user_id")})
            row[question] = one.get("value")
    return list(people.values()) or [own]


def _text(value: Any, name: str, where: str) -> str | None:
    """A cell as text, which is typed as that of other files of text."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return value
    raise ValueError(
        f"{where} has {'a list' if isinstance(value, list) else 'an object'} in {name!r}, not a "
        "single value; leave it out or make columns of its parts."
    )
