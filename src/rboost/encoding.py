"""Tables with words, dates and missing values as arrays of numbers: for trees and for the pool.

Trees take categories as codes, the pool the frequent ones as columns of zeros and ones. A
classifier asks ``needs_encoding(X)`` and, if so, keeps ``learn_encoding(X)`` of its training
rows. ``encoder.rows(X)`` is then X in both forms, of which ``for_trees`` and ``for_pool`` pick one.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.columns import (
    NOT_NUMPYS_MISSING,
    columns_of,
    kind_of,
    numbers,
    seconds,
    value_types,
    words,
)

# Levels of a category with a column of their own for the pool.
MOST_SHOWN = 30


def needs_encoding(X: Any) -> bool:
    """Whether X holds anything but numbers; if not, its array is as good."""
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUMm":
        return False
    table = columns_of(X)
    if table is None:
        return False
    kinds = {kind_of(column) for column in table[1]}
    return not kinds <= {"number", "sparse"} or any(map(_holds_na, table[1]))


def _holds_na(column: Any) -> bool:
    """Whether NumPy cannot convert what stands for missing numbers in a column."""
    return any(kind.__name__ in NOT_NUMPYS_MISSING for kind in value_types(column))


@dataclass(frozen=True)
class Levels:
    """The levels of a category column, the most frequent first, as found in the training rows.

    ``codes`` numbers them by their text. The code after the last stands for levels that were not
    there, −1 for missing ones: tables over the codes end with an entry for either.
    """

    codes: dict[str, int]
    counts: Integers
    n_missing: int

    def __getstate__(self) -> dict[str, Any]:
        # A model file describes every word of a list on its own; one text is one thing.
        known = {"counts": self.counts, "n_missing": self.n_missing}
        return {"codes": json.dumps(list(self.codes)), **known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        codes = {level: code for code, level in enumerate(json.loads(state["codes"]))}
        vars(self).update(state, codes=codes)

    def find(self, column: Any) -> Integers:
        """The code of each row."""
        found, texts = words(column)
        codes = [self.codes.get(text, len(self.codes)) for text in texts]
        return np.array([*codes, -1], dtype=np.intp)[found]

    def as_numbers(self, codes: Integers) -> Floats:
        """Codes for trees, of missing and unknown levels NaN."""
        return np.append(np.arange(len(self.codes), dtype=np.float64), [np.nan, np.nan])[codes]

    @cached_property
    def slots(self) -> Integers:
        """The number of the column of zeros and ones of each code, −1 where it has none.

        A level of one row shares a column with the rare ones, if there are any.
        """
        n_shown = min(MOST_SHOWN, int(np.count_nonzero(self.counts > 1)))
        shows_missing = self.n_missing > 1
        n_others = self.counts[n_shown:].sum() + (0 if shows_missing else self.n_missing)
        slots = np.full(len(self.counts) + 2, n_shown + shows_missing if n_others else -1)
        slots[:n_shown] = np.arange(n_shown)
        slots[-1] = n_shown if shows_missing else slots[-1]
        return slots

    @cached_property
    def shares(self) -> Floats | None:
        """The share of the rows of each code, where there are more levels than are shown."""
        if len(self.counts) <= MOST_SHOWN:
            return None
        counts = np.append(self.counts, [0, self.n_missing])
        return counts / counts.sum()

    @property
    def width(self) -> int:
        """The number of columns for the pool."""
        return int(self.slots.max()) + 1 + (self.shares is not None)

    def write(self, codes: Integers, to: Floats) -> None:
        """Fill columns of zeros for the pool."""
        slots = self.slots[codes]
        rows = np.flatnonzero(slots >= 0)
        to[rows, slots[rows]] = 1.0
        if self.shares is not None:
            to[:, -1] = self.shares[codes]


@dataclass(frozen=True)
class TableEncoder:
    """What the columns of a table are, as :func:`learn_encoding` found out.

    ``kinds`` are "number", "time", "word", and "empty" for columns without any value; ``levels``
    are those of words, None of others.
    """

    names: list[str]
    kinds: list[str]
    levels: list[Levels | None]

    @property
    def n_levels(self) -> list[int]:
        """How many levels each column has, 0 if it is no category."""
        return [0 if levels is None else len(levels.codes) for levels in self.levels]

    @property
    def source(self) -> Integers:
        """The position in the table of each column for the pool."""
        return np.repeat(np.arange(len(self.kinds)), self._widths)

    @property
    def _widths(self) -> list[int]:
        return [1 if levels is None else levels.width for levels in self.levels]

    def for_trees(self, X: Any) -> Floats:
        """Numbers as they are, categories as codes; missing and unknown ones NaN.

        Codes are 0, 1, … in the order of frequency in the training rows, ties in that of text.
        """
        columns = _named_columns(X)[1]
        table = np.empty((len(columns[0]), len(columns)))
        for place, values in enumerate(self._read(columns)):
            levels = self.levels[place]
            table[:, place] = values if levels is None else levels.as_numbers(values)
        return table

    def for_pool(self, X: Any) -> Floats:
        """Numbers as they are, categories as columns of zeros and ones.

        Up to 30 levels of two rows and more, and missing ones, have one each, the others share
        one, if there were any in the training rows. Of more levels the share of the row's level in
        the training rows is one more column.
        """
        columns = _named_columns(X)[1]
        ends = np.cumsum(self._widths)
        table = np.zeros((len(columns[0]), ends[-1]))
        for place, values in enumerate(self._read(columns)):
            levels = self.levels[place]
            if levels is None:
                table[:, ends[place] - 1] = values
            else:
                levels.write(values, table[:, ends[place] - levels.width : ends[place]])
        return table

    def rows(self, X: Any, with_pool: bool) -> EncodedRows:
        """X for trees and, where it is needed, for the pool."""
        return EncodedRows(self.for_trees(X), self.for_pool(X) if with_pool else None, self)

    def _read(self, columns: list[Any]) -> Iterator[Any]:
        """The numbers of each column, of words their codes; one column at a time is in memory."""
        for column, name, kind, levels in zip(
            columns, self.names, self.kinds, self.levels, strict=True
        ):
            if kind == "empty":
                yield np.nan
            elif levels is None:
                yield _numbers(column, kind, name)
            else:
                _usable_kind(column, name)
                yield levels.find(column)


@dataclass(frozen=True)
class EncodedRows:
    """Rows of a table in two forms, indexed like an array; one without pool is for trees alone."""

    trees: Floats
    pool: Floats | None
    encoder: TableEncoder

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns of the table."""
        return self.trees.shape

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, rows: Any) -> EncodedRows:
        pool = None if self.pool is None else self.pool[rows]
        return EncodedRows(self.trees[rows], pool, self.encoder)

    def check_complete(self) -> None:
        """Fail with one sentence where a number is missing, which linear learners do not take."""
        assert self.pool is not None
        missing = np.isnan(self.pool).any(axis=0)
        if missing.any():
            name = self.encoder.names[self.encoder.source[missing.argmax()]]
            raise ValueError(
                f"column {name!r} has missing values, which linear learners do not take; fill them "
                "in, or use other engines."
            )

    def followed_by(self, others: EncodedRows) -> EncodedRows:
        """These rows, then others."""
        pool = None
        if self.pool is not None and others.pool is not None:
            pool = np.concatenate([self.pool, others.pool])
        return EncodedRows(np.concatenate([self.trees, others.trees]), pool, self.encoder)


def for_pool(X: Any) -> Any:
    """Rows as learners of numbers take them."""
    return X.pool if isinstance(X, EncodedRows) else X


def for_trees(X: Any) -> Any:
    """Rows as trees take them."""
    return X.trees if isinstance(X, EncodedRows) else X


def pool_source(X: Any) -> Integers | None:
    """The column of the table behind each of :func:`for_pool`; None where they are the same."""
    return X.encoder.source if isinstance(X, EncodedRows) else None


def level_counts(X: Any) -> list[int]:
    """How many levels each column of :func:`for_trees` has, 0 of numbers."""
    return X.encoder.n_levels if isinstance(X, EncodedRows) else [0] * X.shape[1]


def learn_encoding(X: Any) -> TableEncoder:
    """Find out what the columns of the training rows hold, and which levels."""
    names, columns = _named_columns(X)
    kinds: list[str] = []
    all_levels: list[Levels | None] = []
    for name, column in zip(names, columns, strict=True):
        kind = _usable_kind(column, name)
        levels = _levels(column) if kind == "word" else None
        has_values = levels.codes if levels else not np.isnan(_numbers(column, kind, name)).all()
        kinds.append(kind if has_values else "empty")
        all_levels.append(levels if has_values else None)
    return TableEncoder(names, kinds, all_levels)


def _levels(column: Any) -> Levels:
    codes, texts = words(column)
    counts = np.bincount(codes + 1, minlength=len(texts) + 1)
    n_missing, counts = int(counts[0]), counts[1:]
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.intp)
    order = order[np.argsort(-counts[order], kind="stable")]
    codes_of = {texts[found]: code for code, found in enumerate(order)}
    return Levels(codes_of, counts[order], n_missing)


def _named_columns(X: Any) -> tuple[list[str], list[Any]]:
    names, columns = columns_of(X) or ([], [])
    if not columns or not len(columns[0]):
        raise ValueError(
            "X must be a frame or a dense array with at least one row and one column, not "
            f"{type(X).__name__} of the shape {np.shape(X)}."
        )
    return names, columns


def _usable_kind(column: Any, name: str) -> str:
    kind = kind_of(column)
    if kind in ("number", "time", "word"):
        return kind
    remedy = "turn it into columns of these, or leave it out"
    if kind == "sparse":
        remedy = "make it dense with .sparse.to_dense()"
    elif kind.startswith("complex"):
        remedy = "pass real and imaginary part as two columns"
    raise TypeError(
        f"column {name!r} holds values of the kind {kind}, but each argument must be a string, a "
        f"number or a date; {remedy}."
    )


def _numbers(column: Any, expected: str, name: str) -> Floats:
    """A column that holds numbers or times, as it did in the training rows, as numbers."""
    kind = _usable_kind(column, name)
    values = seconds(column) if kind == "time" else numbers(column)
    expects_text = kind == "word" and expected == "number"  # of which numbers can be read
    if values is None or not (kind == expected or expects_text or np.isnan(values).all()):
        raise ValueError(
            f"column {name!r} held {expected}s when the model was fitted, but now holds {kind}s; "
            f"pass {expected}s or missing values."
        )
    if np.isinf(values).any():
        raise ValueError(
            f"column {name!r} holds infinite values; replace them by a large number or a missing "
            "value."
        )
    return values


# Repeated rows are worth a warning from this many, and from this share of the table.
MANY_COPIES, LARGE_SHARE = 20, 0.05
# Stands for a missing value where rows are compared.
UNUSUAL = -7654.321


def warn_of_copies(X: Any, labels: Any) -> None:
    """Warn where rows are repeated with their labels, so that no row is really left out."""
    first = find_copies(X, labels)
    if first is not None:
        n_copies = int(np.count_nonzero(first != np.arange(len(first))))
        warnings.warn(
            f"{n_copies} rows of X repeat others, always with the same label. If they are copies, "
            "a wrong label confirms itself and the noise is underestimated: pass each row once, "
            "with sample_weight.",
            stacklevel=3,
        )


def find_copies(X: Any, labels: Any) -> Integers | None:
    """For each row the first that it repeats, label and all; None where few do.

    Repetitions of a few possible rows have labels of both kinds now and then. Copies never do.
    """
    if sparse.issparse(X):
        return None
    try:
        values = np.asarray(for_trees(X))
        # Rows that differ in their first columns are no copies, which is soon found out.
        for columns in (values[:, :3], values):
            keys = _row_keys(columns)
            in_order = np.sort(keys)
            n_copies = np.count_nonzero(in_order[1:] == in_order[:-1])
            if n_copies < max(MANY_COPIES, LARGE_SHARE * len(keys)):
                return None
    except (IndexError, TypeError, ValueError, OverflowError):
        return None  # text, categories and other shapes are the estimator's business
    labels = np.asarray(labels)
    _, place, group = np.unique(keys, return_index=True, return_inverse=True)
    first: Integers = place[group]
    for block in gen_batches(len(first), 4096):  # rows of one key may differ after all
        same = (values[block] == values[first[block]]) | (
            np.isnan(values[block]) & np.isnan(values[first[block]])
        )
        differs = ~same.all(axis=1)
        first[block] = np.where(differs, np.arange(len(first))[block], first[block])
    return first if np.array_equal(labels, labels[first]) else None


def _row_keys(values: NDArray[Any]) -> Floats:
    """A weighted sum of each row: equal for equal rows, and for hardly any others."""
    factors = np.random.RandomState(0).uniform(0.5, 1.5, values.shape[1])
    keys = np.empty(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(len(values), 4096):
            rows = values[block].astype(np.float64)
            keys[block] = np.einsum("ij,j", rows, factors)
            if not np.isfinite(keys[block]).all():
                rows = np.nan_to_num(rows, nan=UNUSUAL, posinf=0, neginf=0)
                keys[block] = np.nan_to_num(np.einsum("ij,j", rows, factors))
    return keys


def stack_rows(first: Any, second: Any) -> Any:
    """Put the rows of two arrays, sparse matrices or data frames of one kind under each other."""
    if sparse.issparse(first):
        return sparse.vstack([first, second], format="csr")
    if isinstance(first, EncodedRows):
        return first.followed_by(second)
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
