"""The command line: arguments in, a library call, its result rendered.

Each command has a function that adds its options and one that runs it. What a command needs is
imported when it runs, so that asking for help takes no time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import re
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from rboost.files import no_wider_than
from rboost.table.sources import STANDARD_INPUT

BEWARE = (
    "do not measure a model on this table: where the audit chose the label, its own model is "
    "right by definition; measure on rows that a person checked."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; mistakes of the user end in one sentence."""
    _prepare_streams()
    parser = _Parser(prog="rboost", description="Classification when some labels are wrong.")
    parser.add_argument("--version", action="version", version=f"rboost {version('rboost')}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (
        add_audit_command, add_review_command, add_clean_command, add_predict_command,
        add_check_command,
    ):  # fmt: skip
        add(commands)
    options = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of other packages, for programmers
            warnings.simplefilter("always", category=UserWarning)
            warnings.showwarning = _show_warning
            _clean_up_when_killed()
            _check_names(options)
            code = int(options.run(options))
            sys.stdout.flush()  # here, where a reader that has gone is no mistake
            return code
    except BrokenPipeError:  # the reader of a pipe has seen enough
        _leave_output()
        return 0
    except MemoryError:
        return _failed("the table does not fit into memory; audit a sample of its rows")
    except OSError as error:
        if not error.strerror:  # errors of this package are sentences already
            return _failed(str(error))
        if not error.filename:
            _leave_output()
        return _failed(f"{error.filename or 'Standard output'}: {error.strerror}.")
    except (ValueError, ImportError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        _say(getattr(options, "stopped", "stopped"))
        return 130


def _check_names(options: argparse.Namespace) -> None:
    """Fail with one sentence where an argument is no text, as what is written names it."""
    for value in vars(options).values():
        for each in value if isinstance(value, list) else [value]:
            try:
                str(each).encode()
            except UnicodeEncodeError as error:
                raise ValueError(f"{str(each)!r} is no text in UTF-8; use another name.") from error


def _leave_output() -> None:
    """Have what is still to be written to standard output go nowhere, without an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _prepare_streams() -> None:
    """Streams that are closed lead nowhere; characters that one does not have are escaped."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it speaks of the home folder
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            # As long as one is closed, the next file that is opened would take its place.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif name != "stdin" and hasattr(stream, "reconfigure"):
            with contextlib.suppress(OSError):  # it is full
                stream.reconfigure(errors="backslashreplace")


# What terminals take for commands, and what turns the direction of text; not lines and tabs.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""The text with its control characters as escapes, so that no cell or name moves a terminal.

    Examples
    --------
    >>> from rboost.cli import printable
    >>> print(printable("a cell \x1b[31m in red"))
    a cell \x1b[31m in red
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _say(sentence: str) -> None:
    """Say something beside the results; who closed standard error does not want to know."""
    with contextlib.suppress(OSError):
        print(f"rboost: {printable(' '.join(sentence.split()))}", file=sys.stderr, flush=True)


def _show(text: str) -> None:
    print(printable(text))


def _failed(problem: str) -> int:
    _say(problem)
    return 2


def _clean_up_when_killed() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, interrupt)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _say(str(message))


def add_audit_command(commands: Any) -> None:
    """Add ``audit``."""
    audit = commands.add_parser(
        "audit",
        help="find wrong labels in a table",
        description="Estimate how many labels of a table are wrong and list those most worth "
        "checking, with reasons. Writes suspects.csv, report.html, audit.json, "
        "model.rboost and rows.npz.",
    )
    audit.add_argument(
        "data", type=Path, nargs="+",
        help="CSV, TSV, JSONL, .xlsx or Parquet, may be compressed; several files or a pattern "
        "such as 'data/*.csv' are one table, - is standard input",
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
        help="with --annotations, the column that names the annotators (annotator); --label names "
        "that of the labels (label)",
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
        help="probabilities by a model of your own that was not fitted to these rows, a column "
        "for each class",
    )  # fmt: skip
    _add_header_option(audit)
    audit.add_argument(
        "--id", metavar="COLUMN", help="the column with the names of rows (rows are numbered)"
    )
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
        "--no-column-check",
        action="store_true",
        help="do not look for columns that hide wrong labels",
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
    from rboost.files import open_to_read
    from rboost.table.sources import expanded

    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget must be at least 1, not {options.budget}.")
    if options.seed < 0:
        raise ValueError(f"--seed must not be negative, but is {options.seed}.")
    if options.trusted_random and options.trusted is None:
        raise ValueError("--trusted-random needs trusted rows; pass them with --trusted.")
    _check_cluster(options)
    labels, annotators = _labels(options)
    data = expanded(options.data) if options.cluster is None else _parquet(options.data)
    beside = (options.trusted, options.probabilities, options.annotations)
    for path in (*data, *beside) if options.cluster is None else ():
        if path not in (None, STANDARD_INPUT):
            open_to_read(path).close()
    # Imported here: other commands, and an audit that cannot begin, do without these packages.
    from rboost.audit.disk.request import MAJORITY, Request

    request = Request(
        data=data,
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
    with no_wider_than(_inputs(request)):
        return (_in_memory if options.cluster is None else _on_cluster)(folder, request, options)


def _inputs(request: Any, folder: Path | None = None) -> list[Path]:
    """The files that an audit was asked to read; with its folder, also what was found of them."""
    from rboost.audit.disk.folder import FOUND

    beside = (request.trusted, request.probabilities, request.annotations)
    found = [] if folder is None else [folder / name for name in FOUND]
    return [*request.files, *(path for path in beside if path is not None), *found]


def _labels(options: argparse.Namespace) -> tuple[list[str], tuple[str, ...]]:
    """The columns of labels, and what a request calls annotators."""
    labels: list[str] = options.label or []
    twice = next((name for name in labels if labels.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"--label names {twice!r} twice; name each column of labels once.")
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
    _show(audit.to_text(suspects))
    _show(f"Suspects: {folder / SUSPECTS}")
    if audit.labels.n_annotators:
        _show(f"Consensus of all rows: {folder / CONSENSUS}")
    _show(f"Report:   {folder / REPORT}")
    _show(f"Check labels in a browser with: rboost review {shlex.quote(str(folder))}")
    return 0


def _on_cluster(folder: Path, request: Any, options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import ISSUES, SUSPECTS
    from rboost.dask.folder import audit_into_folder

    options.stopped = "stopped; the same command goes on with the trees that were kept, if any"
    found = audit_into_folder(
        folder, request, options.cluster, options.workers, options.budget, options.cleaned,
        verbose=not options.quiet,
    )  # fmt: skip
    _show(found)
    _show(f"Suspects: {folder / SUSPECTS}")
    _show(f"All rows: {folder / ISSUES}")
    if options.cleaned is not None:
        _show(f"Cleaned:  {options.cleaned}")
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
        "row by row. Answers are saved at once, in the folder of the audit. With --share several "
        "people reach it from their own machines, each by a link of their own.",
    )
    review.add_argument("folder", type=Path, help="folder of an audit")
    review.add_argument("--port", type=int, default=0, help="(another free one for every run)")
    review.add_argument("--open", action="store_true", help="open the page in a browser")
    review.add_argument(
        "--blind",
        action="store_true",
        help="of several labels a row, hide who said what until the reviewer has answered the row",
    )
    review.add_argument(
        "--until", type=float, default=3.0, metavar="POINTS",
        help="say that answers are enough when the share of wrong labels is known up to so many "
        "percentage points on either side (3)",
    )  # fmt: skip
    review.add_argument(
        "--export", nargs="?", const="", metavar="FILE",
        help="write the answers to FILE (checked.csv in the folder) and end, without a browser",
    )  # fmt: skip
    review.add_argument(
        "--import", dest="answers", type=Path, metavar="FILE",
        help="take answers over from FILE and end: a spreadsheet or table with the names of rows "
        "and a column label, or what Label Studio or Argilla exported as JSON",
    )  # fmt: skip
    review.add_argument(
        "--tasks", type=Path, metavar="FILE",
        help="write the listed rows to FILE, as JSON for a label tool, and end",
    )  # fmt: skip
    review.add_argument(
        "--tool", default="label-studio", choices=["label-studio", "argilla"],
        help="the label tool that --tasks are for (label-studio)",
    )  # fmt: skip
    review.add_argument(
        "--share", metavar="HOST",
        help="serve the page in a network that you trust, for --reviewers: HOST is the name or "
        "address by which they reach this machine (this machine alone)",
    )  # fmt: skip
    review.add_argument(
        "--reviewers", nargs="+", metavar="NAME",
        help="with --share, who answers: each has a link and gets other rows than the others",
    )  # fmt: skip
    review.add_argument(
        "--cert", type=Path, metavar="FILE",
        help="with --share, a certificate (PEM), so that what is sent is encrypted",
    )  # fmt: skip
    review.add_argument(
        "--key", type=Path, metavar="FILE", help="the key of --cert, unless it is in the same file"
    )
    review.add_argument(
        "--second-opinions", type=_share, metavar="SHARE",
        help="with --share, the share of rows that two reviewers answer (10%%)",
    )  # fmt: skip
    review.set_defaults(run=_review, stopped="stopped; every answer is saved")


def _sharing(options: argparse.Namespace) -> Any:
    """How the review is shared, None if it is not; checked before anything is read."""
    needs = {
        "--share": ("--reviewers", options.share, options.reviewers),
        "--reviewers": ("--share", options.reviewers, options.share),
        "--cert": ("--share", options.cert, options.share),
        "--key": ("--cert", options.key, options.cert),
        "--second-opinions": ("--share", options.second_opinions, options.share),
    }
    for name, (other, given, needed) in needs.items():
        if given is not None and needed is None:
            raise ValueError(f"{name} needs {other}; pass both or neither.")
    if options.share is None:
        return None
    for name in ("open", "export", "answers", "tasks"):
        if getattr(options, name) not in (None, False):
            option = {"answers": "import"}.get(name, name)
            raise ValueError(f"--{option} does not go with --share; leave one of them out.")
    from rboost.review.leases import checked_names
    from rboost.review.web.sharing import share

    checked_names(options.reviewers)
    return share(options.share, options.cert, options.key)


def _review(options: argparse.Namespace) -> int:
    if not 0 <= options.port < 65536:
        raise ValueError(f"--port must be between 0 and 65535, not {options.port}.")
    if not 0 < options.until < 50:
        raise ValueError(f"--until must be between 0 and 50 points, not {options.until:g}.")
    options.sharing = _sharing(options)
    if options.answers is None and options.tasks is None and options.export is None:
        _say(f"Opening {options.folder} …")  # at once, before packages are imported
    from rboost.audit.disk.folder import kept_request, read_record

    opened = read_record(options.folder)
    inputs = _inputs(kept_request(options.folder, opened), options.folder)
    with no_wider_than([*inputs, *filter(None, [options.answers])]):
        return _review_folder(options.folder, opened, options)


def _review_folder(folder: Path, opened: dict[str, Any], options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import check_output, read_audit, read_request, write_refitted
    from rboost.progress import track
    from rboost.review import Review, serve
    from rboost.review.folder import export_answers
    from rboost.review.leases import SECOND_OPINIONS, Team

    if options.answers is not None or options.tasks is not None:
        return _exchange(folder, opened, options)
    if options.export is not None:
        if options.export:
            check_output(Path(options.export), read_request(folder), folder)
        _show(str(export_answers(read_audit(folder), folder, options.export or None)))
        return 0
    save, images = partial(write_refitted, folder, opened), _images_root(opened["request"]["data"])
    twice = SECOND_OPINIONS if options.second_opinions is None else options.second_opinions

    def team(audit: Any) -> Team | None:
        return options.reviewers and Team(options.reviewers, len(audit), twice)

    steps: tuple[Callable[[Any], Any], ...] = (
        lambda _: read_audit(folder),
        lambda audit: Review(
            audit, folder, save, images, options.blind, options.until, learns=True, team=team(audit)
        ),
    )
    review: Any = None
    for step in track(steps, len(steps), "Reading", enabled=True):
        review = step(review)
    serve(review, port=options.port, open_browser=options.open, sharing=options.sharing)
    return 0


def _exchange(folder: Path, record: dict[str, Any], options: argparse.Namespace) -> int:
    """Take answers over from other tools, or write tasks for them."""
    from dataclasses import replace

    from rboost.audit.disk.folder import check_apart, check_no_audit, read_audit, request_of
    from rboost.audit.disk.request import read_answers
    from rboost.files import write_atomically
    from rboost.review.folder import import_answers, with_saved_answers

    request, written = request_of(folder, record), list[Path]()
    if options.tasks is not None:
        written = [options.tasks]
        if options.tool == "label-studio":
            written.append(options.tasks.with_suffix(".xml"))
    for path in written:
        check_no_audit(path)
        check_apart(path, request, folder)
    audit = read_audit(folder)
    if options.answers is not None:
        ids = audit.ids[: len(audit) - audit.n_extra].tolist()
        asked = replace(request, trusted=options.answers)
        said = read_answers(asked, ids, audit.classes.tolist())
        n_read = sum(map(len, said.values()))
        n_new = import_answers(audit, folder, said)
        _show(f"{options.answers}: {n_read} answers, of which {n_new} are new.")
    if options.tasks is not None:
        audit = with_saved_answers(audit, folder)
        tasks = audit.to_tasks(options.tool, audit.suspects(n=record["budget"]))
        texts = [json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"]
        if len(written) > 1:
            texts.append(audit.label_studio_config())
        for path, text in zip(written, texts, strict=True):
            write_atomically(path, text.encode(errors="replace"))
        _show("\n".join(map(str, written)))
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
        "one comes from, and how likely the given one is to be wrong. The input stays as it is.",
    )
    clean.add_argument("folder", type=Path, help="folder of an audit")
    clean.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help=".csv, .tsv, .jsonl, .parquet or .xlsx",
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
    with no_wider_than(_inputs(request, folder)):
        found = write_cleaned(audit, request, options.out, options.how, options.threshold)
    _show(
        f"{options.out}: {found.total()} of {len(audit) - audit.n_extra} rows; labels: "
        f"{found['given']} as given, {found['answer']} by answers, {found['suggested']} suggested, "
        f"{found['missing']} missing."
    )
    n_disputed = int(audit.labels.answers.is_disputed.sum())
    if n_disputed:
        _show(
            f"People disagree on {n_disputed} row{'s' * (n_disputed > 1)}: what most of them say "
            "counts, of as many the more probable class."
        )
    if found["suggested"]:
        _say(BEWARE)
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
        help="CSV, TSV, JSONL, .xlsx or Parquet with the audited columns; several files or a "
        "pattern such as 'data/*.csv' are one table, - is standard input",
    )  # fmt: skip
    _add_header_option(predict)
    predict.add_argument(
        "--out", type=Path, metavar="FILE",
        help=".csv, .tsv, .jsonl, .parquet or .xlsx (CSV on standard output)",
    )  # fmt: skip
    predict.set_defaults(run=_predict)


def _predict(options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import MODEL, check_no_audit, predict_file
    from rboost.table.sources import expanded, with_standard_input
    from rboost.table.writing import check_ending, csv_lines, write_table

    data = expanded(options.data)
    if options.out is not None:
        for path in (options.model, *data):
            if options.out.resolve() == path.resolve():
                raise ValueError(f"{path} would be overwritten; choose another name with --out.")
        check_ending(options.out)
        check_no_audit(options.out)
    elif getattr(sys.stdout, "name", "") == os.devnull:
        raise ValueError("Standard output is closed; name a file for the predictions with --out.")
    with with_standard_input(data) as files:
        predictions = predict_file(options.model, files, options.header)
    if options.out is None:
        _write_lines(csv_lines(predictions))
    else:
        model = options.model / MODEL if options.model.is_dir() else options.model
        with no_wider_than([model, *data]):
            write_table(predictions, options.out, guarded=True)
        _show(str(options.out))
    return 0


def _write_lines(lines: Iterable[str]) -> None:
    """Write a table to standard output: as it is, in UTF-8, unless that is a terminal."""
    is_seen = sys.stdout.isatty()
    if hasattr(sys.stdout, "reconfigure") and not is_seen:
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.writelines(map(printable, lines) if is_seen else lines)


def add_check_command(commands: Any) -> None:
    """Add ``check``."""
    check = commands.add_parser(
        "check",
        help="pass or fail a labelled table, for pipelines",
        description="Check a labelled table, and a test table against it: share of wrong labels, "
        "columns that give the label away, equal rows with different labels, rows and classes of "
        "both tables, rows without a label. The exit code is 0 if no check failed, 1 if one did, "
        "2 if the tables cannot be read.",
    )
    check.add_argument("data", type=Path, nargs="+", help="the table, as for rboost audit")
    check.add_argument("--label", required=True, metavar="COLUMN", help="the column of labels")
    check.add_argument(
        "--test", type=Path, nargs="+", metavar="FILE",
        help="a test table with the same columns, with or without labels",
    )  # fmt: skip
    check.add_argument(
        "--fail-above", type=_share, default="5%", metavar="SHARE",
        help="fail if more labels are wrong, by the lower end of the 90 %% interval (5%%)",
    )  # fmt: skip
    check.add_argument("--strict", action="store_true", help="by the upper end instead")
    check.add_argument(
        "--skip", nargs="+", action="extend", default=[], metavar="CHECK",
        help="checks to leave out: wrong-labels, label-copies, contradictions, shared-rows, "
        "classes, missing-labels",
    )  # fmt: skip
    check.add_argument(
        "--id", metavar="COLUMN", help="the column with the names of rows (rows are numbered)"
    )
    several: Any = {"nargs": "+", "action": "extend", "default": [], "metavar": "COLUMN"}
    check.add_argument("--drop", **several, help="columns to leave aside")
    check.add_argument("--context", **several, help="columns that labels may depend on")
    check.add_argument(
        "--trusted", type=Path, metavar="FILE", help="rows whose labels a person has checked"
    )
    _add_header_option(check)
    check.add_argument("--model", default="rboost", help="rboost, linear or forest (rboost)")
    check.add_argument("--json", type=Path, metavar="FILE", help="also write the checks as JSON")
    check.add_argument("--junit", type=Path, metavar="FILE", help="also write them as JUnit XML")
    check.add_argument("--seed", type=int, default=0)
    check.add_argument("--quiet", action="store_true", help="no progress bars")
    check.set_defaults(run=_check, stopped="stopped; nothing was written")


def _share(text: str) -> float:
    """A share as it is written: 2% or 0.02."""
    try:
        is_percent = text.rstrip().endswith("%")
        share = float(text.rstrip().removesuffix("%")) / (100 if is_percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no share; write 2% or 0.02")
    return share


def _check(options: argparse.Namespace) -> int:
    from rboost.audit.check import check_table
    from rboost.audit.disk.folder import check_no_audit
    from rboost.audit.disk.request import Request, read_inputs, read_test
    from rboost.files import write_atomically
    from rboost.table.sources import expanded, with_standard_input

    data, test = expanded(options.data), expanded(options.test or [])
    inputs = [*data, *test, *filter(None, [options.trusted])]
    for out in filter(None, (options.json, options.junit)):
        if out.resolve() in {path.resolve() for path in inputs}:
            raise ValueError(f"{out} would be overwritten; choose another file.")
        check_no_audit(out)
    with with_standard_input(data) as files:
        request = Request(
            data=files, label=options.label, id=options.id, drop=tuple(options.drop),
            trusted=options.trusted, context=tuple(options.context), header=options.header,
        )  # fmt: skip
        inputs_of_audit = read_inputs(request)
        X_test, y_test = read_test(request, test, inputs_of_audit["X"]) if test else (None, None)
    found = check_table(
        **inputs_of_audit, X_test=X_test, y_test=y_test, fail_above=options.fail_above,
        strict=options.strict, skip=options.skip, source=", ".join(map(str, data)),
        model=options.model, random_state=options.seed, verbose=not options.quiet,
    )  # fmt: skip
    _show(str(found))
    with no_wider_than(inputs):
        for out, text in ((options.json, found.to_json), (options.junit, found.to_junit)):
            if out is not None:
                write_atomically(out, text())
    return 0 if found.passed else 1
