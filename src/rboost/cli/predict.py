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
        description="Write the probability of each true class for every row, as CSV.",
    )
    predict.add_argument("model", type=Path, help="model.skops of an audit")
    predict.add_argument("data", type=Path, help="CSV, TSV or Parquet with the audited columns")
    predict.add_argument("--out", type=Path, metavar="FILE", help="(standard output)")
    predict.set_defaults(run=_predict)


def _predict(options: argparse.Namespace) -> int:
    from rboost.audit.disk.prediction import predict_file
    from rboost.io.spreadsheets import csv_lines, write_csv

    if options.out is not None:
        for path in (options.model, options.data):
            if options.out.resolve() == path.resolve():
                raise ValueError(f"{path} would be overwritten; choose another name with --out.")
    predictions = predict_file(options.model, options.data)
    if options.out is None:
        sys.stdout.writelines(csv_lines(predictions))
    else:
        write_csv(predictions, options.out)
        print(options.out)
    return 0
