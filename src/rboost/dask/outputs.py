"""What comes of a table of partitions: parts that are written where they lie, and the few largest.

A folder of parts is a Parquet data set, ``part-00000.parquet`` and so on, one for each partition.
It is complete when it appears; until then, the parts are in a folder beside it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit.cleaning import THRESHOLD, clean_labels, cleaned_frame
from rboost.audit.labels import NO_LABEL, TableLabels, as_written, table_labels
from rboost.dask.checks import Summary
from rboost.dask.gathering import gathered
from rboost.dask.partitions import joined
from rboost.files import check_writable, write_atomically
from rboost.packages import package
from rboost.table.writing import write_table

dask = package("dask", "dask")
# Says that a folder is ours; readers of Parquet skip such names.
MARK = "_rboost.json"
PART = re.compile(r"part-[0-9]{5,}\.parquet")


def write_parts(
    client: Any,
    inputs: Sequence[Sequence[Any]],
    function: Callable[..., Any],
    folder: str | Path,
    verbose: bool = False,
) -> list[Path]:
    """Write the frame ``function(*inputs[k])`` as part k of a Parquet data set.

    Parameters
    ----------
    client : distributed.Client
        Its workers must see the folder.
    inputs : list of sequences
        Delayed values and futures, which are computed and read where the parts are written, or
        plain values.
    function : callable
        Gives a pandas frame.
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
    names = [f"part-{number:05}.parquet" for number in range(len(inputs))]
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    check_writable(unfinished)
    write_atomically(unfinished / MARK, "{}\n")
    tasks = [
        dask.delayed(_write_part)(unfinished / name, function, *values)
        for name, values in zip(names, inputs, strict=True)
    ]
    gathered(client, tasks, f"Writing {folder.name}", verbose)
    _check_seen(unfinished, names)
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


def _check_seen(folder: Path, names: Sequence[str]) -> None:
    absent = [name for name in names if not (folder / name).exists()]
    if absent:
        raise FileNotFoundError(
            f"{absent[0]} was written by a worker on another machine, whose disk is not seen here; "
            "choose a folder that all machines share."
        )


def _write_part(path: Path, function: Callable[..., Any], *values: Any) -> None:
    frame = function(*values)
    # Of a column of objects without any there is no type to be seen, so it would be none.
    without = [name for name in frame if frame[name].dtype == object and frame[name].isna().all()]
    write_table(frame.astype(dict.fromkeys(without, "string")), path)


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
    labels = unchecked_labels(summary.positions(table[label]), summary, label, written)
    mended = clean_labels(labels, posterior, how, threshold)
    return cleaned_frame(table, labels, posterior, mended, summary.classes.tolist())


def unchecked_labels(
    observed: Any, summary: Summary, name: Any = "label", written: Any = None
) -> TableLabels:
    """Labels that nobody checked."""
    if written is None:
        written = np.array([*map(str, summary.classes), ""], dtype=object)[observed]
    nobody = np.full(len(observed), NO_LABEL)
    said = np.full(len(observed), "", dtype=object)
    return table_labels(
        summary.classes, observed.astype(np.intp), nobody, name, written=written, said=said
    )


def top_rows(
    client: Any, values: Sequence[Any], summary: Summary, n_rows: int
) -> tuple[Integers, Floats]:
    """The numbers and values of the rows of the largest values, largest first, NaN left out.

    ``values`` are futures or delayed arrays, one a partition. Of equal ones the first rows count.
    """
    tasks = [
        dask.delayed(_largest)(of_block, first, n_rows)
        for of_block, first in zip(values, summary.first_rows.tolist(), strict=True)
    ]
    found = client.gather(client.compute(tasks))
    rows = np.concatenate([rows for rows, _ in found])
    largest = np.concatenate([of_rows for _, of_rows in found])
    order = np.lexsort((rows, -largest))[:n_rows]
    return rows[order], largest[order]


def _largest(values: Floats, first_row: int, n_rows: int) -> tuple[Integers, Floats]:
    order = np.argsort(-values, kind="stable")[:n_rows]  # NaN comes last
    order = order[~np.isnan(values[order])]
    return order + first_row, values[order]


def fetch_rows(
    client: Any,
    tables: Sequence[Any],
    summary: Summary,
    rows: Any,
    doing: str = "",
    verbose: bool = False,
) -> Any:
    """The rows of these numbers, in this order, with the numbers as the index.

    ``tables`` are delayed frames, one a partition. Only those that hold some of the rows are
    computed.
    """
    rows = np.asarray(rows, dtype=np.intp)
    if len(rows) and not (rows.min() >= 0 and rows.max() < summary.n_rows):
        raise IndexError(f"rows must be numbers from 0 to {summary.n_rows - 1}; pass such.")
    holder = np.searchsorted(summary.first_rows, rows, side="right") - 1
    tasks = [
        dask.delayed(_at)(tables[k], rows[holder == k] - summary.first_rows[k])
        for k in (np.unique(holder).tolist() or [0])
    ]
    found = joined(gathered(client, tasks, doing, verbose))
    place = np.empty(len(rows), dtype=np.intp)
    place[np.argsort(holder, kind="stable")] = np.arange(len(rows))
    return found.iloc[place].set_index(rows)


def _at(table: Any, places: Integers) -> Any:
    return table.iloc[places]
