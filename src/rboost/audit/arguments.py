"""What audit_labels and LabelAudit.refit take, checked: tables, labels, names of rows, groups.

Probabilities that another model gave for the rows become scores of the audit. They must come from
models that were not fitted to the row (out of fold, or of a model trained on other data): a model
knows the labels it was fitted to, wrong ones as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rboost._typing import Floats
from rboost._validation import (
    NO_CONTEXT,
    are_annotations,
    check_order,
    is_missing,
    read_annotations,
)
from rboost.audit.labels import (
    NO_LABEL,
    TableLabels,
    encode_annotations,
    encode_labels,
    plain_values,
    spelling,
)
from rboost.labels import Answers, Groups, group_rows
from rboost.noise.inference import prevalence_of, smoothed_scores
from rboost.packages import package
from rboost.table.columns import as_frame
from rboost.table.delimited import reprs
from rboost.table.writing import unguarded

FEWEST_ROWS = 20
# What a review calls the label that a person chose, and the column that says which rows it drew at
# random, and what stands there.
CHECKED, AT_RANDOM, YES = "checked_label", "drawn_at_random", "yes"
# What else may stand there: a truth value, or a number.
DRAWN = dict.fromkeys((YES, "true", "1", "1.0"), True) | dict.fromkeys(
    ("no", "false", "0", "0.0", ""), False
)
# What other tools call a label that a person chose, the row, and the person.
LABEL, ID, PEOPLE = "label", "id", ("reviewer", "annotator")
ROW = "row"
# How far the probabilities of a row may be from 1 together: some are rounded to few digits.
TOLERANCE = 0.02
ROUNDING = 1e-9
# Held-out predictions of real tables do not agree with all labels at once; those of this many rows
# and more that do are probably of a model that has seen them.
MANY_ROWS = 50


@dataclass(frozen=True, eq=False)
class Arguments:
    """Rows of a table with their labels; ``n_extra`` trusted ones that are not of it come last.

    ``scores`` are those of the probabilities of another model; None without them.
    """

    table: Any
    labels: TableLabels
    ids: NDArray[Any]
    id_name: str
    groups: Groups | None
    n_extra: int
    scores: Floats | None


def check_arguments(
    X: Any,
    y: Any,
    *,
    y_checked: Any = None,
    checked_at_random: Any = None,
    X_trusted: Any = None,
    y_trusted: Any = None,
    probabilities: Any = None,
    context: Any = None,
    ids: Any = None,
    id_name: str = "row",
    label_name: str | None = None,
) -> Arguments:
    """Rows and labels from arguments of ``audit_labels``; one sentence where they do not fit."""
    if probabilities is not None and X_trusted is not None:
        raise ValueError("X_trusted has no probabilities; pass checked labels as y_checked.")
    answer_list = y_checked if _is_list_of_answers(y_checked) else None
    each = None if answer_list is not None else y_checked
    for values, name in ((y, "y"), (each, "y_checked"), (context, "context"), (ids, "ids")):
        check_order(values, name, X, y)
    is_crowd = are_annotations(y)
    if is_crowd and context is not None:
        raise ValueError(NO_CONTEXT)
    annotated = read_annotations(y) if is_crowd else None
    given = _one_a_row(y, "y") if annotated is None else list(annotated[0])
    if X is None:
        if probabilities is None:
            raise ValueError("X is None; pass a table, or probabilities of a model of your own.")
        X = package("pandas").DataFrame(index=range(len(given)))
    table, groups = _grouped(as_frame(X), context)
    n_rows = len(table)
    if n_rows < FEWEST_ROWS:
        raise ValueError(
            f"The table has {n_rows} rows, but at least {FEWEST_ROWS} are needed; add some."
        )
    names = list(range(1, n_rows + 1)) if ids is None else _one_a_row(ids, "ids")
    said = None if answer_list is None else read_answers(answer_list, names, id_name, "y_checked")
    if said is not None:
        checked = said.of_most(n_rows)
    else:
        checked = [None] * n_rows if y_checked is None else _one_a_row(y_checked, "y_checked")
    for name, values in (("y", given), ("ids", names), ("y_checked", checked)):
        _check_length("X", n_rows, name, values)
    if y_checked is None and np.any(checked_at_random):
        raise ValueError("checked_at_random marks checked labels; pass them as y_checked.")
    _check_labels(checked, given if annotated is None else annotated[0][~annotated[1]].tolist())
    extra, extra_labels = _trusted_rows(table, X_trusted, y_trusted)
    n_extra = len(extra_labels)
    if n_extra:
        table = package("pandas").concat([table, extra], ignore_index=True)
        names = [*names, *(f"trusted {k}" for k in range(1, n_extra + 1))]
        groups = None if groups is None else groups.followed_by(n_extra)
    if said is not None and checked_at_random is None:
        checked_at_random = said.at_random(n_rows)
    drawn = _drawn(checked_at_random, n_rows, len(table), "checked_at_random")
    if label_name is None:
        label_name = str(getattr(y, "name", None) or "label")
    if is_crowd:
        labels = encode_annotations(y, checked + extra_labels, label_name, drawn)
    else:
        labels = encode_labels(
            given + [None] * n_extra, checked + extra_labels, label_name, drawn, groups
        )
    if said is not None:
        labels = _with_opinions(labels, said, n_rows)
    scores = None if probabilities is None else _given_scores(probabilities, labels)
    ids = np.empty(len(names), dtype=object)
    ids[:] = names  # each as it is
    return Arguments(table, labels, ids, id_name, groups, n_extra, scores)


def _one_a_row(values: Any, name: str) -> list[Any]:
    """The values as a list; fails if they are not one a row."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must have one entry a row, but is {str(values)[:40]!r}.")
    shape: tuple[Any, ...] = getattr(values, "shape", (None,))
    if len(shape) == 2 and shape[1] == 1:  # a single column is meant
        values, shape = np.asarray(values, dtype=object)[:, 0], shape[:1]
    found = list(values.tolist() if hasattr(values, "tolist") else values)
    if len(shape) != 1 or any(isinstance(one, (list, tuple, np.ndarray)) for one in found):
        raise ValueError(f"{name} must have one entry a row, not several; pass a single column.")
    return found


def check_enough(labels: TableLabels) -> None:
    """Fail if too few labels are left that nobody has checked."""
    n_observed = np.count_nonzero(labels.is_observed)
    if n_observed < FEWEST_ROWS:
        raise ValueError(
            f"Only {n_observed} rows have a label that nobody checked, but at least {FEWEST_ROWS} "
            "are needed: with fewer there is nothing to estimate; add rows, or check the rest too."
        )


def _drawn(at_random: Any, n_rows: int, n_all: int, name: str) -> NDArray[np.bool_]:
    """Whether each row was drawn at random, were it checked; trusted rows at the end were not."""
    drawn = np.asarray(False if at_random is None else at_random)
    if drawn.dtype != bool or drawn.shape not in ((), (n_rows,)):
        raise ValueError(
            f"{name} must be True, False, or one of them for each row of the table; pass True if "
            "all rows that have a checked label were drawn at random."
        )
    found = np.zeros(n_all, dtype=bool)
    found[:n_rows] = drawn
    return found


def _grouped(table: Any, context: Any) -> tuple[Any, Groups | None]:
    """The columns that are features, and the groups of rows that the others make."""
    if context is None:
        return table, None
    names = [context] if isinstance(context, str) else context
    are_words = isinstance(names, (list, tuple)) and all(isinstance(one, str) for one in names)
    absent = [one for one in names if one not in table.columns] if are_words else []
    if not are_words or len(absent) == len(names) == len(table):  # a value for each row
        return table, group_rows(context, len(table))
    if absent:
        raise ValueError(
            f"context names the column {absent[0]!r}, which X does not have; pass names of columns "
            "of X, or one entry a row."
        )
    return table.drop(columns=list(names)), group_rows(table[list(names)], len(table))


def _trusted_rows(table: Any, X_trusted: Any, y_trusted: Any) -> tuple[Any, list[Any]]:
    """Extra rows with the columns of the table, and their labels; None where there are none."""
    if X_trusted is None and y_trusted is None:
        return None, []
    if X_trusted is None or y_trusted is None:
        raise ValueError("X_trusted and y_trusted belong together; pass both or neither.")
    extra, labels = as_frame(X_trusted), _one_a_row(y_trusted, "y_trusted")
    absent = [column for column in table.columns if column not in extra.columns]
    if absent:
        raise ValueError(f"X_trusted lacks the columns {absent}; pass all columns of X.")
    _check_length("X_trusted", len(extra), "y_trusted", labels)
    return extra[table.columns], labels


def check_answers(
    answers: Any, at_random: Any, labels: TableLabels, ids: NDArray[Any], id_name: str = ROW
) -> TableLabels:
    """The labels after answers, which :func:`read_answers` reads.

    Names of classes may be written as text. Trusted rows at the end have no answers. Answers of
    people in a frame add to earlier ones; others are the caller's own, which replace them.
    """
    said = read_answers(answers, ids.tolist(), id_name, "answers")
    classes = labels.classes.tolist()
    place: dict[Any, int] = {spelling(str(one)): k for k, one in enumerate(classes)}
    place |= {spelling(one): k for k, one in enumerate(classes)}  # "1" may stand beside 1
    unknown = [value for value in said.values if spelling(value) not in place]
    if unknown:
        raise ValueError(
            f"answers has {unknown[0]!r}, which is no class of this audit; use one of "
            f"{reprs(classes, 5)}, or audit again with y_checked."
        )
    stated = [place[spelling(value)] for value in said.values]
    new = Answers.by(len(labels), said.rows, said.people, stated)
    if at_random is None:
        at_random = said.at_random(len(ids))
    drawn = _drawn(at_random, len(ids), len(labels), "at_random") & (new.majority != NO_LABEL)
    before = labels.answers
    if not _is_list_of_answers(answers):
        before = before.without(said.rows)
    return labels.with_checked(before.followed_by(new), labels.at_random | drawn)


@dataclass(frozen=True)
class ReadAnswers:
    """Answers as they were passed: positions of rows, people, values, and which rows were drawn."""

    rows: list[int]
    people: list[str]
    values: list[Any]
    drawn: list[int]

    def at_random(self, n_rows: int) -> NDArray[np.bool_]:
        """Whether each row was drawn at random."""
        found = np.zeros(n_rows, dtype=bool)
        found[self.drawn] = True
        return found

    def of_most(self, n_rows: int) -> list[Any]:
        """For each row what most people say of it, of as many the latest; None without answers."""
        kinds: dict[Any, Any] = {}
        for value in self.values:
            kinds.setdefault(spelling(value), value)
        codes = {key: k for k, key in enumerate(kinds)}
        stated = [codes[spelling(value)] for value in self.values]
        most = Answers.by(n_rows, self.rows, self.people, stated).standing.majority
        values = [*kinds.values(), None]
        return [values[k] for k in most.tolist()]


def read_answers(answers: Any, ids: Sequence[Any], id_name: str, name: str) -> ReadAnswers:
    """Answers by the names of rows, one for each row, or in a frame with a line for each answer."""
    if isinstance(answers, Mapping):
        rows, values = _rows_called(answers, ids), plain_values(answers.values())
        if len(set(rows)) < len(rows):
            twice = next(row for k, row in enumerate(rows) if row in rows[:k])
            raise ValueError(f"{name} has the row {str(ids[twice])!r} twice; keep one of them.")
        people, drawn = [""] * len(rows), [False] * len(rows)
    elif _is_list_of_answers(answers):
        rows, people, values, drawn = _lines(answers, ids, id_name, name)
    else:
        values = plain_values(_one_a_row(answers, name))
        if len(values) != len(ids):
            raise ValueError(
                f"{name} has {len(values)} entries but the table has {len(ids)} rows; pass one a "
                "row, missing where nobody looked, or a mapping from the names of rows."
            )
        rows, people, drawn = list(range(len(ids))), [""] * len(ids), [False] * len(ids)
    there = [k for k, value in enumerate(values) if value is not None]
    return ReadAnswers(
        [rows[k] for k in there],
        [people[k] for k in there],
        [values[k] for k in there],
        [rows[k] for k in there if drawn[k]],
    )


def _is_list_of_answers(values: Any) -> bool:
    """Whether this is a frame with a line for each answer."""
    return hasattr(values, "columns") and any(one in list(values.columns) for one in PEOPLE)


def _lines(
    frame: Any, ids: Sequence[Any], id_name: str, name: str
) -> tuple[list[int], list[str], list[Any], list[bool]]:
    """Row, person, value and whether the row was drawn at random, of each line."""
    row = next((one for one in (id_name, ROW, ID) if one in frame.columns), None)
    names = [one for one in frame.columns if one != row]
    label = next((one for one in (CHECKED, LABEL) if one in names), None)
    if row is None or label is None:
        lacking = f"{id_name!r} that names the rows" if row is None else f"{LABEL!r} of classes"
        raise ValueError(f"{name} has no column {lacking}; add it.")
    person = next(one for one in PEOPLE if one in frame.columns)
    people = ["" if is_missing(one) else str(one) for one in frame[person].tolist()]
    drawn = [False] * len(people)
    if AT_RANDOM in names:
        drawn = were_drawn(frame[AT_RANDOM].tolist(), name)
    values = [None if one == "" else one for one in plain_values(frame[label])]
    return _rows_called(frame[row].tolist(), ids), people, values, drawn


def were_drawn(values: Iterable[Any], name: str) -> list[bool]:
    """What a column says of rows that were drawn at random: yes or no, true or false, 1 or 0."""
    found = []
    for value in values:
        word = "" if is_missing(value) else str(value).strip().casefold()
        if word not in DRAWN:
            raise ValueError(
                f"{name} has {str(value)[:40]!r} in the column {AT_RANDOM!r}; write yes or no."
            )
        found.append(DRAWN[word])
    return found


def _rows_called(names: Iterable[Any], ids: Sequence[Any]) -> list[int]:
    """The positions of rows with these names; fails if a name is of no row, or of several."""
    place: dict[str, list[int]] = {}
    for row, name in enumerate(map(str, ids)):
        place.setdefault(name, []).append(row)
    found = []
    for name in names:
        rows = place.get(str(name), place.get(unguarded(str(name)), []))
        if not rows:
            raise ValueError(f"There is no row {name!r}; name rows as audit.ids does.")
        if len(rows) > 1:
            raise ValueError(f"{len(rows)} rows are called {name!r}; pass one answer for each row.")
        found.append(rows[0])
    return found


def _with_opinions(labels: TableLabels, said: ReadAnswers, n_rows: int) -> TableLabels:
    """The labels with all that each person says of the rows that count as checked."""
    place = {spelling(one): k for k, one in enumerate(labels.classes.tolist())}
    known = labels.checked[said.rows] != NO_LABEL
    kept = [k for k, value in enumerate(said.values) if known[k] and spelling(value) in place]
    each = Answers.by(
        len(labels),
        [said.rows[k] for k in kept],
        [said.people[k] for k in kept],
        [place[spelling(said.values[k])] for k in kept],
    )
    trusted = labels.answers.without(range(n_rows))
    return labels.with_checked(trusted.followed_by(each))


def _check_labels(checked: list[Any], given: list[Any]) -> None:
    """Fail where a checked label is none of the table's."""
    known = {spelling(value) for value in plain_values(given)} | {None}
    unknown = [value for value in plain_values(checked) if spelling(value) not in known]
    if unknown:
        raise ValueError(
            f"y_checked has {unknown[0]!r}, which no row of y has; use the same labels in both."
        )


def _check_length(table: str, n_rows: int, name: str, values: list[Any]) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{table} has {n_rows} rows but {name} has {len(values)}; pass one a row.")


def _given_scores(probabilities: Any, labels: TableLabels) -> Floats:
    """Scores of all rows: (n,) of two classes, else (n, K), as models of an audit give them."""
    values, total = _columns_of_classes(probabilities, labels)
    if len(values) != len(labels):
        raise ValueError(
            f"probabilities has {len(values)} rows but y has {len(labels)}; pass one a row."
        )
    is_between = ((values >= -ROUNDING) & (values <= 1 + TOLERANCE)).all(axis=1)
    if not is_between.all():
        row = int(is_between.argmin())
        raise ValueError(
            f"probabilities must lie between 0 and 1, but row {row + 1} has "
            f"{reprs(list(values[row].round(4).tolist()), 5)}; pass probabilities, not scores."
        )
    if (abs(total - 1) > TOLERANCE).any():
        row = int(abs(total - 1).argmax())
        raise ValueError(
            f"The probabilities of a row must add up to 1, but those of row {row + 1} to "
            f"{total[row]:.4g}; pass one column for each class."
        )
    # Where only rare labels are probable, which are no classes, all classes are as likely.
    values = values.clip(ROUNDING)
    values = values / values.sum(axis=1, keepdims=True)
    labelled = labels.given != NO_LABEL
    agrees = values.argmax(axis=1)[labelled] == labels.given[labelled]
    if len(agrees) >= MANY_ROWS and agrees.all():
        warnings.warn(
            "The probabilities agree with every label: a model that was fitted to these rows knows "
            "their labels, wrong ones too; pass probabilities of rows that it had not seen, as "
            "cross_val_predict gives them.",
            stacklevel=4,
        )
    return smoothed_scores(values, prevalence_of(labels.given[labelled], len(labels.classes)))


def _columns_of_classes(probabilities: Any, labels: TableLabels) -> tuple[Floats, Floats]:
    """One column for each class, in their order, and the sum over them and labels that are rare."""
    names = labels.class_names
    rare = sorted({str(label) for label in labels.written[labels.given == NO_LABEL]} - {""})
    if hasattr(probabilities, "columns") and hasattr(probabilities, "to_numpy"):
        place = {str(name): k for k, name in enumerate(probabilities.columns)}
        places = {name: place.get(name, place.get(f"p({name})", -1)) for name in [*names, *rare]}
        absent = [name for name in names if places[name] < 0]
        if absent:
            raise ValueError(
                f"probabilities has no column for the class {absent[0]!r}; name one column after "
                f"each class: {reprs(names)}."
            )
        there = [k for k in places.values() if k >= 0]
        values = _floats(probabilities.to_numpy()[:, there])
        return values[:, : len(names)], values.sum(axis=1)
    values = _floats(probabilities)
    if values.ndim == 1 and len(names) == 2:
        values = np.column_stack([1 - values, values])
    if values.ndim != 2 or values.shape[1] != len(names):
        too_rare = f" ({reprs(rare, 5)} has too few rows)" if rare else ""
        raise ValueError(
            f"probabilities has the shape {values.shape}, but there are {len(labels)} rows and "
            f"{len(names)} classes{too_rare}; pass a row of probabilities for each row, in the "
            f"order {reprs(names)}, or a frame whose columns are called like the labels."
        )
    return values, values.sum(axis=1)


def _floats(values: Any) -> Floats:
    try:
        dense = values.toarray() if issparse(values) else values
        return np.asarray(dense, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "probabilities must be a table of numbers, one column for each class."
        ) from error
