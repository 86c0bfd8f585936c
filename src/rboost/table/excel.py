"""From an Excel file to columns of text, as :mod:`rboost.table.delimited` makes them of CSV.

Read is the first sheet with a table, and of formulas what they gave when the file was saved. Files
that unpack to far more than they are, and definitions of entities, with which small XML grows
without limit, are refused before anything is parsed.
"""

from __future__ import annotations

import io
import itertools
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.parsers import expat

from rboost.packages import package
from rboost.table.delimited import listed, named_columns, warn_skipped
from rboost.table.sources import RefusedError, check_size

# Rows in which a header is looked for.
SAMPLE_ROWS = 50
# More cells than fit into memory; a few bytes of a file can claim a row of 16 384 empty ones.
MOST_CELLS = 2**27
ERRORS = frozenset(
    ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#SPILL!", "#CALC!")
)
MIDNIGHT = "^[0-9]{4}-[0-9]{2}-[0-9]{2} 00:00:00$"

Row = list[str | None]


def read_excel(content: bytes, path: Path) -> tuple[list[str], list[Any]]:
    """Names and columns of text, as Arrow has them, of the first sheet that has a table."""
    openpyxl = package("openpyxl")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fonts, filters and other decoration
            _check_archive(content, path)
            book = openpyxl.load_workbook(
                io.BytesIO(content), read_only=True, data_only=True, keep_links=False
            )
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
            tables = [sheet for sheet in sheets if _has_table(sheet, path)]
            rows = list(_rows(tables[0], path)) if tables else []
            titles = [sheet.title for sheet in tables]
    except RefusedError:
        raise
    except Exception as error:  # damaged files fail anywhere in there
        raise ValueError(
            f"{path} is an Excel file, but damaged or of an odd kind; save the table as CSV."
        ) from error
    if not rows:
        raise ValueError(
            f"{path} has no sheet with a header, rows and at least two columns; fill one in."
        )
    if len(titles) > 1:
        warnings.warn(
            f"{path} has several sheets with tables; {titles[0]!r} was read, not "
            f"{listed(titles[1:])}.",
            stacklevel=4,
        )
    return _table(rows, path)


def _check_archive(content: bytes, path: Path) -> None:
    """Fail if it unpacks to too much, or if XML begins with definitions, which no Excel writes."""

    def refuse(*_: Any) -> None:
        raise RefusedError(
            f"{path} holds definitions of XML entities, which no Excel writes and which can fill "
            "the memory; save the table as CSV and read that."
        )

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        # No member gives more bytes than it declares.
        check_size(sum(one.file_size for one in archive.infolist()), len(content), path)
        for name in archive.namelist():
            parser = expat.ParserCreate()
            elements: list[Any] = []
            parser.StartDoctypeDeclHandler = refuse
            parser.StartElementHandler = lambda *found, to=elements: to.append(found)
            with archive.open(name) as file:
                try:  # nothing can be defined any more once the first element begins
                    while not elements and (part := file.read(2**12)):
                        parser.Parse(part)
                except expat.ExpatError:
                    if name.endswith((".xml", ".rels")):
                        raise


def _rows(sheet: Any, path: Path, most: int | None = None) -> Iterator[Row]:
    """The rows that hold anything, without empty cells at their ends."""
    sheet.reset_dimensions()  # what the file says of them may be wrong
    n_cells = 0
    for values in itertools.islice(sheet.iter_rows(values_only=True), most):
        n_cells += len(values)
        if n_cells > MOST_CELLS:
            raise RefusedError(f"{path} has more than {MOST_CELLS} cells; save it as Parquet.")
        row = [_text(value) for value in values]
        while row and not (row[-1] and row[-1].strip()):
            row.pop()
        if row:
            yield row


def _text(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value in ERRORS):
        return None
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value if isinstance(value, str) else str(value)


def _has_table(sheet: Any, path: Path) -> bool:
    widths = [len(row) for row in _rows(sheet, path, SAMPLE_ROWS)]
    return len(widths) > 1 and max(widths) > 1


def _table(rows: list[Row], path: Path) -> tuple[list[str], list[Any]]:
    arrow = package("pyarrow")
    place = _header_place(rows[:SAMPLE_ROWS])
    if place:
        warn_skipped(place, next(cell for cell in rows[0] if cell), path)
    header, body = rows[place], rows[place + 1 :]
    if not body:
        raise ValueError(f"{path} has a header but no rows; name a file with rows.")
    width = max(map(len, rows[place:]))
    columns = [
        _days(arrow.chunked_array([[_cell(row, k) for row in body]], type=arrow.string()))
        for k in range(width)
    ]
    return named_columns([_cell(header, k) or "" for k in range(width)], columns, path)


def _cell(row: Row, place: int) -> str | None:
    return row[place] if place < len(row) else None


def _header_place(rows: Sequence[Row]) -> int:
    """The first row that is about as full as the fullest; before it are titles and merged cells."""
    counts = [sum(bool(cell and cell.strip()) for cell in row) for row in rows]
    for place, (row, count) in enumerate(zip(rows, counts, strict=True)):
        lacks_index_name = not row[0] and count == max(counts) - 1
        if count >= 0.8 * max(counts) or lacks_index_name:
            return place
    return 0


def _days(cells: Any) -> Any:
    """Times without their hours if all are midnight: these are days."""
    compute = package("pyarrow.compute")
    if compute.all(compute.match_substring_regex(cells, MIDNIGHT)).as_py():
        return compute.utf8_slice_codeunits(cells, 0, 10)
    return cells
