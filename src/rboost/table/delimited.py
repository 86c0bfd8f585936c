"""From text to columns of text: the delimiter found, the header made usable, every row checked.

The layout is inferred from the beginning of the text. Lines before the header are titles, narrower
than the table, and comments that begin with ``#``. A header with one name less than the rows have
cells is that of a table written with an index.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rboost.packages import package

WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"
ONE_COLUMN = (
    "{} has one column only, but a table has two or more: add the labels or, to predict, numbers "
    "of the rows; in a text, commas, semicolons, tabs or pipes set columns apart."
)
# Rows up to this size can be read.
BLOCK_BYTES = 2**26


def read_text(
    content: bytes, path: Path, has_header: bool = True
) -> tuple[list[str] | None, list[Any], str]:
    """The header of a table in UTF-8 if it has one, columns of text of Arrow, the delimiter."""
    layout = find_layout(content, has_header)
    if layout.width < 2:
        raise ValueError(ONE_COLUMN.format(path))
    if layout.skipped:
        warn_skipped(len(layout.skipped), layout.skipped[0], path)
    table = _parsed(content, layout, path)
    _check_last_quote(content.count(b'"', layout.start), table, path)
    columns, header = table.columns, None
    if layout.index_header is not None:
        # Rows may end with a delimiter; else they begin with an index.
        ends_empty = _is_empty(columns[-1])
        header = [*layout.index_header, ""] if ends_empty else ["", *layout.index_header]
    elif has_header:
        header = [str(column[0]) for column in columns]
        columns = table.slice(1).columns
    return header, columns, layout.delimiter


def warn_skipped(number: int, example: str, path: Path) -> None:
    """Warn that lines before the header are no part of the table."""
    skipped = "1 line was" if number == 1 else f"{number} lines were"
    warnings.warn(
        f"{path} does not begin with its table; {skipped} skipped, the first is {example[:40]!r}.",
        stacklevel=4,
    )


def named_columns(header: list[str] | None, columns: list[Any], path: Path) -> dict[str, Any]:
    """The columns of text by usable names; without a header, by their position.

    Under a header, an index without a name is left out, and so are empty columns.
    """
    if header is None:
        return {f"column {place}": column for place, column in enumerate(columns, start=1)}
    header, columns = list(header), list(columns)
    if not header[0].strip() and _is_index(columns[0]):
        warnings.warn(
            f"{path} has an index, a first column of row numbers without a name, which is left "
            "out; give it a name to keep it.",
            stacklevel=4,
        )
        del header[0], columns[0]
    elif not header[0].strip() and "index" not in header and not _is_empty(columns[0]):
        warnings.warn(
            f"{path} has a first column without a name, which is called 'index'; call rows by it "
            "with --id index, or leave it aside with --drop index.",
            stacklevel=4,
        )
        header[0] = "index"
    kept = [
        place for place, name in enumerate(header) if name.strip() or not _is_empty(columns[place])
    ]
    names = usable_names([header[k] for k in kept], path)
    return dict(zip(names, [columns[k] for k in kept], strict=True))


def _is_index(cells: Any) -> bool:
    """Whether all cells are whole numbers, no two of them alike."""
    compute = package("pyarrow.compute")
    cells = compute.utf8_trim_whitespace(cells)
    is_whole = compute.all(compute.match_substring_regex(cells, WHOLE)).as_py()
    return bool(is_whole) and compute.count_distinct(cells).as_py() == len(cells)


def _is_empty(cells: Any) -> bool:
    compute = package("pyarrow.compute")
    longest = compute.max(compute.binary_length(compute.utf8_trim_whitespace(cells)))
    return not longest.as_py()


def _parsed(content: bytes, layout: Layout, path: Path) -> Any:
    """All records, the header among them unless it is too short, as columns of text."""
    arrow, arrow_csv = package("pyarrow"), package("pyarrow.csv")
    names = [str(number) for number in range(layout.width)]
    wrong: list[Any] = []

    def note(row: Any) -> str:
        wrong.append(row)
        return "error"

    try:
        return arrow_csv.read_csv(
            arrow.BufferReader(arrow.py_buffer(content).slice(layout.start)),
            # One thread, so that the wrong row that is reported is the first one.
            arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=names),
            arrow_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, arrow.string()),
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
    except arrow.ArrowInvalid as error:
        if not wrong:
            raise ValueError(
                f"{path} cannot be read as a table, perhaps since a row is longer than "
                f"{BLOCK_BYTES // 2**20} MB; save it as Parquet."
            ) from error
        raise ValueError(_ragged(content, wrong[0], layout, path)) from error


def _ragged(content: bytes, row: Any, layout: Layout, path: Path) -> str:
    """One sentence about a row with too many or too few cells."""
    beginning = NEWLINE.split(row.text.encode()[:2000])[0]
    found = re.search(rb"(?:^|[\r\n])" + re.escape(beginning), content)
    line = 1 if found is None else 1 + len(NEWLINE.findall(content[: found.end() - len(beginning)]))
    cells = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns} cells"
    advice = "correct that line"
    if "\n" in row.text.strip():
        advice += ", where perhaps a quote is not closed"
    return (
        f"Line {line} of {path} has {cells} but "
        f"{'the header has' if layout.has_header else 'others have'} {layout.width}; "
        f"{advice}."
    )


def _check_last_quote(n_quotes: int, table: Any, path: Path) -> None:
    """Fail when a quote that is never closed has swallowed the rest of the file."""
    last = [str(column[-1]) for column in table.columns]
    if n_quotes % 2 and any("\n" in cell or "\r" in cell for cell in last):
        raise ValueError(
            f"{path} ends within a quoted cell, which begins {last[-1][:30]!r}; close that quote."
        )


def usable_names(header: list[str], path: Path) -> list[str]:
    """Names for all columns, no two alike, with a warning for each kind of repair."""
    if len(header) < 2:
        raise ValueError(ONE_COLUMN.format(path))
    written = {name.strip() for name in header}
    names: dict[str, None] = {}  # keeps the order, and knows quickly what is in it
    empty, repeated = [], []
    for position, name in enumerate(map(str.strip, header), start=1):
        if not name:
            name = f"column {position}"
            empty.append(name)
        elif name in names:
            repeated.append(name)
        if name in names:
            numbered = (f"{name} ({number})" for number in itertools.count(2))
            name = next(one for one in numbered if one not in written and one not in names)
        names[name] = None
    if empty:
        warnings.warn(
            f"{path} has columns without a name; they are called by their position: "
            f"{reprs(empty)}.",
            stacklevel=4,
        )
    if repeated:
        warnings.warn(
            f"{path} has several columns called {reprs(repeated)}; later ones are numbered, "
            f"as in '{repeated[0]} (2)'.",
            stacklevel=4,
        )
    return list(names)


def reprs(names: Sequence[Any], most: int = 10) -> str:
    """The ``repr`` of each name, set apart by commas; long ones are cut, many are counted."""
    first = ", ".join(
        repr(f"{name[:57]}…" if isinstance(name, str) and len(name) >= 60 else name)
        for name in names[:most]
    )
    return first if len(names) <= most else f"{first} and {len(names) - most} more"


# ---- Layout ----

DELIMITERS = [",", ";", "\t", "|"]
# The least of a file that its dialect is found from: characters, and records.
SAMPLE_CHARACTERS = 2**16
SAMPLE_RECORDS = 20
NEWLINE = re.compile(rb"\r\n|\n|\r")
# Excel's own way to say which delimiter follows, and blank lines.
BEGINNING = re.compile(rb"(?:\s*sep=([,;\t|])\s*?(?:\r\n|\n|\r))?(?:[ \t]*[\r\n])*", re.IGNORECASE)

Record = tuple[int, list[str]]  # how many lines precede it, and its cells


@dataclass(frozen=True)
class Layout:
    """Where a table begins (in bytes), and what its rows look like.

    ``index_header`` are the names of a header that lacks one for the index; the table then begins
    behind it, otherwise with the header if it ``has_header``. ``skipped`` are records before that.
    """

    delimiter: str
    width: int
    start: int
    skipped: tuple[str, ...] = ()
    index_header: tuple[str, ...] | None = None
    has_header: bool = True


def find_layout(content: bytes, has_header: bool = True) -> Layout:
    """The layout by the delimiter that cuts the first records most evenly."""
    beginning = BEGINNING.match(content)
    assert beginning is not None  # it may be empty
    delimiters = [beginning[1].decode()] if beginning[1] else DELIMITERS
    begin = beginning.end()
    text, is_cut = _sample(content, begin)
    best, best_score = Layout(delimiters[0], 1, begin), (False, False, False, 0.0, 0)
    find_place = _header_place if has_header else _first_row_place
    for delimiter in delimiters:
        records = _records(text, is_cut, delimiter)
        if not records:
            continue
        place, width, has_index = find_place(records)
        rows = [cells for _, cells in records[place + has_index :]]
        share = sum(len(cells) == width for cells in rows) / len(rows)
        # What needs no line skipped is right unless it leaves most rows uneven.
        score = (width > 1, share >= 0.5, not place and not has_index, share, width)
        if score > best_score:
            best_score = score
            best = Layout(
                delimiter, width, _offset(content, begin, records[place + has_index][0]),
                tuple(delimiter.join(cells) for _, cells in records[:place]),
                tuple(records[place][1]) if has_index else None, has_header and not has_index,
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


def _first_row_place(records: list[Record]) -> tuple[int, int, bool]:
    """Which record is the first row of a table without a header, as :func:`_header_place`."""
    table = [cells for _, cells in records]
    rows = [cells for cells in table if not _is_comment(cells)] or table
    width = Counter(map(len, rows)).most_common(1)[0][0]
    is_row = (len(cells) == width or not _is_comment(cells) for cells in table)
    return next(place for place, one in enumerate(is_row) if one), width, False


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
    return len(cells) < width and share == 1 and not any(map(_is_number, header))


def _is_comment(cells: list[str]) -> bool:
    return cells[0].lstrip().startswith("#")


def _is_header(table: Sequence[list[str]]) -> bool:
    """Whether the first record has words where all others have numbers."""
    if len(table) < 2:
        return False
    columns = zip(*table[1:], strict=False)
    return any(
        not _is_number(name) and all(map(_is_number, column))
        for name, column in zip(table[0], columns, strict=False)
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().replace(",", "."))
    except ValueError:
        return False
    return True


def _offset(content: bytes, begin: int, n_lines: int) -> int:
    """Where line ``n_lines`` begins, counted from 0 at ``begin``."""
    for _, found in zip(range(n_lines), NEWLINE.finditer(content, begin), strict=False):
        begin = found.end()
    return begin
