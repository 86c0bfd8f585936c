r"""Bytes of a model file: a header with a checksum, one JSON document, and blocks of numbers.

    13 bytes      "rboost model\n"
     4 bytes      the number of the format
     8 bytes      the length of the JSON document
    32 bytes      the checksum: the SHA-256 of the twelve bytes before it and of all bytes after it
    the JSON      {"made_with": …, "about": …, "arrays": [[type, shape, length, …], …], "model": …}
    the blocks    one after the other, as long as the JSON says, numbers in little-endian order

A block is compressed by zlib where that makes it shorter, at most to an eighth: it is then filled
up with zeros. So no file takes more memory than eight times its length, which is known before
anything is read, and a few megabytes. Random directions of kernel machines are not in a
file: they are drawn from their seeds when the model predicts.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zlib
from collections import Counter
from importlib import metadata
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rboost.files import open_to_read, write_atomically
from rboost.saving.schema import (
    DTYPES,
    LARGEST_WHOLE,
    MODELS,
    DamagedError,
    Record,
    require,
)

MAGIC, NUMBERS, CHECKSUM_LENGTH = b"rboost model\n", struct.Struct("<IQ"), 32
# Goes up when files are written in another way, also when a declared field changes its name; once a
# version is released, files of it must still be read.
FORMAT = 1
# The largest file, the largest ratio of a block to its stored length, and the memory that any file
# may take beside it.
MOST_BYTES, MOST_COMPRESSED, SPARE_BYTES = 2 * 2**30, 8, 4 * 2**20
# What a value of the JSON takes in memory, at most, beside its text.
BYTES_PER_VALUE = 64
# A sign before a value of JSON, or the end, and what is before it: a string that is not closed ends
# with the text. Read without going back.
SIGN = re.compile(r'(?:"(?:[^"\\]|\\.)*+"?|[^",:\[{])*+([,:\[{]|\Z)', re.DOTALL)
# Compressed bytes that are unpacked at a time: zlib makes of them 4 MB at most.
CHUNK = 2**12
# The most dimensions of an array; the largest of one without values, which has no room in a file.
MOST_DIMENSIONS, MOST_OF_NONE = 4, 2**20
# zlib's level: more take twice the time for a twentieth less.
LEVEL = 1
AGAIN = "run rboost audit again, or save the model again"


def write_file(path: Path, model: Any, about: dict[str, Any]) -> None:
    """Write a model, or leave the file as it was."""
    arrays: list[NDArray[Any]] = []
    record = Record(MODELS).write(model, arrays)
    described, blocks = [], []
    for array in arrays:
        raw = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        block = compressed(raw)
        described.append(
            [array.dtype.str[1:], list(array.shape), len(block), len(block) < len(raw)]
        )
        blocks.append(block)
    document = {
        "made_with": {"rboost": metadata.version("rboost")},
        "about": about,
        "arrays": described,
        "model": record,
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    content = with_checksum(FORMAT, text.encode(errors="surrogatepass"), b"".join(blocks))
    read_content(content, path)  # what cannot be read is not written
    write_atomically(path, content)


def with_checksum(number: int, text: bytes, blocks: bytes) -> bytes:
    """A whole file with its checksum."""
    numbers = NUMBERS.pack(number, len(text))
    digest = hashlib.sha256(numbers)
    digest.update(text)
    digest.update(blocks)
    return b"".join([MAGIC, numbers, digest.digest(), text, blocks])


def compressed(raw: bytes) -> bytes:
    """The bytes, shorter where zlib makes them so, but no shorter than an eighth."""
    short = zlib.compress(raw, LEVEL).ljust(-(-len(raw) // MOST_COMPRESSED), b"\0")
    return short if len(short) < len(raw) else raw


def read_file(path: Path) -> tuple[Any, dict[str, Any]]:
    """A model and what is said about it; fails with one sentence."""
    with open_to_read(path) as file:
        length = os.fstat(file.fileno()).st_size
        if length > MOST_BYTES:
            raise ValueError(f"{path} is larger than any model of rboost; {AGAIN}.")
        content = file.read(length)
    return read_content(content, path)


def read_content(content: bytes, path: Path) -> tuple[Any, dict[str, Any]]:
    """The same of the bytes of a file."""
    start = len(MAGIC) + NUMBERS.size + CHECKSUM_LENGTH
    if not content.startswith(MAGIC) or len(content) < start:
        raise ValueError(
            f"{path} is no model file of this rboost, but of an older one, a part of one, or "
            f"something else; {AGAIN}."
        )
    place = start - CHECKSUM_LENGTH
    digest = hashlib.sha256(content[len(MAGIC) : place])
    digest.update(memoryview(content)[start:])
    if digest.digest() != content[place:start]:
        raise ValueError(f"{path} was changed or damaged since it was made; {AGAIN}.")
    number, length = NUMBERS.unpack_from(content, len(MAGIC))
    if number != FORMAT:
        raise ValueError(
            f"{path} was made by a newer rboost (its format is {number}, this one reads {FORMAT}); "
            "update rboost, as by pip install --upgrade rboost."
        )
    try:
        return _read_body(memoryview(content)[start:], length)
    except DamagedError as error:
        raise ValueError(f"{path} holds no model that can be read: {error}; {AGAIN}.") from None
    except Exception as error:  # a file made by hand, with its checksum, can fail anywhere in there
        raise ValueError(f"{path} holds no model that can be read; {AGAIN}.") from error


def _read_body(body: memoryview, length: int) -> tuple[Any, dict[str, Any]]:
    """The model and what is said about it, from a JSON document of some length and blocks."""
    require(length <= len(body), "the JSON is longer than the file")
    text, blocks = str(body[:length], "utf-8", "surrogatepass"), body[length:]
    signs = Counter(match[1] for match in SIGN.finditer(text))
    budget = MOST_COMPRESSED * len(body) + SPARE_BYTES - BYTES_PER_VALUE * signs.total()
    require(budget >= 0, "it would take far more memory than its length")
    document = json.loads(text)
    del text
    require(_n_members(document) == signs[":"], "a field is there twice")
    parts = {"made_with": dict, "about": dict, "arrays": list, "model": dict}
    is_whole = isinstance(document, dict) and set(document) == set(parts)
    require(is_whole and all(isinstance(document[p], k) for p, k in parts.items()), "no document")
    places = [_place(said) for said in document["arrays"]]
    n_bytes = sum(place.n_bytes for place in places)
    require(n_bytes <= budget, "it would take far more memory than its length")
    *starts, end = accumulate((place.stored for place in places), initial=0)
    require(end == len(blocks), "blocks are longer or shorter than the file")
    both = zip(places, starts, strict=True)
    arrays = {number: place.read(blocks[start:]) for number, (place, start) in enumerate(both)}
    model = Record(MODELS).read(document["model"], arrays, {})
    require(not arrays, "an array belongs to nothing")
    return model, document["about"]


def _n_members(value: Any) -> int:
    """The number of members of all objects of JSON; of two with one name the last is read."""
    if isinstance(value, dict):
        return len(value) + sum(map(_n_members, value.values()))
    return sum(map(_n_members, value)) if isinstance(value, list) else 0


class Place(NamedTuple):
    """An array among the blocks, its length there and in memory."""

    dtype: str
    shape: tuple[int, ...]
    stored: int
    n_bytes: int
    is_compressed: bool

    def read(self, blocks: memoryview) -> NDArray[Any]:
        """The array at the beginning of these blocks, which may be written to."""
        array = np.empty(self.shape, DTYPES[self.dtype])
        raw, block = array.reshape(-1).view(np.uint8), blocks[: self.stored]
        if self.is_compressed:
            self._unpack(block, raw)
        else:
            raw[:] = block
        if self.dtype == "b1":
            require(not raw.size or raw.max() <= 1, "a truth value is out of range")
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def _unpack(self, block: memoryview, raw: NDArray[np.uint8]) -> None:
        """Fill the bytes of an array, of which there is no second copy at any time."""
        stream, place = zlib.decompressobj(), 0
        for start in range(0, len(block), CHUNK):
            part = np.frombuffer(stream.decompress(block[start : start + CHUNK]), np.uint8)
            require(place + len(part) <= len(raw), "a block has another length")
            raw[place : place + len(part)] = part
            place += len(part)
            if stream.eof:  # then come zeros
                break
        require(place == len(raw), "a block has another length")


def _place(said: Any) -> Place:
    """What the JSON says of an array, as far as it can be true."""
    require(isinstance(said, list) and len(said) == 4, "an array is not described")
    dtype, shape, stored, is_compressed = said
    require(isinstance(dtype, str) and dtype in DTYPES, "an array has an unknown type")
    require(isinstance(shape, list) and len(shape) <= MOST_DIMENSIONS, "an array has no shape")
    integers = all(type(n) is int and 0 <= n < LARGEST_WHOLE for n in (*shape, stored))
    require(integers and type(is_compressed) is bool, "an array has no shape")
    n_bytes = math.prod(shape) * DTYPES[dtype].itemsize
    require(n_bytes or max(shape) <= MOST_OF_NONE, "an array of nothing is large")
    longest = MOST_COMPRESSED * stored if is_compressed else stored
    fits = n_bytes <= longest and (is_compressed or n_bytes == stored)
    require(fits, "an array has another length")
    return Place(dtype, tuple(shape), stored, n_bytes, is_compressed)
