"""Images that cells of the table name: files below one folder, and nothing else.

A table may come from anybody, so that its cells may name any file. What is sent lies below the
folder of the table after all links were followed, and begins like an image that runs no script.
A column is shown as images where most of its cells name one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from rboost._validation import is_missing

LARGEST = 20_000_000
N_FIRST_BYTES = 12
# Text whose median length is beyond this is long.
LONG = 80
# Cells of a column that are looked at, and of these that may be opened.
N_SEEN, N_OPENED = 200, 20


def media_type(first: bytes) -> str | None:
    """Which kind of image a file is, by its first bytes.

    Examples
    --------
    >>> from rboost.review.web.images import media_type
    >>> media_type(b"GIF89a..."), media_type(b"<svg onload=alert()>")
    ('image/gif', None)
    """
    if first.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if first.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if first.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if first.startswith(b"RIFF") and first[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_image(root: Path | None, text: str, whole: bool = True) -> tuple[bytes, str]:
    """The content of an image and its kind, or a LookupError; if not ``whole``, its beginning."""
    try:
        if root is None:
            raise FileNotFoundError
        with _open_below(root, text) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                raise FileNotFoundError
            content = file.read(LARGEST if whole else N_FIRST_BYTES)
    # No such file, one that may not be read, a name with a NUL or longer than names can be.
    except (OSError, ValueError, RuntimeError) as error:
        raise LookupError("There is no such image beside the table.") from error
    kind = media_type(content[:N_FIRST_BYTES])
    if kind is None:
        raise LookupError("This file is no image in PNG, JPEG, GIF or WebP.")
    return content, kind


def _open_below(root: Path, text: str) -> BinaryIO:
    """Open a file below the folder; links were followed before, and are not followed again."""
    base = root.resolve(strict=True)
    path = (base / text).resolve(strict=True)
    if not path.is_relative_to(base):
        raise FileNotFoundError
    # A pipe must not make anybody wait for its other end.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb")


def display_of(cells: Sequence[Any], images_root: Path | None) -> str:
    """How the page shows a column: as "image", as "long" text, or as "short"."""
    seen = cells[:: len(cells) // N_SEEN + 1]
    texts = [str(value) for value in seen if not is_missing(value)]
    opened = texts[:: len(texts) // N_OPENED + 1]
    if sum(_is_image(images_root, text) for text in opened) > len(opened) / 2:
        return "image"
    return "long" if np.median([*map(len, texts)] or [0]) > LONG else "short"


def _is_image(images_root: Path | None, text: str) -> bool:
    try:
        read_image(images_root, text, whole=False)
    except LookupError:
        return False
    return True
