"""``rboost predict``: probabilities of the true class for the rows of a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


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
    predict.add_argument(
        "--out", type=Path, metavar="FILE",
        help=".csv, .tsv, .parquet or .xlsx (CSV on standard output)",
    )  # fmt: skip
    predict.set_defaults(run=_predict)


def _predict(options: argparse.Namespace) -> int:
    from rboost.audit.disk.prediction import predict_file
    from rboost.io.inputs import expanded, with_standard_input
    from rboost.io.spreadsheets import csv_lines
    from rboost.io.writing import check_ending, write_table

    data = expanded(options.data)
    if options.out is not None:
        for path in (options.model, *data):
            if options.out.resolve() == path.resolve():
                raise ValueError(f"{path} would be overwritten; choose another name with --out.")
        check_ending(options.out)
    with with_standard_input(data) as files:
        predictions = predict_file(options.model, files)
    if options.out is None:
        sys.stdout.writelines(csv_lines(predictions))
    else:
        write_table(predictions, options.out, guarded=True)
        print(options.out)
    return 0
