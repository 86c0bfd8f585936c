"""What a model file may hold: records of named fields, and how each field is checked.

An object becomes a *record*, a dictionary of JSON with its ``kind`` and its fields; arrays stand
in the file beside the JSON, and a field refers to each by its number. A kind is declared once, as
data (:func:`declare`): the class, and for every field what it must be. The same declaration writes
and reads.

Reading has two steps. First the whole JSON is checked against the declarations, with the types and
shapes of arrays but without a byte of them: each name in a shape, such as "classes", stands for
one number throughout a record and the records in it. Then arrays are read, their values compared
with the bounds of their fields, and objects made. Nothing in a file names a class or a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# How an array may be stored: little-endian floats, whole numbers, bytes and truth values.
DTYPES = {
    name: np.dtype(code)
    for name, code in {
        "f8": "<f8", "f4": "<f4", "i8": "<i8", "i4": "<i4", "u4": "<u4", "u1": "|u1", "b1": "|b1",
    }.items()
}  # fmt: skip
# What a value of the JSON or a word takes in memory, at most, beside its text.
BYTES_PER_VALUE = 64

Json = Any
Sizes = dict[str, int]
Make = Callable[[], Any]


class DamagedError(ValueError):
    """What a file holds is no model; says in a few words why."""


def require(condition: Any, problem: str) -> None:
    """Fail where a file does not hold what it should."""
    if not condition:
        raise DamagedError(problem)


@dataclass
class Written:
    """Arrays of a file that is being written; texts stay as they are, others are compressed."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    as_they_are: set[int] = field(default_factory=set)

    def add(self, array: NDArray[Any], compressed: bool = True) -> Json:
        """Put an array into the file; return what the JSON says of it."""
        if not compressed:
            self.as_they_are.add(len(self.arrays))
        self.arrays.append(array)
        return {"array": len(self.arrays) - 1}


@dataclass
class Found:
    """Types and shapes of the arrays of a file, how to read them, and the memory still allowed."""

    described: list[tuple[str, tuple[int, ...]]]
    read: Callable[[int], NDArray[Any]]
    budget: int
    used: set[int] = field(default_factory=set)

    def claim(self, said: Json) -> int:
        """The number of an array that the JSON refers to; no two fields share one."""
        require(isinstance(said, dict) and set(said) == {"array"}, "a field is no array")
        number = said["array"]
        known = type(number) is int and 0 <= number < len(self.described)
        require(known and number not in self.used, "an array is missing or used twice")
        self.used.add(number)
        return int(number)

    def charge(self, n_values: int) -> None:
        """Take values from the memory that a file of this length may fill."""
        self.budget -= BYTES_PER_VALUE * n_values
        require(self.budget >= 0, "it would take far more memory than its length")


class Field(Protocol):
    """What a part of a record must be."""

    def write(self, value: Any, to: Written) -> Json:
        """The value as JSON; arrays go into the file beside it."""

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check what the JSON says without reading an array; return what makes the value."""


@dataclass(frozen=True)
class Array:
    """An array of one of some types; its shape is made of numbers and of names of sizes.

    Values are at least ``low`` and below ``below``, a number or the name of a size. Floats are
    finite unless ``finite`` is False.
    """

    dtypes: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    below: float | str = math.inf
    finite: bool = True

    def write(self, value: Any, to: Written) -> Json:
        """Put the array into the file."""
        array = np.asarray(value)
        choices = self.dtypes.split()
        if array.dtype.str[1:] not in choices:
            array = array.astype(DTYPES[choices[0]])
        return to.add(np.ascontiguousarray(array).reshape(array.shape))

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare type and shape; the values are compared when they are read."""
        number = found.claim(said)
        dtype, shape = found.described[number]
        fits = dtype in self.dtypes.split() and len(shape) == len(self.shape)
        require(fits, "an array has another type or shape")
        for wanted, size in zip(self.shape, shape, strict=True):
            expected = sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            require(size == expected, "an array has another shape than its neighbours")
        below = sizes[self.below] if isinstance(self.below, str) else self.below

        def make() -> NDArray[Any]:
            array = found.read(number)
            if array.size and array.dtype != bool:
                finite = not self.finite or bool(np.isfinite(array).all())
                within = self.low == -math.inf or array.min() >= self.low
                below_all = below == math.inf or array.max() < below
                require(finite and within and below_all, "an array holds a number out of range")
            return array

        return make


@dataclass(frozen=True)
class Number:
    """A number from ``low`` to ``high``."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True

    def write(self, value: Any, to: Written) -> Json:
        """The number, with all its digits."""
        return float(value)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare the bounds."""
        require(type(said) in (int, float), "a field is no number")
        fits = self.low <= said <= self.high or (not self.finite and math.isnan(said))
        require(fits and (abs(said) < 1e308 or not self.finite), "a number is out of range")
        return lambda: float(said)


@dataclass(frozen=True)
class Whole:
    """A whole number from ``low`` on, which may be a size by its name."""

    low: int = 0
    size: str | None = None

    def write(self, value: Any, to: Written) -> Json:
        """The number."""
        return int(value)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare the bounds, and the size that it stands for."""
        require(type(said) is int and self.low <= said < 2**53, "a number is out of range")
        if self.size is not None:
            require(sizes.setdefault(self.size, said) == said, "two sizes differ")
        return lambda: said


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def write(self, value: Any, to: Written) -> Json:
        """The truth value."""
        return bool(value)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare the type."""
        require(type(said) is bool, "a field is neither true nor false")
        return lambda: said


@dataclass(frozen=True)
class Text:
    """A text, one of a few where ``choices`` are given."""

    choices: tuple[str, ...] = ()

    def write(self, value: Any, to: Written) -> Json:
        """The text."""
        return str(value)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare with the choices."""
        known = isinstance(said, str) and (not self.choices or said in self.choices)
        require(known, "a text is none of those known")
        return lambda: said


@dataclass(frozen=True)
class Choices:
    """Some of a few texts, each once."""

    choices: tuple[str, ...]

    def write(self, value: Any, to: Written) -> Json:
        """The texts."""
        return list(value)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Compare with the choices."""
        known = isinstance(said, list) and all(isinstance(one, str) for one in said)
        require(known and set(said) <= set(self.choices), "a text is none of those known")
        require(len(set(said)) == len(said), "a text is there twice")
        return lambda: tuple(said)


@dataclass(frozen=True)
class Texts:
    """Many texts: their letters in UTF-8, one after the other, and the lengths of each."""

    size: str

    def write(self, value: Any, to: Written) -> Json:
        """Put letters and lengths into the file, as they are."""
        coded = [str(text).encode("utf-8", "surrogatepass") for text in value]
        letters = np.frombuffer(b"".join(coded), dtype=np.uint8)
        lengths = np.array([len(own) for own in coded], dtype=np.uint32)
        return {name: to.add(a, False) for name, a in (("letters", letters), ("lengths", lengths))}

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check both arrays, and that so many texts may be in memory."""
        require(isinstance(said, dict) and set(said) == {"letters", "lengths"}, "no texts")
        letters = Array("u1", ("letters",)).check(said["letters"], found, {})
        lengths = Array("u4", (self.size,)).check(said["lengths"], found, sizes)
        found.charge(sizes[self.size])

        def make() -> list[str]:
            coded, ends = letters().tobytes(), np.cumsum(lengths(), dtype=np.int64)
            require((ends[-1] if len(ends) else 0) == len(coded), "texts end elsewhere")
            parts = (
                coded[a:b] for a, b in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=False)
            )
            return [part.decode("utf-8", "surrogatepass") for part in parts]

        return make


@dataclass(frozen=True)
class OrNone:
    """What another field is, or nothing."""

    other: Field

    def write(self, value: Any, to: Written) -> Json:
        """Nothing stays nothing."""
        return None if value is None else self.other.write(value, to)

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check what is there."""
        return (lambda: None) if said is None else self.other.check(said, found, sizes)


@dataclass(frozen=True)
class Classes:
    """Class labels, with their type; they are the sizes "classes" and "scores" (1 of two)."""

    def write(self, value: Any, to: Written) -> Json:
        """The labels as JSON has them."""
        kind = value.dtype.kind
        known = kind in "biufU" or all(isinstance(one, PLAIN) for one in value.tolist())
        if not known or kind not in "biufUO":
            raise ValueError(
                "Classes that are neither words nor numbers are not saved; name the classes by "
                "words, or keep the model with joblib."
            )
        dtype = {"U": "str", "O": "object"}.get(kind, value.dtype.name)
        return {"dtype": dtype, "values": value.tolist()}

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check that there are two or more, all plain, and in a type of arrays."""
        require(isinstance(said, dict) and set(said) == {"dtype", "values"}, "no classes")
        values, dtype = said["values"], said["dtype"]
        is_list = isinstance(values, list) and len(values) >= 2
        require(is_list and all(isinstance(one, PLAIN) for one in values), "no classes")
        require(dtype in LABEL_DTYPES, "classes of an unknown type")
        require(sizes.setdefault("classes", len(values)) == len(values), "two sizes differ")
        sizes["scores"] = 1 if len(values) == 2 else len(values)

        def make() -> NDArray[Any]:
            if dtype == "str":
                require(all(isinstance(one, str) for one in values), "classes differ in type")
                return np.array(values)
            labels = np.array(values, dtype=dtype)
            require(labels.ndim == 1 and labels.tolist() == values, "classes differ in type")
            return labels

        return make


PLAIN = (str, bool, int, float)
LABEL_DTYPES = (
    "str", "object", "bool", "float64", "float32", "float16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Parameters by their names: plain values, and lists of these unless they are ``flat``."""

    flat: bool = False

    def write(self, value: Mapping[str, Any], to: Written) -> Json:
        """Parameters that JSON can say; others have their defaults in the model that is read."""
        plain = {name: _plain(one) for name, one in value.items()}
        return {name: one for name, one in plain.items() if self._is_plain(one)}

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check that all are plain."""
        require(isinstance(said, dict) and all(map(self._is_plain, said.values())), "no settings")
        return lambda: said

    def _is_plain(self, value: Any) -> bool:
        if isinstance(value, list) and not self.flat:
            return all(map(self._is_plain, value))
        return value is None or isinstance(value, PLAIN)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


@dataclass(frozen=True)
class Kind:
    """How objects of a class are written and read; see :func:`declare`."""

    name: str
    fields: Mapping[str, Field]
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    is_sound: Callable[[Any, Sizes], Any]


KINDS: dict[str, Kind] = {}
NAME_OF: dict[type, str] = {}
# Kinds that a room above this one declares, and the module that does so when it is imported.
DECLARED_ABOVE = {"table model": "rboost.audit.disk.model"}


def declare(
    name: str,
    made_of: type,
    fields: Mapping[str, Field],
    *,
    take: Callable[[Any], Mapping[str, Any]] | None = None,
    make: Callable[..., Any] | None = None,
    is_sound: Callable[[Any, Sizes], Any] = lambda made, sizes: True,
) -> None:
    """Declare that objects of a class are records of a kind.

    ``take`` gives the fields of an object, its attributes if None; ``make`` makes an object of
    them, by the class if None; ``is_sound`` says whether its parts fit together.
    """

    def attributes(value: Any) -> dict[str, Any]:
        return {own: getattr(value, own) for own in fields}

    KINDS[name] = Kind(name, fields, take or attributes, make or made_of, is_sound)
    NAME_OF[made_of] = name


@dataclass(frozen=True)
class Record:
    """An object of one of some kinds; with ``apart`` it shares no sizes with what it is in."""

    kinds: tuple[str, ...]
    apart: bool = False

    def write(self, value: Any, to: Written) -> Json:
        """The kind and the fields."""
        name = NAME_OF.get(type(value))
        if name not in self.kinds:
            raise ValueError(
                f"{type(value).__name__} is not saved, since a model file holds models of rboost "
                "alone; keep a classifier of your own with joblib."
            )
        kind = KINDS[name]
        parts = kind.take(value)
        return {"kind": name, **{own: f.write(parts[own], to) for own, f in kind.fields.items()}}

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check all fields, in the order of their declaration."""
        name = said.get("kind") if isinstance(said, dict) else None
        require(isinstance(name, str) and name in self.kinds, "a part is of an unknown kind")
        if name in DECLARED_ABOVE:
            import_module(DECLARED_ABOVE[name])
        kind, own = KINDS[str(name)], {} if self.apart else dict(sizes)
        require(set(said) == {"kind", *kind.fields}, "a part has other fields than its kind")
        made = {part: f.check(said[part], found, own) for part, f in kind.fields.items()}

        def make() -> Any:
            value = kind.make(**{part: one() for part, one in made.items()})
            require(kind.is_sound(value, own), "parts do not fit together")
            return value

        return make


@dataclass(frozen=True)
class Records:
    """Several objects, as many as the size says."""

    kinds: tuple[str, ...]
    size: str

    def write(self, value: Any, to: Written) -> Json:
        """One record after the other."""
        return [Record(self.kinds).write(one, to) for one in value]

    def check(self, said: Json, found: Found, sizes: Sizes) -> Make:
        """Check each of them."""
        require(isinstance(said, list), "no list of parts")
        require(sizes.setdefault(self.size, len(said)) == len(said), "two sizes differ")
        made = [Record(self.kinds).check(one, found, sizes) for one in said]
        return lambda: [one() for one in made]
