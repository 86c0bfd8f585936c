"""``rboost audit``: find the labels of a file that are probably wrong."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any


def add_audit_command(commands: Any) -> None:
    """Add ``audit``."""
    audit = commands.add_parser(
        "audit",
        help="find wrong labels in a table",
        description="Estimate how noisy the labels of a table are and list those that are probably "
        "wrong, with reasons. Writes suspects.csv, report.html, audit.json, model.rboost and "
        "rows.npz.",
    )
    audit.add_argument(
        "data", type=Path, nargs="+",
        help="CSV, TSV, .xlsx or Parquet, may be compressed; several files or a pattern such as "
        "'data/*.csv' are one table, - is standard input",
    )  # fmt: skip
    audit.add_argument("--label", required=True, metavar="COLUMN", help="the column to audit")
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
    audit.add_argument("--id", metavar="COLUMN", help="what to call rows by (their number)")
    audit.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns to leave aside",
    )
    audit.add_argument(
        "--context", nargs="+", action="extend", default=[], metavar="COLUMN",
        help="columns that labels may depend on but classes do not: annotator, source, date",
    )  # fmt: skip
    audit.add_argument(
        "--budget", type=int, metavar="N", help="how many rows you can check (all likely wrong)"
    )
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
        "--workers",
        type=int,
        metavar="N",
        help="processes of a local cluster (one a core, at most 4)",
    )
    audit.add_argument(
        "--cleaned", type=Path, metavar="FOLDER",
        help="with --cluster, also write the table with better labels there, as Parquet",
    )  # fmt: skip
    audit.add_argument("--seed", type=int, default=0)
    audit.add_argument("--quiet", action="store_true", help="no progress bars")
    audit.set_defaults(run=_audit, stopped="stopped; nothing was written")


def _audit(options: argparse.Namespace) -> int:
    # Imported here, so that other commands do without the packages an audit needs.
    from rboost.audit.disk.request import Request
    from rboost.io.inputs import expanded

    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget must be at least 1, not {options.budget}.")
    if options.seed < 0:
        raise ValueError(f"--seed must not be negative, but is {options.seed}.")
    if options.trusted_random and options.trusted is None:
        raise ValueError("--trusted-random is said of trusted rows; pass them with --trusted.")
    _check_cluster(options)
    request = Request(
        data=expanded(options.data) if options.cluster is None else _parquet(options.data),
        label=options.label,
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
    )
    folder = Path("audit") if options.out is None else Path(options.out)
    if folder == Path():
        raise ValueError("--out must name a folder.")
    return (_in_memory if options.cluster is None else _on_cluster)(folder, request, options)


def _in_memory(folder: Path, request: Any, options: argparse.Namespace) -> int:
    from rboost.audit.disk.folder import audit_into
    from rboost.audit.disk.record import REPORT, SUSPECTS

    audit, suspects = audit_into(folder, request, options.budget, verbose=not options.quiet)
    print(audit.to_text(suspects))
    print(f"Suspects: {folder / SUSPECTS}")
    print(f"Report:   {folder / REPORT}")
    print(f"Check labels in a browser with: rboost review {shlex.quote(str(folder))}")
    return 0


def _on_cluster(folder: Path, request: Any, options: argparse.Namespace) -> int:
    from rboost.audit.disk.record import ISSUES, SUSPECTS
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
                raise ValueError(f"--{name} is said of a cluster; pass --cluster local too.")
        return
    if options.workers is not None and options.cluster != "local":
        raise ValueError("--workers is said of --cluster local; other clusters have theirs.")
    if options.workers is not None and options.workers < 1:
        raise ValueError(f"--workers must be at least 1, not {options.workers}.")
    in_memory_only = {
        "--trusted": options.trusted is not None,
        "--probabilities": options.probabilities is not None,
        "--context": bool(options.context),
        "--model": options.model != "rboost",
        "--no-column-check": options.no_column_check,
    }
    for name, is_given in in_memory_only.items():
        if is_given:
            raise ValueError(
                f"{name} does not go with --cluster; leave it out, or audit a sample of the rows "
                "without --cluster."
            )


def _parquet(data: list[Path]) -> tuple[Path, ...]:
    """The files of a data set, if they are Parquet."""
    from rboost.dask.parquet import parquet_files
    from rboost.io.files import open_to_read
    from rboost.io.inputs import STANDARD_INPUT

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
