"""From a name to what its file holds: Parquet, an Excel file, or text as UTF-8.

Names may be patterns such as ``data/*.csv``, and ``-`` for standard input. The content decides what
a file is, not its name: compressed files are unpacked, piece by piece, so that none made to fill
the memory does; text is recognised by how it begins; what is neither is refused with a word on how
to convert it.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import glob
import gzip
import io
import lzma
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rboost.files import open_to_read
from rboost.packages import package

# ---- Which files ----

STANDARD_INPUT = Path("-")


def expanded(names: Sequence[str | Path]) -> tuple[Path, ...]:
    """The files that names and patterns stand for, each once, those of a pattern by name."""
    paths: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        found = [path]
        if path != STANDARD_INPUT and glob.has_magic(str(path)) and not path.exists():
            found = [
                one for one in map(Path, sorted(glob.glob(str(path), recursive=True)))
                if one.is_file()
            ]  # fmt: skip
            if not found:
                raise FileNotFoundError(f"No file matches {path}; check the pattern.")
        for one in found:
            key = one if one == STANDARD_INPUT else one.resolve()
            if key in paths:
                raise ValueError(f"{one} is named twice; name each file once.")
            paths[key] = one
    return tuple(paths.values())


@contextlib.contextmanager
def with_standard_input(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """Yield the paths with a file of what standard input holds in its place, while it is needed."""
    if STANDARD_INPUT not in paths:
        yield tuple(paths)
        return
    if sys.stdin.isatty():
        raise ValueError(
            "Standard input is the keyboard; send a table there, as in: cat table.csv | rboost …"
        )
    with tempfile.TemporaryDirectory(prefix="rboost-") as folder:
        kept = Path(folder) / "standard input"
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield tuple(kept if path == STANDARD_INPUT else path for path in paths)
        except ValueError as error:
            if str(kept) not in str(error):
                raise
            raise ValueError(str(error).replace(str(kept), kept.name)) from error


# ---- Compressed files ----

ZIP = b"PK\x03\x04"
# The most bytes that are unpacked in all, and, beyond the second number, in times of the file:
# tables shrink to a tenth or a fiftieth, files that are made to do harm to less than a thousandth.
MOST_BYTES = 8 * 2**30
HARMLESS_BYTES = 2**28
MOST_TIMES = 200
CHUNK = 2**22


# How compressed files begin, and what unpacks them.
OPENERS: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": lambda file: package("pyarrow").input_stream(file, compression="zstd"),
}
# What those raise who unpack a damaged file; zipfile also reads at places that cannot be.
DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    struct.error,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
)


class RefusedError(ValueError):
    """What is not read, and why, in one sentence."""


def unpacked(content: bytes, path: Path) -> bytes:
    """What a compressed file holds; any other, and an Excel file, as it is."""
    opener = next((found for start, found in OPENERS.items() if content.startswith(start)), None)
    try:
        if content.startswith(ZIP):
            return _member_or_workbook(content, path)
        return content if opener is None else _read(opener(io.BytesIO(content)), len(content), path)
    except RefusedError:
        raise
    except DAMAGED as error:
        raise ValueError(
            f"{path} is compressed but damaged or cut short; copy or download it again."
        ) from error


def check_size(size: int, packed: int, path: Path) -> None:
    """Fail with one sentence if a file unpacks to more than tables do."""
    if size > MOST_BYTES or (size > HARMLESS_BYTES and size > MOST_TIMES * packed):
        raise RefusedError(
            f"{path} has {packed} bytes but unpacks to {size} or more, as files do that are made "
            "to fill the memory; if you trust it, unpack it yourself, or save it as Parquet."
        )


def _read(stream: Any, packed: int, path: Path) -> bytes:
    parts, size = [], 0
    while part := stream.read(CHUNK):
        size += len(part)
        check_size(size, packed, path)
        parts.append(part)
    return b"".join(parts)


def _member_or_workbook(content: bytes, path: Path) -> bytes:
    """The one file in a zip archive, or the archive itself if it is an Excel file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if "xl/workbook.xml" in names:
                return content
            if "[Content_Types].xml" in names or "mimetype" in names:
                raise RefusedError(
                    f"{path} is an office document, not a table; save the table as .xlsx, CSV or "
                    "Parquet and read that."
                )
            # Macs put notes of their own beside each file.
            names = [name for name in names if not name.endswith("/") and "__MACOSX" not in name]
            if len(names) != 1:
                raise RefusedError(
                    f"{path} holds {len(names)} files; unpack it and name the one to read."
                )
            with archive.open(names[0]) as stream:
                return _read(stream, len(content), path)
    except RuntimeError as error:  # of a method or a version that is not implemented, too
        raise RefusedError(f"{path} is encrypted or packed oddly; unpack it first.") from error


# ---- What they hold ----

PARQUET = b"PAR1"
SAVE_AS_CSV = "save the table as CSV, .xlsx or Parquet and read that"
# How other files begin, and what they are.
OTHERS: dict[bytes, str] = {
    b"%PDF": "a PDF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document",
    b"SQLite format 3": "a SQLite database",
    b"ARROW1": "a Feather file",
    b"{\\rtf": "a text document",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
}
# What text begins with that is no table, once white space is skipped and letters are small.
NO_TABLES: dict[bytes, str] = {
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16 does, so it comes first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
# Bytes checked at a time, so that no second copy of a large file is made.
CHECKED_BYTES = 2**24


def read_content(path: Path) -> bytes:
    """What a file holds, unpacked: the bytes of a Parquet or Excel file, or text in UTF-8."""
    with open_to_read(path) as file:
        content = file.read()
    content = unpacked(content, path)
    _refuse(content, OTHERS, path)
    if not content.startswith((PARQUET, ZIP)):
        content = _as_utf8(content, path)
    if not content.strip():
        raise ValueError(f"{path} is empty; name a file with a header and rows.")
    return content


def _refuse(content: bytes, others: dict[bytes, str], path: Path) -> None:
    for start, kind in others.items():
        if content.startswith(start):
            raise ValueError(f"{path} is {kind}, not a table; {SAVE_AS_CSV}.")


def _as_utf8(content: bytes, path: Path) -> bytes:
    """Text without a byte-order mark, whatever its encoding was."""
    mark = next((mark for mark in BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if mark == codecs.BOM_UTF8:
        content = content[len(mark) :]
    elif mark is not None:
        try:
            content = content.decode(BYTE_ORDER_MARKS[mark]).encode()
        except UnicodeError as error:
            encoding = BYTE_ORDER_MARKS[mark].upper()
            raise ValueError(f"{path} is damaged {encoding} text; save it as UTF-8.") from error
    if b"\0" in content:
        raise ValueError(
            f"{path} holds binary data, not a table of text; {SAVE_AS_CSV}, in the encoding UTF-8."
        )
    _refuse(content[:100].lstrip().lower(), NO_TABLES, path)
    return content if _is_utf8(content) else _from_western(content, path)


def _is_utf8(content: bytes) -> bool:
    starts = range(0, len(content), CHECKED_BYTES)
    parts = (content[start : start + CHECKED_BYTES] for start in starts)
    try:
        for _ in codecs.iterdecode(parts, "utf-8"):
            pass
    except UnicodeDecodeError:
        return False
    return True


def _from_western(content: bytes, path: Path) -> bytes:
    """Text in the usual encoding of western Windows, or the one that has a letter for every byte.

    Bytes that are neither letters nor white space in any encoding of text are no text.
    """
    if any(content.count(bytes([control])) for control in (1, 2, 3, 4, 5, 6, 14, 15, 16, 17)):
        raise ValueError(f"{path} holds binary data, not a table of text; {SAVE_AS_CSV}.")
    try:
        text, encoding = content.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        text, encoding = content.decode("latin-1"), "Latin-1"
    warnings.warn(
        f"{path} is not in UTF-8 and was read as {encoding}; save it as UTF-8 if letters look "
        "wrong.",
        stacklevel=2,
    )
    return text.encode()
