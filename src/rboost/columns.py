"""A column of a table as numbers, or as codes of the words that it holds.

A column is a NumPy array, a Series of pandas with objects or a dtype of its own, or a Series of
polars. Neither library is imported: whoever passes its frames has it.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import is_missing

NUMBERS = (Real, Decimal, np.bool_)
TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
# By name, as pandas and pyarrow may not be there; DataType is what the latter calls no type at all.
NOT_NUMPYS_MISSING = ("NAType", "NaTType", "DataType")
MISSING = ("NoneType", *NOT_NUMPYS_MISSING)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def columns_of(X: Any) -> tuple[list[str], list[Any]] | None:
    """The names and columns of a frame, an array or rows in lists; None of anything else."""
    if hasattr(X, "iloc") and len(X.shape) == 2:
        return [str(name) for name in X.columns], [_plain(column) for _, column in X.items()]
    if hasattr(X, "get_columns"):
        return list(X.columns), X.get_columns()
    if isinstance(X, (list, tuple)):
        X = _as_array(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return [f"x{number}" for number in range(X.shape[1])], list(X.T)
    return None


def _plain(column: Any) -> Any:
    """A Series as an array, if it is one; objects stay, as pandas is fast at telling them apart."""
    is_array = isinstance(column.dtype, np.dtype) and column.dtype != object
    return column.to_numpy() if is_array else column


def _as_array(rows: Any) -> NDArray[Any] | None:
    """Rows in lists as an array, of objects where there are words: numbers stay numbers then."""
    try:
        values = np.asarray(rows)
        return np.asarray(rows, dtype=object) if values.dtype.kind == "U" else values
    except ValueError:  # of different lengths
        return None


def is_polars(column: Any) -> bool:
    """Whether a column is a Series of polars."""
    return hasattr(column, "to_physical")


def value_types(column: Any) -> set[type]:
    """The types of the values of a column, as far as its dtype or a look at all values tells."""
    if is_polars(column):
        declared = column.dtype.to_python()
        return set(map(type, column)) if declared is object else {declared}
    if column.dtype.kind == "U":  # what NumPy makes of numbers next to words
        return {float} if _parsed(column) is not None else {str}
    return set(map(type, np.asarray(column))) if column.dtype == object else {column.dtype.type}


def kind_of(column: Any) -> str:
    """What a column holds: "number", "time" or "word"; else the name of what cannot be used."""
    if type(getattr(column, "dtype", None)).__name__ == "SparseDtype":
        return "sparse"
    types = {kind for kind in value_types(column) if kind.__name__ not in MISSING}
    if any(issubclass(kind, float) for kind in types) and any(map(_is_time, types)):
        types = {type(value) for value in column if not is_missing(value)}  # NaN among dates
    if all(_is_number(kind) for kind in types):
        return "number"
    if all(_is_time(kind) for kind in types):
        return "time"
    for kind in types:
        if not (issubclass(kind, str) or _is_category(kind) or _is_number(kind) or _is_time(kind)):
            return kind.__name__
    return "word"


def _is_number(kind: type) -> bool:
    return issubclass(kind, NUMBERS) and not issubclass(kind, np.timedelta64)


def _is_time(kind: type) -> bool:
    return issubclass(kind, TIMES) or kind.__name__ == "Period"


def _is_category(kind: type) -> bool:
    return kind.__name__ == "CategoricalDtypeType"


def numbers(column: Any) -> Floats | None:
    """The numbers of a column, missing ones as NaN; None where it holds words that are none."""
    if is_polars(column):
        if column.dtype.to_python() in (int, float, bool, Decimal):
            return column.cast(sys.modules["polars"].Float64).to_numpy()
        return _parsed(column.to_numpy())
    if isinstance(column, np.ndarray):
        return _parsed(column)
    if issubclass(column.dtype.type, NUMBERS):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _parsed(column.to_numpy(dtype=object))


def _parsed(values: NDArray[Any]) -> Floats | None:
    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError:  # pandas.NA is no number, nor is NaT
        plain = [np.nan if is_missing(value) else value for value in values]
        return _parsed(np.array(plain, dtype=object)) if any(map(is_missing, values)) else None
    except ValueError:
        return None


def seconds(column: Any) -> Floats:
    """Dates and times as seconds since 1970, times of day and durations as seconds.

    Whole microseconds are divided, so that every unit of storage gives the same number.
    """
    if is_polars(column):
        return _polars_seconds(column)
    if not isinstance(column, np.ndarray):
        column = _pandas_times(column)
    if column.dtype == object:
        return np.array([np.nan if is_missing(value) else _seconds(value) for value in column])
    whole = column.astype(f"{column.dtype.kind}8[us]")
    result: Floats = whole.view(np.int64) / 1e6
    result[np.isnat(whole)] = np.nan
    return result


def _polars_seconds(column: Any) -> Floats:
    python_type = column.dtype.to_python()
    if python_type is object:
        return seconds(np.array(column.to_list(), dtype=object))
    if python_type is datetime.timedelta:
        whole = column.dt.total_microseconds()
    elif python_type is datetime.time:
        whole = column.to_physical() // 1000
    else:
        whole = column.dt.epoch("us")
    return whole.cast(sys.modules["polars"].Float64).to_numpy() / 1e6


def _pandas_times(column: Any) -> NDArray[Any]:
    """Times in one of the dtypes of pandas as an array of NumPy's, in UTC where they have zones."""
    if column.dtype.type.__name__ == "Period":
        column = column.dt.to_timestamp()
    if column.dtype.type is datetime.date:
        column = column.astype("datetime64[s]")
    if column.dtype == object or issubclass(column.dtype.type, datetime.time):
        return column.to_numpy(dtype=object)
    is_duration = issubclass(column.dtype.type, datetime.timedelta)
    unit, missing = ("m8[us]", np.timedelta64) if is_duration else ("M8[us]", np.datetime64)
    return column.to_numpy(dtype=unit, na_value=missing("NaT"))


def _seconds(value: Any) -> float:
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(EPOCH, value)
    elif not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    value = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return (value - EPOCH).total_seconds()


def words(column: Any) -> tuple[Integers, list[str]]:
    """The number of each row's word, −1 where there is none, and the words, each once."""
    if is_polars(column) and column.dtype.to_python() is str:
        polars = sys.modules["polars"]
        text = column.cast(polars.String)
        values = text.unique(maintain_order=True).drop_nulls()
        codes = text.cast(polars.Enum(values)).to_physical().cast(polars.Int64).fill_null(-1)
        return codes.to_numpy(), values.to_list()
    types = value_types(column)
    if len(types) > 1 and not types.isdisjoint((bool, np.bool_)):  # True == 1, but not as text
        column = np.array([None if is_missing(v) else as_text(v) for v in column], dtype=object)
    if isinstance(column, np.ndarray) or is_polars(column):
        return _merged(*_factorized(column.to_list() if is_polars(column) else column.tolist()))
    return _merged(*column.factorize())


def _factorized(values: list[Any]) -> tuple[Integers, Iterable[Any]]:
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(places.__getitem__, values), np.intp, len(values)), places


def _merged(codes: Integers, values: Iterable[Any]) -> tuple[Integers, list[str]]:
    """Give values of the same text one code, and missing ones the code −1."""
    texts: dict[str, int] = {}
    merged = [
        -1 if is_missing(value) else texts.setdefault(as_text(value), len(texts))
        for value in values
    ]
    return np.array([*merged, -1], dtype=np.intp)[codes], list(texts)


def as_text(value: Any) -> str:
    """A value as a word; a whole number looks the same in every type of number."""
    if isinstance(value, (str, bool, np.bool_)) or not isinstance(value, (Real, Decimal)):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    number = float(value)
    return str(int(number) if number.is_integer() else number)
