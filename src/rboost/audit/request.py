"""What to audit: a file, its columns, and what is known of its rows; read and checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rboost.audit.audit import audit_labels
from rboost.audit.labels import MISSING
from rboost.audit.result import LabelAudit
from rboost.reading import check_column, label_column, read_table
from rboost.spreadsheets import unguarded

# What a review calls the label that a person chose.
CHECKED = "checked_label"
ROW = "row"


@dataclass(frozen=True)
class Request:
    """An audit of a file; ``id`` and ``drop`` name columns, ``trusted`` a file of checked rows."""

    data: Path
    label: str
    id: str | None = None
    drop: tuple[str, ...] = ()
    trusted: Path | None = None
    model: str = "rboost"
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {
            name: str(value.resolve()) if isinstance(value, Path) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Request:
        """The inverse of ``as_dict``."""
        paths = {name: Path(values[name]) for name in ("data", "trusted") if values[name]}
        return cls(**{**values, **paths, "drop": tuple(values["drop"])})


@dataclass(frozen=True, eq=False)
class Inputs:
    """What :func:`rboost.audit.audit_labels` takes."""

    X: Any
    y: list[Any]
    y_checked: list[Any]
    X_trusted: Any
    y_trusted: list[Any] | None
    ids: list[Any]
    id_name: str
    label_name: str


def read_inputs(request: Request) -> Inputs:
    """Read the files of a request and fail with one sentence if they do not fit."""
    table = read_table(request.data, label=request.label)
    y = label_column(table, request.label).tolist()
    drop = [request.label, *request.drop]
    ids: list[Any] = list(range(1, len(table) + 1))
    if request.id is not None:
        check_column(table, request.id)
        ids = _unique_ids(table[request.id], request.id)
        drop.append(request.id)
    for column in request.drop:
        check_column(table, column)
    X = table.drop(columns=list(dict.fromkeys(drop)))
    if not X.shape[1]:
        raise ValueError(f"{request.data} has no column left besides the label; add features.")
    checked, extra, extra_labels = _read_trusted(request, list(X.columns), ids)
    return Inputs(X, y, checked, extra, extra_labels, ids, request.id or ROW, request.label)


def run_audit(request: Request, verbose: int = 0, checked: dict[int, Any] | None = None) -> LabelAudit:
    """Audit the file; ``checked`` adds labels of rows, by position, that a person has checked."""
    inputs = read_inputs(request)
    y_checked = list(inputs.y_checked)
    for position, label in (checked or {}).items():
        y_checked[position] = label
    return audit_labels(
        inputs.X, inputs.y, y_checked=y_checked, X_trusted=inputs.X_trusted,
        y_trusted=inputs.y_trusted, ids=inputs.ids, id_name=inputs.id_name,
        label_name=inputs.label_name, model=request.model, random_state=request.seed,
        n_jobs=-1, verbose=verbose,
    )  # fmt: skip


def _unique_ids(column: Any, name: str) -> list[Any]:
    if column.isna().any():
        raise ValueError(
            f"The id column {name!r} is empty in row {int(column.isna().argmax()) + 1}; name a "
            "column that has a value in every row."
        )
    repeated = column[column.duplicated()]
    if len(repeated):
        raise ValueError(
            f"The id column {name!r} has {repeated.iloc[0]!r} in more than one row; name a column "
            "without repetitions."
        )
    return column.tolist()


def _read_trusted(
    request: Request, columns: list[str], ids: list[Any]
) -> tuple[list[Any], Any, list[Any] | None]:
    """Checked labels of the rows of the table, and further rows with their labels.

    A file of checked rows has the ids of rows, or all their columns, or both: a row with a known id
    is that row, any other is a further one.
    """
    checked: list[Any] = [None] * len(ids)
    if request.trusted is None:
        return checked, None, None
    id_name = request.id or ROW
    table = read_table(request.trusted)
    label = CHECKED if CHECKED in table.columns else request.label
    check_column(table, label)
    labels = label_column(table, label)
    has_id, has_rows = id_name in table.columns, set(columns) <= set(table.columns)
    if not has_id and not has_rows:
        absent = [column for column in columns if column not in table.columns]
        raise ValueError(
            f"{request.trusted} has neither the column {id_name!r} nor all columns of "
            f"{request.data} ({absent[0]!r} is missing); add one or the other."
        )
    place = {str(name): position for position, name in enumerate(ids)}
    further = []
    names = table[id_name].tolist() if has_id else [None] * len(table)
    for number, (name, value) in enumerate(zip(names, labels.tolist(), strict=True)):
        if value is None or value != value or type(value).__name__ == "NAType":
            continue
        position = place.get(unguarded(str(name)), MISSING) if has_id else MISSING
        if position != MISSING:
            checked[position] = value
        elif has_rows:
            further.append(number)
        else:
            raise ValueError(
                f"{request.trusted} names a row {name!r} that {request.data} does not have; "
                f"check the column {id_name!r}."
            )
    if not further:
        return checked, None, None
    return checked, table.iloc[further][columns], labels.iloc[further].tolist()
