"""``audit.json``: what was asked for, what was found, and which files belong to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rboost.audit.disk.request import Request
from rboost.audit.insight.columns import SuspiciousColumn
from rboost.io.files import files_digest
from rboost.io.inputs import STANDARD_INPUT

# Goes up with every change after which folders that were made before cannot be read as they are.
FORMAT = 3
RECORD, ROWS, MODEL, SUSPECTS, REPORT, TRUSTED, PROBABILITIES, STDIN, ISSUES = NAMES = (
    "audit.json", "rows.npz", "model.rboost", "suspects.csv", "report.html", "trusted_rows",
    "probabilities", "stdin_table", "issues",
)  # fmt: skip
# What the record of an audit on a cluster holds, which has the folder of issues but no rows.
CLUSTER = "cluster"
# What a review writes into the folder: the answers, and the same as a table.
STORE, CHECKED = "review.sqlite", "checked.csv"
AGAIN = "run rboost audit again"
# What every record holds.
PARTS = {"request": dict, "source": str, "files": dict, "classes": list, "summary": dict}


def read_request(folder: Path) -> Request:
    """What a folder is the audit of; fails if the table has changed."""
    return request_of(folder, read_record(folder))


def request_of(folder: Path, record: dict[str, Any]) -> Request:
    """What was asked for, with what was copied of it; fails if the table has changed."""
    request = kept_request(folder, record)
    if files_digest(request.files) != record["source"]:
        raise ValueError(f"{request.source} changed since it was audited; {AGAIN}.")
    return request


def kept_request(folder: Path, record: dict[str, Any]) -> Request:
    """What was asked for, with what was copied of it; the table may have changed."""
    request = Request.from_dict(record["request"])
    files = [folder / STDIN if path == STANDARD_INPUT else path for path in request.files]
    request = replace(request, data=tuple(files))
    if request.trusted is not None:
        request = replace(request, trusted=folder / TRUSTED)
    if request.probabilities is not None:
        request = replace(request, probabilities=folder / PROBABILITIES)
    return request


def read_record(folder: Path) -> dict[str, Any]:
    """What ``audit.json`` says, if it is one of ours."""
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no audit; make one with: rboost audit DATA --label COLUMN "
            f"--out {folder}"
        )
    try:
        record = _parsed(folder)
        number = int(record["format"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error
    if CLUSTER in record:
        raise ValueError(
            f"{folder} holds an audit on a cluster, which keeps no rows to review or to clean; see "
            f"{SUSPECTS}, run it again with --cleaned FOLDER, or audit some rows without --cluster."
        )
    check_format(number, FORMAT, path)
    if not _is_whole(record):
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    return record


def check_format(found: int, known: int, path: Path) -> None:
    """Refuse a file of another format, newer or older, with one sentence."""
    if found > known:
        raise ValueError(
            f"{path} was made by a newer rboost (its format is {found}, this one reads {known}); "
            "update it with: pip install --upgrade rboost"
        )
    if found < known:
        raise ValueError(
            f"{path} was made by an older rboost (its format is {found}, this one reads {known}); "
            f"{AGAIN} to make a new one."
        )


def _parsed(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))


def is_of_cluster(folder: Path) -> bool:
    """Whether a folder holds an audit on a cluster."""
    try:
        return CLUSTER in _parsed(folder)
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _is_whole(record: dict[str, Any]) -> bool:
    """Whether a record has all parts that are read, each of its kind."""
    return all(isinstance(record.get(name), kind) for name, kind in PARTS.items()) and (
        Request.is_of_one(record["request"])
    )


def column_warnings(record: dict[str, Any]) -> tuple[SuspiciousColumn, ...]:
    """What ``audit.json`` says of columns that hide wrong labels."""
    return tuple(
        SuspiciousColumn(**{**one, "alike": tuple(one["alike"])})
        for one in record["summary"].get("column_warnings", ())
    )
