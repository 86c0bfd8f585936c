"""What may be wrong with a table: its cells, its header, its labels, its rows, its bytes."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from random import Random

import openpyxl
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from benchmarks.fuzz.tables import LABEL

Cells = list[list[str]]

ODD = (
    "", " ", "\t", "NA", "nan", "NULL", "None", "-", "?", "inf", "-inf", "1e999", "-0", "0x1F",
    "1_000", "1,5", "1.5e", "1e5", "١٢٣", "½", "²", "１２", "$1,234.56", "1.234,56 €", "12 %",
    "(12)", "-$5", "€", "%", "2013-01-01T10:00:00Z", "2013-01-01 10:00:00+05:30", "31/12/2019",
    "2019-02-30", "99999-01-01", "0001-01-01", "24:00", "12:30 PM", "Mon, 01 Jan 2018 10:00 CET",
    "1970-01-01T00:00:00+99:99", "20130101", "1356998400", "=1+1", "@SUM(A1)", "'quoted",
    '"', '""', "a,b;c\td|e", "two\nlines", "two\r\nlines", "\x00", "\x1b[31m", "\u202e", "\ufeff",
    "שלום", "😀", "e\u0301", "\U0010ffff", "<script>alert(1)</script>", "{{ 7 * 7 }}", "$\\frac{1$",
    "True", "yes", "x" * 5000, "9" * 400, "1" + "0" * 30, "-" * 50, "..", "/etc/passwd",
    "%s", "\\N",
)  # fmt: skip
NAMES = (
    "", " ", LABEL, "row", "checked_label", "drawn_at_random", "given_label", "index", "0", "1.5",
    "nan", "Unnamed: 0", "x" * 3000, "a\nb", "a,b", '"', "\x00", "😀", "<b>", "column 0",
    "__class__", "target", "LABEL", "label ", "level_0", "\ufeff", "[x]", "f(x)", "é", "e\u0301",
    "{", ":", "\\",
)  # fmt: skip


def mutate(cells: Cells, random: Random) -> Cells:
    """One to four changes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        if cells and cells[0]:
            cells = random.choice(CHANGES)([list(row) for row in cells], random)
    return cells


def some_cells(cells: Cells, random: Random) -> Cells:
    """Odd values here and there."""
    for _ in range(random.choice((1, 3, 30))):
        row = random.choice(cells[1:] or cells)
        if row:
            row[random.randrange(len(row))] = random.choice(ODD)
    return cells


def a_column(cells: Cells, random: Random) -> Cells:
    """A whole column of something else."""
    place, (one, other) = random.randrange(len(cells[0])), random.choices(ODD, k=2)
    values: Callable[[int], str] = random.choice(
        (
            lambda k: one,
            lambda k: one if k % 2 else other,
            lambda k: random.choice(ODD),
            lambda k: str(k),
            lambda k: "" if k % 10 else one,
            lambda k: (
                f"20{k % 100:02d}-0{1 + k % 9}-11T0{k % 10}:00:00{'Z' if k % 2 else '+05:00'}"
            ),
            lambda k: f"{k % 31}.{k % 13}.20{k % 100:02d}",
            lambda k: f"{one}{k}",
            lambda k: str(10.0 ** (k % 400)),
        )
    )
    for k, row in enumerate(cells[1:]):
        if place < len(row):
            row[place] = values(k)
    return cells


def header(cells: Cells, random: Random) -> Cells:
    """Names that are odd, the same twice, in another place, or not there."""
    names = cells[0]
    how = random.randrange(5)
    if how == 0:
        for _ in range(random.choice((1, 3))):
            names[random.randrange(len(names))] = random.choice(NAMES)
    elif how == 1:
        names[random.randrange(len(names))] = random.choice(names)
    elif how == 2:
        random.shuffle(names)
    elif how == 3:
        cells = cells[1:]
    else:
        cells.insert(random.randrange(min(4, len(cells))), random.choice((["# note"], [], names)))
    return cells


def labels(cells: Cells, random: Random) -> Cells:
    """Labels of one class, of a class a row, misspelt, or missing."""
    place = cells[0].index(LABEL) if LABEL in cells[0] else len(cells[0]) - 1
    how, word = random.randrange(8), random.choice(ODD)
    for k, row in enumerate(cells[1:]):
        if place >= len(row):
            continue
        own = row[place]
        row[place] = (
            word,
            str(k),
            f"{own.upper() if k % 2 else own} ",
            "" if random.random() < 0.9 else own,
            word if random.random() < 0.1 else own,
            f"{k % 2}.0" if k % 3 else str(k % 2),
            str(k // 2),
            ("true", "FALSE", "1", "0")[k % 4],
        )[how]
    return cells


def rows(cells: Cells, random: Random) -> Cells:
    """Few rows, many copies, rows that are too long or too short."""
    how = random.randrange(5)
    if how == 0:
        return cells[: random.choice((0, 1, 2, 3, 6, 12, 30))]
    if how == 1:
        return [cells[0], *(random.choice(cells[1:] or [[]]) for _ in range(len(cells)))]
    for _ in range(random.choice((1, 10))):
        row = random.choice(cells)
        row[:] = [*row, "more"] if how == 2 else row[:-1] if how == 3 else []
    return cells


def columns(cells: Cells, random: Random) -> Cells:
    """Some columns only, or a second copy of one."""
    places = list(range(len(cells[0])))
    if random.random() < 0.5:
        kept = sorted(random.sample(places, random.randint(1, len(places))))
    else:
        kept = [*places, random.choice(places)]
    return [[row[k] for k in kept if k < len(row)] for row in cells]


CHANGES = (some_cells, some_cells, a_column, a_column, header, labels, labels, rows, columns)


def written(cells: Cells, random: Random) -> tuple[str, bytes]:
    """A file of these cells: its name and its content, which may be damaged."""
    if random.random() < 0.08:
        content = workbook(cells)
        return "table.xlsx", damaged(content, random) if random.random() < 0.3 else content
    text = io.StringIO()
    delimiter = random.choice(",,,,;\t|")
    ending = random.choice(("\n", "\r\n", "\r"))
    dialect = "unix" if random.random() < 0.3 else "excel"  # quotes around all cells, or few
    csv.writer(text, dialect, delimiter=delimiter, lineterminator=ending).writerows(cells)
    encoding = random.choice(("utf-8",) * 6 + ENCODINGS)
    content = text.getvalue().encode(encoding, errors="replace")
    if random.random() < 0.15:
        content = damaged(content, random)
    name, packed = random.choice((("table.csv", None),) * 8 + PACKINGS)
    if packed is not None:
        content = packed(content)
        if random.random() < 0.3:
            content = damaged(content, random)
    return name, content


def workbook(cells: Cells) -> bytes:
    """The same cells as an Excel file, without characters that it cannot hold."""
    book = openpyxl.Workbook()
    for row in cells:
        book.active.append([ILLEGAL_CHARACTERS_RE.sub("", cell)[:32_000] for cell in row])
    saved = io.BytesIO()
    book.save(saved)
    return saved.getvalue()


def damaged(content: bytes, random: Random) -> bytes:
    """Bytes flipped, cut off, put in or repeated."""
    how, place = random.randrange(5), random.randrange(len(content) + 1)
    if how == 0:
        changed = bytearray(content)
        for _ in range(random.choice((1, 5, 50)) if changed else 0):
            changed[random.randrange(len(changed))] = random.randrange(256)
        return bytes(changed)
    if how == 1:
        return content[:place]
    if how == 2:
        return content[:place] + random.randbytes(random.choice((1, 20))) + content[place:]
    if how == 3:
        return content[place:] + content
    return random.choice((b"", b"\n", b"\x00" * 100, b'"', b"PAR1", b"PK\x03\x04", b"\x1f\x8b"))


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("table.csv", content)
    return packed.getvalue()


ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "ascii", "cp037")
PACKINGS: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("table.csv.gz", lambda content: gzip.compress(content, mtime=0)),
    ("table.csv.bz2", bz2.compress),
    ("table.csv.xz", lzma.compress),
    ("table.zip", _zipped),
    ("table.tsv", lambda content: content),
    ("table.parquet", lambda content: content),
    ("table.xlsx", lambda content: content),
    ("table", lambda content: gzip.compress(gzip.compress(content, mtime=0), mtime=0)),
)
