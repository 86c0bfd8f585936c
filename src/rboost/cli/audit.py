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
        "wrong, with reasons. Writes suspects.csv, report.html, audit.json, model.skops, rows.npz.",
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
    audit.add_argument("--seed", type=int, default=0)
    audit.add_argument("--quiet", action="store_true", help="no progress bars")
    audit.set_defaults(run=_audit, stopped="stopped; nothing was written")


def _audit(options: argparse.Namespace) -> int:
    # Imported here, so that other commands do without the packages an audit needs.
    from rboost.audit.disk.folder import audit_into
    from rboost.audit.disk.record import REPORT, SUSPECTS
    from rboost.audit.disk.request import Request
    from rboost.io.inputs import expanded

    if options.budget is not None and options.budget < 1:
        raise ValueError(f"--budget must be at least 1, not {options.budget}.")
    if options.seed < 0:
        raise ValueError(f"--seed must not be negative, but is {options.seed}.")
    if options.trusted_random and options.trusted is None:
        raise ValueError("--trusted-random is said of trusted rows; pass them with --trusted.")
    request = Request(
        data=expanded(options.data),
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
    )
    folder = Path("audit") if options.out is None else Path(options.out)
    if folder == Path():
        raise ValueError("--out must name a folder.")
    audit, suspects = audit_into(folder, request, options.budget, verbose=not options.quiet)
    print(audit.to_text(suspects))
    print(f"Suspects: {folder / SUSPECTS}")
    print(f"Report:   {folder / REPORT}")
    print(f"Check labels in a browser with: rboost review {shlex.quote(str(folder))}")
    return 0
