"""Tables of many partitions, none of which has to be in memory before it is needed.

A table is a Dask frame, a Dask array, or Parquet files. Its rows are numbered 0, 1, … through all
partitions in order.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from rboost._typing import Floats
from rboost.dask.parquet import Span, columns_in, parquet_files, read_span, spans_in
from rboost.packages import package
from rboost.table.columns import read_column
from rboost.table.delimited import listed
from rboost.table.reading import check_column

dask, arrays = package("dask", "dask"), package("dask.array", "dask")
# The column of labels that have no name.
LABEL = "label"


@dataclass(frozen=True, eq=False)
class Piece:
    """The rows of one partition: a frame or an array, their labels, and weights if there are."""

    X: Any
    y: Any
    weight: Floats | None


@dataclass(frozen=True, eq=False)
class Partitions:
    """A table in pieces that are read or computed on the cluster when they are asked for.

    Attributes
    ----------
    pieces : list of dask.delayed.Delayed
        Each gives a :class:`Piece`.
    tables : list of dask.delayed.Delayed
        The same rows as frames with all their columns, also those that are no features. Labels are
        in the column ``label``.
    sources : list of str
        What each piece is called in a sentence: its number, or its file.
    columns : list or None
        The names of the features; None of an array.
    label : str or None
        The column of the labels in ``tables``, if there are labels.
    version : str
        Another one of other rows, labels or weights, or where other columns are features.
    """

    pieces: list[Any]
    tables: list[Any]
    sources: list[str]
    columns: list[Any] | None
    label: Any
    version: str = ""


def partitions_of(
    X: Any, y: Any, sample_weight: Any = None, drop: Sequence[Hashable] = ()
) -> Partitions:
    """Cut a table into pieces, without a look at its rows.

    Parameters
    ----------
    X : Dask frame, Dask array, or path of a Parquet data set
        A path is that of a file, of a folder, or a pattern such as ``data/*.parquet``; several may
        be in a list. Files follow each other by name.
    y : Dask array, Dask series, the name of a column of X, or None
        One label a row, if there are any. A series or array has as many partitions as X, or the
        lengths of both are known.
    sample_weight : Dask array, Dask series, or the name of a column of X, default=None
        One number a row.
    drop : sequence of names, default=()
        Columns that are no features, such as ids.
    """
    if isinstance(X, (str, Path, list, tuple)):
        return _of_files(parquet_files(X), y, sample_weight, list(drop))
    if dask.is_dask_collection(X) and hasattr(X, "columns"):
        pieces = _of_frame(X, y, sample_weight, list(drop))
        return replace(pieces, version=dask.base.tokenize(X, y, sample_weight, drop))
    if isinstance(X, arrays.Array):
        pieces = _of_array(X, y, sample_weight)
        return replace(pieces, version=dask.base.tokenize(X, y, sample_weight))
    raise TypeError(
        "X must be a Dask frame, a Dask array or the path of Parquet files, not "
        f"{type(X).__name__}; of a table in memory dask.dataframe.from_pandas or "
        "dask.array.from_array makes one, and rboost.RBoostClassifier needs neither."
    )


def _of_files(files: Sequence[Path], y: Any, weight: Any, drop: list[Any]) -> Partitions:
    for given in (y, weight, *drop):
        if not isinstance(given, (str, type(None))):
            raise TypeError(
                "y, sample_weight and drop must name columns of the Parquet files, not "
                f"{type(given).__name__}; pass names."
            )
    left_out = [name for name in (y, weight, *drop) if name is not None]
    names = columns_in(files[0])
    columns = [name for name in names if name not in left_out]
    pieces, tables, sources = [], [], []
    for file in files:
        own = columns_in(file)
        for name in left_out:
            check_column(own, name, file)
        needed = [name for name in own if name not in drop]
        spans = spans_in(file.absolute())  # as workers may be in other folders
        for number, span in enumerate(spans):
            where = str(file) if len(spans) == 1 else f"{file}, part {number + 1} of {len(spans)}"
            how = (y, weight, columns, left_out, where)
            pieces.append(dask.delayed(_read_piece)(span, needed, how))
            tables.append(dask.delayed(read_span)(span, own, y, drop))
            sources.append(where)
    states = [(str(file.resolve()), file.stat()) for file in files]
    stamps = [(name, state.st_size, state.st_mtime_ns) for name, state in states]
    version = repr((y, weight, drop, stamps))
    return Partitions(pieces, tables, sources, columns, y, version)


def _read_piece(span: Span, needed: list[str], how: tuple[Any, ...]) -> Piece:
    """Read and make a piece in one task, as the rows between two would have to be kept."""
    y, *_ = how
    return make_piece(read_span(span, needed, y), *how)


def _of_frame(X: Any, y: Any, weight: Any, drop: list[Any]) -> Partitions:
    repeated = X.columns[X.columns.duplicated()].unique().tolist()
    if repeated:
        raise ValueError(f"X has several columns called {listed(repeated)}; rename all but one.")
    left_out = [
        name for name in (y, weight) if name is not None and not dask.is_dask_collection(name)
    ]
    for name in (*left_out, *drop):
        if not isinstance(name, Hashable):
            raise TypeError(
                "y and sample_weight of a Dask frame must be Dask series or names of its columns, "
                f"not {type(name).__name__}; pass one of these."
            )
        if name not in X.columns:
            check_column([one for one in X.columns if isinstance(one, str)], str(name), "X")
    left_out += drop
    columns = [name for name in X.columns if name not in left_out]
    return _of_parts(X.to_delayed(), y, weight, columns, left_out)


def _of_array(X: Any, y: Any, weight: Any) -> Partitions:
    if X.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, but has {X.ndim} dimensions; reshape it with "
            "X.reshape(n_rows, n_columns)."
        )
    X = X.rechunk({1: -1})
    y, weight = (_chunked_like(X, given, name) for given, name in _by_name(y, weight))
    return _of_parts(X.to_delayed()[:, 0].tolist(), y, weight, None, [])


def _chunked_like(X: Any, given: Any, name: str) -> Any:
    """One value a row, in the chunks of X where the lengths of both are known."""
    if given is None:
        return None
    if not dask.is_dask_collection(given):
        raise TypeError(
            f"{name} must be a Dask array like X, not {type(given).__name__}; make one with "
            "dask.array.from_array."
        )
    array = given.to_dask_array() if hasattr(given, "to_dask_array") else given
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must hold one value a row, but its shape is {array.shape}; pass one column."
        )
    if np.isnan(X.shape[0]) or np.isnan(array.shape[0]):
        return array
    if X.shape[0] != array.shape[0]:
        raise ValueError(
            f"X has {X.shape[0]} rows but {name} has {array.shape[0]}; pass one value a row."
        )
    return array.rechunk((X.chunks[0],))


def _by_name(y: Any, weight: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (y, "y"), (weight, "sample_weight")


def _of_parts(
    tables: list[Any], y: Any, weight: Any, columns: list[Any] | None, left_out: list[Any]
) -> Partitions:
    """Partitions of a Dask collection; labels from elsewhere become a column of the tables."""
    labels, weights = (_cut_like(tables, given, name) for given, name in _by_name(y, weight))
    sources = [f"partition {number}" for number in range(len(tables))]
    pieces = [
        dask.delayed(make_piece)(table, label, share, columns, left_out, source)
        for table, label, share, source in zip(tables, labels, weights, sources, strict=True)
    ]
    name = y
    if dask.is_dask_collection(y):
        is_series = hasattr(y, "to_dask_array")  # an array has a name, but that of its graph
        name = str(y.name) if is_series and y.name is not None else LABEL
        while columns is not None and name in (*columns, *left_out):
            name = f"{name} given"
        tables = [
            dask.delayed(_table)(table, label, name)
            for table, label in zip(tables, labels, strict=True)
        ]
    return Partitions(pieces, tables, sources, columns, name)


def _cut_like(tables: list[Any], given: Any, name: str) -> list[Any]:
    """The part of a series or array for each partition of X; a name is the same for all."""
    if not dask.is_dask_collection(given):
        return [given] * len(tables)
    parts = np.ravel(given.to_delayed()).tolist()
    if len(parts) != len(tables):
        raise ValueError(
            f"X has {len(tables)} partitions but {name} has {len(parts)}; make {name} a column of "
            "a Dask frame and pass its name, or give both the same partitions."
        )
    return parts


def _table(table: Any, label: Any, name: Any) -> Any:
    if not hasattr(table, "columns"):
        table = pandas.DataFrame(table, columns=[f"x{place}" for place in range(table.shape[1])])
    return table.assign(**{name: np.asarray(label)})


def make_piece(
    table: Any, y: Any, weight: Any, columns: list[Any] | None, left_out: list[Any], source: str
) -> Piece:
    """The features, labels and weights of a partition, the latter columns of it where named.

    Features are in the order of ``columns``, unless they are others, which is for checks to tell.
    """
    y, weight = (_values(table, given, source) for given in (y, weight))
    X = table
    if columns is not None:
        own = [name for name in table.columns if name not in left_out]
        own = columns if set(own) == set(columns) else own
        X = pandas.DataFrame({name: table[name] for name in own}, table.index, own, copy=False)
    if weight is not None:
        weight = read_column(weight, "sample_weight").numbers
        if weight is None:
            raise ValueError(f"sample_weight holds words in {source}; pass numbers.")
    for values, name in _by_name(y, weight):
        if values is not None and len(values) != len(X):
            raise ValueError(
                f"{source} has {len(X)} rows in X but {len(values)} in {name}; make {name} a "
                "column of a Dask frame and pass its name, or give both the same partitions."
            )
    return Piece(X, y, weight)


def _values(table: Any, given: Any, source: str) -> Any:
    if given is None or hasattr(given, "dtype"):
        return given
    check_column(list(table.columns), given, source)
    return table[given]


def joined(parts: Sequence[Any]) -> Any:
    """Rows of several pieces under each other."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if not hasattr(parts[0], "columns"):
        return np.concatenate(parts)
    with warnings.catch_warnings():  # of columns that hold nothing in one of the pieces
        warnings.simplefilter("ignore", FutureWarning)
        return pandas.concat(parts, ignore_index=True)
