"""Tables to files: CSV, TSV, Parquet or Excel by the ending of the name, whole or not at all."""

from __future__ import annotations

import csv
import gzip
import math
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rboost._validation import is_missing
from rboost.io.files import atomic_path
from rboost.io.packages import package
from rboost.io.spreadsheets import ROWS_AT_A_TIME, encoded_lines, rows_of
from rboost.io.text import listed

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".xlsx")
# What Excel takes: rows, columns, characters in a cell, digits of a number, and since which year.
MOST_ROWS, MOST_COLUMNS, LONGEST_CELL, MOST_DIGITS, FIRST_YEAR = 2**20, 2**14, 32_767, 15, 1900
# Characters that XML has no place for.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_table(frame: Any, path: str | Path, guarded: bool = False) -> None:
    """Write a pandas frame, without its index, in the format that the name ends with.

    Parameters
    ----------
    frame : pandas.DataFrame
        Missing values become empty cells.
    path : str or Path
        Ends with ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.parquet`` or ``.xlsx``.
    guarded : bool, default=False
        Write text files for people rather than programs: cells that a spreadsheet would take for a
        formula get an apostrophe (:mod:`rboost.io.spreadsheets`). Otherwise each cell is written as
        it is, so that reading gives the same table. In Excel files no text is ever a formula.
    """
    path = Path(path)
    write = _writer(path)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            f"{path} would have several columns called {listed(list(repeated.unique()))}; rename "
            "all but one."
        )
    if not frame.shape[1]:
        raise ValueError(f"{path} was not written, since the table has no columns; pass some.")
    with atomic_path(path) as temporary:
        write(frame, temporary, path, guarded)


def check_ending(path: str | Path) -> None:
    """Fail with one sentence if :func:`write_table` knows no format that this name ends with."""
    _writer(Path(path))


def _writer(path: Path) -> Callable[[Any, Path, Path, bool], None]:
    name = path.name.lower()
    if not name.endswith(ENDINGS):
        raise ValueError(f"{path} must end with {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}.")
    return {".parquet": _write_parquet, ".xlsx": _write_excel}.get(path.suffix.lower(), _write_text)


def _write_text(frame: Any, temporary: Path, path: Path, guarded: bool) -> None:
    name = path.name.lower()
    delimiter = "\t" if ".tsv" in name[-7:] else ","
    with temporary.open("wb") as raw:
        # Without the time of writing and a name, so that the same table gives the same file.
        file = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if name.endswith(".gz") else raw
        with file:
            file.writelines((encoded_lines if guarded else _plain_lines)(frame, delimiter))


def _plain_lines(frame: Any, delimiter: str) -> Iterator[bytes]:
    """Many lines of CSV at a time, each cell as it is."""
    lines: list[str] = []
    # The writer quotes cells with what ends lines, so it has to know of both characters.
    writer: Any = csv.writer(
        SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n"
    )
    writer.writerow(frame.columns)
    for start in range(0, max(len(frame), 1), ROWS_AT_A_TIME):
        part = frame.iloc[start : start + ROWS_AT_A_TIME]
        values = part.astype(object).where(part.notna(), None)
        writer.writerows(values.itertuples(index=False, name=None))
        yield "".join(line[:-2] + "\n" for line in lines).encode(errors="replace")
        lines.clear()


def _write_parquet(frame: Any, temporary: Path, path: Path, guarded: bool) -> None:
    arrow = package("pyarrow")
    try:
        frame.to_parquet(temporary, index=False)
    except (arrow.ArrowException, UnicodeError, TypeError) as error:
        raise ValueError(
            f"{path} cannot hold a column of several types of values, or of other objects than "
            f"numbers, text and times; write .csv instead ({' '.join(str(error).split())[:200]})."
        ) from error


def _write_excel(frame: Any, temporary: Path, path: Path, guarded: bool) -> None:
    openpyxl, cells = package("openpyxl"), package("openpyxl.cell")
    if len(frame) >= MOST_ROWS or frame.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"{path} would need {len(frame) + 1} rows and {frame.shape[1]} columns, more than "
            f"Excel takes ({MOST_ROWS} and {MOST_COLUMNS}); write .csv or .parquet instead."
        )
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("table")
    sheet.freeze_panes = "A2"

    def cell(value: Any) -> Any:
        value = _excel_value(value)
        if not isinstance(value, str):
            return value
        if len(value) > LONGEST_CELL:
            raise ValueError(
                f"{path} cannot hold a cell of {len(value)} characters, more than Excel takes; "
                "write .csv or .parquet instead."
            )
        value = CONTROL.sub("\ufffd", value)
        if not value.startswith(("=", "#")):
            return value
        made = cells.WriteOnlyCell(sheet, value)
        made.data_type = "s"  # not a formula, nor an error
        return made

    try:
        sheet.append([cell(name) for name in frame.columns])
        for row in rows_of(frame):
            sheet.append([cell(value) for value in row])
    finally:
        sheet.close()  # or a file of its own would stay open
    book.save(temporary)


def _excel_value(value: Any) -> Any:
    """A value that Excel has, or the text of one that it has not; None where nothing is."""
    if is_missing(value) or isinstance(value, (str, bool)):
        return None if is_missing(value) else value
    if isinstance(value, int):
        return value if len(str(abs(value))) <= MOST_DIGITS else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime) and value.tzinfo is None and value.year >= FIRST_YEAR:
        return value
    if isinstance(value, date) and not isinstance(value, datetime) and value.year >= FIRST_YEAR:
        return value
    return str(value)
