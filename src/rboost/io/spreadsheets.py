"""Tables for people: CSV that a spreadsheet opens without running anything.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to a spreadsheet, whoever wrote
it. Such cells get an apostrophe in front, plain numbers like −1.5 do not. An apostrophe that is
there already gets another one, so that :func:`unguarded` gives back every cell exactly.

Where the comma is the decimal sign, spreadsheets cut lines at semicolons or tabs and do not see
the quotes around a cell: each line of a cell, and each part between semicolons or tabs, is
therefore guarded as a cell of its own. To them a whole line may be one cell, so that at its
beginning even a number is guarded if it has a sign.

A file that needs more than ASCII begins with a byte-order mark, without which Excel would garble
it; pandas and :func:`rboost.io.reading.read_table` skip it. Lines end as on Unix.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rboost._validation import is_missing
from rboost.io.files import atomic_path

# What may stand before a formula: white space, invisible characters and control characters.
INVISIBLE = "[\\s\\x00-\\x20\\u200b-\\u200f\\u2060\\ufeff]*"
FORMULA = re.compile(INVISIBLE + "[=+\\-@＝＋－＠]")
PLAIN_NUMBER = re.compile(r" *[+-]?([0-9]+([.,][0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?%? *", re.ASCII)
CUT = re.compile(r"([;\t\r\n])")
QUOTED = re.compile(r'[,;"\t\r\n]|^\s|\s$')
# Excel takes 32 767 characters in a cell.
LONGEST_CELL = 32_000
ROWS_AT_A_TIME = 10_000


def guarded(cell: str) -> str:
    """The cell with apostrophes where a spreadsheet might see a formula.

    Examples
    --------
    >>> from rboost.io.spreadsheets import guarded
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
    """Write a pandas frame whole or not at all, without its index.

    Missing values become empty cells, text of more than 32 000 characters is cut.
    """
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.writelines(encoded_lines(frame))


def encoded_lines(frame: Any, delimiter: str = ",") -> Iterator[bytes]:
    """What a file of the frame holds: the lines, after a byte-order mark where it is needed."""
    is_ascii = "".join(map(str, frame.columns)).isascii() and all(
        cell.isascii() and len(cell) <= LONGEST_CELL
        for row in rows_of(frame)
        for cell in row
        if isinstance(cell, str)
    )
    if not is_ascii:
        yield codecs.BOM_UTF8
    for line in csv_lines(frame, delimiter):
        yield line.encode(errors="replace")


def csv_lines(frame: Any, delimiter: str = ",") -> Iterator[str]:
    """The lines of a pandas frame as CSV, the header first."""
    yield _line(map(str, frame.columns), delimiter)
    for row in rows_of(frame):
        yield _line(map(_text, row), delimiter)


def rows_of(frame: Any) -> Iterator[Iterable[Any]]:
    """The rows with the values of Python, a few at a time, as they take more memory."""
    for start in range(0, len(frame), ROWS_AT_A_TIME):
        part = frame.iloc[start : start + ROWS_AT_A_TIME]
        yield from zip(*(part.iloc[:, k].tolist() for k in range(part.shape[1])), strict=True)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if is_missing(value) else str(value)


def _line(cells: Iterable[str], delimiter: str) -> str:
    first, *others = map(_kept, cells)
    safe = guarded(first)
    if safe == first and FORMULA.match(first):
        safe = f"'{first}"  # if the whole line is one cell, its sign makes that a formula
    return delimiter.join(map(_quoted, [safe, *map(guarded, others)])) + "\n"


def _kept(text: str) -> str:
    """As much of the text as spreadsheets take."""
    if len(text) <= LONGEST_CELL:
        return text
    return f"{text[:LONGEST_CELL]}… ({len(text)} characters)"


def _quoted(text: str) -> str:
    if QUOTED.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text
