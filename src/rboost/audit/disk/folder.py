"""An audit on disk: written whole, read back if its files belong together, predicted with.

``suspects.csv``, ``report.html`` and ``audit.json`` are for people and programs, ``model.rboost``
is for predictions, ``rows.npz`` for a review. ``audit.json`` comes last, with digests of these two.
What was found is not lost if report or model cannot be made: the others are written without them.

``audit.json``, the record, says what was asked for, what was found, and which files belong to it.
From it the report knows its origin and the commands to go on with.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.audit.arguments import ROW, check_arguments
from rboost.audit.cleaning import clean_labels, cleaned_frame
from rboost.audit.disk.model import load_model
from rboost.audit.disk.request import Request, read_inputs, run_audit
from rboost.audit.fit import infer, judge_rows, learn_features, make_scorer, merged_copies
from rboost.audit.insight.summary import Suspects
from rboost.audit.insight.suspicion import SuspiciousColumn
from rboost.audit.render.report import Origin
from rboost.audit.result import LabelAudit
from rboost.files import (
    atomic_path,
    check_is_file,
    file_digest,
    files_digest,
    staged,
    writable,
    write_atomically,
)
from rboost.labels import Answers
from rboost.packages import package
from rboost.saving import save
from rboost.table.columns import NUMBER
from rboost.table.reading import described, read_table, with_plain_numbers
from rboost.table.sources import STANDARD_INPUT, with_standard_input
from rboost.table.writing import check_ending, guarded, write_csv, write_table

# Goes up with every change after which folders that were made before cannot be read as they are.
FORMAT = 6
(
    RECORD, ROWS, MODEL, SUSPECTS, REPORT, CONSENSUS, TRUSTED, PROBABILITIES, ANNOTATIONS, STDIN,
    ISSUES,
) = NAMES = (
    "audit.json", "rows.npz", "model.rboost", "suspects.csv", "report.html", "consensus.csv",
    "trusted_rows", "probabilities", "annotations", "stdin_table", "issues",
)  # fmt: skip
# What the record of an audit on a cluster holds, which has the folder of issues but no rows.
CLUSTER = "cluster"
# What a review writes into the folder: the answers, and the same as a table.
STORE, CHECKED = "review.sqlite", "checked.csv"
# What a review and its exports are made from, beside the table.
FOUND = (RECORD, ROWS, MODEL, STORE)
AGAIN = "run rboost audit again"
# Bytes of the headers of arrays in ``rows.npz``, at most.
HEADERS = 2**12
# What answers and names may take of it for each row, in numbers: about thirty answers a row.
MOST_ANSWERS = 100
# What every record holds.
PARTS = {"request": dict, "source": str, "files": dict, "classes": list, "summary": dict}


def audit_into(
    folder: Path, request: Request, budget: int | None = None, verbose: int = 0
) -> tuple[LabelAudit, Suspects]:
    """Audit files and write what was found; a folder that cannot be written fails at once."""
    check_folder(folder, request)
    with writable(folder), with_standard_input(request.files) as files:
        asked = {"request": request.as_dict(), "budget": budget, "source": files_digest(files)}
        request = replace(request, data=files)
        audit = run_audit(request, verbose)
        return audit, _write(folder, audit, request, asked, verbose)


def write_refitted(folder: Path, opened: dict[str, Any], audit: LabelAudit) -> None:
    """Replace the audit in a folder by the same one after a refit; the table is not read.

    If there is a model which the new one cannot replace, all stays as it was.
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
    for path in (*request.files, request.trusted, request.probabilities, request.annotations):
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
        if labels.n_annotators:
            write_csv(audit.consensus(), stage / CONSENSUS)
        with atomic_path(stage / ROWS) as temporary, temporary.open("wb") as file:
            said = labels.answers
            np.savez(
                file, scores=audit.scores, at_random=labels.at_random,
                answers=np.column_stack([said.row, said.reviewer, said.stated]),
                reviewers=np.array(said.names, dtype=np.str_),
            )  # fmt: skip
        # The files themselves may be written again, by a review or by whoever made them.
        copied = {
            TRUSTED: request.trusted,
            PROBABILITIES: request.probabilities,
            ANNOTATIONS: request.annotations,
        }
        for name, path in copied.items():
            if path is not None:
                shutil.copyfile(path, stage / name)
        named = Request.from_dict(record["request"]).files
        if STANDARD_INPUT in named:  # which cannot be read again
            shutil.copyfile(request.files[named.index(STANDARD_INPUT)], stage / STDIN)
        if audit.model is not None:
            is_kept = MODEL in asked.get("files", ())  # the earlier one, where this cannot be saved
            with contextlib.nullcontext() if is_kept else _or_without(MODEL, folder):
                about = {"label": request.label, "id": request.id}
                save(audit.model, stage / MODEL, about)
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
            f"{folder / name} could not be written, but everything else was: {problem[:300]}",
            stacklevel=4,
        )


def read_audit(folder: Path) -> LabelAudit:
    """The audit that :func:`audit_into` wrote, with its table read anew from its source."""
    record = read_record(folder)
    request = request_of(folder, record)
    for name, digest in record["files"].items():
        if file_digest(folder / name) != digest:
            raise ValueError(f"{folder / name} does not belong to {folder / RECORD}; {AGAIN}.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which the audit gave
        asked = check_arguments(**read_inputs(request))
        model = load_model(folder / MODEL)[0] if MODEL in record["files"] else None
        features = learn_features(asked.table, None if model is None else model.encoder)
    classes = asked.labels.classes.tolist()
    if classes != record["classes"]:
        raise ValueError(f"{folder / ROWS} is of another table; {AGAIN}.")
    if model is not None and model.classes.tolist() != classes:
        raise ValueError(f"{folder / MODEL} is of another table; {AGAIN}.")
    scores, answers, at_random = _read_rows(folder / ROWS, len(asked.labels), len(classes))
    labels = asked.labels.with_checked(answers, at_random)
    scorer, copy_of = None, None
    if asked.scores is None:
        scorer = make_scorer(request.model, request.seed, None, 0, request.device)
        copy_of = merged_copies(features, labels, asked.n_extra)
    if model is None:
        found = infer(scores, labels, copy_of)
    else:
        found = judge_rows(model.noise, scores, labels, copy_of)
    return LabelAudit(
        asked.table, labels, asked.ids, asked.id_name, features, scores, found, model,
        asked.n_extra, asked.groups, column_warnings(record), copy_of, scorer,
    )  # fmt: skip


def _read_rows(
    path: Path, n_rows: int, n_classes: int
) -> tuple[Floats, Answers, NDArray[np.bool_]]:
    """Scores, answers, and which of these are of a random check, as :func:`_write` kept them."""
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    kinds = {
        "scores": (shape, "f"), "at_random": ((n_rows,), "b"), "answers": ((None, 3), "i"),
        "reviewers": ((None,), "U"),
    }  # fmt: skip
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            n_bytes = sum(one.file_size for one in archive.infolist())
            if n_bytes > 8 * n_rows * (n_classes + MOST_ANSWERS) + HEADERS:
                raise ValueError("it unpacks to more than an audit keeps")
            with np.load(path, allow_pickle=False) as rows:
                found = [rows[name] for name in kinds]
    except OSError:  # says itself what it is
        raise
    except Exception as error:  # a file that is no archive, or is cut, fails anywhere in there
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error
    if any(len(own) != n_rows for own in found[:2] if own.ndim):
        raise ValueError(f"{path} is of another table; {AGAIN}.")
    fits = all(
        own.dtype.kind == kind
        and own.ndim == len(shape)
        and all(n in (None, m) for n, m in zip(shape, own.shape, strict=True))
        for own, (shape, kind) in zip(found, kinds.values(), strict=True)
    )
    if not fits or not np.isfinite(found[0]).all():
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    scores, at_random, answers, names = found
    row, who, stated = answers.T.astype(np.intp)
    said = Answers(n_rows, row, who, stated, tuple(names.tolist()))
    if not np.all((answers >= 0) & (answers < [n_rows, len(names), n_classes])):
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    return scores, said, at_random


def check_no_audit(out: Path) -> None:
    """Fail if a file is none, or one of an audit, whichever it is, or its answers."""
    check_is_file(out)
    place = out.resolve()
    for folder in place.parents[:2]:
        if (
            place.relative_to(folder).parts[0] in (*NAMES, STORE, CHECKED)
            and (folder / RECORD).exists()
        ):
            raise ValueError(f"{out} belongs to the audit; choose another file.")


def check_output(out: Path, request: Request, folder: Path) -> None:
    """Fail before anything is read if the file cannot be written, or is one of an audit.

    Only the answers may lie in the folder of the audit.
    """
    check_ending(out)
    if out.resolve() != (folder / CHECKED).resolve():
        check_no_audit(out)
    check_apart(out, request, folder)


def check_apart(out: Path, request: Request, folder: Path) -> None:
    """Fail if a file that is to be written is one of the audit."""
    ours = [*request.files, request.trusted, request.probabilities, request.annotations]
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
    label = None if request.annotators else request.label
    table = read_table(request.files, label=label, as_written=True, header=request.header)
    if request.annotators:
        table = table.assign(**{request.label: audit.labels.written[: len(table)]})
    if out.name.lower().endswith((".parquet", ".xlsx", ".jsonl", ".jsonl.gz")):  # know numbers
        table = table.apply(with_plain_numbers)
    frame = cleaned_frame(table, audit.labels, audit.inference.posterior, mended)
    is_text = ".csv" in out.name.lower() or ".tsv" in out.name.lower()
    n_risky = sum(
        isinstance(cell, str) and guarded(cell) != cell
        for name in (frame if is_text else ())
        for cell in (name, *frame[name])
    )
    write_table(frame, out, guarded="cells")
    if n_risky:
        warnings.warn(
            f"{n_risky} cells of {out} that a spreadsheet takes for a formula begin with an "
            "apostrophe; write .parquet to have them as they are.",
            stacklevel=3,
        )
    return Counter(mended.source[: len(table)][mended.is_kept[: len(table)]].tolist())


def predict_file(model_path: Path, files: Path | Sequence[Path], header: bool | None = None) -> Any:
    """A frame with each row's id, predicted class, and probability of every true class.

    ``header`` says whether the files have one, as in ``read_table``.
    """
    if model_path.is_dir():  # of an audit
        model_path = model_path / MODEL
    folder = model_path.parent
    if not model_path.exists() and (folder / RECORD).exists():
        read_record(folder)  # says so where another version has made it
        raise ValueError(
            f"{folder} has no model: the audit was given probabilities, or could not save its "
            "model; predict with a model of your own, or audit again."
        )
    model, label, id_name = load_model(model_path)
    columns = model.encoder.columns
    words = [own.name for own in columns if own.kind != NUMBER]
    table = read_table(files, text=[*words, id_name], header=header)
    data = described([files] if isinstance(files, Path) else files)
    absent = [name for name in model.encoder.names if name not in table.columns]
    if absent:
        raise ValueError(
            f"{data} lacks the column {absent[0]!r} that {model_path} was fitted to"
            + (f", and {len(absent) - 1} more" if len(absent) > 1 else "")
            + "; pass a table with the columns of the audit."
        )
    try:
        probability = model.predict_proba(table[model.encoder.names])
    except (ValueError, TypeError) as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"{data} is no table like the audited one: {problem}") from error
    if id_name not in table.columns:
        id_name = None
    names = np.array(
        [*map(str, model.classes)], dtype=object
    )  # not as wide as the longest in each row
    found = package("pandas").DataFrame(
        {
            id_name or ROW: range(1, len(table) + 1) if id_name is None else table[id_name],
            f"predicted {label}": names[probability.argmax(axis=1)],
        }
    )
    for k, name in enumerate(names):
        found[f"p({name})"] = probability[:, k].round(6)
    return found


# ---- The record ----


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
    annotations = None if request.annotations is None else folder / ANNOTATIONS
    return replace(
        request,
        data=tuple(files),
        trusted=None if trusted is None else folder / TRUSTED,
        probabilities=None if probabilities is None else folder / PROBABILITIES,
        annotations=annotations,
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
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{path} is damaged; {AGAIN}.") from error
    if CLUSTER in record:
        raise ValueError(
            f"{folder} holds an audit on a cluster, which keeps no rows to review or to clean; see "
            f"{SUSPECTS}, run it again with --cleaned FOLDER, or audit some rows without --cluster."
        )
    if number != FORMAT:
        newer = "a newer", "update rboost, as by pip install --upgrade rboost."
        age, remedy = newer if number > FORMAT else ("an older", f"{AGAIN} to make a new one.")
        raise ValueError(
            f"{path} was made by {age} rboost (its format is {number}, this one reads {FORMAT}); "
            f"{remedy}"
        )
    is_whole = all(isinstance(record.get(name), kind) for name, kind in PARTS.items()) and all(
        isinstance(name, (str, int, float)) for name in record["classes"]
    )
    budget = record.get("budget")
    is_sound = budget is None or (type(budget) is int and 0 < budget <= sys.maxsize)
    if not (is_whole and is_sound and Request.is_valid(record["request"])):
        raise ValueError(f"{path} is damaged; {AGAIN}.")
    column_warnings(record)
    return record | {"budget": budget}


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
    kinds = {"column": str, "kind": str, "rate": float, "other_rate": float, "value": str}
    found = record["summary"].get("column_warnings", ())
    for one in found if isinstance(found, (list, tuple)) else (None,):
        is_whole = isinstance(one, dict) and one.keys() == {*kinds, "alike"}
        if not is_whole or not (
            all(isinstance(one[name], kind) for name, kind in kinds.items())
            and isinstance(one["alike"], list)
            and all(isinstance(name, str) for name in one["alike"])
        ):
            raise ValueError(f"{RECORD} is damaged; {AGAIN}.")
    return tuple(SuspiciousColumn(**one | {"alike": tuple(one["alike"])}) for one in found)


def make_origin(folder: Path, request: Request, record: dict[str, Any], has_model: bool) -> Origin:
    """What the report of an audit that is written into a folder says of its origin.

    ``record`` has the version, the budget and the request as the user made it.
    """
    asked = Request.from_dict(record["request"])
    pairs = zip(asked.files, request.files, strict=True)
    files = [folder / STDIN if one == STANDARD_INPUT else path for one, path in pairs]
    again = [
        "rboost", "audit", *map(str, files), *_label_options(asked),
        *_options(asked, record["budget"]), "--trusted", str(folder / CHECKED),
        "--out", f"{folder}-again",
    ]  # fmt: skip
    commands = {
        "review": ["rboost", "review", str(folder)],
        "again": again,
        "clean": ["rboost", "clean", str(folder), "--out", "clean.csv"],
        "predict": [
            "rboost",
            "predict",
            str(folder),
            "NEW.csv",
            *_header_option(asked),
            "--out",
            "predictions.csv",
        ],
    }
    if not has_model:
        del commands["predict"]
    what = "labels of an annotator" if request.annotators else "the label"
    left_aside = [(column, what) for column in request.label_columns]
    left_aside += [(column, "names of rows (--id)") for column in [request.id] if column]
    left_aside += [(column, "not used (--drop)") for column in request.drop]
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
    words += _header_option(asked)
    return words if asked.check_columns else [*words, "--no-column-check"]


def _label_options(asked: Request) -> list[str]:
    if asked.annotations is None:
        return ["--label", *asked.label_columns]
    who, label = asked.annotators
    return ["--annotations", str(asked.annotations), "--annotator", who, "--label", label]


def _header_option(asked: Request) -> list[str]:
    return {None: [], True: ["--header"], False: ["--no-header"]}[asked.header]
