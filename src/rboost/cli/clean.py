"""``rboost clean``: the audited table with its labels mended."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

BEWARE = (
    "rboost: measure no model on this table: where the audit decided, and nobody looked, it is "
    "right by definition; use rows that a person checked."
)


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
    from rboost.audit.disk.folder import check_output, read_audit, write_cleaned
    from rboost.audit.disk.record import read_request
    from rboost.review.session import with_saved_answers

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
