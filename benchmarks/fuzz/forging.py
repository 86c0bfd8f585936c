"""Model files taken apart, changed and given a new checksum, as one who knows the format might."""

from __future__ import annotations

import copy
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost.saving.file import (
    CHECKSUM_LENGTH,
    FORMAT,
    MAGIC,
    NUMBERS,
    compressed,
    read_content,
    with_checksum,
)
from rboost.saving.schema import DTYPES

START = len(MAGIC) + NUMBERS.size + CHECKSUM_LENGTH
# What may stand in the place of any value of the document.
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 2**31, 2**60, 10**400, 0.5, -1e300, float("nan"), float("inf"), "",
    "x", "number", [], [1], {}, {"array": 0}, {"is": "rboost"},
)  # fmt: skip


class Forged:
    """The document and the arrays of a file."""

    def __init__(self, content: bytes) -> None:
        _, length = NUMBERS.unpack_from(content, len(MAGIC))
        self.document: Any = json.loads(content[START : START + length])
        self.blocks: list[bytes] = []
        place = START + length
        for _, _, stored, _ in self.document["arrays"]:
            self.blocks.append(content[place : place + stored])
            place += stored

    def copy(self) -> Forged:
        """The same file once more."""
        return copy.deepcopy(self)

    def content(self, number: int = FORMAT) -> bytes:
        """The bytes of the file, with its checksum."""
        return with_checksum(number, json.dumps(self.document).encode(), b"".join(self.blocks))

    def array(self, number: int) -> NDArray[Any]:
        """What a block holds."""
        dtype, shape, _, is_compressed = self.document["arrays"][number]
        block = self.blocks[number]
        block = zlib.decompressobj().decompress(block) if is_compressed else block
        return np.frombuffer(block, DTYPES[dtype]).reshape(shape).copy()

    def put(self, number: int, array: NDArray[Any], is_short: bool = False) -> None:
        """Another array in the place of one, as it is, or compressed."""
        raw = array.tobytes()
        block = compressed(raw) if is_short else raw
        described = [array.dtype.str[1:], list(array.shape), len(block), len(block) < len(raw)]
        self.blocks[number], self.document["arrays"][number] = block, described

    def places(self) -> list[tuple[Any, ...]]:
        """Where every value of the document is: the keys that lead to it."""
        return list(_places(self.document, ()))

    def replaced(self, keys: tuple[Any, ...], value: Any) -> Forged:
        """A copy with another value in one place."""
        changed = self.copy()
        inner = changed.document
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        return changed


def _places(value: Any, keys: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, own in inner:
        yield (*keys, key)
        if isinstance(own, (dict, list)):
            yield from _places(own, (*keys, key))


def odd_arrays(array: NDArray[Any], random: np.random.RandomState) -> Iterator[NDArray[Any]]:
    """The same array with numbers that lead elsewhere."""
    if array.dtype.kind == "f":
        extremes: list[Any] = [
            np.nan,
            np.inf,
            -np.inf,
            0.0,
            -1.0,
            np.finfo(array.dtype).max,
            1e-300,
        ]
    elif array.dtype.kind == "b":
        yield ~array
        return
    else:
        bounds = np.iinfo(array.dtype)
        extremes = [bounds.min, bounds.max, 0, 1, -1 % (bounds.max + 1), len(array) % bounds.max]
    for extreme in extremes:
        for some in (slice(None), random.randint(0, max(array.size, 1), 1)):
            changed = array.copy()
            if changed.size:
                changed.reshape(-1)[some] = np.array(extreme).astype(array.dtype)
            yield changed
    yield array[::-1].copy() if array.ndim else array
    yield np.zeros((0, *array.shape[1:]), dtype=array.dtype)
    yield np.concatenate([np.atleast_1d(array)] * 2)
    with np.errstate(invalid="ignore"):
        yield array.astype(np.int64)
    yield random.permutation(array.reshape(-1)).reshape(array.shape)


def outcome(content: bytes, X: Any) -> Any:
    """What a file ends in: a prediction, or one sentence; anything else is raised."""
    try:
        model, _ = read_content(content, Path("model.rboost"))
    except ValueError as error:
        said = str(error)
        assert said.startswith("model.rboost ")
        assert "\n" not in said
        return said
    try:
        return model.predict_proba(X[:40])
    except ValueError as error:
        return str(error)
