"""Parquet files cut into spans of rows, each small enough to be read at once.

A span is some whole row groups, or some rows of a large one. Of that the rows before the span are
decoded as well, a few at a time, so that memory is bounded whatever the size of row groups; those
of some hundred thousand rows are read fastest.
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
from pyarrow import parquet

from rboost.files import open_to_read
from rboost.table.delimited import listed
from rboost.table.reading import as_text, plain_column, to_series, without_missing
from rboost.table.sources import expanded

# The bytes of a span in memory, at about so many a number and a word.
LARGEST_SPAN, BYTES_OF_NUMBER, BYTES_OF_WORD = 2**26, 8, 64
ROWS_AT_A_TIME, BUFFER = 2**15, 2**20
# What pandas and Dask call a stored index without a name; it is no column of the table.
INDEX = re.compile("__index_level_[0-9]+__|__null_dask_index__")


@dataclass(frozen=True)
class Span:
    """Rows of a Parquet file: ``n_rows`` from the row ``first`` of these row groups on."""

    path: Path
    groups: tuple[int, ...]
    first: int
    n_rows: int


def parquet_files(paths: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """The files that a path, a folder, a pattern such as ``data/*.parquet`` or several name."""
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


def columns_in(path: Path) -> list[str]:
    """The names of the columns of a file, all of which hold single values."""
    with _opened(path) as file:
        schema = file.schema_arrow
    names = [name for name in schema.names if not INDEX.fullmatch(name)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{path} has several columns called {listed(repeated)}; rename all but one."
        )
    nothing = schema.empty_table()
    for name in names:
        plain_column(nothing[name], name, path)
    return names


def spans_in(path: Path) -> list[Span]:
    """The rows of a file as spans of at most some 64 MB; small row groups are joined."""
    with _opened(path) as file:
        most = max(1, LARGEST_SPAN // _bytes_of_row(file.schema_arrow))
        about = file.metadata
        sizes = [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    spans: list[Span] = []
    for group, size in enumerate(sizes):
        if spans and spans[-1].first == 0 and spans[-1].n_rows + size <= most:
            last = spans.pop()
            spans.append(replace(last, groups=(*last.groups, group), n_rows=last.n_rows + size))
            continue
        cuts = np.linspace(0, size, -(-size // most) + 1).astype(int).tolist()
        spans += [Span(path, (group,), first, stop - first) for first, stop in pairwise(cuts)]
    return spans


def _bytes_of_row(schema: Any) -> int:
    return sum(
        BYTES_OF_NUMBER if pyarrow.types.is_primitive(kind) else BYTES_OF_WORD
        for kind in schema.types
    )


def read_span(
    span: Span, columns: list[str], label: str | None = None, aside: Sequence[str] = ()
) -> Any:
    """Some columns of a span as a frame; whole numbers stay whole where some are missing.

    Words such as NA are missing, as in :func:`rboost.table.reading.read_table`; labels are without
    the white space around them. Columns ``aside`` may hold binary data.
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
    # A column at a time is there twice.
    series = {}
    for name in columns:
        try:
            column = plain_column(arrow[name], name, span.path)
        except ValueError:
            if name not in aside:
                raise
            column = arrow[name]
        del arrow[name]
        series[name] = _series(column, name == label)
    return pandas.DataFrame(series, columns=columns, copy=False)


def _series(column: Any, is_label: bool) -> Any:
    kind = column.type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        return to_series(column)
    cells = column.cast(pyarrow.string())
    return to_series(without_missing(cells)) if is_label else as_text(cells)


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
