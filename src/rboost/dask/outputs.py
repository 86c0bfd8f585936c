"""What is said of the rows of a table: computed and written where they lie, the worst fetched.

A folder of parts is a Parquet data set, ``part-00000.parquet`` and so on, one for each partition.
It is complete when it appears; until then, the parts are in a folder beside it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit.cleaning import THRESHOLD, clean_labels, cleaned_frame
from rboost.audit.fit import issue_probability, suggested_classes
from rboost.audit.insight.summary import PROBABLY, expected_flips
from rboost.audit.labels import NO_LABEL, TableLabels, as_written, table_labels
from rboost.dask.blocks import Block
from rboost.dask.checks import Summary
from rboost.dask.cluster import gathered
from rboost.dask.partitions import joined
from rboost.files import check_writable, write_atomically
from rboost.packages import package
from rboost.table.writing import write_table

dask, sizes = package("dask", "dask"), package("dask.sizeof", "dask")
# What is said of each row: its number, its label, the likeliest other class, and how likely the
# label is to be wrong.
ISSUE_COLUMNS = ("row", "label", "suggested", "probability")
# Says that a folder is ours; readers of Parquet skip such names.
MARK = "_rboost.json"
PART = re.compile(r"part-[0-9]{5,}\.parquet")


@dataclass(frozen=True, eq=False)
class Judged:
    """How likely each label of a block is to be wrong, NaN where there is none, and sums of that.

    ``suggested`` are the positions of the likeliest other classes. ``flips[j, k]`` is how many rows
    of class j are expected to carry the label k, ``probably_wrong[k]`` how many labels k are more
    likely wrong than right.
    """

    issue: Floats
    suggested: NDArray[np.int16]
    flips: Floats
    probably_wrong: Integers


sizes.sizeof.register(Judged, lambda judged: judged.issue.nbytes + judged.suggested.nbytes)


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


def issue_frame(block: Block, judged: Judged, summary: Summary) -> Any:
    """One row a row of a block: its number, its label, another class, and whether that is right.

    Rows are counted from 1, as elsewhere. The probability is that of a wrong label, and missing
    where there is no label.
    """
    first = block.first_row + 1
    names = np.array([*summary.classes.tolist(), None], dtype=object)
    numbers = np.arange(first, first + len(block.observed))
    said = numbers, names[block.observed], names[judged.suggested], judged.issue
    return pandas.DataFrame(dict(zip(ISSUE_COLUMNS, said, strict=True)))


def cleaned_table(
    table: Any,
    posterior: Floats,
    label: Any,
    summary: Summary,
    how: str = "relabel",
    threshold: float = THRESHOLD,
) -> Any:
    """All columns of a piece with its labels mended, as :mod:`rboost.audit.cleaning` does."""
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


def top_rows(client: Any, values: Sequence[Any], summary: Summary, n_rows: int) -> Integers:
    """The numbers of the rows of the largest values, largest first, NaN left out.

    ``values`` are futures or delayed arrays, one a partition. Of equal ones the first rows count.
    """
    tasks = [dask.delayed(_largest)(of_block, n_rows) for of_block in values]
    found = client.gather(client.compute(tasks))
    firsts = summary.first_rows.tolist()
    rows = np.concatenate([own + first for (own, _), first in zip(found, firsts, strict=True)])
    largest = np.concatenate([of_rows for _, of_rows in found])
    return rows[np.lexsort((rows, -largest))[:n_rows]]


def _largest(values: Floats, n_rows: int) -> tuple[Integers, Floats]:
    order = np.argsort(-values, kind="stable")[:n_rows]  # NaN comes last
    order = order[~np.isnan(values[order])]
    return order, values[order]


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
    rows = np.asarray(rows, dtype=np.intp)
    holder = np.searchsorted(summary.first_rows, rows, side="right") - 1
    tasks = [
        dask.delayed(_at)(tables[k], rows[holder == k] - summary.first_rows[k])
        for k in (np.unique(holder).tolist() or [0])
    ]
    found = joined(gathered(client, tasks, doing, verbose))
    place = np.argsort(np.argsort(holder, kind="stable"))
    return found.iloc[place].set_index(rows)


def _at(table: Any, places: Integers) -> Any:
    return table.iloc[places]


def write_parts(
    client: Any, frames: Sequence[Any], folder: str | Path, verbose: bool = False
) -> list[Path]:
    """Write frames as the parts of a Parquet data set.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the folder.
    frames : list of delayed pandas frames or futures
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
    names = [f"part-{number:05}.parquet" for number in range(len(frames))]
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    check_writable(unfinished)
    write_atomically(unfinished / MARK, "{}\n")
    tasks = [
        dask.delayed(_write_part)(frame, unfinished / name)
        for frame, name in zip(frames, names, strict=True)
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
    """Fail when there is something in place of the folder that was not written here."""
    if not os.path.lexists(folder):
        return
    inside = [entry.name for entry in folder.iterdir()] if folder.is_dir() else None
    if inside is None or any(name != MARK and not PART.fullmatch(name) for name in inside):
        raise FileExistsError(
            f"{folder} is there already and holds other files; choose another folder."
        )
    if inside and MARK not in inside:
        raise FileExistsError(
            f"{folder} is there already and was not written by rboost; choose another folder."
        )


def _write_part(frame: Any, path: Path) -> None:
    # Of a column of objects without any there is no type to be seen, so it would be none.
    without = [name for name in frame if frame[name].dtype == object and frame[name].isna().all()]
    write_table(frame.astype(dict.fromkeys(without, "string")), path)
