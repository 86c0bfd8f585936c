"""Compressed files unpacked piece by piece, so that none made to fill the memory does."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any

from rboost.io.packages import package

ZIP = b"PK\x03\x04"
# No more than this is unpacked, and beyond the second number no more than so many times the file:
# tables shrink to a tenth or a fiftieth, files that are made to do harm to less than a thousandth.
MOST_BYTES = 8 * 2**30
HARMLESS_BYTES = 2**28
MOST_TIMES = 200
CHUNK = 2**22


class RefusedError(ValueError):
    """What is not read, since it is made to do harm, in one sentence."""


def unpacked(content: bytes, path: Path) -> bytes:
    """What a compressed file holds; any other, and an Excel file, as it is."""
    try:
        if content.startswith(ZIP):
            return _member_or_workbook(content, path)
        stream = _stream(content)
        return content if stream is None else _read(stream, len(content), path)
    except (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile) as error:
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


def _stream(content: bytes) -> Any:
    """A file to read the unpacked content from, or None if it is not compressed."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=io.BytesIO(content))
    if content.startswith(b"BZh"):
        return bz2.open(io.BytesIO(content))
    if content.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(io.BytesIO(content))
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        arrow = package("pyarrow")
        return arrow.input_stream(arrow.BufferReader(content), compression="zstd")
    return None


def _read(stream: Any, packed: int, path: Path) -> bytes:
    parts, size = [], 0
    while part := stream.read(CHUNK):
        size += len(part)
        check_size(size, packed, path)
        parts.append(part)
    return b"".join(parts)


def _member_or_workbook(content: bytes, path: Path) -> bytes:
    """The one file in a zip archive, or the archive itself if it is an Excel file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        if "xl/workbook.xml" in names:
            return content
        if "[Content_Types].xml" in names or "mimetype" in names:
            raise ValueError(
                f"{path} is an office document, not a table; save the table as .xlsx, CSV or "
                "Parquet and read that."
            )
        # Macs put notes of their own beside each file.
        names = [name for name in names if not name.endswith("/") and "__MACOSX" not in name]
        if len(names) != 1:
            raise ValueError(
                f"{path} holds {len(names)} files; unpack it and name the one to read."
            )
        try:
            with archive.open(names[0]) as stream:
                return _read(stream, len(content), path)
        except (RuntimeError, NotImplementedError) as error:
            raise ValueError(f"{path} is encrypted or packed oddly; unpack it first.") from error
