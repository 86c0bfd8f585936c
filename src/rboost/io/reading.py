"""Tables in files: text, Excel or Parquet, with what is a number or missing known as such."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
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
from rboost.io.excel import read_excel
from rboost.io.packages import package
from rboost.io.parquet import read_parquet
from rboost.io.sources import PARQUET, read_content
from rboost.io.text import listed, read_text, usable_names
from rboost.io.unpacking import ZIP

__all__ = ["read_table"]


@dataclass
class _Part:
    """One file: names, and columns of Arrow that are text still to be typed unless it has types."""

    path: Path
    names: list[str]
    columns: list[Any]
    has_types: bool = False
    decimal_comma: bool = False


def read_table(
    paths: str | Path | Sequence[str | Path],
    label: str | None = None,
    text: Collection[str | None] = (),
    as_written: bool = False,
) -> Any:
    """Read a table with a header from a file, or from several with the same columns.

    Parameters
    ----------
    paths : str, Path or sequence of them
        A CSV file with commas, semicolons, tabs or pipes, an Excel file (.xlsx) or a Parquet file;
        it may be compressed with gzip, bzip2, xz, zstd or zip. The rows of several files follow
        each other; their columns may come in any order.
    label : str, default=None
        A column to keep as it is written, apart from white space around it, for
        ``label_column``. It must be there.
    text : collection of str, default=()
        Columns that stay text, if they are there, whatever their cells look like.
    as_written : bool, default=False
        Whether to leave every cell of a file of text as it stands there, missing ones too.

    Returns
    -------
    table : pandas.DataFrame
        Whole numbers, numbers, truth values, else text. Dates in text stay text. Empty cells and
        words such as NA and null are missing; so are infinite numbers, with a warning.
    """
    files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    pandas = package("pandas")
    parts = [_read(path) for path in files]
    names = parts[0].names
    for part in parts:
        check_column(part.names, label, part.path)
        _check_same_columns(part, parts[0])
    columns = []
    for name in names:
        cells, has_types = _joined(parts, name)
        if has_types or as_written:
            columns.append(to_series(cells))
        elif name == label:
            columns.append(to_series(without_missing(cells)))
        elif name in text:
            columns.append(as_text(cells))
        else:
            decimal_comma = all(part.decimal_comma for part in parts)
            columns.append(_typed(cells, decimal_comma, name, described(files)))
    table = pandas.concat(dict(enumerate(columns)), axis=1)
    table.columns = names
    return _without_infinities(table, described(files))


def described(paths: Sequence[str | Path]) -> str:
    """What to call files in a sentence."""
    others = len(paths) - 1
    return str(paths[0]) + (f" (and {others} more)" if others else "")


def _read(path: Path) -> _Part:
    content = read_content(path)
    if content.startswith(PARQUET):
        names, columns = read_parquet(content, path)
        return _Part(path, usable_names(names, path), columns, has_types=True)
    if content.startswith(ZIP):
        return _Part(path, *read_excel(content, path))
    names, columns, delimiter = read_text(content, path)
    return _Part(path, names, columns, decimal_comma=delimiter != ",")


def _check_same_columns(part: _Part, first: _Part) -> None:
    for one, other in ((first, part), (part, first)):
        absent = [name for name in one.names if name not in other.names]
        if absent:
            raise ValueError(
                f"{other.path} has no column {absent[0]!r}, which {one.path} has; give all files "
                "the same columns."
            )


def _joined(parts: Sequence[_Part], name: str) -> tuple[Any, bool]:
    """The column of all files, and whether it has a type already.

    What is of different types in several files is made text again and typed as a whole.
    """
    arrow = package("pyarrow")
    columns = []
    for part in parts:
        place = part.names.index(name)
        columns.append(part.columns[place])
        part.columns[place] = None  # which is as large as the file
    types = {one.type for one in columns}
    is_text = any(arrow.types.is_string(one) or arrow.types.is_large_string(one) for one in types)
    has_types = all(part.has_types for part in parts) and len(types) == 1 and not is_text
    if not has_types:
        columns = [column.cast(arrow.string()) for column in columns]
    return arrow.chunked_array([chunk for one in columns for chunk in one.chunks]), has_types


def _typed(cells: Any, decimal_comma: bool, name: str, source: str) -> Any:
    """The column of its own type; a few words among numbers count as missing."""
    column = typed(cells, decimal_comma)
    found = numbers_with_exceptions(cells) if column.dtype == object else None
    if found is None:
        return column
    numbers, n_others, example = found
    if n_others:
        warnings.warn(
            f"{source} has {n_others} cells in the column {name!r} of numbers that are none, such "
            f"as {example[:40]!r}; they count as missing.",
            stacklevel=3,
        )
    return numbers


def _without_infinities(table: Any, source: str) -> Any:
    infinite = [
        name
        for name, kind in table.dtypes.items()
        if kind.kind == "f" and np.isinf(table[name].to_numpy()).any()
    ]
    if infinite:
        table[infinite] = table[infinite].replace([np.inf, -np.inf], np.nan)
        warnings.warn(
            f"{source} has infinite numbers in {listed(infinite)}; they count as missing.",
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
    if column.dtype.kind in "iu" and (column.dropna() < 2**63).all():
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


def check_column(names: Sequence[str], name: str | None, path: Path | str | None = None) -> None:
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
