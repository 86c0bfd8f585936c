"""What partitions hold, found out in one pass over them, and whether they make one table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost._validation import check_class_labels
from rboost.audit.labels import NO_LABEL, plain_values
from rboost.dask.cluster import gathered
from rboost.dask.partitions import Partitions, Piece
from rboost.packages import package
from rboost.table.columns import read_columns
from rboost.table.delimited import listed

dask = package("dask", "dask")

# More labels than this are an id or a measurement.
MOST_LABELS = 1000
SAYS = {"number": "numbers", "date": "dates", "word": "words"}


@dataclass(frozen=True)
class Facts:
    """What one partition holds.

    ``kinds`` are those of the columns, None where all values are missing; ``infinite`` is a column
    that holds an infinite number, ``bad_weight`` the first weight that is none.
    """

    source: str
    n_rows: int
    columns: tuple[str, ...]
    kinds: tuple[str | None, ...]
    label_counts: dict[Any, int]
    label_weights: dict[Any, float]
    n_missing: int
    infinite: str | None
    bad_weight: float | None


@dataclass(frozen=True, eq=False)
class Summary:
    """The table as a whole: where each partition begins, and the classes.

    ``places`` has the position of every label among the classes; rows of other labels have none.
    """

    n_rows: int
    first_rows: Integers
    columns: tuple[str, ...]
    kinds: tuple[str | None, ...]
    classes: NDArray[Any]
    places: dict[Any, int]
    label_counts: dict[Any, int]
    label_weights: dict[Any, float]
    n_missing: int

    @property
    def sizes(self) -> list[int]:
        """How many rows each partition has."""
        return np.diff([*self.first_rows.tolist(), self.n_rows]).tolist()

    def positions(self, y: Any) -> NDArray[np.int16]:
        """The position of each label among the classes, −1 where it is missing or no class."""
        codes, values = pandas.Series(y).factorize()
        known = [self.places.get(value, NO_LABEL) for value in plain_values(values)]
        return np.array([*known, NO_LABEL], dtype=np.int16)[codes]


def gather_facts(client: Any, partitions: Partitions, verbose: bool = False) -> list[Facts]:
    """Look at every piece where it lies, in one pass."""
    tasks = [
        dask.delayed(facts_of)(piece, source)
        for piece, source in zip(partitions.pieces, partitions.sources, strict=True)
    ]
    return gathered(client, tasks, "Reading", verbose)


def facts_of(piece: Piece, source: str) -> Facts:
    """The facts of a piece."""
    columns = read_columns(piece.X) if len(piece.X) else []
    names = [column.name for column in columns]
    kinds = tuple(None if column.is_empty else column.holds for column in columns)
    labels = pandas.Series([] if piece.y is None else piece.y)
    weight = np.ones(len(labels)) if piece.weight is None else piece.weight
    codes, values = labels.factorize()
    if len(values) > MOST_LABELS:
        raise ValueError(
            f"There are more than {MOST_LABELS} different labels in {source}, like an id or a "
            "measurement; pass labels of classes."
        )
    plain = plain_values(values)
    counts = np.bincount(codes + 1, minlength=len(plain) + 1)
    sums = np.bincount(codes + 1, weight, minlength=len(plain) + 1)
    infinite = [
        column.name for column in columns
        if column.numbers is not None and np.isinf(column.numbers).any()
    ]  # fmt: skip
    bad = weight[~(np.isfinite(weight) & (weight >= 0))]
    return Facts(
        source, len(piece.X), tuple(names), kinds,
        dict(zip(plain, counts[1:].tolist(), strict=True)),
        dict(zip(plain, sums[1:].tolist(), strict=True)),
        int(counts[0]),
        infinite[0] if infinite else None,
        float(bad[0]) if len(bad) else None,
    )  # fmt: skip


def check_facts(facts: Sequence[Facts], label: str = "y") -> Summary:
    """What the partitions are together, or one sentence that says why they are no table.

    ``label`` is what to call the labels in it.
    """
    filled = [one for one in facts if one.n_rows]
    if not filled:
        raise ValueError("The table has no rows in any of its partitions; pass one with rows.")
    for one in filled:
        _check_columns(filled[0], one)
        _check_values(one)
    kinds = _common_kinds(filled)
    label_kinds: list[set[str | None]] = [set(map(_label_kind, one.label_counts)) for one in filled]
    _common(f"{label} holds", "labels", filled, label_kinds)
    counts: Counter[Any] = Counter()
    weights: Counter[Any] = Counter()
    for one in filled:
        counts.update(one.label_counts)
        weights.update(one.label_weights)
    classes = _classes(counts, label)
    without = [label for label in classes.tolist() if not weights[label] > 0]
    if without:
        raise ValueError(
            f"sample_weight is zero on all rows of class {without[0]!r}; give some rows of each "
            "class a positive weight."
        )
    sizes = [one.n_rows for one in facts]
    return Summary(
        sum(sizes), np.cumsum([0, *sizes])[:-1], filled[0].columns, kinds, classes,
        {label: place for place, label in enumerate(classes.tolist())}, dict(counts), dict(weights),
        sum(one.n_missing for one in filled),
    )  # fmt: skip


def _check_columns(first: Facts, other: Facts) -> None:
    for one, of in ((first, other), (other, first)):
        absent = [name for name in one.columns if name not in of.columns]
        if absent:
            raise ValueError(
                f"{of.source} has no column {absent[0]!r}, which {one.source} has; give all "
                "partitions the same columns."
            )


def _check_values(one: Facts) -> None:
    if one.infinite is not None:
        raise ValueError(
            f"column {one.infinite!r} holds infinite values in {one.source}; replace them by a "
            "large number or a missing value."
        )
    if one.bad_weight is not None:
        problem = "negative" if one.bad_weight < 0 else "missing or infinite"
        raise ValueError(
            f"sample_weight must not be {problem}, but {one.source} holds {one.bad_weight:.6g}; "
            "use 0 to leave a row out."
        )


def _common_kinds(filled: Sequence[Facts]) -> tuple[str | None, ...]:
    """The kind of each column, the same in all partitions that hold any of its values."""
    by_name = [dict(zip(one.columns, one.kinds, strict=True)) for one in filled]
    return tuple(
        _common(f"column {name!r} holds", "values", filled, [{of[name]} - {None} for of in by_name])
        for name in filled[0].columns
    )


def _common(
    subject: str, of: str, filled: Sequence[Facts], kinds: Sequence[set[str | None]]
) -> str | None:
    """The one kind that all partitions hold, None where all are missing; two are an error."""
    first: dict[Any, str] = {}
    for one, found in zip(filled, kinds, strict=True):
        for kind in sorted(map(str, found)):
            first.setdefault(kind, one.source)
    if len(first) > 1:
        (here, one_source), (there, other_source) = list(first.items())[:2]
        raise ValueError(
            f"{subject} {SAYS.get(here, here)} in {one_source} but {SAYS.get(there, there)} in "
            f"{other_source}; convert these {of} to one type."
        )
    return next(iter(first), None)


def _label_kind(label: Any) -> str:
    if isinstance(label, bool):
        return "true or false"
    return "word" if isinstance(label, str) else "number"


def _classes(counts: Counter[Any], name: str) -> NDArray[Any]:
    if not counts:
        raise ValueError(f"{name} is missing in every row; pass labels of two classes.")
    if len(counts) > MOST_LABELS:
        raise ValueError(
            f"{name} has {len(counts)} different values, such as {listed(list(counts), 3)}, like "
            "an id or a measurement; pass labels of classes."
        )
    # Twice, as labels of which there are as many as rows would be taken for measurements.
    return check_class_labels(np.tile(np.array(list(counts)), 2), name)[0]
