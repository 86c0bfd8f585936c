"""Tables of many partitions, none of which has to be in memory before it is needed.

A table is a Dask frame, a Dask array, or Parquet files; each partition is read or computed as a
pandas frame. Rows are numbered 0, 1, … through all partitions in order.

A partition of Parquet files is a span: some whole row groups, or some rows of a large one. Of that
the rows before the span are decoded as well, a few at a time, so that memory is bounded whatever
the size of row groups; those of some hundred thousand rows are read fastest.
"""

from __future__ import annotations

import contextlib
import glob
import re
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

from rboost.files import open_to_read
from rboost.packages import package
from rboost.table.delimited import reprs
from rboost.table.reading import check_column, plain_column, to_series, without_missing
from rboost.table.sources import expanded

dask, arrays = package("dask", "dask"), package("dask.array", "dask")
# The columns of labels and weights that have no name.
LABEL, WEIGHT = "label", "sample_weight"
# The most bytes of a span in memory, and about how many a number and a word take.
LARGEST_SPAN, BYTES_OF_NUMBER, BYTES_OF_WORD = 2**26, 8, 64
ROWS_AT_A_TIME, BUFFER = 2**15, 2**20
# What pandas and Dask call a stored index without a name; it is no column of the table.
INDEX = re.compile("__index_level_[0-9]+__|__null_dask_index__")


@dataclass(frozen=True, eq=False)
class Partitions:
    """A table in partitions that are read or computed on the cluster when they are asked for.

    Attributes
    ----------
    parts : list of Span or of dask.delayed.Delayed
        What each partition is read from, or the frame itself.
    sources : list of str
        The name of each partition in messages: its number, or its file.
    columns, features : list
        The names of all columns, and of those that are features.
    label, weight : str or None
        The columns of labels and of weights, if there are any.
    has_names : bool
        Whether the columns have names of their own, which those of arrays have not.
    version : str
        Differs where rows, labels, weights or the choice of features differ.
    """

    parts: list[Any]
    sources: list[str]
    columns: list[Any]
    features: list[Any]
    label: Any
    weight: Any
    has_names: bool = True
    version: str = ""

    def tables(self, columns: Sequence[Any] | None = None) -> list[Any]:
        """A delayed frame of each partition, with some columns or all."""
        chosen = self.columns if columns is None else list(columns)
        return [dask.delayed(read_part)(part, chosen, self.label) for part in self.parts]


def partitions_of(
    X: Any, y: Any, sample_weight: Any = None, drop: Sequence[Hashable] = ()
) -> Partitions:
    """Cut a table into partitions, without reading its rows.

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
    if (dask.is_dask_collection(X) and hasattr(X, "columns")) or isinstance(X, arrays.Array):
        return _of_collection(X, y, sample_weight, list(drop))
    raise TypeError(
        "X must be a Dask frame, a Dask array or the path of Parquet files, not "
        f"{type(X).__name__}; of a table in memory dask.dataframe.from_pandas or "
        "dask.array.from_array makes one, and rboost.RBoostClassifier needs neither."
    )


def read_part(part: Any, columns: list[Any], label: Any) -> Any:
    """The frame of a partition, with some of its columns."""
    if isinstance(part, Span):
        return read_span(part, columns, label)
    return part if list(part.columns) == columns else part[columns]


def joined(parts: Sequence[Any]) -> Any:
    """Rows of several frames under each other."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    with warnings.catch_warnings():  # of columns that hold nothing in one of the frames
        warnings.simplefilter("ignore", FutureWarning)
        return pandas.concat(parts)


def as_dask_array(
    parts: Sequence[Any], sizes: Sequence[float], shape: tuple[int, ...] = (), dtype: Any = float
) -> Any:
    """Delayed arrays or futures of them, one a partition, as one Dask array.

    Partitions of unknown size have the size NaN; ``shape`` is that of a row.
    """
    blocks = [
        arrays.from_delayed(dask.delayed(part), (size, *shape), dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return arrays.concatenate(blocks, allow_unknown_chunksizes=True)


# ---- Dask frames and arrays ----


def _of_collection(X: Any, y: Any, weight: Any, drop: list[Any]) -> Partitions:
    has_names, version = hasattr(X, "columns"), dask.base.tokenize(X, y, weight, drop)
    if has_names:
        names, parts = list(X.columns), X.to_delayed()
        _check_distinct(names, "X")
    else:
        X = rows_of(X)
        names, parts = [f"x{place}" for place in range(X.shape[1])], X.to_delayed()[:, 0].tolist()
    sources = [f"partition {number}" for number in range(len(parts))]
    named: dict[str, Any] = {}
    added: dict[str, list[Any]] = {}  # the parts of labels and weights that are no columns of X
    for role, given, usual in (("y", y, LABEL), (WEIGHT, weight, WEIGHT)):
        named[role] = given
        if dask.is_dask_collection(given):
            # An array has a name, too, but that of its graph.
            own = None if isinstance(given, arrays.Array) else getattr(given, "name", None)
            name = usual if own is None else str(own)
            while name in (*names, *added):
                name = f"{name} given"
            named[role], added[name] = name, _parts_like(X, given, role, len(parts))
        elif given is not None:
            _check_named(given, names if has_names else None)
    for name in drop:
        _check_named(name, names)
    if added or not has_names:
        parts = [
            dask.delayed(_assembled)(part, names, dict(zip(added, own, strict=True)), source)
            for part, source, *own in zip(parts, sources, *added.values(), strict=True)
        ]
    features = [name for name in names if name not in (*named.values(), *drop)]
    columns, (label, weight) = [*names, *added], named.values()
    return Partitions(parts, sources, columns, features, label, weight, has_names, version)


def rows_of(X: Any) -> Any:
    """A Dask array of rows and columns, cut between rows alone."""
    if X.ndim != 2:
        raise ValueError(
            f"X must have rows and columns, but has {X.ndim} dimensions; reshape it with "
            "X.reshape(n_rows, n_columns)."
        )
    return X.rechunk({1: -1})


def _check_distinct(names: list[Any], source: Any) -> None:
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    if repeated:
        raise ValueError(
            f"{source} has several columns called {reprs(repeated)}; rename all but one."
        )


def _check_named(given: Any, names: list[Any] | None) -> None:
    """Fail unless labels or weights that are no Dask collection name a column."""
    if names is None or not isinstance(given, Hashable):
        raise TypeError(
            "y and sample_weight must be Dask arrays or series like X, or names of columns of a "
            f"Dask frame, not {type(given).__name__}; dask.array.from_array makes such an array."
        )
    if given not in names:
        check_column([name for name in names if isinstance(name, str)], str(given), "X")


def _parts_like(X: Any, given: Any, name: str, n_parts: int) -> list[Any]:
    """One value a row for each partition of X; in its chunks where the lengths are known."""
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[given.columns[0]] if hasattr(given, "columns") else given[:, 0]
    if given.ndim != 1:
        raise ValueError(
            f"{name} must hold one value a row, but its shape is {given.shape}; pass one column."
        )
    are_arrays = isinstance(X, arrays.Array) and isinstance(given, arrays.Array)
    if are_arrays and not np.isnan([X.shape[0], given.shape[0]]).any():
        if X.shape[0] != given.shape[0]:
            raise ValueError(
                f"X has {X.shape[0]} rows but {name} has {given.shape[0]}; pass one value a row."
            )
        given = given.rechunk((X.chunks[0],))
    parts = np.ravel(given.to_delayed()).tolist()
    if len(parts) != n_parts:
        raise ValueError(
            f"X has {n_parts} partitions but {name} has {len(parts)}; make {name} a column of a "
            "Dask frame and pass its name, or give both the same partitions."
        )
    return parts


def _assembled(part: Any, names: list[Any], added: dict[str, Any], source: str) -> Any:
    """A partition as a frame, with labels and weights from elsewhere as columns of it."""
    table = part if hasattr(part, "columns") else pandas.DataFrame(part, columns=names)
    for name, values in added.items():
        if len(values) != len(table):
            raise ValueError(
                f"{source} has {len(table)} rows in X but {len(values)} in {name!r}; give y and "
                "sample_weight the partitions of X, or make them columns of a Dask frame."
            )
    return table.assign(**{name: np.asarray(values) for name, values in added.items()})


# ---- Parquet files ----


@dataclass(frozen=True)
class Span:
    """Rows of a Parquet file: ``n_rows`` from the row ``first`` of these row groups on.

    Columns ``aside`` are no features and may hold binary data.
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    n_rows: int
    aside: tuple[str, ...] = ()


def parquet_files(paths: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """The files of a path, a folder, a pattern such as ``data/*.parquet``, or a list of these."""
    named = [paths] if isinstance(paths, (str, Path)) else list(paths)
    for name in named:
        if "://" in str(name):
            raise ValueError(
                f"{name} is not on a disk; pass the frame that dask.dataframe.read_parquet gives."
            )
    found = expanded([_pattern(Path(name)) for name in named])
    above = {part for name in named for part in Path(name).parts}
    for path in found:
        if any("=" in part and part not in above for part in path.parent.parts):
            raise ValueError(
                f"{path} lies in a folder that stands for the value of a column; pass the frame "
                "that dask.dataframe.read_parquet gives."
            )
    return found


def _pattern(path: Path) -> str | Path:
    return f"{glob.escape(str(path))}/**/*.parquet" if path.is_dir() else path


def _of_files(files: Sequence[Path], y: Any, weight: Any, drop: list[Any]) -> Partitions:
    for given in (y, weight, *drop):
        if not isinstance(given, (str, type(None))):
            raise TypeError(
                "y, sample_weight and drop must name columns of the Parquet files, not "
                f"{type(given).__name__}; pass names."
            )
    contents = {file: _contents(file, tuple(drop)) for file in files}
    kinds = {file: own for file, (own, _) in contents.items()}
    parts, sources = [], []
    for file, (_, spans) in contents.items():
        several = [f"{file}, part {number + 1} of {len(spans)}" for number in range(len(spans))]
        parts += spans
        sources += [str(file)] if len(spans) == 1 else several
    columns = list(kinds[files[0]])
    for name in (y, weight, *drop):
        check_column(columns, name, files[0])
    _check_one_table(kinds)
    states = [(str(file.resolve()), file.stat()) for file in files]
    stamps = [(name, state.st_size, state.st_mtime_ns) for name, state in states]
    features = [name for name in columns if name not in (y, weight, *drop)]
    version = repr((y, weight, drop, stamps))
    return Partitions(parts, sources, columns, features, y, weight, version=version)


def _contents(path: Path, aside: tuple[str, ...]) -> tuple[dict[str, str | None], list[Span]]:
    """What the columns of a file hold, and its rows as spans of at most some 64 MB."""
    with _opened(path) as file:
        schema, about = file.schema_arrow, file.metadata
    names = [name for name in schema.names if not INDEX.fullmatch(name)]
    _check_distinct(names, path)
    nothing, types = schema.empty_table(), pyarrow.types
    kinds: dict[str, str | None] = {}
    for name in names:
        kind = plain_column(nothing[name], name, path).type
        kinds[name] = (
            None if types.is_null(kind) or _is_empty(about, schema.names.index(name))
            else "words" if _is_text(kind)
            else "dates" if types.is_timestamp(kind)
            else "numbers"
        )  # fmt: skip
    row = [BYTES_OF_NUMBER if types.is_primitive(kind) else BYTES_OF_WORD for kind in schema.types]
    most = max(1, LARGEST_SPAN // max(1, sum(row)))
    spans: list[Span] = []
    for group in range(about.num_row_groups):
        size = about.row_group(group).num_rows
        if spans and spans[-1].first == 0 and spans[-1].n_rows + size <= most:  # small ones
            last = spans.pop()
            spans.append(replace(last, groups=(*last.groups, group), n_rows=last.n_rows + size))
            continue
        cuts = np.linspace(0, size, -(-size // most) + 1).astype(int).tolist()
        where = path.absolute()  # as workers may be in other folders
        spans += [Span(where, (group,), at, stop - at, aside) for at, stop in pairwise(cuts)]
    return kinds, spans


def _is_empty(about: Any, place: int) -> bool:
    """Whether a column of a file is known to hold nothing."""
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    counts = [(group.column(place).statistics, group.num_rows) for group in groups]
    return all(not size or (found and found.null_count == size) for found, size in counts)


def _check_one_table(kinds: dict[Path, dict[str, str | None]]) -> None:
    """Fail unless all files have the same columns, each with values of one kind."""
    first, *others = kinds
    for other in others:
        for one, of in ((first, other), (other, first)):
            absent = [name for name in kinds[one] if name not in kinds[of]]
            if absent:
                raise ValueError(
                    f"{of} has no column {absent[0]!r}, which {one} has; give all files the same "
                    "columns."
                )
    known: dict[str, tuple[str, Path]] = {}
    for file, own in kinds.items():
        for name, kind in own.items():
            before, where = known.setdefault(name, (kind, file)) if kind else (None, file)
            if kind != before:
                raise ValueError(
                    f"column {name!r} holds {before} in {where} but {kind} in {file}; convert "
                    "these values to one type."
                )


def read_span(span: Span, columns: list[str], label: str | None = None) -> Any:
    """Some columns of a span as a frame; whole numbers stay whole where some are missing.

    Labels that say that nothing is there, such as NA, are missing, and the others without the white
    space around them. Other words are read as they stand.
    """
    found, before, stop = [], 0, span.first + span.n_rows
    with _opened(span.path) as file:
        batches = file.iter_batches(ROWS_AT_A_TIME, row_groups=list(span.groups), columns=columns)
        for batch in batches:
            begin = max(span.first - before, 0)
            if begin < batch.num_rows:
                found.append(batch.slice(begin, stop - before - begin))
            before += batch.num_rows
            if before >= stop:
                break
    arrow = {name: pyarrow.chunked_array([batch[name] for batch in found]) for name in columns}
    found.clear()
    series = {}
    for name in columns:
        column = arrow.pop(name)  # a column at a time is there twice
        with contextlib.suppress(ValueError) if name in span.aside else contextlib.nullcontext():
            column = plain_column(column, name, span.path)
        if name == label and _is_text(column.type):
            column = without_missing(column.cast(pyarrow.string()))
        series[name] = to_series(column)
    return pandas.DataFrame(series, columns=columns, copy=False)


def _is_text(kind: Any) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with open_to_read(path) as raw:
        try:
            # Otherwise all columns of a whole row group would be in memory, compressed.
            yield parquet.ParquetFile(raw, buffer_size=BUFFER, pre_buffer=False)
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(
                f"{path} is no Parquet file, or damaged or cut short; write or copy it again."
            ) from error
