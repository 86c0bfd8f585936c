"""``audit.json``: what was asked for, what was found, and which files belong to it.

From it the report knows its origin and the commands to go on with.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rboost.audit.disk.request import Request
from rboost.audit.insight.suspicion import SuspiciousColumn
from rboost.audit.render.report import Origin
from rboost.files import files_digest
from rboost.table.reading import described
from rboost.table.sources import STANDARD_INPUT

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
    trusted, probabilities = request.trusted, request.probabilities
    return replace(
        request,
        data=tuple(files),
        trusted=None if trusted is None else folder / TRUSTED,
        probabilities=None if probabilities is None else folder / PROBABILITIES,
    )


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
    is_whole = all(isinstance(record.get(name), kind) for name, kind in PARTS.items())
    if not is_whole or not Request.is_of_one(record["request"]):
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


def column_warnings(record: dict[str, Any]) -> tuple[SuspiciousColumn, ...]:
    """What ``audit.json`` says of columns that hide wrong labels."""
    return tuple(
        SuspiciousColumn(**{**one, "alike": tuple(one["alike"])})
        for one in record["summary"].get("column_warnings", ())
    )


def make_origin(folder: Path, request: Request, record: dict[str, Any], has_model: bool) -> Origin:
    """What the report of an audit that is written into a folder says of its origin.

    ``record`` has the version, the budget and the request as the user made it.
    """
    asked = Request.from_dict(record["request"])
    pairs = zip(asked.files, request.files, strict=True)
    files = [folder / STDIN if one == STANDARD_INPUT else path for one, path in pairs]
    again = [
        "rboost", "audit", *map(str, files), "--label", request.label,
        *_options(asked, record["budget"]), "--trusted", str(folder / CHECKED),
        "--out", f"{folder}-again",
    ]  # fmt: skip
    commands = {
        "review": ["rboost", "review", str(folder)],
        "again": again,
        "clean": ["rboost", "clean", str(folder), "--out", "clean.csv"],
        "predict": ["rboost", "predict", str(folder), "NEW.csv", "--out", "predictions.csv"],
    }
    if not has_model:
        del commands["predict"]
    left_aside = [(request.label, "the label")]
    left_aside += [(column, "names of rows (--id)") for column in [request.id] if column]
    left_aside += [(column, "left aside (--drop)") for column in request.drop]
    why = "context: labels may depend on it (--context)"
    left_aside += [(column, why) for column in request.context]
    return Origin(
        described([
            "standard input" if path == folder / STDIN else path.name for path in files
        ]),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=record["rboost"],
        seed=request.seed,
        model=request.model if request.probabilities is None else "of your own",
        commands={name: shlex.join(words) for name, words in commands.items()},
        left_aside=tuple(left_aside),
    )  # fmt: skip


def _options(asked: Request, budget: int | None) -> list[str]:
    """What was asked for, where it differs from the default, as it is typed."""
    options: dict[str, list[Any]] = {
        "--id": [asked.id],
        "--drop": [*asked.drop],
        "--context": [*asked.context],
        "--probabilities": [asked.probabilities],
        "--model": [asked.model] if asked.model != Request.model else [],
        "--seed": [asked.seed] if asked.seed != Request.seed else [],
        "--device": [asked.device] if asked.device != Request.device else [],
        "--budget": [budget],
    }
    words = [
        word
        for option, values in options.items()
        if any(value is not None for value in values)
        for word in (option, *map(str, values))
    ]
    return words if asked.check_columns else [*words, "--no-column-check"]
