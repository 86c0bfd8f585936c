"""An audit on disk: written whole, and read back only if its files belong together.

``suspects.csv``, ``report.html`` and ``audit.json`` are for people and programs, ``model.rboost``
is for predictions, ``rows.npz`` for a review. ``audit.json`` comes last, with digests of these two.
What was found is not lost if report or model cannot be made: the others are written without them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost.audit.arguments import as_objects, with_trusted
from rboost.audit.cleaning import clean_labels, cleaned_frame
from rboost.audit.disk.model import load_model
from rboost.audit.disk.record import (
    AGAIN,
    CHECKED,
    FORMAT,
    ISSUES,
    MODEL,
    NAMES,
    PROBABILITIES,
    RECORD,
    REPORT,
    ROWS,
    STDIN,
    STORE,
    SUSPECTS,
    TRUSTED,
    column_warnings,
    is_of_cluster,
    kept_request,
    make_origin,
    read_record,
    request_of,
)
from rboost.audit.disk.request import Request, read_inputs, run_audit
from rboost.audit.fit import infer, judge_rows, learn_features, make_scorer
from rboost.audit.insight.suspects import Suspects
from rboost.audit.labels import (
    NO_LABEL,
    as_classes,
    as_written,
    plain_values,
    spelling,
    table_labels,
)
from rboost.audit.result import LabelAudit
from rboost.files import (
    atomic_path,
    file_digest,
    files_digest,
    staged,
    writable,
    write_atomically,
)
from rboost.labels import group_rows
from rboost.saving import save
from rboost.table.columns import NUMBER
from rboost.table.reading import read_table, with_plain_numbers
from rboost.table.sources import STANDARD_INPUT, with_standard_input
from rboost.table.writing import check_ending, write_csv, write_table


def audit_into(
    folder: Path, request: Request, budget: int | None = None, verbose: int = 0
) -> tuple[LabelAudit, Suspects]:
    """Audit files and write what was found; a folder that cannot be written fails beforehand."""
    check_folder(folder, request)
    with writable(folder), with_standard_input(request.files) as files:
        asked = {"request": request.as_dict(), "budget": budget, "source": files_digest(files)}
        request = replace(request, data=files)
        audit = run_audit(request, verbose)
        return audit, _write(folder, audit, request, asked, verbose)


def write_refitted(folder: Path, opened: dict[str, Any], audit: LabelAudit) -> None:
    """Replace the audit in a folder by the same one after a refit; the table is not read.

    ``opened`` is the record of the folder when the audit was read: another one is not overwritten.
    """
    record = read_record(folder)
    if any(record[part] != opened[part] for part in ("request", "source", "classes")):
        raise ValueError(f"{folder} holds another audit by now; start rboost review again.")
    with writable(folder):
        _write(folder, audit, kept_request(folder, record), record)


def check_folder(folder: Path, request: Request) -> None:
    """Fail before files of others, or those to be audited, are overwritten."""
    ours = {(folder / name).resolve() for name in NAMES}
    for path in (*request.files, request.trusted, request.probabilities):
        if path is not None and path.resolve() in ours:
            raise ValueError(f"{path} would be overwritten; choose another folder with --out.")
    knows_answers = Path(request.trusted or "").resolve() == (folder / CHECKED).resolve()
    if (folder / STORE).exists() and not knows_answers:
        warnings.warn(
            f"{folder} has answers of a review, which this audit does not know; to use them, pass "
            "its checked.csv with --trusted.",
            stacklevel=4,
        )
    taken = [path.name for path in sorted(ours) if path.exists()]
    if taken and RECORD not in taken:
        raise ValueError(
            f"{folder} has a file {taken[0]} that is not of an audit; choose another folder with "
            "--out."
        )
    if (folder / ISSUES).exists() and not is_of_cluster(folder):
        raise ValueError(f"{folder / ISSUES} is not of an audit; choose another folder with --out.")


def _write(
    folder: Path, audit: LabelAudit, request: Request, asked: dict[str, Any], verbose: int = 0
) -> Suspects:
    """Write all files together, the record last; return the suspects that were listed.

    The record keeps ``asked``: the request as the user made it, the budget, the source's digest.
    """
    record: dict[str, Any] = {"format": FORMAT, "rboost": version("rboost")}
    record |= {name: asked[name] for name in ("request", "budget", "source")}
    labels, suspects = audit.labels, audit.suspects(n=record["budget"])
    listed = audit.to_frame(suspects, verbose=bool(verbose))
    with staged(folder, NAMES) as stage:
        write_csv(listed, stage / SUSPECTS)
        with atomic_path(stage / ROWS) as temporary, temporary.open("wb") as file:
            arrays: dict[str, Any] = {
                "scores": audit.scores, "given": labels.given, "checked": labels.checked,
                "at_random": labels.at_random, "copy_of": audit.copy_of,
            }  # fmt: skip
            np.savez(file, **{name: one for name, one in arrays.items() if one is not None})
        # The files themselves may be written again, by a review or by whoever made them.
        for path, name in ((request.trusted, TRUSTED), (request.probabilities, PROBABILITIES)):
            if path is not None:
                shutil.copyfile(path, stage / name)
        named = Request.from_dict(record["request"]).files
        if STANDARD_INPUT in named:  # which cannot be read again
            shutil.copyfile(request.files[named.index(STANDARD_INPUT)], stage / STDIN)
        if audit.model is not None:
            with _or_without(MODEL, folder):
                save(audit.model, stage / MODEL, _about(audit, request))
        with _or_without(REPORT, folder):
            origin = make_origin(folder, request, record, has_model=(stage / MODEL).exists())
            page = audit.to_html(suspects, f"Label audit of {origin.data}", origin)
            write_atomically(stage / REPORT, page)
        kept = [name for name in (MODEL, ROWS) if (stage / name).exists()]
        record = {
            **record,
            "files": {name: file_digest(stage / name) for name in kept},
            "classes": labels.classes.tolist(),
            "summary": audit.summary(suspects).as_dict(),
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_atomically(stage / RECORD, text + "\n")
    return suspects


@contextlib.contextmanager
def _or_without(name: str, folder: Path) -> Iterator[None]:
    """Go on without a file that cannot be made, and say so."""
    try:
        yield
    except OSError:  # nothing can be written at all
        raise
    except (Exception, RecursionError) as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        warnings.warn(
            f"{folder / name} was not written, all else was: {problem[:300]}", stacklevel=4
        )


def _about(audit: LabelAudit, request: Request) -> dict[str, Any]:
    """What predictions have to know of the table: its columns, and what they held."""
    encoder = audit.model.encoder
    return {
        "columns": encoder.names,
        "text": [own.name for own in encoder.columns if own.kind != NUMBER],
        "classes": audit.classes.tolist(),
        "label": request.label,
        "id": request.id,
    }


def read_audit(folder: Path) -> LabelAudit:
    """The audit that :func:`audit_into` wrote, with its table read anew from its source."""
    record = read_record(folder)
    request = request_of(folder, record)
    for name, digest in record["files"].items():
        if file_digest(folder / name) != digest:
            raise ValueError(f"{folder / name} does not belong to {folder / RECORD}; {AGAIN}.")
    inputs = read_inputs(request)
    table, ids = with_trusted(inputs.X, inputs.ids, inputs.X_trusted)
    scores, given, checked, at_random, copy_of = _read_rows(folder / ROWS, len(table))
    n_extra, groups = len(table) - len(inputs.X), None
    none = [None] * n_extra
    classes = as_classes(record["classes"])
    said = _said(classes, checked, inputs.y_checked + (inputs.y_trusted or none))
    if inputs.context is not None:
        groups = group_rows(inputs.context, len(inputs.X)).followed_by(n_extra)
    labels = table_labels(
        classes, given, checked, request.label, at_random, as_written(inputs.y + none), said, groups
    )
    features, scorer = learn_features(table), None
    if request.probabilities is None:
        scorer = make_scorer(request.model, request.seed, None, 0, request.device)
    if MODEL in record["files"]:
        model, _ = load_model(folder / MODEL)
        found = judge_rows(model.noise, scores, labels, copy_of)
    else:
        model = None
        found = infer(scores, labels, copy_of)
    return LabelAudit(
        table, labels, as_objects(ids), inputs.id_name, features, scores, found, model,
        n_extra, groups, column_warnings(record), copy_of, scorer,
    )  # fmt: skip


def _said(classes: NDArray[Any], checked: Integers, of_files: list[Any]) -> NDArray[Any]:
    """What people said of each row: the checked class, which answers of a review may have changed.

    The files of the request alone have what is too rare to be a class.
    """
    known = {spelling(one) for one in classes.tolist()}
    rare = [None if spelling(one) in known else one for one in plain_values(of_files)]
    names = [*as_written(classes), ""]
    return np.where(checked == NO_LABEL, as_written(rare), np.array(names, dtype=object)[checked])


def _read_rows(path: Path, n_rows: int) -> tuple[Any, Any, Any, Any, Any]:
    """Scores, given and checked labels, which were drawn at random, and which are copies."""
    try:
        with np.load(path, allow_pickle=False) as rows:
            found = [rows[name] for name in ("scores", "given", "checked", "at_random")]
            copy_of = rows.get("copy_of")  # where copies were merged
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error
    arrays = found if copy_of is None else [*found, copy_of]
    if any(values.shape[:1] != (n_rows,) for values in arrays):
        raise ValueError(f"{path} is of another table; {AGAIN}.")
    if not np.isfinite(found[0]).all():
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    return found[0], found[1], found[2], found[3], copy_of


def check_output(out: Path, request: Request, folder: Path) -> None:
    """Fail before anything is read if the file cannot be written, or is one of the audit.

    Only the answers may lie in the folder of the audit.
    """
    check_ending(out)
    ours = [*request.files, request.trusted, request.probabilities]
    inputs = {path.resolve() for path in ours if path is not None}
    is_inside = out.resolve().parent == folder.resolve() and out.name != CHECKED
    if out.resolve() in inputs or is_inside:
        raise ValueError(f"{out} belongs to the audit; choose another file.")


def write_cleaned(
    audit: LabelAudit, request: Request, out: Path, how: str, threshold: float
) -> Counter[str]:
    """Write all columns of the audited file with mended labels; count where labels come from.

    The audited file stays as it is.
    """
    mended = clean_labels(audit.labels, audit.inference.posterior, how, threshold)
    table = read_table(request.files, label=request.label, as_written=True)
    if out.suffix.lower() in (".parquet", ".xlsx"):  # which know numbers as such
        table = table.apply(with_plain_numbers)
    write_table(cleaned_frame(table, audit.labels, audit.inference.posterior, mended), out)
    return Counter(mended.source[: len(table)][mended.is_kept[: len(table)]].tolist())
