"""An audit on disk: written whole, and read back only if its files belong together.

``suspects.csv``, ``report.html`` and ``audit.json`` are for people and programs, ``model.skops`` is
for predictions, ``rows.npz`` for a review. ``audit.json`` comes last, with digests of these two.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rboost.audit.features import import_pandas
from rboost.audit.inference import infer
from rboost.audit.labels import Labels
from rboost.audit.listing import list_suspects
from rboost.audit.model_file import load_model, save_model
from rboost.audit.report import render_report
from rboost.audit.request import Request, read_inputs, run_audit
from rboost.audit.result import LabelAudit
from rboost.audit.summary import summarize
from rboost.audit.suspects import Suspects
from rboost.files import atomic_path, check_writable, staged, write_atomically
from rboost.reading import fingerprint
from rboost.spreadsheets import write_csv

FORMAT = 1
RECORD, ROWS, MODEL, SUSPECTS, REPORT = (
    "audit.json", "rows.npz", "model.skops", "suspects.csv", "report.html"
)  # fmt: skip
AGAIN = "run rboost audit again"


def audit_into(
    folder: Path,
    request: Request,
    budget: int | None = None,
    verbose: int = 0,
    checked: dict[int, Any] | None = None,
) -> tuple[LabelAudit, Suspects]:
    """Audit a file and write what was found; a file that cannot be written fails beforehand."""
    check_writable(folder)
    before = _sources(request)
    audit = run_audit(request, verbose, checked)
    suspects = audit.suspects(n=budget)
    listed = list_suspects(audit, suspects, verbose=bool(verbose))
    page = render_report(audit, suspects, f"Label audit of {request.data.name}")
    about = {
        "columns": [str(name) for name in audit.table.columns],
        "classes": audit.classes.tolist(),
        "label": request.label,
        "id": request.id,
    }
    with staged(folder, last=RECORD) as stage:
        save_model(audit.model, stage / MODEL, about)
        labels = audit.labels
        with atomic_path(stage / ROWS) as temporary, temporary.open("wb") as file:
            np.savez(file, scores=audit.scores, given=labels.given, checked=labels.checked)
        write_csv(listed, stage / SUSPECTS)
        write_atomically(stage / REPORT, page)
        record = {
            "format": FORMAT,
            "rboost": version("rboost"),
            "request": request.as_dict(),
            "budget": budget,
            "sources": before,
            "files": {name: fingerprint(stage / name) for name in (MODEL, ROWS)},
            "classes": labels.classes.tolist(),
            "summary": summarize(audit, suspects).as_dict(),
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_atomically(stage / RECORD, text + "\n")
    return audit, suspects


def read_audit(folder: Path) -> LabelAudit:
    """The audit that :func:`audit_into` wrote, with its table read anew from its source."""
    record = read_record(folder)
    request = Request.from_dict(record["request"])
    if _sources(request) != record["sources"]:
        raise ValueError(f"{request.data} changed since it was audited; {AGAIN}.")
    for name, digest in record["files"].items():
        if fingerprint(folder / name) != digest:
            raise ValueError(f"{folder / name} does not belong to {folder / RECORD}; {AGAIN}.")
    model, _ = load_model(folder / MODEL)
    with np.load(folder / ROWS, allow_pickle=False) as rows:
        scores, given, checked = rows["scores"], rows["given"], rows["checked"]
    inputs = read_inputs(request)
    table, ids = inputs.X, list(inputs.ids)
    if inputs.X_trusted is not None:
        table = import_pandas().concat([table, inputs.X_trusted], ignore_index=True)
        ids += [f"trusted {k}" for k in range(1, len(table) - len(ids) + 1)]
    labels = Labels(np.array(record["classes"]), given, checked, request.label)
    return LabelAudit(
        table.rename(columns=str), labels, np.array(ids, dtype=object), inputs.id_name,
        model.features(table), scores, infer(scores, labels), model,
    )  # fmt: skip


def rerun(folder: Path, checked: dict[int, int], verbose: int = 0) -> LabelAudit:
    """Audit the same file again; ``checked`` has all rows that a person checked."""
    record = read_record(folder)
    request = Request.from_dict(record["request"])
    if _sources(request) != record["sources"]:
        raise ValueError(f"{request.data} changed since it was audited; {AGAIN}.")
    labels = {position: record["classes"][k] for position, k in checked.items()}
    return audit_into(folder, request, record["budget"], verbose, labels)[0]


def read_record(folder: Path) -> dict[str, Any]:
    """What ``audit.json`` says, if it is one of ours."""
    path = folder / RECORD
    if not path.is_file():
        raise ValueError(
            f"{folder} holds no audit; make one with: rboost audit DATA --label COLUMN "
            f"--out {folder}"
        )
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        made_by = record["format"], record["rboost"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error
    if made_by != (FORMAT, version("rboost")):
        raise ValueError(
            f"{path} was written by rboost {made_by[1]}, this is {version('rboost')}; {AGAIN}."
        )
    return dict(record)


def _sources(request: Request) -> dict[str, str]:
    """Digests of the files that an audit is made from."""
    paths = [path for path in (request.data, request.trusted) if path is not None]
    return {str(path.resolve()): fingerprint(path) for path in paths}
