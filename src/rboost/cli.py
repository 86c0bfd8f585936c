"""The command line: arguments in, a library call, its result rendered.

Each command has a function that adds its options and one that runs it. What a command needs is
imported when it runs, so that asking for help takes no time.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rboost.table.sources import STANDARD_INPUT

BEWARE = (
    "rboost: measure no model on this table: where the audit decided, and nobody looked, it is "
    "right by definition; use rows that a person checked."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; mistakes of the user end in one sentence."""
    parser = argparse.ArgumentParser(
        prog="rboost", description="Classification when some labels are wrong."
    )
    parser.add_argument("--version", action="version", version=f"rboost {version('rboost')}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (add_audit_command, add_review_command, add_clean_command, add_predict_command):
        add(commands)
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other packages, for programmers
            warnings.simplefilter("always", category=UserWarning)
            warnings.showwarning = _show_warning
            _clean_up_when_killed()
            code = int(options.run(options))
            sys.stdout.flush()  # here, where a reader that has gone is no mistake
            return code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _failed("the table does not fit into memory; audit a sample of its rows")
    except OSError as error:
        is_raw = error.strerror and error.filename  # errors of this package are sentences already
        return _failed(f"{error.filename}: {error.strerror}." if is_raw else str(error))
    except (ValueError, ImportError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        print(f"rboost: {getattr(options, 'stopped', 'stopped')}", file=sys.stderr)
        return 130


def _failed(problem: str) -> int:
    print(f"rboost: {' '.join(problem.split())}", file=sys.stderr)
    return 2


def _clean_up_when_killed() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"rboost: {' '.join(str(message).split())}", file=sys.stderr)


def add_audit_command(commands: Any) -> None:
    """Add ``audit``."""
    audit = commands.add_parser(
        "audit",
        help="find wrong labels in a table",
        description="Estimate how noisy the labels of a table are and list those that are "
        "probably wrong, with reasons. Writes suspects.csv, report.html, audit.json, "
        "model.rboost and rows.npz.",
    )
    audit.add_argument(
        "data", type=Path, nargs="+",
        help="CSV, TSV, .xlsx or Parquet, may be compressed; several files or a pattern such as "
        "'data/*.csv' are one table, - is standard input",
    )  # fmt: skip
    audit.add_argument(
        "--label", nargs="+", metavar="COLUMN",
        help="the column to audit; of several annotators all their columns",
    )  # fmt: skip
    audit.add_argument(
        "--annotations", type=Path, metavar="FILE",
        help="labels of several annotators, one a line: the row (its --id, or row, counted from "
        "1), the annotator and the label",
    )  # fmt: skip
    audit.add_argument(
        "--annotator", metavar="COLUMN",
        help="with --annotations, the column of annotators (annotator); --label is that of labels "
        "(label)",
    )  # fmt: skip
    audit.add_argument("--out", metavar="DIR", help="folder for the results (audit)")
    audit.add_argument(
        "--trusted", type=Path, metavar="FILE", help="rows whose labels a person has checked"
    )
    audit.add_argument(
        "--trusted-random", action="store_true",
        help="the trusted rows were drawn at random, so that they say how many labels are wrong",
    )  # fmt: skip
    audit.add_argument(
        "--probabilities", type=Path, metavar="FILE",
        help="what a model of your own says of rows it was not fitted to, a column for each class",
    )  # fmt: skip
    _add_header_option(audit)
    audit.add_argument("--id", metavar="COLUMN", help="what to call rows by (their number)")
    several: Any = {"nargs": "+", "action": "extend", "default": [], "metavar": "COLUMN"}
    audit.add_argument("--drop", **several, help="columns to leave aside")
    audit.add_argument(
        "--context", **several,
        help="columns that labels may depend on but classes do not: annotator, source, date",
    )  # fmt: skip
    audit.add_argument(
        "--budget", type=int, metavar="N", help="how many rows to list (the expected number of "
        "wrong labels, at least 50)",
    )  # fmt: skip
    audit.add_argument("--model", default="rboost", help="rboost, linear or forest (rboost)")
    audit.add_argument(
        "--no-column-check", action="store_true", help="do not look for columns that hide errors"
    )
    audit.add_argument(
        "--device", default="cpu", choices=["cpu", "cuda"],
        help="where trees grow: cuda is a GPU of NVIDIA (cpu)",
    )  # fmt: skip
    audit.add_argument(
        "--cluster", metavar="ADDRESS",
        help="audit Parquet files larger than memory on a cluster of Dask: the address of its "
        "scheduler, or local for one on this machine",
    )  # fmt: skip
    audit.add_argument(
        "--workers", type=int, metavar="N",
        help="processes of a local cluster (one a core, at most 4)",
    )  # fmt: skip
    audit.add_argument(
        "--cleaned", type=Path, metavar="FOLDER",
        help="with --cluster, also write the table with better labels there, as Parquet",
    )  # fmt: skip
    audit.add_argument("--seed", type=int, default=0)
    audit.add_argument("--quiet", action="store_true", help="no progress bars")
    audit.set_defaults(run=_audit, stopped="stopped; nothing was written")


def _add_header_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--header", action=argparse.BooleanOptionalAction,
        help="the first line has the names of the columns; with --no-header it is a row, and the "
        'columns are called "column 1", "column 2" and so on (names, unless it looks like a row)',
    )  # fmt: skip


def _audit(options: argparse.Namespace) -> int:
    # Imported here, so that other commands do without the packages an audit needs.
    from rboost.audit.disk.request import MAJORITY, Request
    from rboost.table.sources import expanded

    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget must be at least 1, not {options.budget}.")
    if options.seed < 0:
        raise ValueError(f"--seed must not be negative, but is {options.seed}.")
    if options.trusted_random and options.trusted is None:
        raise ValueError("--trusted-random needs trusted rows; pass them with --trusted.")
    _check_cluster(options)
    labels, annotators = _labels(options)
    request = Request(
        data=expanded(options.data) if options.cluster is None else _parquet(options.data),
        label=MAJORITY if annotators else labels[0],
        id=options.id,
        drop=tuple(options.drop),
        trusted=options.trusted,
        model=options.model,
        seed=options.seed,
        context=tuple(options.context),
        check_columns=not options.no_column_check,
        trusted_random=options.trusted_random,
        probabilities=options.probabilities,
        device=options.device,
        header=options.header,
        annotators=annotators,
        annotations=options.annotations,
    )
    folder = Path("audit") if options.out is None else Path(options.out)
    if folder == Path():
        raise ValueError("--out must name a folder.")
    return (_in_memory if options.cluster is None else _on_cluster)(folder, request, options)


def _labels(options: argparse.Namespace) -> tuple[list[str], tuple[str, ...]]:
    """The columns of labels, and what a request calls annotators."""
    labels: list[str] = list(dict.fromkeys(options.label or []))
    if options.annotations is not None:
        if len(labels) > 1:
            raise ValueError("With --annotations, --label names one column of that file.")
        return labels, (options.annotator or "annotator", *(labels or ["label"]))
    if options.annotator is not None:
        raise ValueError("--annotator is a column of --annotations; pass that file too.")
    if not labels:
        raise ValueError("Name the column of labels with --label, or a file with --annotations.")
    return labels, tuple(labels) if len(labels) > 1 else ()


def _in_memory(folder: Path, request: Any, options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import CONSENSUS, REPORT, SUSPECTS, audit_into

    audit, suspects = audit_into(folder, request, options.budget, verbose=not options.quiet)
    print(audit.to_text(suspects))
    print(f"Suspects: {folder / SUSPECTS}")
    if audit.labels.n_annotators:
        print(f"Consensus of all rows: {folder / CONSENSUS}")
    print(f"Report:   {folder / REPORT}")
    print(f"Check labels in a browser with: rboost review {shlex.quote(str(folder))}")
    return 0


def _on_cluster(folder: Path, request: Any, options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import ISSUES, SUSPECTS
    from rboost.dask.folder import audit_into_folder

    options.stopped = "stopped; the same command goes on with the trees that were kept, if any"
    found = audit_into_folder(
        folder, request, options.cluster, options.workers, options.budget, options.cleaned,
        verbose=not options.quiet,
    )  # fmt: skip
    print(found)
    print(f"Suspects: {folder / SUSPECTS}")
    print(f"All rows: {folder / ISSUES}")
    if options.cleaned is not None:
        print(f"Cleaned:  {options.cleaned}")
    return 0


def _check_cluster(options: argparse.Namespace) -> None:
    """Fail if options do not go together."""
    if options.cluster is None:
        for name in ("workers", "cleaned"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name} needs a cluster; pass --cluster local too.")
        return
    if options.workers is not None and options.cluster != "local":
        raise ValueError("--workers is for --cluster local; other clusters have their own.")
    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers must be at least 1, not {options.workers}.")
    in_memory_only = {
        "--trusted": options.trusted is not None,
        "--probabilities": options.probabilities is not None,
        "--context": bool(options.context),
        "--annotations": options.annotations is not None,
        "--label with several columns": len(options.label or []) > 1,
        "--model": options.model != "rboost",
        "--no-column-check": options.no_column_check,
        "--no-header": options.header is False,
    }
    for name, is_given in in_memory_only.items():
        if is_given:
            raise ValueError(
                f"{name} does not go with --cluster; leave it out, or audit a sample of the rows "
                "without --cluster."
            )


def _parquet(data: list[Path]) -> tuple[Path, ...]:
    """The files of a data set, if they are Parquet."""
    from rboost.dask.partitions import parquet_files
    from rboost.files import open_to_read

    files = parquet_files([] if STANDARD_INPUT in data else data)
    for path in files or data:
        is_parquet = path.suffix == ".parquet"  # if it is damaged, another sentence says so
        if not is_parquet and path != STANDARD_INPUT:
            with open_to_read(path) as file:
                is_parquet = file.read(4) == b"PAR1"
        if not is_parquet:
            raise ValueError(
                f"A cluster reads Parquet alone, which {path} is not; convert it, for instance by "
                "pandas.read_csv(…).to_parquet(…)."
            )
    return files


def add_review_command(commands: Any) -> None:
    """Add ``review``."""
    review = commands.add_parser(
        "review",
        help="check the rows of an audit in a browser",
        description="Serve a page on this machine alone, on which a person keeps or changes labels "
        "row by row. Answers are saved at once, in the folder of the audit.",
    )
    review.add_argument("folder", type=Path, help="folder of an audit")
    review.add_argument("--port", type=int, default=0, help="(any free one)")
    review.add_argument("--open", action="store_true", help="open the page in a browser")
    review.add_argument(
        "--export", nargs="?", const="", metavar="FILE",
        help="write the answers to FILE (checked.csv in the folder) and end, without a browser",
    )  # fmt: skip
    review.set_defaults(run=_review, stopped="stopped; every answer is saved")


def _review(options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import (
        check_output,
        read_audit,
        read_record,
        read_request,
        write_refitted,
    )
    from rboost.review import Review, serve
    from rboost.review.folder import export_answers

    folder: Path = options.folder
    if not 0 <= options.port < 65536:
        raise ValueError(f"--port must be between 0 and 65535, not {options.port}.")
    opened = read_record(folder)
    if options.export is not None:
        if options.export:
            check_output(Path(options.export), read_request(folder), folder)
        print(export_answers(read_audit(folder), folder, options.export or None))
        return 0
    review = Review(
        read_audit(folder),
        folder,
        save=partial(write_refitted, folder, opened),
        images_root=_images_root(opened["request"]["data"]),
    )
    serve(review, port=options.port, open_browser=options.open)
    return 0


def _images_root(data: list[str]) -> Path | None:
    """The folder of the files of a table; none if they have none in common."""
    files = map(Path, data)
    folders = [file.parent for file in files if file != STANDARD_INPUT]
    try:
        common = Path(os.path.commonpath(folders))
    except ValueError:  # there is none, or they are on several drives
        return None
    return None if common == common.parent else common  # never the whole disk


def add_clean_command(commands: Any) -> None:
    """Add ``clean``."""
    clean = commands.add_parser(
        "clean",
        help="write the audited table with its labels mended",
        description="Write the table of an audit with better labels: what people said in the "
        "review first, then what is probable enough. Columns say what the label was, where the new "
        "one comes from, and how likely the given one is wrong. The input stays as it is.",
    )
    clean.add_argument("folder", type=Path, help="folder of an audit")
    clean.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".csv, .tsv, .parquet or .xlsx"
    )
    clean.add_argument(
        "--how", default="relabel", choices=["relabel", "drop", "weigh"],
        help="write the suggested label, leave out doubtful rows, or keep all with a weight "
        "(relabel)",
    )  # fmt: skip
    clean.add_argument(
        "--threshold", type=float, default=0.9, metavar="P",
        help="probability from which on a label is changed or a row left out (0.9)",
    )  # fmt: skip
    clean.set_defaults(run=_clean)


def _clean(options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import check_output, read_audit, read_request, write_cleaned
    from rboost.review.folder import with_saved_answers

    folder: Path = options.folder
    request = read_request(folder)
    check_output(options.out, request, folder)
    audit = with_saved_answers(read_audit(folder), folder)
    found = write_cleaned(audit, request, options.out, options.how, options.threshold)
    print(
        f"{options.out}: {found.total()} of {len(audit) - audit.n_extra} rows; labels: "
        f"{found['given']} as given, {found['answer']} by answers, {found['suggested']} suggested, "
        f"{found['missing']} missing."
    )
    print(BEWARE, file=sys.stderr)
    return 0


def add_predict_command(commands: Any) -> None:
    """Add ``predict``."""
    predict = commands.add_parser(
        "predict",
        help="predict true classes with the model of an audit",
        description="Write the probability of each true class for every row.",
    )
    predict.add_argument("model", type=Path, help="model.rboost, or folder, of an audit")
    predict.add_argument(
        "data", type=Path, nargs="+",
        help="CSV, TSV, .xlsx or Parquet with the audited columns; several files or a pattern such "
        "as 'data/*.csv' are one table, - is standard input",
    )  # fmt: skip
    _add_header_option(predict)
    predict.add_argument(
        "--out", type=Path, metavar="FILE",
        help=".csv, .tsv, .parquet or .xlsx (CSV on standard output)",
    )  # fmt: skip
    predict.set_defaults(run=_predict)


def _predict(options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import predict_file
    from rboost.table.sources import expanded, with_standard_input
    from rboost.table.writing import check_ending, csv_lines, write_table

    data = expanded(options.data)
    if options.out is not None:
        for path in (options.model, *data):
            if options.out.resolve() == path.resolve():
                raise ValueError(f"{path} would be overwritten; choose another name with --out.")
        check_ending(options.out)
    with with_standard_input(data) as files:
        predictions = predict_file(options.model, files, options.header)
    if options.out is None:
        sys.stdout.writelines(csv_lines(predictions))
    else:
        write_table(predictions, options.out, guarded=True)
        print(options.out)
    return 0
