"""Tables to files: CSV, TSV, JSONL, Parquet or Excel by the ending of the name, whole or not.

CSV for people opens in a spreadsheet without running anything. A cell that begins with ``=``,
``+``, ``-`` or ``@`` is a formula to a spreadsheet. Such cells get an apostrophe
in front, plain numbers like −1.5 do not. An apostrophe that is there already gets another one, so
that :func:`unguarded` gives back every cell exactly.

Where the comma is the decimal sign, spreadsheets cut lines at semicolons or tabs and do not see
the quotes around a cell: each line of a cell, and each part between semicolons or tabs, is
therefore guarded as a cell of its own. To them a whole line may be one cell, so that at its
beginning even a number is guarded if it has a sign.

A file that needs more than ASCII begins with a byte-order mark, without which Excel would garble
it; pandas and :func:`rboost.table.reading.read_table` skip it. Lines end as on Unix.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from rboost.files import atomic_path
from rboost.packages import package
from rboost.table.delimited import reprs

Guarded = bool | Literal["cells"]
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".xlsx")
# What Excel takes: rows, columns, characters in a cell, whole numbers, and the first year.
MOST_ROWS, MOST_COLUMNS, EXCEL_CELL, MOST_WHOLE, FIRST_YEAR = 2**20, 2**14, 32_767, 10**15, 1900
# Characters that XML has no place for.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_table(frame: Any, path: str | Path, guarded: Guarded = False) -> None:
    """Write a pandas frame, without its index, in the format that the name ends with.

    Parameters
    ----------
    frame : pandas.DataFrame
        Missing values become empty cells.
    path : str or Path
        Ends with ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.jsonl``, ``.jsonl.gz``,
        ``.parquet`` or ``.xlsx``.
    guarded : bool or "cells", default=False
        Write text files for people rather than programs: cells that a spreadsheet would take for a
        formula get an apostrophe (:func:`guarded`). With "cells" numbers with a sign stay numbers
        at the beginning of lines too. Otherwise each cell is written as it is, so that reading
        gives the same table. In Excel files no text is ever a formula.
    """
    path = Path(path)
    write = _writer(path)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise ValueError(
            f"{path} would have several columns called {reprs(list(repeated.unique()))}; rename "
            "all but one."
        )
    if not frame.shape[1]:
        raise ValueError(f"{path} was not written, since the table has no columns; pass some.")
    with atomic_path(path) as temporary:
        write(frame, temporary, path, guarded)


def check_ending(path: str | Path) -> None:
    """Fail with one sentence if :func:`write_table` knows no format that this name ends with."""
    _writer(Path(path))


def _writer(path: Path) -> Callable[[Any, Path, Path, Guarded], None]:
    name = path.name.lower()
    if not name.endswith(ENDINGS):
        raise ValueError(f"{path} must end with {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}.")
    return {".parquet": _write_parquet, ".xlsx": _write_excel}.get(path.suffix.lower(), _write_text)


def _write_text(frame: Any, temporary: Path, path: Path, guarded: Guarded) -> None:
    name = path.name.lower()
    delimiter = "\t" if ".tsv" in name[-7:] else ","
    is_json = ".jsonl" in name[-9:]
    with temporary.open("wb") as raw:
        # Without the time of writing and a name, so that the same table gives the same file.
        file = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if name.endswith(".gz") else raw
        with file:
            if guarded and not is_json and not _is_ascii(frame):
                file.write(codecs.BOM_UTF8)
            lines = json_lines(frame) if is_json else csv_lines(frame, delimiter, guarded)
            file.writelines(line.encode(errors="replace") for line in lines)


def json_lines(frame: Any) -> Iterator[str]:
    """The rows of a pandas frame as JSON objects, a line each; missing values are null."""
    names = [str(name) for name in frame.columns]
    for row in _rows(frame):
        yield json.dumps(dict(zip(names, map(json_value, row), strict=True)), ensure_ascii=False)
        yield "\n"


def json_value(value: Any) -> Any:
    """A value that JSON has, or the text of any other."""
    is_kept = value is None or isinstance(value, (str, bool, int))
    return value if is_kept or (isinstance(value, float) and math.isfinite(value)) else str(value)


def _write_parquet(frame: Any, temporary: Path, path: Path, guarded: Guarded) -> None:
    arrow = package("pyarrow")
    try:
        frame.to_parquet(temporary, index=False)
    except (arrow.ArrowException, UnicodeError, TypeError) as error:
        raise ValueError(
            f"{path} cannot hold a column of several types of values, or of other objects than "
            f"numbers, text and times; write .csv instead ({' '.join(str(error).split())[:200]})."
        ) from error


def _write_excel(frame: Any, temporary: Path, path: Path, guarded: Guarded) -> None:
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
        if len(value) > EXCEL_CELL:
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
        for row in _rows(frame):
            sheet.append([cell(value) for value in row])
    finally:
        sheet.close()  # or a file of its own would stay open
    # An archive that cannot be finished would say so once more when it is collected.
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        package("openpyxl.writer.excel").ExcelWriter(book, archive).save()


def _excel_value(value: Any) -> Any:
    """A value that Excel has, or the text of any other; None where it is missing."""
    is_kept = (
        value is None
        or isinstance(value, (str, bool))
        or (isinstance(value, int) and abs(value) < MOST_WHOLE)
        or (isinstance(value, float) and math.isfinite(value))
        or (
            isinstance(value, date)
            and value.year >= FIRST_YEAR
            and getattr(value, "tzinfo", None) is None
        )
    )
    return value if is_kept else str(value)


# ---- CSV for people ----

# What may stand before a formula: white space, invisible characters and control characters.
INVISIBLE = "[\\s\\x00-\\x20\\u200b-\\u200f\\u2060\\ufeff]*"
FORMULA = re.compile(INVISIBLE + "[=+\\-@＝＋－＠]")
PLAIN_NUMBER = re.compile(r" *[+-]?([0-9]+([.,][0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?%? *", re.ASCII)
CUT = re.compile(r"([;\t\r\n])")
# Excel takes 32 767 characters in a cell.
LONGEST_CELL = 32_000
ROWS_AT_A_TIME = 10_000


def guarded(cell: str) -> str:
    """The cell with apostrophes where a spreadsheet might see a formula.

    Examples
    --------
    >>> from rboost.table.writing import guarded
    >>> guarded("=1+1"), guarded("-1.5"), guarded("a; =1"), guarded("'tis"), guarded("a-b")
    ("'=1+1", '-1.5', "a;' =1", "''tis", 'a-b')
    """
    parts = CUT.split(cell)
    parts[::2] = [f"'{part}" if _is_risky(part) else part for part in parts[::2]]
    # Some programs drop leading white space, so that what follows it would begin the cell.
    if len(parts) > 1 and not parts[0].strip():
        parts[0] = f"'{parts[0]}"
    return "".join(parts)


def _is_risky(part: str) -> bool:
    if part.startswith("'"):
        return True
    return FORMULA.match(part) is not None and PLAIN_NUMBER.fullmatch(part) is None


def unguarded(cell: str) -> str:
    """The cell that was guarded: ``unguarded(guarded(cell)) == cell`` for every text."""
    parts = CUT.split(cell)
    parts[::2] = [part.removeprefix("'") for part in parts[::2]]
    return "".join(parts)


def write_csv(frame: Any, path: Path) -> None:
    """Write a pandas frame as CSV for people, whole or not at all, without its index.

    Missing values become empty cells, text of more than 32 000 characters is cut.
    """
    with atomic_path(path) as temporary:
        _write_text(frame, temporary, path, guarded=True)


def csv_lines(frame: Any, delimiter: str = ",", guarded: Guarded = True) -> Iterator[str]:
    """The lines of a pandas frame as CSV, the header first."""
    lines: list[str] = []
    # The writer quotes cells with what ends lines, so it has to know of both characters.
    writer: Any = csv.writer(
        SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n"
    )
    for row in itertools.chain([map(str, frame.columns)], _rows(frame)):
        writer.writerow(_guarded_row(row, guarded == "cells") if guarded else row)
        yield lines.pop()[:-2] + "\n"


def _rows(frame: Any) -> Iterator[Iterable[Any]]:
    """The rows as Python values, None where one is missing; in parts, as these take more memory."""
    for start in range(0, len(frame), ROWS_AT_A_TIME):
        part = frame.iloc[start : start + ROWS_AT_A_TIME]
        values = part.astype(object).where(part.notna(), None)
        yield from values.itertuples(index=False, name=None)


def _is_ascii(frame: Any) -> bool:
    """Whether a file for people needs no byte-order mark; the sign of a cut cell needs one."""
    return "".join(map(str, frame.columns)).isascii() and all(
        cell.isascii() and len(cell) <= LONGEST_CELL
        for row in _rows(frame)
        for cell in row
        if isinstance(cell, str)
    )


def _guarded_row(row: Iterable[Any], only_cells: bool) -> list[str]:
    cut = str if only_cells else _cut
    first, *others = ("" if value is None else cut(str(value)) for value in row)
    safe = guarded(first)
    if safe == first and FORMULA.match(first) and not only_cells:
        safe = f"'{first}"  # if the whole line is one cell, its sign makes that a formula
    return [safe, *map(guarded, others)]


def _cut(text: str) -> str:
    """As much of the text as spreadsheets take."""
    if len(text) <= LONGEST_CELL:
        return text
    return f"{text[:LONGEST_CELL]}… ({len(text)} characters)"
