"""Tables in files: text or Parquet, read so that what is a number or missing is known as such."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rboost.io.columns import (
    MISSING_WORDS,
    WHOLE,
    as_text,
    numbers_with_exceptions,
    to_series,
    typed,
    without_missing,
)
from rboost.io.packages import package
from rboost.io.parquet import read_parquet
from rboost.io.sources import PARQUET, read_content
from rboost.io.text import listed, read_text, usable_names


def read_table(
    path: str | Path, label: str | None = None, text: Collection[str | None] = ()
) -> Any:
    """Read a table with a header from a file.

    Parameters
    ----------
    path : str or Path
        A CSV file with commas, semicolons, tabs or pipes, or a Parquet file; it may be compressed
        with gzip, bzip2, xz, zstd or zip.
    label : str, default=None
        A column to keep as it is written, apart from white space around it, for
        :func:`label_column`. It must be there.
    text : collection of str, default=()
        Columns that stay text, if they are there, whatever their cells look like.

    Returns
    -------
    table : pandas.DataFrame
        Whole numbers, numbers, truth values, else text. Dates in text stay text. Empty cells and
        words such as NA and null are missing; so are infinite numbers, with a warning.
    """
    path = Path(path)
    pandas = package("pandas")
    content = read_content(path)
    if content.startswith(PARQUET):
        names, columns = read_parquet(content, path)
        names = usable_names(names, path)
        check_column(names, label, path)
    else:
        names, cells, delimiter = read_text(content, path)
        del content  # as large as the table
        check_column(names, label, path)
        columns = []
        for place, name in enumerate(names):
            if name == label:
                columns.append(to_series(without_missing(cells[place])))
            elif name in text:
                columns.append(as_text(cells[place]))
            else:
                columns.append(_typed(cells[place], delimiter, name, path))
            cells[place] = None
    table = pandas.concat(dict(enumerate(columns)), axis=1)
    table.columns = names
    return _without_infinities(table, path)


def _typed(cells: Any, delimiter: str, name: str, path: Path) -> Any:
    """The column of its own type; a few words among numbers count as missing."""
    column = typed(cells, delimiter != ",")
    found = numbers_with_exceptions(cells) if column.dtype == object else None
    if found is None:
        return column
    numbers, n_others, example = found
    warnings.warn(
        f"{path} has {n_others} cells in the column {name!r} of numbers that are none, such as "
        f"{example[:40]!r}; they count as missing.",
        stacklevel=3,
    )
    return numbers


def _without_infinities(table: Any, path: Path) -> Any:
    infinite = [
        name
        for name, kind in table.dtypes.items()
        if kind.kind == "f" and np.isinf(table[name].to_numpy()).any()
    ]
    if infinite:
        table[infinite] = table[infinite].replace([np.inf, -np.inf], np.nan)
        warnings.warn(
            f"{path} has infinite numbers in {listed(infinite)}; they count as missing.",
            stacklevel=3,
        )
    return table


def label_column(table: Any, name: str) -> Any:
    """The labels of a table, missing where they are missing, and otherwise as they look.

    Returns
    -------
    labels : pandas.Series
        Whole numbers (``Int64``) if all labels are, as numbers such as 1 and 0 in a column with
        missing values, else text (``string``): ``True`` and ``False``, ``01`` and ``1.0`` stay.
    """
    pandas = package("pandas")
    check_column(list(table.columns), name)
    column = table[name]
    if column.dtype.kind in "iu":
        return column.astype("Int64")
    if column.dtype.kind == "f":
        there = column.dropna()
        if (there == there.round()).all() and (there.abs() < 2**53).all():
            return column.astype("Int64")
    text = column.astype(object).where(column.notna(), None)
    text = text.map(str, na_action="ignore").astype("string").str.strip()
    text = text.mask(text.str.lower().isin(MISSING_WORDS), pandas.NA)
    there = text.dropna()
    if len(there) and there.str.fullmatch(WHOLE).all():
        return text.astype("Int64")
    return text


def check_column(names: Sequence[str], name: str | None, path: Path | None = None) -> None:
    """Fail with one sentence when a column that is asked for is not there; None asks for none."""
    if name is None or name in names:
        return
    near = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1)
    guess = next((known for known in names if near and known.lower() == near[0]), None)
    where = "" if path is None else f" in {path}"
    meant = "" if guess is None else f" (did you mean {guess!r}?)"
    raise ValueError(
        f"There is no column {name!r}{where}{meant}; the columns are {listed(list(names), 20)}."
    )
