"""From Parquet to columns that pandas and scikit-learn take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rboost.io.packages import package
from rboost.io.unpacking import RefusedError

# A value that is repeated takes no room in the file, but eight bytes in memory.
MOST_CELLS, MOST_CELLS_OF_A_BYTE = 2**30, 25


def read_parquet(content: bytes, path: Path) -> tuple[list[str], list[Any]]:
    """Names and Arrow columns of a Parquet file; an index that pandas stored is a column too."""
    arrow, parquet = package("pyarrow"), package("pyarrow.parquet")
    try:
        about = parquet.read_metadata(arrow.BufferReader(content))
        n_cells = about.num_rows * about.num_columns
        if n_cells > MOST_CELLS and n_cells > MOST_CELLS_OF_A_BYTE * len(content):
            raise RefusedError(
                f"{path} has {len(content)} bytes but says that it holds {n_cells} cells, as files "
                "do that are made to fill the memory; if you trust it, write a sample of its rows."
            )
        table = parquet.read_table(arrow.BufferReader(content))
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{path} is a Parquet file, but damaged or cut short; copy or download it again."
        ) from error
    if table.num_rows == 0:
        raise ValueError(f"{path} has columns but no rows; name a file with rows.")
    if table.num_columns < 2:
        raise ValueError(
            f"{path} has one column only; a label and at least one more column are needed."
        )
    columns = [
        plain_column(column, name, path)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return table.column_names, columns


def plain_column(column: Any, name: str, path: Path) -> Any:
    """The same column in a type that there is in pandas as well."""
    arrow = package("pyarrow")
    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        return plain_column(column.cast(kind.value_type), name, path)
    if types.is_nested(kind):
        raise ValueError(
            f"Column {name!r} of {path} holds {kind}, not single values; leave it out of the file "
            "or make columns of its parts."
        )
    if types.is_date(kind):
        return column.cast(arrow.timestamp("ms"))
    if types.is_decimal(kind) or types.is_float16(kind):
        return column.cast(arrow.float64())
    if types.is_time(kind):
        return column.cast(arrow.string())
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        try:
            return column.cast(arrow.binary()).cast(arrow.string())
        except arrow.ArrowInvalid as error:
            raise ValueError(
                f"Column {name!r} of {path} holds binary data; leave it out of the file."
            ) from error
    return column
