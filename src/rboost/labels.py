"""Labels: statements (row, source, class) about the classes of rows.

A source is where statements come from: the column of labels, of which each context group is a
source of its own; an annotator; a person who checked rows; a set of rows that are known to be
right. Given labels have one noise matrix, with a context one for each group; annotators have one
each. Classes are positions inside the package, names only where users pass and read them.

Rows with the same statements share a *pattern*. A pattern has one likelihood of its statements
given the true class, so all that a learner needs to know of labels is the pattern of each row and
a small table of likelihoods (:class:`rboost.noise.likelihood.Likelihood`).

A context is columns that say how labels came about: who gave them, where, when. Words and numbers
of few values are groups as they are; dates and numbers of many values are cut into a few ranges;
rows without a value are a group of their own. Groups of several columns are the combinations of
their values. Groups of very few rows are put together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from rboost._typing import Floats, Integers
from rboost.table.cells import ISO, read_dates
from rboost.table.columns import DATE, Column, as_text, named_columns, read_column
from rboost.table.delimited import reprs

__all__ = ["NO_CLASS", "Answers", "Groups", "Labels", "Patterns", "Source", "group_rows"]

# Kinds of sources: the label that came with the row, one of several annotators, a person who
# checked the row, and labels that are known to be right.
GIVEN, ANNOTATOR, ANSWER, TRUSTED = "given", "annotator", "answer", "trusted"
OTHERS = (GIVEN, ANNOTATOR, TRUSTED)
# The position of a missing class.
NO_CLASS = -1
# A class with fewer rows, or labels of annotators, cannot be learnt.
FEWEST_OF_CLASS = 5
# The error rate of each of several statements about a row, before any noise is inferred.
FIRST_ERROR = 0.1


@dataclass(frozen=True, eq=False)
class Groups:
    """The position of each row's group, −1 without one; the names of groups, and of the context."""

    position: Integers
    names: tuple[str, ...]
    column: str = "group"

    def __len__(self) -> int:
        return len(self.names)

    def followed_by(self, n_rows: int) -> Groups:
        """The same with further rows, which are of no group."""
        return Groups(np.append(self.position, np.full(n_rows, -1)), self.names, self.column)


@dataclass(frozen=True)
class Source:
    """Whoever names classes."""

    kind: str
    name: str | None = None


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers of people who checked rows: one says that ``row[a]`` is of the class ``stated[a]``.

    Who says so is ``names[reviewer[a]]``; the name is empty where it is not known. Answers stand in
    the order in which they were given. Of two answers of one person to one row the later one holds.
    """

    n_rows: int
    row: Integers
    reviewer: Integers
    stated: Integers
    names: tuple[str, ...]

    @classmethod
    def of(cls, position: Integers) -> Self:
        """One answer a row of nobody who is named, ``NO_CLASS`` where there is none."""
        row = np.flatnonzero(position != NO_CLASS)
        return cls(len(position), row, np.zeros(len(row), np.intp), position[row], ("",))

    @classmethod
    def by(cls, n_rows: int, row: Any, names: Sequence[str], stated: Any) -> Self:
        """Answers to rows, with the name of who gave each."""
        place = {name: k for k, name in enumerate(dict.fromkeys(names))}
        who = np.array([place[name] for name in names], dtype=np.intp)
        return cls(n_rows, np.asarray(row, np.intp), who, np.asarray(stated, np.intp), (*place,))

    def __len__(self) -> int:
        return len(self.row)

    def followed_by(self, later: Answers) -> Answers:
        """These and later ones, which replace those of the same person to the same row."""
        names = tuple(dict.fromkeys((*self.names, *later.names)))
        who = np.array([names.index(name) for name in later.names], dtype=np.intp)
        return Answers(
            self.n_rows,
            np.append(self.row, later.row),
            np.append(self.reviewer, who[later.reviewer]),
            np.append(self.stated, later.stated),
            names,
        )

    def without(self, rows: Sequence[int]) -> Answers:
        """The answers to all other rows."""
        return self._only(~np.isin(self.row, rows))

    @property
    def standing(self) -> Answers:
        """The latest answer of each person to each row."""
        cell = self.row * max(len(self.names), 1) + self.reviewer
        _, last = np.unique(cell[::-1], return_index=True)
        kept = np.zeros(len(cell), dtype=bool)
        kept[len(cell) - 1 - last] = True
        return self._only(kept)

    def _only(self, kept: NDArray[np.bool_]) -> Answers:
        return replace(
            self, row=self.row[kept], reviewer=self.reviewer[kept], stated=self.stated[kept]
        )

    @cached_property
    def columns(self) -> Integers:
        """The answer of each person to each row, (n_rows, n_people), ``NO_CLASS`` where missing."""
        found = np.full((self.n_rows, len(self.names)), NO_CLASS)
        found[self.row, self.reviewer] = self.stated
        return found

    @cached_property
    def majority(self) -> Integers:
        """The class that most people name of each row, of equally many the last in order."""
        found = np.full(self.n_rows, NO_CLASS)
        cell = self.row * (self.stated.max(initial=0) + 1) + self.stated
        _, place, count = np.unique(cell, return_inverse=True, return_counts=True)
        order = np.argsort(count[place], kind="stable")
        found[self.row[order]] = self.stated[order]
        return found

    @cached_property
    def is_disputed(self) -> NDArray[np.bool_]:
        """Rows of which people name different classes, (n_rows,)."""
        own = self.standing
        first = np.full(self.n_rows, NO_CLASS)
        first[own.row[::-1]] = own.stated[::-1]
        found = np.zeros(self.n_rows, dtype=bool)
        found[own.row[own.stated != first[own.row]]] = True
        return found

    @property
    def said(self) -> frozenset[tuple[int, str, int]]:
        """Row, person and class of each answer, whatever the order."""
        who = [self.names[k] for k in self.reviewer]
        return frozenset(zip(self.row.tolist(), who, self.stated.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Labels:
    """Statements about rows: ``source[s]`` says that ``row[s]`` is of the class ``stated[s]``.

    ``sources`` are what the entries of ``source`` refer to. Of two statements of one source about
    one row the later one holds. ``at_random`` marks rows that were drawn at random for a person to
    check, (n_rows,). Views of one entry a row hold positions of classes, or ``NO_CLASS``.
    """

    classes: NDArray[Any]
    n_rows: int
    row: Integers
    source: Integers
    stated: Integers
    sources: tuple[Source, ...]
    at_random: NDArray[np.bool_] = field(kw_only=True)

    @classmethod
    def of(cls, classes: NDArray[Any], position: Integers, groups: Groups | None = None) -> Self:
        """The label that came with each row, ``NO_CLASS`` where it has none.

        With groups, each of them is a source of its own.
        """
        row = np.flatnonzero(position != NO_CLASS)
        source = np.zeros(len(row), np.intp) if groups is None else groups.position[row]
        names = (None,) if groups is None else groups.names
        sources = tuple(Source(GIVEN, name) for name in names)
        never = np.zeros(len(position), dtype=bool)
        return cls(classes, len(position), row, source, position[row], sources, at_random=never)

    @classmethod
    def of_annotators(cls, classes: NDArray[Any], position: Integers, names: Sequence[str]) -> Self:
        """Labels of several annotators, (n_rows, n_annotators), ``NO_CLASS`` where missing."""
        row, source = np.nonzero(position != NO_CLASS)
        sources = tuple(Source(ANNOTATOR, name) for name in names)
        never = np.zeros(len(position), dtype=bool)
        stated = position[row, source]
        return cls(classes, len(position), row, source, stated, sources, at_random=never)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def n_groups(self) -> int:
        """The number of context groups of given labels, 0 without a context."""
        return sum(own.kind == GIVEN and own.name is not None for own in self.sources)

    @cached_property
    def n_annotators(self) -> int:
        """The number of annotators, the first sources; 0 where rows have one label each."""
        return sum(own.kind == ANNOTATOR for own in self.sources)

    def with_statements(self, source: Source, position: Integers) -> Self:
        """More statements of a source; ``position`` has a class or ``NO_CLASS`` for each row."""
        sources = self.sources if source in self.sources else (*self.sources, source)
        row = np.flatnonzero(position != NO_CLASS)
        return replace(
            self,
            row=np.append(self.row, row),
            source=np.append(self.source, np.full(len(row), sources.index(source))),
            stated=np.append(self.stated, position[row]),
            sources=sources,
        )

    def with_answers(self, answers: Answers | Integers | None, at_random: Any = None) -> Self:
        """Answers of people who checked rows, which replace all earlier answers.

        Each person is a source. One class a row is of nobody who is named.
        """
        if answers is None:
            return self
        own = answers if isinstance(answers, Answers) else Answers.of(answers)
        own, kept = own.standing, ~self._is_of(ANSWER)
        drawn = np.zeros(self.n_rows, dtype=bool) if at_random is None else np.asarray(at_random)
        people = [Source(ANSWER, name) for name in own.names]
        sources = tuple(dict.fromkeys((*self.sources, *people)))
        place = np.array([sources.index(one) for one in people], dtype=np.intp)
        return replace(
            self,
            row=np.append(self.row[kept], own.row),
            source=np.append(self.source[kept], place[own.reviewer]),
            stated=np.append(self.stated[kept], own.stated),
            sources=sources,
            at_random=drawn & (own.majority != NO_CLASS),
        )

    def settled(self, posterior: Floats) -> Self:
        """The same with answers in another order, of each row that of the likeliest class last.

        So it counts where equally many people name one of several classes. ``posterior[i, j]`` =
        p(true class j | row i and all that was said of it).
        """
        disputed = self._is_of(ANSWER) & self.answers.is_disputed[self.row]
        chance = np.where(disputed, posterior[self.row, self.stated], -1.0)
        order = np.argsort(chance, kind="stable")
        row, source, stated = self.row[order], self.source[order], self.stated[order]
        return replace(self, row=row, source=source, stated=stated)

    def followed_by_trusted(self, position: Integers | None) -> Self:
        """Further rows, whose classes are known."""
        if position is None:
            return self
        drawn = np.append(self.at_random, np.zeros(len(position), dtype=bool))
        longer = replace(self, n_rows=len(drawn), at_random=drawn)
        before = np.full(self.n_rows, NO_CLASS)
        return longer.with_statements(Source(TRUSTED), np.append(before, position))

    def take(self, rows: Any) -> Self:
        """Some of the rows, by a mask or by their numbers in ascending order."""
        place = np.full(self.n_rows, -1)
        place[rows] = np.arange(len(place[rows]))
        kept = place[self.row] >= 0
        return replace(
            self,
            n_rows=int(place.max(initial=-1)) + 1,
            row=place[self.row[kept]],
            source=self.source[kept],
            stated=self.stated[kept],
            at_random=self.at_random[rows],
        )

    def check_rows(self, X: Any) -> None:
        """Fail with one sentence unless every row of X has a statement."""
        if X.shape[0] != self.n_rows:
            raise ValueError(f"X has {X.shape[0]} rows but labels are of {self.n_rows}.")
        if (self.observed == NO_CLASS).any():
            row = int(np.argmax(self.observed == NO_CLASS))
            raise ValueError(f"Row {row} needs a label, an answer or a trusted class.")

    def with_given(self, position: Integers) -> Self:
        """Other classes in the place of the labels that came with rows."""
        is_given, stated = self._is_of(GIVEN), self.stated.copy()
        stated[is_given] = position[self.row[is_given]]
        return replace(self, stated=stated)

    def of_classes(self, present: Integers) -> Self:
        """The same where only some classes, in ascending order, are named."""
        if not np.isin(self.stated, present).all():
            raise ValueError("present must hold all classes that statements name.")
        return replace(self, classes=present, stated=np.searchsorted(present, self.stated))

    def of_kind(self, *kinds: str) -> Integers:
        """What sources of some kinds say of each row; the last of them where there are several."""
        found = np.full(self.n_rows, NO_CLASS)
        chosen = self._is_of(*kinds)
        found[self.row[chosen]] = self.stated[chosen]
        return found

    def _is_of(self, *kinds: str) -> NDArray[np.bool_]:
        return np.array([own.kind in kinds for own in self.sources], dtype=bool)[self.source]

    @cached_property
    def given(self) -> Integers:
        """The label that came with each row; of several annotators that of the majority."""
        if not self.n_annotators:
            return self.of_kind(GIVEN)
        return np.where(self.votes.any(axis=1), majority_of(self.votes), NO_CLASS)

    @cached_property
    def votes(self) -> Floats:
        """How many annotators name each class of each row, (n_rows, K)."""
        chosen = self._is_of(ANNOTATOR)
        cell = self.row[chosen] * self.n_classes + self.stated[chosen]
        counts = np.bincount(cell, minlength=self.n_rows * self.n_classes)
        return counts.reshape(self.n_rows, self.n_classes).astype(np.float64)

    def shares(self, weight: Floats) -> Floats:
        """The share of each class among known classes, and given labels or votes, (K,)."""
        if not self.n_annotators:
            return np.bincount(self.observed, weight, self.n_classes) / weight.sum()
        each = self.votes / np.maximum(self.votes.sum(axis=1, keepdims=True), 1.0)
        is_known = self.known != NO_CLASS
        each[is_known] = np.eye(self.n_classes)[self.known[is_known]]
        counts = weight @ each
        return counts / counts.sum()

    @cached_property
    def group(self) -> Integers:
        """The source of each row's given label, −1 where it has none."""
        found = np.full(self.n_rows, -1)
        is_given = self._is_of(GIVEN)
        found[self.row[is_given]] = self.source[is_given]
        return found

    @cached_property
    def answers(self) -> Answers:
        """What each person says who checked rows, of all people that are sources."""
        people = [s for s, own in enumerate(self.sources) if own.kind == ANSWER]
        chosen = self._is_of(ANSWER)
        names = tuple(self.sources[s].name or "" for s in people)
        who = np.searchsorted(people, self.source[chosen])
        return Answers(self.n_rows, self.row[chosen], who, self.stated[chosen], names)

    @cached_property
    def checked(self) -> Integers:
        """The class that most people name who checked the row, of equally many the last in order.

        That is the latest, and after :meth:`settled` the most probable.
        """
        return self.answers.majority

    @cached_property
    def known(self) -> Integers:
        """The class of trusted rows, and of rows that came without a label and were checked."""
        unlabelled = np.where(self.given == NO_CLASS, self.checked, NO_CLASS)
        trusted = self.of_kind(TRUSTED)
        return np.where(trusted != NO_CLASS, trusted, unlabelled)

    @cached_property
    def observed(self) -> Integers:
        """The known class where there is one, else the given one."""
        return np.where(self.known != NO_CLASS, self.known, self.given)

    @property
    def has_answers(self) -> bool:
        """Whether people checked any row that came with a label."""
        return bool(((self.checked != NO_CLASS) & (self.given != NO_CLASS)).any())

    @cached_property
    def patterns(self) -> Patterns:
        """The pattern of statements about each row; answers only about rows without a label.

        What answers imply for other labels is learnt by regression, once rows have held-out
        scores (``noise/answers.py``).
        """
        is_used = self._is_of(*OTHERS)
        alone = np.flatnonzero(~is_used & (self.given[self.row] == NO_CLASS))
        alone = alone[self.stated[alone] == self.checked[self.row[alone]]]
        is_used[alone[np.unique(self.row[alone], return_index=True)[1]]] = True
        row, n_classes = self.row[is_used], self.n_classes
        pairs = [((s, k),) for s in range(len(self.sources)) for k in range(n_classes)]
        statements: list[tuple[tuple[int, int], ...]] = [*pairs, ()]
        code = np.full(self.n_rows, len(pairs), dtype=np.int32)  # no statement
        code[row] = self.source[is_used] * n_classes + self.stated[is_used]
        several = np.flatnonzero(np.bincount(row, minlength=self.n_rows) > 1)
        if len(several):
            stated = np.full((self.n_rows, len(self.sources)), NO_CLASS)
            stated[row, self.source[is_used]] = self.stated[is_used]
            sets, place = np.unique(stated[several], axis=0, return_inverse=True)
            code[several] = len(statements) + place.ravel()
            statements += [
                tuple((s, k) for s, k in enumerate(said) if k != NO_CLASS) for said in sets.tolist()
            ]
        return Patterns(code, n_classes, self.sources, statements)


def majority_of(votes: Floats) -> Integers:
    """The class that most annotators name; of several that which annotators name more often."""
    return np.argmax(votes + 0.5 * votes.sum(axis=0) / max(votes.sum(), 1.0), axis=1)


@dataclass(frozen=True, eq=False)
class Patterns:
    """The pattern of statements about each row; pattern c has the (source, class) of entry c."""

    code: NDArray[np.int32]
    n_classes: int
    sources: tuple[Source, ...]
    statements: Sequence[tuple[tuple[int, int], ...]]

    @classmethod
    def of_labels(
        cls, observed: Integers, trusted: NDArray[np.bool_] | None, n_classes: int
    ) -> Patterns:
        """Of rows with one label each, of which some are known to be right."""
        code = observed.astype(np.int32)
        if trusted is not None:
            code[trusted] += n_classes
        statements = [((source, k),) for source in range(2) for k in range(n_classes)]
        return cls(code, n_classes, (Source(GIVEN), Source(TRUSTED)), statements)

    def _is_trusted(self, source: int) -> bool:
        return self.sources[source].kind in (TRUSTED, ANSWER)

    @property
    def n_groups(self) -> int:
        """The number of context groups of given labels, 0 without a context."""
        return sum(own.kind == GIVEN and own.name is not None for own in self.sources)

    @cached_property
    def label(self) -> Integers:
        """The class that each pattern names; ``NO_CLASS`` where it names none."""
        return np.array([own[-1][1] if own else NO_CLASS for own in self.statements], dtype=np.intp)

    @cached_property
    def trusted(self) -> NDArray[np.bool_]:
        """Whether the class of each pattern is known to be right."""
        return np.array(
            [any(self._is_trusted(s) for s, _ in own) for own in self.statements], dtype=bool
        )

    @cached_property
    def group(self) -> Integers:
        """The source of the given label of each pattern, −1 where it has none."""
        return np.array(
            [next((s for s, _ in own if not self._is_trusted(s)), -1) for own in self.statements],
            dtype=np.intp,
        )

    def first_likelihoods(self) -> Floats:
        """p(statements | true class j), (K, n_patterns), before any noise is inferred.

        A single label is taken to be right; each of several errs in 10 % of cases.
        """
        n_classes = self.n_classes
        right = np.eye(n_classes)
        doubtful = np.where(right, 1 - FIRST_ERROR, FIRST_ERROR / (n_classes - 1))
        columns = [
            self._column(own, [doubtful if len(own) > 1 else right] * len(self.sources))
            for own in self.statements
        ]
        return np.stack(columns, axis=1)

    def likelihoods(self, noise_matrices: Sequence[Floats] | Floats) -> Floats:
        """p(statements | true class j), (K, n_patterns), for the noise matrix of each source."""
        return np.stack([self._column(own, noise_matrices) for own in self.statements], axis=1)

    def _column(
        self, statements: tuple[tuple[int, int], ...], noise_matrices: Sequence[Floats] | Floats
    ) -> Floats:
        """The product over statements; a trusted one replaces all others. Never all zero."""
        for source, k in statements:
            if self._is_trusted(source):
                return np.eye(self.n_classes)[k]
        found = np.ones(self.n_classes)
        for source, k in statements:
            found = found * noise_matrices[source][:, k]
        return found if found.any() else np.ones(self.n_classes)


# ---- Groups of rows by context ----

MISSING, OTHER = "(missing)", "(other)"
# Numbers are cut into at most ``MOST_RANGES`` ranges if they have more than ``MOST_VALUES`` values,
# or fewer than ``ROWS_PER_VALUE`` rows per value; dates if they have more values than ranges.
MOST_RANGES, MOST_VALUES, ROWS_PER_VALUE = 6, 50, 30
# The fewest rows of a group, and the most groups.
FEWEST_ROWS, MOST_GROUPS = 10, 100
DAY = 86_400.0


def group_rows(context: Any, n_rows: int) -> Groups:
    """Divide rows into groups.

    Parameters
    ----------
    context : array-like of shape (n_rows,) or (n_rows, n_columns), frame or dict of columns
        Words, numbers, dates; any may be missing.
    n_rows : int
        How many rows there are.

    Returns
    -------
    groups : Groups
        The group of each row, and the names of groups, in order.
    """
    if isinstance(context, str):
        raise ValueError(
            f"context must have one entry a row, but is {context!r}; pass the column itself."
        )
    titled = _titled(context)
    titles = [title for title, _ in titled]
    coded = []
    for title, values in titled:
        column = _read(values, title)
        if len(column) != n_rows:
            raise ValueError(
                f"context has {len(column)} rows but X has {n_rows}; pass one entry a row."
            )
        coded.append(_coded(column))
    position = np.column_stack([codes for codes, _ in coded])
    present, place = np.unique(position, axis=0, return_inverse=True)
    names = [
        ", ".join(texts[k] for k, (_, texts) in zip(row, coded, strict=True)) for row in present
    ]
    return Groups(*_merged(place.ravel(), names, titles), ", ".join(titles))


def _titled(context: Any) -> list[tuple[str, Any]]:
    """The columns of a context with their names."""
    shape = np.shape(context if hasattr(context, "shape") else np.asarray(context, dtype=object))
    found: list[tuple[str, Any]] = []
    if isinstance(context, Mapping):
        found = [(str(title), values) for title, values in context.items()]
    elif len(shape) < 2:
        name = getattr(context, "name", None)
        found = [("group" if name is None else str(name), context)]
    elif len(shape) == 2 and shape[1]:
        found = named_columns(context)
    if not found:
        raise ValueError(
            "context must be one column, or rows and columns of which there is one at least; leave "
            "it out, or pass the group of each row."
        )
    return found


def _read(values: Any, title: str) -> Column:
    try:
        return read_column(values, title)
    except TypeError as error:
        raise ValueError(f"context: {error}") from error


def _coded(column: Column) -> tuple[Integers, list[str]]:
    """The number of each row's value or range, and their names, in order."""
    values, is_date = column.numbers, column.holds == DATE
    if values is None and column.words:
        known = read_dates(column.words, ISO)
        if np.isfinite(known).all():
            values, is_date = column.of_words(known), True
    if values is None:
        assert column.codes is not None
        return _ordered(column.codes, column.words)
    return _cut(values, _unit(values) if is_date else None)


def _ordered(codes: Integers, texts: Sequence[str]) -> tuple[Integers, list[str]]:
    """Words in alphabetical order, those that are missing last."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    place = np.empty(len(texts) + 1, dtype=np.intp)
    place[order] = np.arange(len(texts))
    place[-1] = len(texts)
    return place[codes], [*(texts[k] for k in order), MISSING]


def _cut(values: Floats, unit: str | None) -> tuple[Integers, list[str]]:
    """Each value by itself, or ranges with as many rows each as possible; missing ones last."""
    known = np.isfinite(values)
    distinct = np.unique(values[known])
    few = min(MOST_VALUES, max(2, known.sum() // ROWS_PER_VALUE))
    if len(distinct) <= (few if unit is None else MOST_RANGES):
        lows = highs = distinct
    else:
        shares = np.arange(MOST_RANGES) / MOST_RANGES
        lows = np.unique(np.quantile(values[known], shares, method="higher"))
        highs = np.append(distinct[np.searchsorted(distinct, lows[1:]) - 1], distinct[-1])
    codes = np.searchsorted(lows, values, side="right") - 1
    names = [_range(low, high, unit) for low, high in zip(lows, highs, strict=True)]
    return np.where(known, codes, len(names)), [*names, MISSING]


def _range(low: float, high: float, unit: str | None) -> str:
    """A range of numbers, or of times in days ("D") or minutes ("m")."""
    first, last = (
        as_text(float(f"{value:.6g}"))
        if unit is None
        else str(np.datetime64(int(value // 1), "s").astype(f"datetime64[{unit}]"))
        for value in (low, high)
    )
    return first if first == last else f"{first} to {last}"


def _unit(values: Floats) -> str:
    """How times are written: in days, or in minutes if all lie within two days."""
    known = values[np.isfinite(values)]
    return "D" if not len(known) or np.ptp(known) >= 2 * DAY else "m"


def _merged(
    place: Integers, names: list[str], titles: list[str]
) -> tuple[Integers, tuple[str, ...]]:
    """Keep the groups of enough rows, and merge the others into one."""
    counts = np.bincount(place, minlength=len(names))
    largest = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
    kept = np.sort(largest[counts[largest] >= FEWEST_ROWS])
    if not len(kept):
        raise ValueError(
            f"context ({', '.join(titles)}) divides the rows into groups of fewer than "
            f"{FEWEST_ROWS}; use columns whose values many rows share."
        )
    new_place = np.full(len(names), len(kept))
    new_place[kept] = np.arange(len(kept))
    found = [names[k] for k in kept] + ([OTHER] if len(kept) < len(names) else [])
    return new_place[place], tuple(found)


def class_probabilities(scores: Floats, distribution: Callable[[Floats], Floats] = expit) -> Floats:
    """Class probabilities, (n_rows, K): of log-odds of class 1, or the softmax of K scores a row.

    ``distribution`` is F with p(y = 1 | x) = F(decision) = 1 − F(−decision).
    """
    if scores.ndim == 2:
        return softmax(scores, axis=1)
    return np.column_stack([distribution(-scores), distribution(scores)])


def decided_classes(scores: Floats) -> Integers:
    """Positions of the predicted classes: the sign of scores (n_rows,), or the largest of K."""
    return scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)


def without_rare_classes(
    classes: NDArray[Any], position: Integers, answers: Integers | None
) -> tuple[NDArray[Any], Integers, Integers | None]:
    """Leave out labels of classes that annotators and people hardly name, with a warning.

    Such a label is misspelt, as a rule. If fewer than two classes remained, all are kept. All are
    positions of classes, ``NO_CLASS`` where missing.
    """
    named = position.ravel() if answers is None else np.append(position, answers)
    is_rare = np.bincount(named[named != NO_CLASS], minlength=len(classes)) < FEWEST_OF_CLASS
    if not is_rare.any() or np.count_nonzero(~is_rare) < 2:
        return classes, position, answers
    warn_of_rare(classes[is_rare].tolist(), "y", "labels", stacklevel=5)
    place = np.append(np.where(is_rare, NO_CLASS, np.cumsum(~is_rare) - 1), NO_CLASS)
    return classes[~is_rare], place[position], None if answers is None else place[answers]


def warn_of_rare(rare: Sequence[Any], name: str, what: str, stacklevel: int) -> None:
    """Warn of classes with too few "rows" or "labels" to learn from."""
    done = {
        "rows": "these rows are treated as if they had no label",
        "labels": "these labels are left out; correct them if they are misspelt",
    }
    warnings.warn(
        f"{reprs(rare, 5)} of {name!r}: fewer than {FEWEST_OF_CLASS} {what}, too few to learn "
        f"from; {done[what]}.",
        stacklevel=stacklevel,
    )
