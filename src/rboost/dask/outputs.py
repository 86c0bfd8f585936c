"""The results of each row: computed and written on the workers; the most suspicious are fetched.

A folder of parts is a Parquet data set, ``part-00000.parquet`` and so on, one for each partition.
It is complete when it appears; until then, the parts are in a folder beside it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit.cleaning import THRESHOLD, clean_labels, cleaned_frame
from rboost.audit.fit import issue_probability, suggested_classes
from rboost.audit.insight.summary import PROBABLY, expected_flips
from rboost.audit.labels import NO_LABEL, TableLabels, as_written, table_labels
from rboost.dask.blocks import Block, Summary
from rboost.dask.cluster import gathered
from rboost.dask.partitions import joined
from rboost.files import check_writable, write_atomically
from rboost.packages import package
from rboost.table.writing import write_table

dask, frames = package("dask", "dask"), package("dask.dataframe", "dask")
# The results of each row: its number, its label, the likeliest other class, and how likely the
# label is to be wrong.
ISSUE_COLUMNS = ("row", "label", "suggested", "probability")
# Says that a folder is ours; readers of Parquet skip such names.
MARK = "_rboost.json"
PART = re.compile(r"part-[0-9]{5,}\.parquet")


class Judged(NamedTuple):
    """How likely each label of a block is to be wrong, NaN where there is none, and sums of that.

    ``suggested`` are the positions of the likeliest other classes. ``flips[j, k]`` is how many rows
    of class j are expected to carry the label k, ``probably_wrong[k]`` how many labels k are more
    likely wrong than right.
    """

    issue: Floats
    suggested: NDArray[np.int16]
    flips: Floats
    probably_wrong: Integers


def judge(block: Block, posterior: Floats, summary: Summary) -> Judged:
    """Judge the labels of a block; ``posterior[i, j]`` = p(true class j | row i, its label)."""
    labels = _unchecked_labels(block.observed, summary)
    issue = issue_probability(posterior, labels)
    suspicious = labels.given[issue >= PROBABLY]  # NaN is not
    return Judged(
        issue,
        suggested_classes(posterior, posterior, labels).astype(np.int16),
        expected_flips(posterior, labels),
        np.bincount(suspicious, minlength=len(summary.classes)),
    )


def issue_frame(block: Block, judged: Judged) -> Any:
    """One row for each row of a block: its number, label, likeliest other class, and probability.

    Rows are counted from 1, as elsewhere, labels are positions of classes. The probability is that
    of a wrong label, and missing where there is no label.
    """
    number = np.arange(len(block.observed)) + block.first_row + 1
    said = number, block.observed, judged.suggested, judged.issue
    return pandas.DataFrame(dict(zip(ISSUE_COLUMNS, said, strict=True)))


def with_names(issues: Any, classes: NDArray[Any]) -> Any:
    """The same frame with classes instead of their positions."""
    names = np.array([*classes.tolist(), None], dtype=object)
    return issues.assign(label=names[issues["label"]], suggested=names[issues["suggested"]])


def worst_rows(client: Any, issues: Sequence[Any], n_rows: int) -> Any:
    """The rows of the largest probabilities, largest first; of equal ones the first rows.

    ``issues`` are delayed frames of :func:`issue_frame`, one a partition.
    """
    kinds = zip(ISSUE_COLUMNS, (np.intp, np.int16, np.int16, np.float64), strict=True)
    nothing = pandas.DataFrame({name: np.empty(0, kind) for name, kind in kinds})
    all_rows = frames.from_delayed(list(issues), meta=nothing)
    ranked = all_rows.assign(order=-all_rows["row"]).nlargest(n_rows, ["probability", "order"])
    return client.gather(client.compute(ranked)).drop(columns="order").dropna()


def fetch_rows(
    client: Any,
    tables: Sequence[Any],
    summary: Summary,
    rows: Integers,
    doing: str = "",
    verbose: bool = False,
) -> Any:
    """The rows of these numbers, in this order, with the numbers as the index.

    ``tables`` are delayed frames, one a partition. Only those that hold some of the rows are
    computed.
    """
    holder = np.searchsorted(summary.first_rows, rows, side="right") - 1
    tasks = [
        dask.delayed(_at)(tables[k], rows[holder == k], summary.first_rows[k])
        for k in (np.unique(holder).tolist() or [0])
    ]
    return joined(gathered(client, tasks, doing, verbose)).loc[rows]


def _at(table: Any, rows: Integers, first_row: int) -> Any:
    return table.iloc[rows - first_row].set_axis(rows)


def cleaned_table(
    table: Any,
    posterior: Floats,
    label: Any,
    summary: Summary,
    how: str = "relabel",
    threshold: float = THRESHOLD,
) -> Any:
    """All columns of a partition with its labels mended, as :mod:`rboost.audit.cleaning` does."""
    codes, values = table[label].factorize()
    written = np.append(as_written(values), "")[codes]
    labels = _unchecked_labels(summary.positions(table[label]), summary, label, written)
    mended = clean_labels(labels, posterior, how, threshold)
    return cleaned_frame(table, labels, posterior, mended, summary.classes.tolist())


def _unchecked_labels(
    observed: Any, summary: Summary, name: Any = "label", written: Any = None
) -> TableLabels:
    given, nobody = observed.astype(np.intp), np.full(len(observed), NO_LABEL)
    return table_labels(summary.classes, given, nobody, name, written=written)


def write_parts(
    client: Any, tables: Sequence[Any], folder: str | Path, verbose: bool = False
) -> list[Path]:
    """Write frames as the parts of a Parquet data set.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the folder.
    tables : list of delayed pandas frames or futures
        Each is written where it is computed.
    folder : str or Path
        Made, or replaced if it was written by this function.
    verbose : bool, default=False
        Whether to show a bar.

    Returns
    -------
    paths : list of Path
    """
    folder = Path(folder).absolute()
    check_ours(folder)
    names = [f"part-{number:05}.parquet" for number in range(len(tables))]
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    check_writable(unfinished)
    write_atomically(unfinished / MARK, "{}\n")
    tasks = [
        dask.delayed(_write_part)(table, unfinished / name)
        for table, name in zip(tables, names, strict=True)
    ]
    gathered(client, tasks, f"Writing {folder.name}", verbose)
    absent = [name for name in names if not (unfinished / name).exists()]
    if absent:
        raise FileNotFoundError(
            f"{absent[0]} was written by a worker on another machine, whose disk is not seen here; "
            "choose a folder that all machines share."
        )
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(unfinished, folder)
    return [folder / name for name in names]


def check_ours(folder: Path) -> None:
    """Fail if the folder holds anything that :func:`write_parts` has not written."""
    if not os.path.lexists(folder):
        return
    inside = [entry.name for entry in folder.iterdir()] if folder.is_dir() else ["a file"]
    is_ours = all(name == MARK or PART.fullmatch(name) for name in inside)
    if inside and not (is_ours and MARK in inside):
        raise FileExistsError(
            f"{folder} is there already and holds files that rboost has not written; choose "
            "another folder."
        )


def _write_part(frame: Any, path: Path) -> None:
    # The type of a column of objects that are all missing cannot be inferred.
    without = [name for name in frame if frame[name].dtype.kind == "O" and frame[name].isna().all()]
    write_table(frame.astype(dict.fromkeys(without, "string")), path)
