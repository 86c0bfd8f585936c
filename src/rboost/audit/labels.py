"""Labels of a table: what is given, what a person checked, and what is missing; in words, too."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import check_annotators, is_missing, read_annotations
from rboost.labels import FEWEST_OF_CLASS, NO_CLASS, Answers, Groups, Labels, warn_of_rare
from rboost.table.delimited import reprs

# Where more than this share of different labels occur once, the column is an id or a measurement.
MOST_ONCE = 0.5
# More different numbers than this, each in fewer rows in the mean, are rather a measurement.
MOST_NUMBERS, ROWS_OF_NUMBER = 20, 20
# The position of a label that is not there.
NO_LABEL = NO_CLASS


@dataclass(frozen=True, eq=False)
class TableLabels(Labels):
    """Labels and answers of the rows of a table, with the words that people wrote.

    ``name`` is that of the column of labels. ``written`` is the label of each row as it stands in
    the table, ``said`` what a person said of it, both also where they are too rare to be a class,
    and empty where there is nothing. Trusted rows at the end were checked and have no given label.
    """

    name: str = "label"
    written: NDArray[Any] = field(kw_only=True)
    said: NDArray[Any] = field(kw_only=True)

    def take(self, rows: Any) -> Self:
        """Some of the rows, by a mask or by their numbers in ascending order."""
        return replace(super().take(rows), written=self.written[rows], said=self.said[rows])

    @property
    def current(self) -> Integers:
        """The checked label where there is one, else the given label."""
        return np.where(self.is_checked, self.checked, self.given)

    @property
    def is_checked(self) -> NDArray[np.bool_]:
        """Rows that a person confirmed or corrected."""
        return self.checked != NO_LABEL

    @property
    def is_observed(self) -> NDArray[np.bool_]:
        """Rows with a label that nobody has checked."""
        return (self.given != NO_LABEL) & ~self.is_checked

    def with_checked(self, checked: Answers | Integers, at_random: Any = None) -> Self:
        """The same labels after other checks, of which some were drawn at random.

        ``checked`` are answers of people, or the class of each row that was checked.
        """
        answers = checked if isinstance(checked, Answers) else None
        checked = np.asarray(checked if answers is None else answers.standing.majority)
        if (
            checked.shape != self.given.shape
            or not np.isin(checked, np.arange(NO_LABEL, len(self.classes))).all()
        ):
            raise ValueError(
                f"checked must have the position of a class, 0 to {len(self.classes) - 1}, or -1 "
                f"for each of the {len(self)} rows."
            )
        checked = checked.astype(np.intp)
        said = np.array(self.names(checked), dtype=object)
        said = np.where(checked == self.checked, self.said, said)
        drawn = self.at_random if at_random is None else at_random
        return replace(self.with_answers(checked if answers is None else answers, drawn), said=said)

    def settled(self, posterior: Floats) -> Self:
        """The same, where of equally many answers the most probable class counts."""
        found = super().settled(posterior)
        names = np.array(found.names(found.checked), dtype=object)
        return replace(found, said=np.where(found.checked == self.checked, self.said, names))

    @property
    def class_names(self) -> list[str]:
        """The classes as text."""
        return [str(name) for name in self.classes]

    def names(self, positions: Iterable[int]) -> list[str]:
        """The labels at these positions as text; empty where there is none."""
        return ["" if k == NO_LABEL else str(self.classes[k]) for k in positions]


def table_labels(
    classes: NDArray[Any],
    given: Integers,
    checked: Integers,
    name: str = "label",
    at_random: Any = False,
    written: Any = None,
    said: Any = None,
    groups: Groups | None = None,
) -> TableLabels:
    """Labels from one entry a row: positions of given and of checked classes, or −1."""
    names = np.array([*map(str, classes), ""], dtype=object)
    stated = Labels.of(classes, np.asarray(given), groups)
    drawn = np.broadcast_to(np.asarray(at_random, dtype=bool), len(stated))
    stated = stated.with_answers(np.asarray(checked), drawn)
    return TableLabels(
        **{own.name: getattr(stated, own.name) for own in fields(stated)},
        name=name,
        written=names[given] if written is None else written,
        said=names[checked] if said is None else said,
    )


def first_copies(labels: TableLabels, copy_of: Integers | None) -> Integers:
    """For each row the first with the same features, label and answer.

    Rows without a given label are themselves alone.
    """
    alone = np.arange(len(labels))
    if copy_of is None:
        return alone
    keys = copy_of * (len(labels.classes) + 1) + labels.checked + 1
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return np.where(labels.given == NO_LABEL, alone, first[group])


def counted_rows(labels: TableLabels, copy_of: Integers | None) -> Integers:
    """Rows with a label or an answer; of copies, by ``copy_of``, the first alone."""
    is_first = first_copies(labels, copy_of) == np.arange(len(labels))
    return np.flatnonzero((labels.observed != NO_LABEL) & is_first)


def encode_labels(
    y: Any,
    y_checked: Any = None,
    name: str = "label",
    at_random: Any = False,
    groups: Groups | None = None,
) -> TableLabels:
    """Find the classes among labels of any kind; None, NaN and NA are missing.

    ``y_checked`` holds the label of every row that a person has looked at, missing elsewhere, and
    ``at_random`` whether it was drawn at random; ``groups`` are those of a context.
    """
    written = plain_values(y)
    checked = [None] * len(written) if y_checked is None else plain_values(y_checked)
    given, checked = _spelled_alike(written, checked, name)
    if len(checked) != len(given):
        raise ValueError(
            f"y_checked has {len(checked)} entries but y has {len(given)}; pass one a row, missing "
            "where nobody looked."
        )
    # Rows where it is given or checked, so that checking rows adds and removes no class.
    counted = Counter(value for both in zip(given, checked, strict=True) for value in set(both))
    del counted[None]
    _check_classes(counted, len(given), name)
    frequent = _sorted([value for value, count in counted.items() if count >= FEWEST_OF_CLASS])
    rare = _sorted([value for value in counted if value not in frequent])
    if len(frequent) < 2:
        raise ValueError(
            f"Of {name!r} only {reprs(frequent) or 'none'} has at least {FEWEST_OF_CLASS} rows, "
            "but two classes are needed; label more rows."
        )
    _warn_of_numbers(counted, name)
    if rare:
        warn_of_rare(rare, name, "rows", stacklevel=5)
    place = {value: k for k, value in enumerate(frequent)}
    of_checked = np.array([place.get(value, NO_LABEL) for value in checked], dtype=np.intp)
    of_given = np.array([place.get(value, NO_LABEL) for value in given], dtype=np.intp)
    # Where a person replaced the label by one too rare to learn, the replaced one is gone as well.
    refuted = [value is not None and value not in place for value in checked]
    of_given[np.array(refuted, dtype=bool)] = NO_LABEL
    # The word "1" beside the number 1 stays another class.
    is_one_kind = len({isinstance(value, str) for value in frequent}) == 1
    classes = np.array(frequent, dtype=None if is_one_kind else object)
    return table_labels(
        classes, of_given, of_checked, name, at_random, as_written(written),
        as_written(checked), groups,
    )  # fmt: skip


def encode_annotations(
    y: Any, y_checked: Any = None, name: str = "label", at_random: Any = False
) -> TableLabels:
    """The same for labels of several annotators, one column each.

    Trusted rows, of which nobody but a person who checked said anything, may come last in
    ``y_checked``. The label that counts as given is that of the majority.
    """
    values, missing, names = read_annotations(y)
    check_annotators(missing, names)
    said = values[~missing].tolist()
    checked = [None] * len(values) if y_checked is None else list(y_checked)
    each = encode_labels(said + [None] * len(checked), [None] * len(said) + checked, name)
    codes = np.full((len(checked), len(names)), NO_LABEL)
    codes[: len(values)][~missing] = each.given[: len(said)]
    drawn = np.broadcast_to(np.asarray(at_random, dtype=bool), len(checked))
    stated = Labels.of_annotators(each.classes, codes, names)
    stated = stated.with_answers(each.checked[len(said) :], drawn)
    return TableLabels(
        **{own.name: getattr(stated, own.name) for own in fields(stated)},
        name=name,
        written=np.array([*map(str, each.classes), ""], dtype=object)[stated.given],
        said=each.said[len(said) :],
    )


def as_written(y: Any) -> NDArray[Any]:
    """The labels as text, empty where there is none."""
    values = plain_values(y)
    return np.array(["" if value is None else str(value) for value in values], dtype=object)


def spelling(value: Any) -> Any:
    """What is the same for labels that differ only by case or white space."""
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def _spelled_alike(given: list[Any], checked: list[Any], name: str) -> tuple[list[Any], list[Any]]:
    """The labels, of which those that differ by case or white space are one: the most frequent."""
    alike: dict[Any, Counter[str]] = {}
    for value in given:
        if isinstance(value, str):
            alike.setdefault(spelling(value), Counter())[value] += 1
    usual = {key: min(found, key=lambda one: (-found[one], one)) for key, found in alike.items()}
    for key, spellings in alike.items():
        if len(spellings) > 1:
            warnings.warn(
                f"{reprs(sorted(spellings), 5)} of {name!r} differ only by case or spaces and are "
                f"taken for one class, {usual[key]!r}.",
                stacklevel=5,
            )
    return (
        [usual.get(spelling(value), value) for value in given],
        [usual.get(spelling(value), value) for value in checked],
    )


def _check_classes(counted: Counter[Any], n_rows: int, name: str) -> None:
    """Fail with one sentence where the labels are no classes."""
    if not counted:
        raise ValueError(f"{name!r} is empty in every row; name a column that holds labels.")
    if len(counted) == 1:
        raise ValueError(
            f"{name!r} is {next(iter(counted))!r} in every row, but two classes are needed; name "
            "another column, or add rows of another class."
        )
    n_once = sum(count == 1 for count in counted.values())
    if len(counted) > 2 and n_once > MOST_ONCE * len(counted):
        raise ValueError(
            f"{name!r} has {len(counted)} different values in {n_rows} rows, and most of them "
            "occur once, like an id or a measurement; name a column of labels that repeat."
        )


def _warn_of_numbers(counted: Counter[Any], name: str) -> None:
    """Warn where labels are rather a measurement."""
    if (
        len(counted) > MOST_NUMBERS
        and sum(counted.values()) < ROWS_OF_NUMBER * len(counted)
        and all(map(_is_number, counted))
    ):
        warnings.warn(
            f"{name!r} has {len(counted)} different numbers, each of which is taken for a class; "
            "if it is a measurement, cut it into a few ranges or name a column of classes.",
            stacklevel=6,
        )


def _is_number(label: Any) -> bool:
    """Whether a label is a number, or a word that is written like one."""
    try:
        return not isinstance(label, bool) and bool(np.isfinite(float(label)))
    except ValueError:
        return False


def plain_values(values: Any) -> list[Any]:
    """Labels as hashable Python values, None where they are missing."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    plain = []
    for value in values:
        if isinstance(value, np.generic):  # NumPy's 1 and Python's 1 are the same label
            value = value.item()
        if not is_missing(value) and not isinstance(value, (str, bool, int, float)):
            value = str(value)
        plain.append(None if is_missing(value) else value)
    return plain


def _sorted(values: list[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # words beside numbers
        return sorted(values, key=str)
