"""From text to columns of text: the delimiter found, the header made usable, every row checked."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from rboost.io.packages import package

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
# As much of the file as is looked at to find the delimiter, and so many of its records.
SAMPLE_CHARACTERS = 2**16
SAMPLE_RECORDS = 20
# Rows up to this size can be read.
BLOCK_BYTES = 2**26
NEWLINE = re.compile(rb"\r\n|\n|\r")
# Excel's own way to say which delimiter follows.
DECLARATION = re.compile(rb"\s*sep=([,;\t|])\s*?(?:\r\n|\n|\r)", re.IGNORECASE)


def read_text(content: bytes, path: Path) -> tuple[list[str], list[Any], str]:
    """Names, columns of text as Arrow has them, and the delimiter of a table in UTF-8."""
    declared = DECLARATION.match(content)
    if declared is not None:
        content, delimiter = content[declared.end() :], declared[1].decode()
        width = _width(_sample(content), delimiter)[0]
    else:
        delimiter, width = find_delimiter(content)
    if width < 2:
        raise ValueError(
            f"{path} has one column only; a label and at least one more column are needed, set "
            f"apart by {', '.join(list(DELIMITERS.values())[:-1])} or pipe."
        )
    table = _parsed(content, delimiter, width, path)
    header = [str(column[0]) for column in table.columns]
    if table.num_rows < 2:
        raise ValueError(f"{path} has a header but no rows; name a file with rows.")
    _check_last_quote(content, table, path)
    return usable_names(header, path), table.slice(1).columns, delimiter


def find_delimiter(content: bytes) -> tuple[str, int]:
    """The delimiter that cuts the first records most evenly, and the number of columns it makes."""
    sample = _sample(content)
    best, best_width, best_score = ",", 1, (False, 0.0, 0)
    for delimiter in DELIMITERS:
        width, share = _width(sample, delimiter)
        score = (width > 1, share, width)
        if score > best_score:
            best, best_width, best_score = delimiter, width, score
    return best, best_width


def _sample(content: bytes) -> tuple[str, bool]:
    """The beginning of the text, and whether there is more: at least the whole first line."""
    size = SAMPLE_CHARACTERS
    body = content[: size * 64].lstrip()
    while len(body) > size and not NEWLINE.search(body[:size]):
        size *= 2
    return body[:size].decode(errors="ignore"), len(content) > size


def _width(sample: tuple[str, bool], delimiter: str) -> tuple[int, float]:
    """The number of names in the header, and the share of the records that are as wide."""
    text, is_cut = sample
    records = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if record:
                records.append(len(record))
            if len(records) > SAMPLE_RECORDS:
                break
    except csv.Error:  # a cell is larger than the csv module takes
        pass
    else:
        if is_cut and 1 < len(records) <= SAMPLE_RECORDS:
            records.pop()  # the last is cut off
    if not records:
        return 1, 0.0
    return records[0], sum(width == records[0] for width in records) / len(records)


def _parsed(content: bytes, delimiter: str, width: int, path: Path) -> Any:
    """All records, the header among them, as columns of text."""
    arrow = package("pyarrow")
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append(row)
        return "error"

    try:
        return _read(content, delimiter, width, note)
    except arrow.ArrowInvalid as error:
        if not wrong:
            raise ValueError(
                f"{path} cannot be read as a table, perhaps since a row is longer than "
                f"{BLOCK_BYTES // 2**20} MB; save it as Parquet."
            ) from error
        raise ValueError(_ragged(content, wrong[0], width, path)) from error


def _read(content: bytes, delimiter: str, width: int, note: Any) -> Any:
    arrow, arrow_csv = package("pyarrow"), package("pyarrow.csv")
    names = [str(number) for number in range(width)]
    return arrow_csv.read_csv(
        arrow.BufferReader(content),
        # One thread, so that the wrong row that is reported is the first one.
        arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=names),
        arrow_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, arrow.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )


def _ragged(content: bytes, row: Any, width: int, path: Path) -> str:
    """One sentence about a row with too many or too few cells."""
    beginning = NEWLINE.split(row.text.encode()[:2000])[0]
    found = re.search(rb"(?:^|[\r\n])" + re.escape(beginning), content)
    line = 1 if found is None else 1 + len(NEWLINE.findall(content[: found.end() - len(beginning)]))
    advice = "correct that line"
    if "\n" in row.text.strip():
        advice += ", where perhaps a quote is not closed"
    return (
        f"Line {line} of {path} has {_cells(row.actual_columns)} but the header has {width}; "
        f"{advice}."
    )


def _cells(number: int) -> str:
    return "1 cell" if number == 1 else f"{number} cells"


def _check_last_quote(content: bytes, table: Any, path: Path) -> None:
    """Fail when a quote that is never closed has swallowed the rest of the file."""
    last = [str(column[-1]) for column in table.columns]
    if content.count(b'"') % 2 and any("\n" in cell or "\r" in cell for cell in last):
        raise ValueError(
            f"{path} ends within a quoted cell, which begins {last[-1][:30]!r}; close that quote."
        )


def usable_names(header: list[str], path: Path) -> list[str]:
    """Names for all columns, no two alike, with a warning for each kind of repair."""
    written_names = {name.strip() for name in header}
    names: dict[str, None] = {}  # keeps the order, and knows quickly what is in it
    empty, repeated = [], []
    for position, written in enumerate(header, start=1):
        name = written.strip()
        if not name:
            name = f"column {position}"
            empty.append(name)
        elif name in names:
            repeated.append(name)
        names[_unlike(name, names, written_names)] = None
    if empty:
        warnings.warn(
            f"{path} has columns without a name; they are called by their position: "
            f"{listed(empty)}.",
            stacklevel=4,
        )
    if repeated:
        warnings.warn(
            f"{path} has several columns called {listed(repeated)}; later ones are numbered, "
            f"as in '{repeated[0]} (2)'.",
            stacklevel=4,
        )
    return list(names)


def _unlike(name: str, names: Container[str], written_names: Container[str]) -> str:
    """The name, with a number behind it if it is used already."""
    if name not in names:
        return name
    number = 2
    while f"{name} ({number})" in written_names or f"{name} ({number})" in names:
        number += 1
    return f"{name} ({number})"


def listed(names: Sequence[Any], most: int = 10) -> str:
    """Names set apart by commas, long ones cut, the first few of many."""
    first = ", ".join(
        repr(f"{name[:57]}…" if isinstance(name, str) and len(name) >= 60 else name)
        for name in names[:most]
    )
    return first if len(names) <= most else f"{first} and {len(names) - most} more"
