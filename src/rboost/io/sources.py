"""From a path to what the file holds: Parquet, an Excel file, or text as UTF-8.

The content decides, not the name: compressed files are unpacked, text is recognised by how it
begins, and what is neither is refused with a word on how to convert it.
"""

from __future__ import annotations

import codecs
import warnings
from pathlib import Path

from rboost.io.files import open_to_read
from rboost.io.unpacking import ZIP, unpacked

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
    b'{"': "a JSON document",
    b"[{": "a JSON document",
}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16 does, so it comes first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
# Bytes checked at a time, so that no second copy of a large file is made.
CHUNK = 2**24


def read_content(path: Path) -> bytes:
    """What a file holds, unpacked: the bytes of a Parquet or Excel file, or text in UTF-8."""
    with open_to_read(path) as file:
        content = file.read()
    content = unpacked(content, path)
    for start, kind in OTHERS.items():
        if content.startswith(start):
            raise ValueError(f"{path} is {kind}, not a table; {SAVE_AS_CSV}.")
    if not content.startswith((PARQUET, ZIP)):
        content = _as_utf8(content, path)
    if not content.strip():
        raise ValueError(f"{path} is empty; name a file with a header and rows.")
    return content


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
    start = content[:100].lstrip().lower()
    for sign, kind in NO_TABLES.items():
        if start.startswith(sign):
            raise ValueError(f"{path} is {kind}, not a table; {SAVE_AS_CSV}.")
    return content if _is_utf8(content) else _from_western(content, path)


def _is_utf8(content: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), CHUNK):
            decoder.decode(content[start : start + CHUNK])
        decoder.decode(b"", final=True)
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
