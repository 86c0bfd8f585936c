"""The folder that an audit has written beside the truth, part by part."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.scale.data import FLIPPED, truth_of
from benchmarks.store import Record

# Columns of issues/*.parquet, of which suspects.csv has the first; what rows count from in both.
ROW, ISSUE = "row", "probability"
FIRST_ROW = 1
FIRST_SUSPECTS = 1000
# Probabilities that fall into one of these count as equal.
BINS = 100_000

Counts = NDArray[np.int64]


def judge(folder: Path, audit: Path) -> Record:
    """Rates found beside true ones, precision of the first suspects, ranking of all rows."""
    wrong = truth_of(folder)[1]
    noise = np.array(json.loads((audit / "audit.json").read_text())["noise_matrix"])
    suspects = pd.read_csv(audit / "suspects.csv", usecols=[ROW], nrows=FIRST_SUSPECTS)
    counts = count_issues(audit, wrong)
    if counts.sum() != len(wrong):
        raise ValueError(f"{audit} has {counts.sum()} rows where {len(wrong)} were audited.")
    return {
        "rates": [float(noise[0, 1]), float(noise[1, 0])],
        "rates off": float(np.abs([noise[0, 1], noise[1, 0]] - np.array(FLIPPED)).max()),
        "n suspects": len(suspects),
        "precision": float(wrong[suspects[ROW].to_numpy() - FIRST_ROW].mean()),
        "average precision": average_precision(counts),
    }


def count_issues(audit: Path, wrong: NDArray[np.bool_]) -> Counts:
    """How many right and wrong labels have a probability in each bin, (BINS, 2)."""
    counts = np.zeros(2 * BINS, dtype=np.int64)
    for path in sorted((audit / "issues").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=[ROW, ISSUE]):
            row, issue = (batch.column(name).to_numpy() for name in (ROW, ISSUE))
            if row.min() < FIRST_ROW:
                raise ValueError(f"{path} counts rows from {row.min()}, not from {FIRST_ROW}.")
            bins = np.minimum((issue * BINS).astype(np.intp), BINS - 1)
            counts += np.bincount(2 * bins + wrong[row - FIRST_ROW], minlength=2 * BINS)
    return counts.reshape(BINS, 2)


def average_precision(counts: Counts) -> float:
    """scikit-learn's average_precision_score of wrong labels, from counts by rising score."""
    n_wrong = counts[::-1, 1]
    n_listed = counts[::-1].sum(axis=1).cumsum()
    precision = n_wrong.cumsum() / np.maximum(n_listed, 1)
    return float(n_wrong @ precision / n_wrong.sum())
