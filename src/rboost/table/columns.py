"""Columns of any table, read as numbers, times or words.

A table is a NumPy array, rows in lists, a frame of pandas or polars, or anything that hands out
Arrow (``__arrow_c_stream__``): tables of pyarrow, relations of DuckDB. What NumPy holds is taken as
it is, all else by Arrow; a column that Arrow refuses, or without pyarrow, is read cell by cell.

:func:`read_columns` says what cells hold: numbers, times or words. What a column of words means is
for :mod:`rboost.table.features` to say.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rboost._typing import Floats, Integers
from rboost._validation import is_missing
from rboost.packages import package
from rboost.table.cells import is_missing_word, seconds_since_1970

NUMBER, CATEGORY, TEXT, DATE, NAME = KINDS = "number", "category", "text", "date", "name"
# What cells may hold besides: words are categories, texts or names, or may be read as the others.
WORD = "word"
NUMBERS = (Real, Decimal, np.bool_)
DURATIONS = (datetime.time, datetime.timedelta, np.timedelta64)
TIMES = (datetime.date, np.datetime64)
# How the cells of a Series, of Arrow and of an array become a list.
TO_LIST = "to_list", "to_pylist", "tolist"


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column: numbers, dates as seconds since 1970, or words by their codes.

    ``holds`` is "number", "date" or "word". ``numbers`` (n,) are NaN where they are missing;
    ``codes`` (n,) number the distinct ``words``, −1 where there is none. Words have no white space
    around them, and those that stand for a missing value are missing. ``is_truth`` marks true and
    false, which are the numbers 1 and 0, ``is_category`` a column whose type says that it is one.
    """

    name: str
    holds: str
    numbers: Floats | None = None
    codes: Integers | None = None
    words: tuple[str, ...] = ()
    is_truth: bool = False
    is_category: bool = False

    def __len__(self) -> int:
        return len(self.codes if self.numbers is None else self.numbers)  # type: ignore[arg-type]

    @cached_property
    def counts(self) -> Integers:
        """How many rows have each word."""
        assert self.codes is not None
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.words))

    @property
    def is_empty(self) -> bool:
        """Whether all cells are missing."""
        return not self.words if self.numbers is None else bool(np.isnan(self.numbers).all())

    def of_words(self, values: Floats) -> Floats:
        """What each row has, given one number for each word; NaN where it has none."""
        return np.append(values, np.nan)[self.codes]

    def as_words(self) -> Column:
        """Numbers as words, as a column that held words may hold digits alone later."""
        if self.numbers is None:
            return self
        cells = self.numbers.tolist()
        if self.is_truth:
            cells = [value if np.isnan(value) else str(bool(value)) for value in cells]
        return _column_of_words(self.name, cells)


# ---- Tables ----


def is_numeric(X: Any) -> bool:
    """Whether X holds numbers that NumPy takes as they are, so that its array is as good."""
    if sparse.issparse(X):
        return True
    if isinstance(X, np.ndarray):
        return X.dtype.kind not in "OUMm" or (X.dtype.kind == "O" and _is_converted(X))
    if hasattr(X, "iloc"):
        kinds = list(X.dtypes) if len(X.shape) == 2 else [X.dtype]
        return bool(kinds) and all(
            isinstance(kind, np.dtype) and kind.kind in "biufc" for kind in kinds
        )
    if hasattr(X, "get_columns"):
        return all(kind.is_numeric() and kind.to_python() is not Decimal for kind in X.dtypes)
    return not hasattr(X, "__arrow_c_stream__") and _is_converted(X)


def _is_converted(X: Any) -> bool:
    """Whether NumPy makes numbers of rows in lists or of objects, of which none are words."""
    try:
        return np.asarray(X).dtype.kind != "U" and np.asarray(X, dtype=np.float64) is not None
    except (TypeError, ValueError):
        return False


def as_table(X: Any) -> Any:
    """X with rows and columns; what only streams Arrow becomes a table of pyarrow."""
    is_frame = hasattr(X, "iloc") or hasattr(X, "get_columns")
    if hasattr(X, "__arrow_c_stream__") and not is_frame:
        import pyarrow

        return pyarrow.table(X)
    return X


def read_columns(X: Any) -> list[Column]:
    """The columns of a table; fails with one sentence where cells cannot be used."""
    return [_read(name, values) for name, values in named_columns(X)]


def named_columns(X: Any) -> list[tuple[str, Any]]:
    """The names and cells of the columns of a table with at least one of them and one row."""
    X = as_table(X)
    found: list[tuple[str, Any]] = []
    if hasattr(X, "iloc") and len(X.shape) == 2:
        found = [(column_name(name), X.iloc[:, k]) for k, name in enumerate(X.columns)]
    elif hasattr(X, "get_columns"):
        found = list(zip(X.columns, X.get_columns(), strict=True))
    elif hasattr(X, "column_names"):
        found = list(zip(X.column_names, X.columns, strict=True))
    else:
        array = _as_array(X) if isinstance(X, (list, tuple)) else X
        if isinstance(array, np.ndarray) and array.ndim == 2:
            found = [(f"x{k}", column) for k, column in enumerate(array.T)]
    if not found or not len(found[0][1]):
        raise _no_table(X)
    return found


def _no_table(X: Any) -> ValueError:
    shape = f" of the shape {X.shape}" if hasattr(X, "shape") else ""
    return ValueError(
        "X must be a frame or a dense array with at least one row and one column, not "
        f"{type(X).__name__}{shape}; put texts into a frame, such as "
        "pandas.DataFrame({'text': texts})."
    )


def check_names(X: Any) -> None:
    """Fail with one sentence where two columns of a frame or table have one name."""
    is_frame = hasattr(X, "iloc") or hasattr(X, "get_columns")
    names: Any = getattr(X, "columns" if is_frame else "column_names", ())
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"X has more than one column {name!r}; give each another name.")
        seen.add(name)


def column_name(column: Any) -> str:
    """What a column is called; of several levels, all of them."""
    return " ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _as_array(rows: Any) -> NDArray[Any] | None:
    """Rows in lists as an array, of objects where there are words: numbers stay numbers then."""
    try:
        values = np.asarray(rows)
        return np.asarray(rows, dtype=object) if values.dtype.kind == "U" else values
    except ValueError:  # of different lengths
        return None


# ---- Cells ----


def read_column(values: Any, name: str = "column") -> Column:
    """One column: a list, an array, a Series, or what Arrow has."""
    if isinstance(values, (list, tuple)):
        return _of_cells(name, values)
    return _read(name, values)


def _read(name: str, values: Any) -> Column:
    dtype = getattr(values, "dtype", None)
    if type(dtype).__name__ == "SparseDtype":
        raise TypeError(f"column {name!r} is sparse; make it dense with .sparse.to_dense().")
    if isinstance(dtype, np.dtype):
        array = np.asarray(values)
        if array.dtype.kind in "biufcMm":
            return _of_numpy(name, array)
        if array.dtype.kind == "U":
            return _of_cells(name, array.tolist())
    if hasattr(dtype, "categories") and hasattr(values, "cat") and not hasattr(values, "to_arrow"):
        words = [as_text(category) for category in values.cat.categories]
        return replace(
            _merged(name, np.asarray(values.cat.codes, np.intp), words), is_category=True
        )
    found = _as_arrow(values)
    if found is not None:
        column = _of_arrow(name, found)
        if column is not None:
            return column
    listed = next(getattr(values, how) for how in TO_LIST if hasattr(values, how))
    return _of_cells(name, listed())


def _of_numpy(name: str, array: NDArray[Any]) -> Column:
    if array.dtype.kind == "c":
        raise TypeError(
            f"column {name!r} holds complex numbers; pass real and imaginary part as two columns."
        )
    if array.dtype.kind not in "Mm":
        numbers = np.asarray(array, dtype=np.float64)
        return Column(name, NUMBER, numbers, is_truth=array.dtype.kind == "b")
    # Whole microseconds are divided, so that every unit of storage gives the same number.
    whole = array.astype(f"{array.dtype.kind}8[us]")
    seconds: Floats = whole.view(np.int64) / 1e6
    seconds[np.isnat(whole)] = np.nan
    return Column(name, DATE if array.dtype.kind == "M" else NUMBER, seconds)


def _as_arrow(values: Any) -> Any:
    """The cells as one array of Arrow; None where it refuses them, or is not there."""
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
            found = values
        elif hasattr(values, "to_arrow"):
            found = values.to_arrow()
        else:
            found = pyarrow.array(values, from_pandas=True)
    except Exception:  # each library has its own
        return None
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found


def _of_arrow(name: str, array: Any) -> Column | None:
    """The column of an array of Arrow; None where its cells have to be looked at one by one."""
    import pyarrow

    types, kind = pyarrow.types, array.type
    if types.is_dictionary(kind):
        if not _is_text(types, kind.value_type):
            return _of_arrow(name, array.cast(kind.value_type))
        return replace(_of_dictionary(name, array), is_category=True)
    if _is_text(types, kind):
        return _of_dictionary(name, array.dictionary_encode())
    if types.is_null(kind):
        return Column(name, NUMBER, np.full(len(array), np.nan))
    if types.is_boolean(kind):
        return Column(name, NUMBER, _floats(array.cast(pyarrow.uint8())), is_truth=True)
    if types.is_integer(kind) or types.is_floating(kind):
        return Column(name, NUMBER, _floats(array))
    if types.is_timestamp(kind) or types.is_date(kind):
        microseconds = pyarrow.timestamp("us", getattr(kind, "tz", None))
        whole = array.cast(microseconds, safe=False).cast(pyarrow.int64())
        return Column(name, DATE, _floats(whole) / 1e6)
    return None


def _is_text(types: Any, kind: Any) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _floats(array: Any) -> Floats:
    """Numbers of Arrow, NaN where they are null."""
    found = array.to_numpy(zero_copy_only=False)
    return np.asarray(found, dtype=np.float64)


def _of_dictionary(name: str, array: Any) -> Column:
    codes = np.asarray(array.indices.cast("int64").fill_null(-1), dtype=np.intp)
    return _merged(name, codes, array.dictionary.to_pylist())


def _of_cells(name: str, cells: Sequence[Any]) -> Column:
    """A column read cell by cell, all of one kind or words."""
    if any(hasattr(value, "to_timestamp") for value in cells):  # periods of pandas
        cells = [
            value.to_timestamp() if hasattr(value, "to_timestamp") else value for value in cells
        ]
    types = {type(value) for value in cells if not is_missing(value)}
    for kind in types:
        if not issubclass(kind, (str, *NUMBERS, *TIMES, *DURATIONS)):
            raise TypeError(
                f"column {name!r} holds values of the kind {kind.__name__}, but each argument must "
                "be a string, a number or a date; turn it into columns of these, or leave it out."
            )
    if any(issubclass(kind, np.complexfloating) for kind in types):
        return _of_numpy(name, np.asarray(cells, dtype=complex))
    for kinds, holds, convert in CONVERTED:
        if all(issubclass(kind, kinds) for kind in types):
            numbers = _converted(name, cells, convert)
            is_truth = bool(types) and types <= {bool, np.bool_}
            return Column(name, holds, numbers, is_truth=is_truth)
    return _column_of_words(name, cells)


def _converted(name: str, cells: Sequence[Any], convert: Callable[[Any], float]) -> Floats:
    try:
        return np.array([np.nan if is_missing(value) else convert(value) for value in cells], float)
    except OverflowError as error:
        raise ValueError(
            f"column {name!r} holds whole numbers of more than 300 digits; make words of them, or "
            "leave it out."
        ) from error


def _duration(value: Any) -> float:
    """Seconds of a duration, or since midnight of a time of day."""
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "us")) / 1e6
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    return 3600.0 * value.hour + 60.0 * value.minute + value.second + value.microsecond / 1e6


def _seconds(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float(value.astype("M8[us]").astype(np.int64)) / 1e6
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return seconds_since_1970(value)


# Types that all cells of a column may have, what it then holds, and the number of a cell.
CONVERTED: tuple[tuple[tuple[type, ...], str, Callable[[Any], float]], ...] = (
    (NUMBERS, NUMBER, float),
    (DURATIONS, NUMBER, _duration),
    (TIMES, DATE, _seconds),
)


def _column_of_words(name: str, cells: Iterable[Any]) -> Column:
    texts = [None if is_missing(value) else as_text(value) for value in cells]
    places = {text: k for k, text in enumerate(dict.fromkeys(texts))}
    codes = np.fromiter(map(places.__getitem__, texts), np.intp, len(texts))
    return _merged(name, codes, list(places))


def _merged(name: str, codes: Integers, values: Sequence[str | None]) -> Column:
    """Give words that differ by white space around them one code, and missing ones the code −1."""
    places: dict[str, int] = {}
    merged = []
    for value in values:
        word = "" if value is None else value.strip()
        merged.append(-1 if is_missing_word(word) else places.setdefault(word, len(places)))
    found = np.array([*merged, -1], dtype=np.intp)[codes]
    words = np.array(list(places), dtype=object)
    present = np.unique(found[found >= 0])  # categories of a frame need not occur
    if len(present) < len(words):
        words, found = words[present], np.where(found < 0, -1, np.searchsorted(present, found))
    return Column(name, WORD, codes=found, words=tuple(words))


def as_text(value: Any) -> str:
    """A value as a word; a whole number looks the same in every type of number."""
    if isinstance(value, (str, bool, np.bool_)) or not isinstance(value, (Real, Decimal)):
        return str(value)
    if isinstance(value, Integral):
        return str(int(value))
    number = float(value)
    return str(int(number) if number.is_integer() else number)


# ---- Rows for people, and rows under each other ----

# Cells of a sparse matrix that are made dense at most.
MOST_CELLS = 200_000_000


def as_frame(X: Any) -> Any:
    """A pandas frame of X: any frame or table of Arrow, or a matrix whose columns are numbered.

    It has rows, but may have no columns: probabilities are enough for an audit.
    """
    pandas = package("pandas")
    X = _dense(X) if sparse.issparse(X) else as_table(X)
    if hasattr(X, "to_pandas"):
        frame = X.to_pandas()
    elif isinstance(X, pandas.DataFrame):
        frame = X.reset_index(drop=True)
    else:
        array = _as_array(X) if isinstance(X, (list, tuple)) else np.asarray(X)
        if array is None or array.ndim != 2:
            raise _no_table(X)
        frame = pandas.DataFrame(array).add_prefix("x")
    for name, kind in frame.dtypes.items():
        if isinstance(kind, pandas.SparseDtype):
            frame = frame.assign(**{str(name): frame[name].sparse.to_dense()})
    if not len(frame):
        raise _no_table(X)
    frame = frame.set_axis([column_name(column) for column in frame.columns], axis=1)
    check_names(frame)
    return frame


def _dense(X: Any) -> Any:
    n_cells = int(X.shape[0]) * int(np.prod(X.shape[1:]))
    if n_cells > MOST_CELLS:
        raise ValueError(
            f"X is sparse and would have {n_cells} cells; pass fewer columns, for instance by "
            "TruncatedSVD, or the probabilities of a model of your own."
        )
    return X.toarray()


def under_each_other(first: Any, second: Any) -> Any:
    """The rows of two arrays, sparse matrices, features or frames of one kind under each other."""
    if hasattr(first, "followed_by"):
        return first.followed_by(second)
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    module = type(first).__module__.partition(".")[0]
    if module in ("pandas", "polars"):  # importing either here would make it a dependency
        columns = list(first.columns)
        if not hasattr(second, "columns"):
            names = {"columns" if module == "pandas" else "schema": columns}
            second = type(first)(second, **names)
        if set(second.columns) != set(columns):
            raise ValueError(
                f"X_trusted must have the columns of X, {columns}, but has {list(second.columns)}."
            )
        return sys.modules[module].concat([first, second[columns]])
    first = np.asarray(first)
    second = second.toarray() if sparse.issparse(second) else np.asarray(second)
    if first.shape[1:] != second.shape[1:]:
        raise ValueError(
            f"X_trusted must have the columns of X: its rows have the shape {second.shape[1:]}, "
            f"those of X {first.shape[1:]}."
        )
    return np.concatenate([first, second])
