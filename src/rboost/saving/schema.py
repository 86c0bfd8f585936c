"""What a model file may hold: records of named fields, and how each field is checked.

An object becomes a *record*, a dictionary of JSON that says which kind it ``is`` and has its
fields; arrays stand in the file beside the JSON, and a field refers to each by its number. A kind
is declared once, as data (:func:`declare`): the class, and for every field what it must be. The
same declaration writes and reads.

Arrays are in memory when a record is read, as the file bounds them by its own length. Each is
compared with the type, the shape and the bounds of its field: a name in a shape, such as "classes",
stands for one number throughout a record and the records in it. Nothing in a file names a class or
a function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# How an array may be stored: little-endian floats, integers and truth values.
DTYPES = {code[1:]: np.dtype(code) for code in ("<f8", "<f4", "<i8", "<i4", "<u4", "|b1")}
# Bounds of all numbers: floats are finite, integers exact as floats.
LARGEST, LARGEST_WHOLE = 1e308, 2**53
# Characters that the names of classes may take in an array besides twice their own.
MOST_CHARACTERS = 2**18

Json = Any
Sizes = dict[str, int]
Arrays = dict[int, NDArray[Any]]  # those of a file that no field has taken, by their numbers


class DamagedError(ValueError):
    """What a file holds is no model; says in a few words why."""


def require(condition: Any, problem: str) -> None:
    """Fail where a file does not hold what it should."""
    if not condition:
        raise DamagedError(problem)


class Field(Protocol):
    """What a part of a record must be."""

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """The value as JSON; its arrays are appended to those of the file."""

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """The value, if the JSON and the arrays that it takes are as they should be."""


# --- values and arrays


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

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """Append the array."""
        array = np.asarray(value)
        choices = self.dtypes.split()
        if array.dtype.str[1:] not in choices:
            array = array.astype(DTYPES[choices[0]])
        arrays.append(array)
        return {"array": len(arrays) - 1}

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Take the array, and compare its type, shape and values."""
        require(isinstance(said, dict) and set(said) == {"array"}, "a field is no array")
        number = said["array"]
        require(type(number) is int and number in arrays, "an array is missing or used twice")
        array = arrays.pop(number)
        fits = array.dtype.str[1:] in self.dtypes.split() and array.ndim == len(self.shape)
        require(fits, "an array has another type or shape")
        for wanted, size in zip(self.shape, array.shape, strict=True):
            expected = sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
            require(size == expected, "an array has another shape than its neighbours")
        if array.size and array.dtype != bool:
            below = sizes[self.below] if isinstance(self.below, str) else self.below
            finite = not self.finite or bool(np.isfinite(array).all())
            within = self.low == -math.inf or array.min() >= self.low
            below_all = below == math.inf or array.max() < below
            require(finite and within and below_all, "an array holds a number out of range")
        return array


def floats(*shape: int | str, low: float = -math.inf, finite: bool = True) -> Array:
    """An array of float64."""
    return Array("f8", shape, low=low, finite=finite)


@dataclass(frozen=True)
class Value:
    """A value of a plain type: a number within bounds, which may be a size, or one of ``choices``.

    The functions below name those of each type.
    """

    type: type
    low: float = -LARGEST
    high: float = LARGEST
    choices: tuple[str, ...] = ()
    size: str | None = None

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """The value, numbers with all their digits."""
        return self.type(value)

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Compare type and bounds, and the size that a number stands for."""
        is_of_type = type(said) is self.type or (self.type is float and type(said) is int)
        require(is_of_type, "a field is of another type")
        if self.type is str:
            require(not self.choices or said in self.choices, "a text is none of those known")
        else:
            require(self.low <= said <= self.high, "a number is out of range")
        if self.size is not None:
            require(sizes.setdefault(self.size, said) == said, "two sizes differ")
        return self.type(said)


def number(low: float = -LARGEST, high: float = LARGEST) -> Value:
    """A finite number."""
    return Value(float, low, high)


def whole(low: int = 0, size: str | None = None) -> Value:
    """An integer, which may be a size by its name."""
    return Value(int, low, LARGEST_WHOLE, size=size)


def flag() -> Value:
    """True or False."""
    return Value(bool)


def text(*choices: str) -> Value:
    """A text, one of a few if there are any."""
    return Value(str, choices=choices)


@dataclass(frozen=True)
class OrNone:
    """What another field is, or None."""

    other: Field

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """None stays None."""
        return None if value is None else self.other.write(value, arrays)

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Check what is there."""
        return None if said is None else self.other.read(said, arrays, sizes)


@dataclass(frozen=True)
class Each:
    """A list of what another field is, as many as the size says."""

    other: Field
    size: str | None = None

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """One after the other."""
        return [self.other.write(one, arrays) for one in value]

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Check each of them."""
        require(isinstance(said, list), "a field is no list")
        if self.size is not None:
            require(sizes.setdefault(self.size, len(said)) == len(said), "two sizes differ")
        return tuple(self.other.read(one, arrays, sizes) for one in said)


def texts(size: str) -> Each:
    """Texts, as many as the size says."""
    return Each(text(), size)


PLAIN = (str, bool, int, float)
LABEL_DTYPES = (
    "str", "object", "bool", "float64", "float32", "float16", "int64", "int32", "int16", "int8",
    "uint64", "uint32", "uint16", "uint8",
)  # fmt: skip


@dataclass(frozen=True)
class Classes:
    """Class labels, with their type; they are the sizes "classes" and "scores" (1 of two)."""

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
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

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Check that there are two or more, all plain, and in a type of arrays."""
        require(isinstance(said, dict) and set(said) == {"dtype", "values"}, "no classes")
        values, dtype = said["values"], said["dtype"]
        is_list = isinstance(values, list) and len(values) >= 2
        require(is_list and all(isinstance(one, PLAIN) for one in values), "no classes")
        require(dtype in LABEL_DTYPES, "classes of an unknown type")
        require(sizes.setdefault("classes", len(values)) == len(values), "two sizes differ")
        sizes["scores"] = 1 if len(values) == 2 else len(values)
        if dtype == "str":  # an array of text has room for the longest in each place
            lengths = [len(one) if isinstance(one, str) else 0 for one in values]
            fits = len(values) * max(lengths) <= max(MOST_CHARACTERS, 2 * sum(lengths))
            require(fits, "a class has a name far longer than the others")
        labels = np.array(values, dtype=dtype)
        require(labels.ndim == 1 and labels.tolist() == values, "classes differ in type")
        return labels


@dataclass(frozen=True)
class Settings:
    """Parameters by their names: plain values, and lists of these."""

    def write(self, value: Mapping[str, Any], arrays: list[NDArray[Any]]) -> Json:
        """Parameters that JSON can say; others have their defaults in the model that is read."""
        plain = {name: _plain(one) for name, one in value.items()}
        return {name: one for name, one in plain.items() if _is_plain(one)}

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Check that all are plain."""
        require(isinstance(said, dict) and all(map(_is_plain, said.values())), "no settings")
        return said


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, PLAIN)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


# --- objects


@dataclass(frozen=True)
class Kind:
    """How objects of a class are written and read; see :func:`declare`."""

    name: str
    made_of: type
    fields: Mapping[str, Field]
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    is_sound: Callable[[Any, Sizes], Any]


KINDS: dict[str, Kind] = {}
# Objects of some classes are written as what this makes of them.
STAND_INS: dict[type, Callable[[Any], Any]] = {}
# The kinds that are models, and the module of a room above this one that declares one.
MODELS = ("rboost", "algorithm 1", "robust logistic", "calibrated", "table model")
DECLARED_ABOVE = {"table model": "rboost.audit.disk.model"}


def declare(
    name: str,
    made_of: type,
    *,
    take: Callable[[Any], Mapping[str, Any]] | None = None,
    make: Callable[..., Any] | None = None,
    is_sound: Callable[[Any, Sizes], Any] = lambda made, sizes: True,
) -> Callable[..., None]:
    """Declare that objects of a class are records of a kind; what is returned takes the fields.

    ``declare("levels", Levels)(words=texts("words"), n_missing=whole())``: ``take`` gives the
    fields of an object, its attributes if None; ``make`` makes an object of them, by the class if
    None; ``is_sound`` says whether its parts fit together.
    """

    def with_fields(**fields: Field) -> None:
        def attributes(value: Any) -> dict[str, Any]:
            return {own: getattr(value, own) for own in fields}

        how = (take or attributes, make or made_of, is_sound)
        KINDS[name] = Kind(name, made_of, fields, *how)

    return with_fields


@dataclass(frozen=True)
class Record:
    """An object of one of some kinds; with ``apart`` it shares no sizes with what it is in."""

    kinds: tuple[str, ...]
    apart: bool = False

    def write(self, value: Any, arrays: list[NDArray[Any]]) -> Json:
        """The kind and the fields."""
        if type(value) in STAND_INS:
            value = STAND_INS[type(value)](value)
        known = (KINDS[name] for name in self.kinds if name in KINDS)
        kind = next((own for own in known if own.made_of is type(value)), None)
        if kind is None:
            raise ValueError(
                f"{type(value).__name__} is not saved, since a model file holds models of rboost "
                "alone; keep a classifier of your own with joblib."
            )
        parts = kind.take(value)
        written = {own: field.write(parts[own], arrays) for own, field in kind.fields.items()}
        return {"is": kind.name, **written}

    def read(self, said: Json, arrays: Arrays, sizes: Sizes) -> Any:
        """Check all fields, in the order of their declaration."""
        name = said.get("is") if isinstance(said, dict) else None
        require(isinstance(name, str) and name in self.kinds, "a part is of an unknown kind")
        if name in DECLARED_ABOVE:
            import_module(DECLARED_ABOVE[name])
        kind, own = KINDS[str(name)], {} if self.apart else dict(sizes)
        require(set(said) == {"is", *kind.fields}, "a part has other fields than its kind")
        parts = {part: field.read(said[part], arrays, own) for part, field in kind.fields.items()}
        value = kind.make(**parts)
        require(kind.is_sound(value, own), "parts do not fit together")
        return value
