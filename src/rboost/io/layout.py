"""How a text is laid out as a table: its delimiter, the line of its header, and what precedes it.

Looked at is the beginning of the text alone. Lines before the header are titles, narrower than the
table, and comments that begin with ``#``. A header with one name less than the rows have cells is
that of a table written with an index.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
# As much of the file as is looked at, at least, and so many of its records.
SAMPLE_CHARACTERS = 2**16
SAMPLE_RECORDS = 20
NEWLINE = re.compile(rb"\r\n|\n|\r")
BLANK_LINES = re.compile(rb"(?:[ \t]*[\r\n])*")
# Excel's own way to say which delimiter follows.
DECLARATION = re.compile(rb"\s*sep=([,;\t|])\s*?(?:\r\n|\n|\r)", re.IGNORECASE)

Record = tuple[int, list[str]]  # how many lines precede it, and its cells


@dataclass(frozen=True)
class Layout:
    """Where a table begins (in bytes), and what its rows look like.

    ``index_header`` are the names of a header that lacks one for the index; the table then begins
    behind it, otherwise with the header. ``skipped`` are records before that.
    """

    delimiter: str
    width: int
    start: int
    skipped: tuple[str, ...] = ()
    index_header: tuple[str, ...] | None = None


def find_layout(content: bytes) -> Layout:
    """The layout by the delimiter that cuts the first records most evenly."""
    declared = DECLARATION.match(content)
    delimiters = list(DELIMITERS) if declared is None else [declared[1].decode()]
    begin = 0 if declared is None else declared.end()
    blank = BLANK_LINES.match(content, begin)
    begin = begin if blank is None else blank.end()
    text, is_cut = _sample(content, begin)
    best, best_score = Layout(delimiters[0], 1, begin), (False, False, False, 0.0, 0)
    for delimiter in delimiters:
        records = _records(text, is_cut, delimiter)
        if not records:
            continue
        place, width, has_index = _header_place(records)
        rows = [cells for _, cells in records[place + has_index :]]
        share = sum(len(cells) == width for cells in rows) / len(rows)
        # What needs no line skipped is right unless it leaves most rows uneven.
        score = (width > 1, share >= 0.5, not place and not has_index, share, width)
        if score > best_score:
            best_score = score
            best = Layout(
                delimiter, width, _offset(content, begin, records[place + has_index][0]),
                tuple(delimiter.join(cells) for _, cells in records[:place]),
                tuple(records[place][1]) if has_index else None,
            )  # fmt: skip
    return best


def _sample(content: bytes, begin: int) -> tuple[str, bool]:
    """The beginning of the text, and whether there is more: some whole lines if they are short."""
    size, body = SAMPLE_CHARACTERS, content[begin : begin + SAMPLE_CHARACTERS * 64]
    while len(body) > size and body.count(b"\n", 0, size) + body.count(b"\r", 0, size) < 10:
        size *= 2
    return body[:size].decode(errors="ignore"), len(content) > begin + size


def _records(text: str, is_cut: bool, delimiter: str) -> list[Record]:
    records: list[Record] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    before = n_comments = 0
    try:
        for cells in reader:
            if cells:
                records.append((before, cells))
                n_comments += _is_comment(cells)
            if len(records) - n_comments > SAMPLE_RECORDS:
                break
            before = reader.line_num
    except csv.Error:  # a cell is larger than the csv module takes
        pass
    else:
        if is_cut and 1 < len(records) <= SAMPLE_RECORDS + n_comments:
            records.pop()  # the last is cut off
    return records


def _header_place(records: list[Record]) -> tuple[int, int, bool]:
    """Which record is the header, how many cells rows have, and whether the header lacks one."""
    table = [cells for _, cells in records]
    width = Counter(map(len, table[1:] or table)).most_common(1)[0][0]
    first = next(place for place, cells in enumerate(table) if len(cells) == width)
    widths = [len(cells) for cells in table[first:]]
    share = widths.count(width) / len(widths)
    has_index = share >= 0.8 and width - 1 > 1 and width - 1 not in widths
    place = 0
    while place + 2 < len(table) and _precedes(table[place:], width, share, has_index):
        place += 1
    if has_index and place + 1 == first and len(table[place]) == width - 1:
        return place, width, True
    return place, len(table[place]), False


def _precedes(table: Sequence[list[str]], width: int, share: float, has_index: bool) -> bool:
    """Whether the first of these records stands before the header.

    ``share`` is that of the records that are as wide as most, from the first such on; a header of
    one name less may belong to them if there can be an index.
    """
    cells, others = table[0], table[1:]
    if _is_comment(cells) and len(cells) == len(others[0]) == width:  # a header may begin with #
        return _is_header([record for record in others if not _is_comment(record)])
    if _is_comment(cells):
        return True
    if len(cells) == width:  # spreadsheets fill titles and empty lines up with empty cells
        return width > 2 and not any(cell.strip() for cell in cells[1:])
    if has_index and len(cells) == width - 1 and len(others[0]) == width:
        return _is_header(others)  # else it lacks the name of the index
    if len(cells) == 1 < width:
        return share >= 0.8
    header = next((record for record in others if len(record) == width), [])
    return len(cells) < width and share == 1 and not any(map(is_number, header))


def _is_comment(cells: list[str]) -> bool:
    return cells[0].lstrip().startswith("#")


def _is_header(table: Sequence[list[str]]) -> bool:
    """Whether the first record has words where all others have numbers."""
    if len(table) < 2:
        return False
    columns = zip(*table[1:], strict=False)
    return any(
        not is_number(name) and all(map(is_number, column))
        for name, column in zip(table[0], columns, strict=False)
    )


def is_number(cell: str) -> bool:
    """Whether a cell is a plain number."""
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _offset(content: bytes, begin: int, n_lines: int) -> int:
    """Where the line begins that so many others precede."""
    for _, found in zip(range(n_lines), NEWLINE.finditer(content, begin), strict=False):
        begin = found.end()
    return begin
