"""What the report of a folder says of its origin, and the commands to go on with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rboost.audit.disk.record import CHECKED, MODEL, STDIN
from rboost.audit.disk.request import Request
from rboost.audit.render.origin import Origin
from rboost.io.inputs import STANDARD_INPUT
from rboost.io.reading import described


def make_origin(folder: Path, request: Request, record: dict[str, Any], has_model: bool) -> Origin:
    """The origin of an audit of files that is written into a folder.

    ``record`` has the version, the budget and the request as the user made it.
    """
    asked = zip(Request.from_dict(record["request"]).files, request.files, strict=True)
    files = [str(folder / STDIN if one == STANDARD_INPUT else path) for one, path in asked]
    return Origin(
        data=described(["standard input" if path == folder / STDIN else path.name
                        for path in map(Path, files)]),
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        version=record["rboost"],
        seed=request.seed,
        model=request.model if request.probabilities is None else "of your own",
        review=("rboost", "review", str(folder)),
        again=(
            "rboost", "audit", *files, "--label", request.label, *_options(record["request"]),
            *(["--budget", str(record["budget"])] if record["budget"] else []),
            "--trusted", str(folder / CHECKED), "--out", f"{folder}-again",
        ),
        clean=("rboost", "clean", str(folder), "--out", "clean.csv"),
        predict=() if not has_model else (
            "rboost", "predict", str(folder / MODEL), "NEW.csv",
            "--out", "predictions.csv",
        ),
        left_aside=_left_aside(request),
    )  # fmt: skip


def _options(request: dict[str, Any]) -> list[str]:
    """What was asked for, where it differs from the default, as it is typed."""
    words: list[str] = []
    if request["id"] is not None:
        words += ["--id", request["id"]]
    for name in ("drop", "context"):
        if request[name]:
            words += [f"--{name}", *request[name]]
    if request.get("probabilities"):
        words += ["--probabilities", request["probabilities"]]
    if request["model"] != Request.model:
        words += ["--model", request["model"]]
    if request["seed"] != Request.seed:
        words += ["--seed", str(request["seed"])]
    if not request["check_columns"]:
        words.append("--no-column-check")
    return words


def _left_aside(request: Request) -> tuple[tuple[str, str], ...]:
    """Columns that were not even read as features, and why."""
    named = [(request.label, "the label")]
    if request.id is not None:
        named.append((request.id, "names of rows (--id)"))
    named += [(column, "left aside (--drop)") for column in request.drop]
    named += [
        (column, "context: labels may depend on it (--context)") for column in request.context
    ]
    return tuple(named)
