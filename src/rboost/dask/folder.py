"""An audit on a cluster, on disk: for people, for programs and for predictions.

Rows stay where they are, so that there is no report and no review; ``issues`` says of every row how
likely its label is to be wrong. ``audit.json`` comes last and says of which audit the files are.
"""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rboost.audit.arguments import ROW
from rboost.audit.cleaning import SUGGESTED
from rboost.audit.disk.folder import (
    CLUSTER,
    FORMAT,
    ISSUES,
    MODEL,
    NAMES,
    RECORD,
    SUSPECTS,
    check_folder,
)
from rboost.audit.disk.request import Request
from rboost.audit.insight.summary import AuditSummary, usual_length
from rboost.audit.render.text import describe, fitted, width
from rboost.audit.wording import one_line, percent, with_noun
from rboost.dask.audit import DistributedAudit, audit_labels
from rboost.dask.outputs import ISSUE_COLUMNS, check_ours
from rboost.engines.engine import POOL_ROWS
from rboost.files import staged, writable, write_atomically
from rboost.packages import package
from rboost.saving import save
from rboost.table.writing import write_csv

distributed, parquet = package("distributed", "dask"), package("pyarrow.parquet", "dask")
# Trees that have grown, until all is written.
CHECKPOINT = "unfinished.json"
# The most suspects that are listed without a budget.
MOST_SUSPECTS = 10_000
MOST_SHOWN, WIDEST = 10, 24


def audit_into_folder(
    folder: Path,
    request: Request,
    cluster: str = "local",
    n_workers: int | None = None,
    budget: int | None = None,
    cleaned: Path | None = None,
    verbose: bool = False,
) -> str:
    """Audit Parquet files on a cluster, write what was found, and say it in a few lines.

    A run after a kill goes on with the trees that are kept in the folder until it is whole.
    ``cleaned`` is a folder for the table with better labels.
    """
    _check(folder, request, cleaned)
    left_aside = tuple(name for name in (request.id, *request.drop) if name is not None)
    with (
        writable(folder),
        _explain_lost_workers(),
        audit_labels(
            list(request.files), request.label, drop=left_aside, cluster=cluster,
            n_workers=n_workers, device=request.device, random_state=request.seed,
            checkpoint=folder / CHECKPOINT, verbose=verbose,
        ) as audit,
    ):  # fmt: skip
        if budget is None:
            budget = min(usual_length(audit.expected_wrong), MOST_SUSPECTS)
        suspects, id_name = audit.suspects(budget), _id_name(request)
        suspects.insert(0, id_name, suspects.pop(id_name))
        summary = audit.summary(suspects)
        notes = _notes(audit, [] if cleaned is None else audit.clean(cleaned))
        _write(folder, audit, suspects, request, summary)
    for path in folder.glob(f"*{CHECKPOINT}*"):  # a kill may have left one half written, too
        path.unlink()
    return describe(summary, [], [], [], "") + _first(suspects, id_name) + notes


def _notes(audit: DistributedAudit, cleaned: list[Path]) -> str:
    """How many labels of a cleaned table changed, and whether a cluster was needed."""
    notes = ""
    if cleaned:
        sources = (parquet.read_table(path, columns=["label_source"]) for path in cleaned)
        n_changed = sum(table["label_source"].to_pylist().count(SUGGESTED) for table in sources)
        notes += f"\n{with_noun(n_changed, 'label')} of the cleaned table changed.\n"
    if audit.n_rows <= POOL_ROWS:
        notes += f"\nA table of up to {POOL_ROWS} rows is audited better without --cluster.\n"
    return notes


def _check(folder: Path, request: Request, cleaned: Path | None) -> None:
    """Fail before anything is overwritten that is not of an earlier audit."""
    if request.label in (request.id, *request.drop):
        raise ValueError(
            f"{request.label!r} is the label; name another column with --id or --drop."
        )
    check_folder(folder, request)
    check_ours(folder / ISSUES)
    outputs = {"--out": (folder / ISSUES).resolve()}
    if cleaned is not None:
        outputs["--cleaned"] = cleaned.resolve()
        if folder.resolve().is_relative_to(cleaned.resolve()) or (
            cleaned.resolve().is_relative_to(outputs["--out"])
        ):
            raise ValueError("--cleaned must name a folder of its own; choose another one.")
        check_ours(cleaned)
    for option, output in outputs.items():
        for path in request.files:
            if path.resolve().is_relative_to(output):
                raise ValueError(
                    f"{path} would be overwritten; choose another folder with {option}."
                )


@contextmanager
def _explain_lost_workers() -> Iterator[None]:
    """One sentence, and no lines of a log, where a cluster or its workers are lost."""
    log = logging.getLogger("distributed.client")
    level = log.level
    try:
        log.setLevel(logging.CRITICAL)
        yield
    except (distributed.KilledWorker, CancelledError, distributed.comm.CommClosedError) as error:
        raise ConnectionError(
            "The cluster was lost, or workers that read or write the table were; mostly they have "
            "run out of memory: start some with more of it, and run the same command again."
        ) from error
    finally:
        log.setLevel(level)


def _id_name(request: Request) -> str:
    """The column of suspects that has the names of rows."""
    if request.id is None:
        return ROW
    return f"table_{request.id}" if request.id in ISSUE_COLUMNS else request.id


def _write(
    folder: Path, audit: DistributedAudit, suspects: Any, request: Request, summary: AuditSummary
) -> None:
    """Write all files together, the record last."""
    record = {
        "format": FORMAT,
        CLUSTER: True,
        "rboost": version("rboost"),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "request": request.as_dict(),
        "classes": audit.classes.tolist(),
        "noise_matrix": audit.noise_matrix.tolist(),
        "noise_interval": audit.noise_interval.tolist(),
        "n_rows": audit.n_rows,
        "expected_wrong": audit.expected_wrong,
        "wrong_share": audit.wrong_share,
        "summary": summary.as_dict(),
    }
    with staged(folder, NAMES) as stage:
        audit.write_issues(stage / ISSUES)
        write_csv(suspects.round({"probability": 4}), stage / SUSPECTS)
        save(audit.model, stage / MODEL, _about(audit, request))
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_atomically(stage / RECORD, text + "\n")


def _about(audit: DistributedAudit, request: Request) -> dict[str, Any]:
    """What predictions have to know of the table: which columns are label and name of a row."""
    return {"label": request.label, "id": request.id}


def _first(suspects: Any, id_name: str) -> str:
    """The first suspects as a table for the terminal."""
    rows = suspects[[id_name, *ISSUE_COLUMNS[1:]]].head(MOST_SHOWN).itertuples(index=False)
    shown = [[name, given, f"→ {other}", percent(wrong)] for name, given, other, wrong in rows]
    head = [id_name, "given", "→ suggested", "wrong"]
    texts = [[one_line(cell, WIDEST) for cell in row] for row in (head, *shown)]
    widths = [max(map(width, column)) for column in zip(*texts, strict=True)]
    lines = [
        "  ".join(fitted(cell, most) for cell, most in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]
    if len(suspects) > len(shown):
        lines.append(f"… and {with_noun(len(suspects) - len(shown), 'more suspect')}")
    return "\n" + "\n".join(lines) + "\n" if shown else ""
