"""A Parquet data set of made-up rows in many files, and beside it which labels are wrong.

    FOLDER/data/part-00000.parquet ...    the data set, with a column ``label``
    FOLDER/truth/part-00000.npy ...       of each row the true class, and whether the label is wrong

A file depends on its number alone, so a larger data set begins with the rows of a smaller one, and
making it takes the memory of one file. What a kill has left half done is made anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.code import fingerprint_of
from rboost.progress import track

ROWS_IN_FILE, ROWS_IN_GROUP = 250_000, 62_500
# How often the label of a row that is truly the first or the second class is the other one.
CLASSES, FLIPPED = ("no", "yes"), (0.2, 0.1)
TOWNS = [f"town {k}" for k in range(40)]
KINDS = ["basic", "family", "business", "student", "other"]
# Two columns of words, one of counts; of the others six tell of the class.
FEWEST_COLUMNS = 9
MISSING = 0.05
STEEPNESS = 3.0

Truth = NDArray[np.bool_]


def fingerprint() -> str:
    """A number that changes with the rows that are made."""
    return fingerprint_of([Path(__file__)])


def make(folder: Path, n_rows: int, n_columns: int) -> None:
    """Make the files that are not there yet."""
    for name in ("data", "truth"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    starts = range(0, n_rows, ROWS_IN_FILE)
    shown = track(starts, len(starts), f"Making {n_rows:,} rows", enabled=sys.stderr.isatty())
    for number, start in enumerate(shown):
        path = folder / "data" / f"part-{number:05}.parquet"
        if path.exists():
            continue
        table, truth = draw(number, min(ROWS_IN_FILE, n_rows - start), n_columns)
        np.save(folder / "truth" / f"part-{number:05}.npy", truth)
        half = path.with_suffix(".half")
        pq.write_table(table, half, row_group_size=ROWS_IN_GROUP)
        half.rename(path)  # last: a file that is there is whole, and so is its truth


def draw(number: int, n_rows: int, n_columns: int) -> tuple[pa.Table, Truth]:
    """The rows of one file; of each the true class, and whether its label is wrong."""
    random = np.random.default_rng([n_columns, number])
    numbers = random.standard_normal((n_columns - 3, n_rows), dtype=np.float32)
    count = random.poisson(2, n_rows).astype(np.int32)
    town, kind = (random.integers(0, len(words), n_rows) for words in (TOWNS, KINDS))
    a, b, c, d, e, f = numbers[:6]
    score = 1.5 * a + b * c + np.sin(2 * d) + np.abs(e) + f * (kind == 2) - 0.8
    score += np.cos(np.arange(len(TOWNS)))[town] + 0.4 * (count - 2)
    true = random.logistic(size=n_rows) < STEEPNESS * score
    wrong = random.random(n_rows) < np.where(true, FLIPPED[1], FLIPPED[0])
    columns = {f"measurement {k}": pa.array(values) for k, values in enumerate(numbers)}
    # Two columns have values missing, of which the true class knew.
    absent = random.random((2, n_rows)) < MISSING
    columns["measurement 3"] = pa.array(d, mask=absent[0])
    columns |= {
        "count": pa.array(count),
        "town": pa.array(TOWNS).take(pa.array(town, mask=absent[1])),
        "kind": pa.array(KINDS).take(pa.array(kind)),
        "label": pa.array(CLASSES).take(pa.array((true ^ wrong).astype(np.int8))),
    }
    return pa.table(columns), np.stack([true, wrong])


def truth_of(folder: Path) -> Truth:
    """Of all rows in order the true class, and whether the label is wrong; two bytes a row."""
    parts = sorted((folder / "truth").glob("part-*.npy"))
    return np.concatenate([np.load(path) for path in parts], axis=1)


def size_on_disk(folder: Path) -> int:
    """Bytes of the data set."""
    return sum(path.stat().st_size for path in (folder / "data").glob("*.parquet"))
