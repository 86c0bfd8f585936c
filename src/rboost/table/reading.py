"""Tables in files: text, JSON, Excel or Parquet, with what is a number or missing known as such."""

from __future__ import annotations

import difflib
import io
import itertools
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from rboost.packages import package
from rboost.table.cells import IDENTIFIER, LONGEST_MISSING_WORD, MISSING_WORDS, NUMBER, is_number
from rboost.table.delimited import (
    WHOLE,
    named_columns,
    read_text,
    reprs,
    usable_names,
    warn_skipped,
)
from rboost.table.header import check_header
from rboost.table.records import JSON, read_records
from rboost.table.sources import PARQUET, ZIP, RefusedError, check_size, read_content

__all__ = ["read_table"]


DECIMAL_COMMA = r"^[+-]?[0-9]+(,[0-9]+)?$"


@dataclass
class _Part:
    """One file: columns of Arrow by name, which are text still to be typed unless it has types."""

    path: Path
    columns: dict[str, Any]
    has_types: bool = False
    decimal_comma: bool = False


def read_table(
    paths: str | Path | Sequence[str | Path],
    label: str | None = None,
    text: Collection[str | None] = (),
    as_written: bool = False,
    header: bool | None = None,
) -> Any:
    """Read a table from a file, or from several with the same columns.

    Parameters
    ----------
    paths : str, Path or sequence of them
        A CSV file with commas, semicolons, tabs or pipes, an Excel file (.xlsx), a Parquet file, or
        JSON: one object a line, a list of objects, tasks of Label Studio, records of Argilla; it
        may be compressed with gzip, bzip2, xz, zstd or zip. The rows of several files follow
        each other; their columns may come in any order.
    label : str, default=None
        A column to keep as it is written, apart from white space around it, for
        ``label_column``. It must be there.
    text : collection of str, default=()
        Columns that stay text, if they are there, whatever their cells look like.
    as_written : bool, default=False
        Whether to leave every cell of a file of text as it stands there, missing ones too.
    header : bool, default=None
        Whether the first line has the names of the columns. False calls them "column 1",
        "column 2" and so on, and every line is a row. None takes the first line for names, but
        refuses one that looks like a row; True takes it for names whatever it looks like.

    Returns
    -------
    table : pandas.DataFrame
        Whole numbers, numbers, truth values, else text as it is written: amounts and dates, too.
        Empty cells and words such as NA and null are missing; so are infinite numbers, with a
        warning.
    """
    files = [Path(paths)] if isinstance(paths, (str, Path)) else [Path(path) for path in paths]
    pandas = package("pandas")
    parts = [_read(path, header) for path in files]
    for part in parts:
        check_column(list(part.columns), label, part.path)
        _check_same_columns(part, parts[0])
    decimal_comma = all(part.decimal_comma for part in parts)
    columns = {}
    for name in list(parts[0].columns):
        cells, has_types = _joined(parts, name)
        if has_types or as_written:
            columns[name] = to_series(cells)
        elif name == label:
            columns[name] = to_series(without_missing(cells))
        else:
            columns[name] = as_text(cells) if name in text else typed(cells, decimal_comma)
    return _without_infinities(pandas.concat(columns, axis=1), described(files))


def described(paths: Sequence[str | Path]) -> str:
    """What to call files in a sentence."""
    others = len(paths) - 1
    return str(paths[0]) + (f" (and {others} more)" if others else "")


def _read(path: Path, header: bool | None) -> _Part:
    content, delimiter = read_content(path), ","
    if header is False and (content.startswith(PARQUET) or JSON.match(content)):
        kind = "Parquet" if content.startswith(PARQUET) else "JSON"
        raise ValueError(f"{path} is a {kind} file, which has names; leave --no-header out.")
    if content.startswith(PARQUET):
        named = read_parquet(content, path)
    elif JSON.match(content):
        named = read_records(content, path)
    else:
        if content.startswith(ZIP):
            names, columns = read_excel(content, path, header is not False)
        else:
            names, columns, delimiter = read_text(content, path, header is not False)
        if names is not None and header is None:
            check_header(names, columns, path)
        named = named_columns(names, columns, path)
    if not all(map(len, named.values())):
        raise ValueError(f"{path} has a header but no rows; name a file with rows.")
    return _Part(path, named, content.startswith(PARQUET), delimiter != ",")


def _check_same_columns(part: _Part, first: _Part) -> None:
    for one, other in ((first, part), (part, first)):
        absent = [name for name in one.columns if name not in other.columns]
        if absent:
            raise ValueError(
                f"{other.path} has no column {absent[0]!r}, which {one.path} has; give all files "
                "the same columns."
            )


def _joined(parts: Sequence[_Part], name: str) -> tuple[Any, bool]:
    """The column of all files, and whether it has a type already.

    What is of different types in several files is made text again and typed as a whole. Files lose
    the column, as they are large.
    """
    arrow = package("pyarrow")
    columns = [part.columns.pop(name) for part in parts]
    types = {one.type for one in columns}
    is_text = not types.isdisjoint((arrow.string(), arrow.large_string()))
    has_types = all(part.has_types for part in parts) and len(types) == 1 and not is_text
    if not has_types:
        columns = [column.cast(arrow.string()) for column in columns]
    return arrow.chunked_array([chunk for one in columns for chunk in one.chunks]), has_types


def typed(text: Any, decimal_comma: bool = False) -> Any:
    """A pandas series: whole numbers, numbers or truth values if every cell is one, else text.

    Amounts, dates, and numbers with a few words among them stay as they are written: what a column
    of words means is for :mod:`rboost.table.columns` to say.
    """
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    cells = without_missing(text)
    if _all(cells, WHOLE):
        return to_series(cells.cast(arrow.int64()))
    is_name = compute.match_substring_regex(cells, f"^({IDENTIFIER.pattern})")
    if decimal_comma and _all(cells, DECIMAL_COMMA):
        cells = compute.replace_substring(cells, ",", ".")
    if _all(cells, f"(?i)^({NUMBER.pattern})$") and not compute.any(is_name).as_py():
        return to_series(compute.utf8_ltrim(cells, "+").cast(arrow.float64()))
    if _all(cells, "(?i)^(true|false)$"):
        return to_series(compute.equal(compute.utf8_lower(cells), "true"))
    return as_text(text)


def as_text(text: Any) -> Any:
    """A pandas series of the cells as they are, apart from missing ones."""
    compute = package("pyarrow.compute")
    return to_series(compute.if_else(compute.is_null(without_missing(text)), None, text))


def without_missing(text: Any) -> Any:
    """Cells without the white space around them, null where they stand for a missing value."""
    compute, arrow = package("pyarrow.compute"), package("pyarrow")
    cells = compute.utf8_trim_whitespace(text)
    # Only short cells can be one of the words; lowering the case of long text takes long.
    is_short = compute.less_equal(compute.binary_length(cells), LONGEST_MISSING_WORD)
    words = compute.utf8_lower(compute.if_else(is_short, cells, "-"))
    is_missing = compute.is_in(words, value_set=arrow.array(sorted(MISSING_WORDS)))
    return compute.if_else(is_missing, None, cells)


def with_plain_numbers(column: Any) -> Any:
    """A pandas series of text as numbers, if every cell is a plain one or empty."""
    pandas = package("pandas")
    there = column[column != ""].dropna()
    if len(there) and all(isinstance(cell, str) and is_number(cell) for cell in there):
        return pandas.to_numeric(column.where(column != ""))
    return column


def to_series(column: Any) -> Any:
    """A pandas series; whole numbers and truth values stay so where some are missing."""
    arrow, pandas = package("pyarrow"), package("pandas")
    nullable = None
    if column.null_count and column.null_count < len(column):
        if arrow.types.is_integer(column.type):
            is_unsigned = arrow.types.is_unsigned_integer(column.type)
            nullable = pandas.UInt64Dtype() if is_unsigned else pandas.Int64Dtype()
        elif arrow.types.is_boolean(column.type):
            nullable = pandas.BooleanDtype()
    if nullable is None:
        return column.to_pandas()
    return column.to_pandas(types_mapper=lambda _: nullable)


def _all(cells: Any, pattern: str) -> bool:
    """Whether every cell that is there fits a pattern, and some are."""
    compute = package("pyarrow.compute")
    few = compute.drop_null(cells.slice(0, 100))
    if not compute.all(compute.match_substring_regex(few, pattern), min_count=0).as_py():
        return False  # without a look at the other cells
    return compute.all(compute.match_substring_regex(cells, pattern)).as_py() is True


def _without_infinities(table: Any, source: str) -> Any:
    infinite = [
        name for name in table if table[name].dtype.kind == "f" and np.isinf(table[name]).any()
    ]
    if infinite:
        table[infinite] = table[infinite].replace([np.inf, -np.inf], np.nan)
        warnings.warn(
            f"{source} has infinite numbers in {reprs(infinite)}; they count as missing.",
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
        f"There is no column {name!r}{where}{meant}; the columns are {reprs(list(names), 20)}."
    )


# ---- Excel ----
#
# The first sheet with a table is read, and of formulas what they gave when the file was saved.
# Files that unpack to far more than they are, and definitions of entities, with which small XML
# grows without limit, are refused before anything is parsed.

# Rows in which a header is looked for.
SAMPLE_ROWS = 50
# More cells than fit into memory; a few bytes of a file can claim a row of 16 384 empty ones.
MOST_EXCEL_CELLS = 2**27
ERRORS = frozenset(
    ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#SPILL!", "#CALC!")
)
MIDNIGHT = "^[0-9]{4}-[0-9]{2}-[0-9]{2} 00:00:00$"

Row = list[str | None]


def read_excel(
    content: bytes, path: Path, has_header: bool = True
) -> tuple[list[str] | None, list[Any]]:
    """The header if it has one, and columns of text of Arrow, of the first sheet with a table."""
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
            f"{reprs(titles[1:])}.",
            stacklevel=4,
        )
    return _table(rows, path, has_header)


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
                try:  # definitions come before the first element
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
        if n_cells > MOST_EXCEL_CELLS:
            raise RefusedError(
                f"{path} has more than {MOST_EXCEL_CELLS} cells; save it as Parquet."
            )
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


def _table(rows: list[Row], path: Path, has_header: bool) -> tuple[list[str] | None, list[Any]]:
    arrow = package("pyarrow")
    place = _fullest_place(rows[:SAMPLE_ROWS]) if has_header else 0
    if place:
        warn_skipped(place, next(cell for cell in rows[0] if cell), path)
    columns = list(itertools.zip_longest(*rows[place:]))
    cells = [arrow.chunked_array([one[has_header:]], type=arrow.string()) for one in columns]
    header = [column[0] or "" for column in columns] if has_header else None
    return header, [_days(one) for one in cells]


def _fullest_place(rows: Sequence[Row]) -> int:
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


# ---- Parquet ----

# A value that is repeated takes no room in the file, but eight bytes in memory.
MOST_CELLS, MOST_CELLS_OF_A_BYTE = 2**30, 25


def read_parquet(content: bytes, path: Path) -> dict[str, Any]:
    """Arrow columns of a Parquet file by name; an index that pandas stored is a column too."""
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    try:
        about = parquet.read_metadata(arrow.BufferReader(content))
        n_cells = about.num_rows * about.num_columns
        if n_cells > MOST_CELLS and n_cells > MOST_CELLS_OF_A_BYTE * len(content):
            raise RefusedError(
                f"{path} has {len(content)} bytes but says that it holds {n_cells} cells, as files "
                "do that are made to fill the memory; if you trust it, write a sample of its rows."
            )
        table = parquet.read_table(arrow.BufferReader(content))
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{path} is a Parquet file, but damaged or cut short; copy or download it again."
        ) from error
    names = usable_names(table.column_names, path)
    columns = zip(names, table.columns, strict=True)
    return {name: plain_column(column, name, path) for name, column in columns}


def plain_column(column: Any, name: str, path: Path) -> Any:
    """The same column in a type that there is in pandas as well."""
    arrow = package("pyarrow")
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type), name, path)
    stored = getattr(kind, "storage_type", kind)  # intervals of pandas are pairs with another name
    if types.is_nested(stored):
        raise ValueError(
            f"Column {name!r} of {path} holds {stored}, not single values; leave it out of the "
            "file or make columns of its parts."
        )
    if kind == arrow.uuid():
        words = [None if one is None else str(one) for one in column.to_pylist()]
        return arrow.chunked_array([words], type=arrow.string())
    if types.is_date(kind):
        return column.cast(arrow.timestamp("ms"))
    if types.is_decimal(kind) or types.is_float16(kind):
        return column.cast(arrow.float64())
    if types.is_time(kind):
        return column.cast(arrow.string())
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        try:
            return column.cast(arrow.binary()).cast(arrow.string())
        except arrow.ArrowInvalid as error:
            raise ValueError(
                f"Column {name!r} of {path} holds binary data; leave it out of the file."
            ) from error
    return column
