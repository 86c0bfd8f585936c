"""What to audit: files, their columns, and what is known of their rows; read and checked."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rboost._validation import is_missing
from rboost.audit.arguments import AT_RANDOM, CHECKED, ID, LABEL, PEOPLE, ROW, were_drawn
from rboost.audit.audit import audit_labels
from rboost.audit.insight.checked import AnswersContradictWarning
from rboost.audit.insight.suspicion import SuspiciousColumnWarning
from rboost.audit.labels import spelling
from rboost.audit.result import LabelAudit
from rboost.packages import package
from rboost.table.annotations import annotation_columns
from rboost.table.reading import check_column, described, label_column, read_table
from rboost.table.sources import STANDARD_INPUT
from rboost.table.writing import unguarded

# What the label of several annotators is called.
MAJORITY = "majority label"
# What the parts of a request are in a file; lists hold text.
KINDS: dict[str, tuple[type, ...]] = {
    "data": (list,), "label": (str,), "id": (str, type(None)), "drop": (list,),
    "trusted": (str, type(None)), "model": (str,), "seed": (int,), "context": (list,),
    "check_columns": (bool,), "trusted_random": (bool,), "probabilities": (str, type(None)),
    "device": (str,), "header": (bool, type(None)), "annotators": (list,),
    "annotations": (str, type(None)),
}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """An audit of a file, or of several as one table; ``trusted`` is a file of checked rows.

    ``trusted_random`` says that all of them were drawn at random, whatever the file says itself.
    ``id`` and ``drop`` name columns, as does ``context``: what labels may depend on.
    ``probabilities`` is a file of what another model says of each row, a column for each class.
    ``device`` is where trees grow. ``header`` says whether the table has one, as in ``read_table``.
    ``annotators`` are columns of labels, one an annotator; with a file ``annotations``, one line a
    label, they are its columns of annotators and of labels. ``label`` is then ``MAJORITY``.
    """

    data: Path | tuple[Path, ...]
    label: str
    id: str | None = None
    drop: tuple[str, ...] = ()
    trusted: Path | None = None
    model: str = "rboost"
    seed: int = 0
    context: tuple[str, ...] = ()
    check_columns: bool = True
    trusted_random: bool = False
    probabilities: Path | None = None
    device: str = "cpu"
    header: bool | None = None
    annotators: tuple[str, ...] = ()
    annotations: Path | None = None

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns of the table that hold labels."""
        if self.annotations is not None:
            return ()
        return self.annotators or (self.label,)

    @property
    def files(self) -> tuple[Path, ...]:
        """All files of the table."""
        return (self.data,) if isinstance(self.data, Path) else self.data

    @property
    def source(self) -> str:
        """What to call them in a sentence."""
        return described(self.files)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self) | {
            "data": [_absolute(path) for path in self.files],
            "trusted": _absolute(self.trusted),
            "probabilities": _absolute(self.probabilities),
            "annotations": _absolute(self.annotations),
        }

    @staticmethod
    def is_valid(values: dict[str, Any]) -> bool:
        """Whether values read from a file have the names and types that ``as_dict`` gives."""
        if values.keys() != KINDS.keys() or not values["data"]:
            return False
        lists = [value for value in values.values() if isinstance(value, list)]
        return all(type(values[name]) in kinds for name, kinds in KINDS.items()) and all(
            isinstance(text, str) for texts in lists for text in texts
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Request:
        """The inverse of ``as_dict``."""
        lists = {name: tuple(values[name]) for name in ("drop", "context", "annotators")}
        files = ("trusted", "probabilities", "annotations")
        paths = {name: values[name] and Path(values[name]) for name in files}
        return cls(**{**values, **lists, **paths, "data": tuple(map(Path, values["data"]))})


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path if path == STANDARD_INPUT else path.resolve())


def read_inputs(request: Request) -> dict[str, Any]:
    """Arguments of ``audit_labels``, from the files of a request; fails if they do not fit."""
    labels = request.label_columns
    several = [] if len(labels) == 1 else labels
    table = read_table(
        request.files,
        label=None if several or not labels else labels[0],
        text=[request.id, *several],
        header=request.header,
    )
    names = list(table.columns)
    for name in labels:
        second = f"{name} (2)"  # so readers of tables call it
        if second in names and second not in (*labels, request.id, *request.drop, *request.context):
            raise ValueError(
                f"{request.source} has two columns {name!r}, of which the second is read as "
                f"{second!r}; rename it in the file, leave it out with --drop, or name it with "
                "--label if it is of another annotator."
            )
    for column in (request.id, *request.drop, *request.context):
        check_column(names, column, request.source)
        if column in labels:
            raise ValueError(
                f"{column!r} is the label; name another column with --id, --drop or --context."
            )
    both = set(request.drop) & set(request.context)
    if both:
        raise ValueError(f"{min(both)!r} is named with --drop and --context; choose one of them.")
    ids = (
        list(range(1, len(table) + 1))
        if request.id is None
        else _unique_ids(table[request.id], request.id)
    )
    left_out = {*labels, request.id, *request.drop, *request.context}
    X = table[[name for name in names if name not in left_out]]
    if not X.shape[1] and request.probabilities is None:
        raise ValueError(f"{request.source} has no column left besides the label; add some.")
    if request.annotators:
        y = _read_annotators(request, table, ids)
        classes = set(y.to_numpy().ravel().tolist())
    else:
        y = label_column(table, request.label).tolist()
        classes = set(y)
    checked, drawn, X_trusted, y_trusted = _read_trusted(request, X, ids, classes)
    return {
        "X": X, "y": y, "y_checked": checked, "checked_at_random": drawn, "X_trusted": X_trusted,
        "y_trusted": y_trusted, "ids": ids, "id_name": request.id or ROW,
        "label_name": request.label, "probabilities": _read_probabilities(request, ids),
        "context": table[list(dict.fromkeys(request.context))] if request.context else None,
    }  # fmt: skip


def read_test(request: Request, files: Sequence[Path], X: Any) -> tuple[Any, Any]:
    """The columns of a test table that the table X of a request has, and its labels, if any."""
    is_number = package("pandas").api.types.is_numeric_dtype
    words = [name for name in X if not is_number(X[name])]  # which stay text here too
    table = read_table(files, text=[request.label, *words], header=request.header)
    for name in X:
        check_column(list(table.columns), name, described(files))
    has_labels = request.label in table.columns
    return table[list(X)], label_column(table, request.label).tolist() if has_labels else None


def _read_annotators(request: Request, table: Any, ids: list[Any]) -> Any:
    """Labels of several annotators, one column each: of the table, or of a list of labels."""
    if request.annotations is None:
        for name in request.annotators:
            check_column(list(table.columns), name, request.source)
        columns = {name: label_column(table, name) for name in request.annotators}
        if len({str(column.dtype) for column in columns.values()}) > 1:  # words beside numbers
            columns = {name: own.astype("string") for name, own in columns.items()}
        return package("pandas").DataFrame(columns).astype(object)
    who, label = request.annotators
    row, path = request.id or ROW, request.annotations
    lines = read_table(path, text=[row, who, label], header=True)
    for name in (row, who, label):
        check_column(list(lines.columns), name, path)
    lines = lines.assign(**{label: label_column(lines, label), row: lines[row].astype(str)})
    try:
        found = annotation_columns(
            lines, row=row, annotator=who, label=label, rows=list(map(str, ids))
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return found.reset_index(drop=True)


def _read_probabilities(request: Request, ids: list[Any]) -> Any:
    """Probabilities in the order of the rows: by their names, where the file has them."""
    path, id_name = request.probabilities, request.id or ROW
    if path is None:
        return None
    table = read_table(path, text=[id_name], header=True)
    if id_name not in table.columns:
        if len(table) != len(ids):
            raise ValueError(
                f"{path} has {len(table)} rows, but {request.source} has {len(ids)}; pass one for "
                f"each, or name the rows in a column {id_name!r}."
            )
        return table
    place = {str(name): position for position, name in enumerate(table[id_name])}
    if len(place) < len(table):
        twice = table[id_name][table[id_name].duplicated()].iloc[0]
        raise ValueError(f"{path} has the row {twice!r} twice in {id_name!r}; keep one of them.")
    absent = next((name for name in map(str, ids) if name not in place), None)
    if absent is not None:
        raise ValueError(f"{path} has no row {absent!r} in its column {id_name!r}; add it.")
    return table.iloc[[place[name] for name in map(str, ids)]].reset_index(drop=True)


def run_audit(request: Request, verbose: int = 0) -> LabelAudit:
    """Audit the file."""
    inputs = read_inputs(request)
    with warnings.catch_warnings():
        for category in (SuspiciousColumnWarning, AnswersContradictWarning):
            warnings.simplefilter("ignore", category)  # terminal and report say it
        return audit_labels(
            **inputs, model=request.model, check_columns=request.check_columns,
            random_state=request.seed, verbose=verbose, device=request.device,
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
    return list(column.tolist())


def _people(table: Any, columns: Sequence[Any] = ()) -> list[str]:
    """Who gave the answer in each line, empty where it is not said; ``columns`` are features."""
    name = next((one for one in PEOPLE if one in table.columns and one not in columns), None)
    return [""] * len(table) if name is None else table[name].astype("string").fillna("").tolist()


def _as_arguments(placed: dict[tuple[int, str], Any], ids: list[Any], id_name: str) -> Any:
    """Answers as ``audit_labels`` takes them: one a row, or, of people with names, one a line."""
    if not any(person for _, person in placed):
        checked: list[Any] = [None] * len(ids)
        for (position, _), value in placed.items():
            checked[position] = value
        return checked
    label, person = (
        next(one for one in names if one != id_name) for names in ((CHECKED, LABEL), PEOPLE)
    )
    lines = {
        id_name: [ids[position] for position, _ in placed],
        person: [who for _, who in placed],
        label: list(placed.values()),
    }
    return package("pandas").DataFrame({name: _objects(own) for name, own in lines.items()})


def _objects(values: list[Any]) -> Any:
    """The values as they are, whatever their types."""
    return package("pandas").Series(values, dtype=object)


def _read_trusted(
    request: Request, X: Any, ids: list[Any], classes: set[Any]
) -> tuple[Any, list[bool], Any, list[Any] | None]:
    """Checked labels of the table's rows, which were drawn at random, further rows, their labels.

    A file of checked rows has the ids of rows, or all their columns, or both: a row with a known id
    is that row, any other is a further one.
    """
    if request.trusted is None:
        return [None] * len(ids), [False] * len(ids), None, None
    columns = list(X.columns)
    is_number = package("pandas").api.types.is_numeric_dtype
    words = [name for name in columns if not is_number(X[name])]  # which stay text here too
    table, label, id_name = _read_answers(request, columns, words)
    names = set(table.columns)
    absent = [column for column in columns if column not in names]
    if absent and id_name is None:
        raise ValueError(
            f"{request.trusted} has neither the column {request.id or ROW!r} nor all columns of "
            f"{request.source} ({absent[0]!r} is missing); add one or the other."
        )
    labels = _trusted_labels(table, label, classes, request)
    named = [""] * len(table) if id_name is None else table[id_name].astype(str).tolist()
    drawn = [request.trusted_random] * len(table)
    if AT_RANDOM in names and AT_RANDOM not in columns:
        if request.trusted_random:
            raise ValueError(
                f"{request.trusted} says itself which rows were drawn at random, in the column "
                f"{AT_RANDOM!r}; leave --trusted-random out, or the column."
            )
        drawn = were_drawn(table[AT_RANDOM].tolist(), str(request.trusted))
    people = _people(table, columns)
    placed, at_random, further = _placed(request, labels, named, people, drawn, ids)
    if further and absent:
        raise _unknown_row(request, named[further[0]], id_name)
    checked = _as_arguments(placed, ids, request.id or ROW)
    if not further:
        return checked, at_random, None, None
    return checked, at_random, table.iloc[further][columns], [labels[number] for number in further]


def read_answers(request: Request, ids: list[Any], classes: list[Any]) -> dict[str, dict[int, int]]:
    """What each person says in the file of trusted rows: positions of rows, and of their class.

    Who it was may stand in a column "reviewer" or "annotator"; else the name is empty.
    """
    table, label, id_name = _read_answers(request, [], [])
    if id_name is None:
        raise ValueError(
            f"{request.trusted} has no column {request.id or ROW!r} that names the rows; add it."
        )
    labels = _trusted_labels(table, label, {*classes}, request)
    named = table[id_name].astype(str).tolist()
    drawn = [False] * len(table)
    placed, _, further = _placed(request, labels, named, _people(table), drawn, ids)
    if further:
        raise _unknown_row(request, named[further[0]], id_name)
    found: dict[str, dict[int, int]] = {}
    for (place, person), value in placed.items():
        found.setdefault(person, {})[place] = classes.index(value)
    return found


def _read_answers(
    request: Request, columns: list[Any], words: list[Any]
) -> tuple[Any, str, str | None]:
    """The file of trusted rows, its column of labels, and that of names of rows, if any.

    A column of measurements may be called "row" or "id"; it then names no rows.
    """
    ids, labels = (request.id or ROW, ID), (CHECKED, request.label, LABEL)
    text = [*labels, *ids, *PEOPLE, *words]
    table = read_table(request.trusted or "", text=text, header=True)
    names = [name for name in table.columns if name not in columns]
    label = next((name for name in labels if name in names), request.label)
    check_column(list(table.columns), label, request.trusted)
    return table, label, next((name for name in ids if name in names), None)


def _unknown_row(request: Request, name: str, column: str | None) -> ValueError:
    return ValueError(
        f"{request.trusted} names a row {name!r} that {request.source} does not have; check the "
        f"column {column!r}."
    )


def _placed(
    request: Request,
    labels: dict[int, Any],
    named: list[str],
    people: list[str],
    drawn: list[bool],
    ids: list[Any],
) -> tuple[dict[tuple[int, str], Any], list[bool], list[int]]:
    """The label by row and person, whether each row was drawn, and the numbers of further rows."""
    checked: dict[tuple[int, str], Any] = {}
    at_random = [False] * len(ids)
    place = {str(name): position for position, name in enumerate(ids)}
    further = []
    for number, value in labels.items():
        position = place.get(named[number], place.get(unguarded(named[number])))
        if position is None:
            further.append(number)
        elif checked.setdefault((position, people[number]), value) != value:
            raise ValueError(
                f"{request.trusted} has the row {named[number]!r} twice, with different labels; "
                "keep one of them."
            )
        else:
            at_random[position] |= drawn[number]
    return checked, at_random, further


def _trusted_labels(table: Any, name: str, classes: set[Any], request: Request) -> dict[int, Any]:
    """The labels of the rows that have one, by their number; text as in the table of the audit."""
    by_text = {spelling(str(value)): value for value in classes if not is_missing(value)}
    found = {}
    for number, value in enumerate(label_column(table, name).tolist()):
        if is_missing(value):
            continue
        texts = spelling(str(value)), spelling(unguarded(str(value)))
        known = [by_text[text] for text in texts if text in by_text]
        if not known:
            raise ValueError(
                f"{request.trusted} has the label {value!r}, which no row of {request.source} "
                f"has as {request.label!r}; use the same labels in both."
            )
        found[number] = known[0]
    if not found:
        raise ValueError(f"{request.trusted} has no label in any row; fill in the column {name!r}.")
    return found
