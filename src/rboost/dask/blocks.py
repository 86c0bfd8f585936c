"""The rows of partitions as a fit needs them: labels counted, a sample drawn, columns as codes.

A block takes one byte a cell; the rows themselves are forgotten once they are encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost._validation import check_class_labels
from rboost.audit.labels import NO_LABEL, plain_values
from rboost.dask.cluster import gathered
from rboost.dask.partitions import Partitions, joined
from rboost.engines.xgboost import Bins
from rboost.numbering import in_sample
from rboost.packages import package
from rboost.table.columns import read_column
from rboost.table.delimited import reprs
from rboost.table.features import TableEncoder

dask = package("dask", "dask")
SAMPLE_ROWS = 100_000
# More labels than this are an id or a measurement.
MOST_LABELS = 1000
LIKE_NO_CLASSES = "like an id or a measurement; pass labels of classes."


@dataclass(frozen=True, eq=False)
class Summary:
    """The table as a whole: how many rows each partition has, and the classes.

    ``places`` has the position of every label among the classes; rows of other labels have none.
    """

    sizes: list[int]
    classes: NDArray[Any]
    places: dict[Any, int]
    label_counts: dict[Any, int]

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return sum(self.sizes)

    @property
    def first_rows(self) -> Integers:
        """The number of the first row of each partition."""
        return np.cumsum([0, *self.sizes])[:-1]

    def positions(self, y: Any) -> NDArray[np.int16]:
        """The position of each label among the classes, −1 where it is missing or no class."""
        codes, values = pandas.Series(y).factorize()
        known = [self.places.get(value, NO_LABEL) for value in plain_values(values)]
        return np.array([*known, NO_LABEL], dtype=np.int16)[codes]


def summarize(
    client: Any, partitions: Partitions, name: str = "y", verbose: bool = False
) -> Summary:
    """Count the labels of all partitions, which are called ``name`` in a sentence."""
    label, weight = partitions.label, partitions.weight
    if label is None:
        raise ValueError("y must be the labels, or the name of their column, not None.")
    tables = partitions.tables([label] + [weight] * (weight is not None))
    tasks = [
        dask.delayed(count_labels)(table, label, weight, source)
        for table, source in zip(tables, partitions.sources, strict=True)
    ]
    return summed(gathered(client, tasks, "Reading", verbose), name)


class Counted(NamedTuple):
    """The rows of a partition, and how many have each label, as counts and by their weights."""

    n_rows: int
    counts: dict[Any, int]
    weights: dict[Any, float]


def count_labels(table: Any, label: Any, weight: Any, source: str) -> Counted:
    """Count the labels of a partition; fails with one sentence where weights are invalid."""
    share = weights_of(table, weight, source)
    codes, values = table[label].factorize()
    if len(values) > MOST_LABELS:
        raise ValueError(
            f"There are more than {MOST_LABELS} different labels in {source}, {LIKE_NO_CLASSES}"
        )
    plain, known = plain_values(values), codes >= 0
    counts = np.bincount(codes[known], minlength=len(plain))
    sums = np.bincount(codes[known], share[known], minlength=len(plain))
    by_label = (dict(zip(plain, of.tolist(), strict=True)) for of in (counts, sums))
    return Counted(len(table), *by_label)


def weights_of(table: Any, weight: Any, source: str = "it") -> NDArray[np.floating[Any]]:
    """The weights of rows, finite and at least 0; ones where there are none."""
    if weight is None or not len(table):
        return np.ones(len(table), np.float32)
    found = read_column(table[weight], "sample_weight").numbers
    if found is None:
        raise ValueError(f"sample_weight holds words in {source}; pass numbers.")
    bad = found[~(np.isfinite(found) & (found >= 0))]
    if len(bad):
        problem = "negative" if bad[0] < 0 else "missing or infinite"
        raise ValueError(
            f"sample_weight must not be {problem}, but {source} holds {bad[0]:.6g}; use 0 to leave "
            "a row out."
        )
    return found


def summed(parts: Sequence[Counted], name: str = "y") -> Summary:
    """The sum of the partitions; fails with one sentence where their labels are no classes."""
    sizes = [one.n_rows for one in parts]
    if not sum(sizes):
        raise ValueError("The table has no rows in any of its partitions; pass one with rows.")
    counts: Counter[Any] = Counter()
    weights: Counter[Any] = Counter()
    for one in parts:
        counts.update(one.counts)
        weights.update(one.weights)
    if not counts:
        raise ValueError(f"{name} is missing in every row; pass labels of two classes.")
    if len({isinstance(label, str) for label in counts}) > 1:
        raise ValueError(f"{name} holds words and numbers; convert its labels to one type.")
    if len(counts) > MOST_LABELS:
        few = reprs(list(counts), 3)
        raise ValueError(
            f"{name} has {len(counts)} different values, such as {few}, {LIKE_NO_CLASSES}"
        )
    # Twice, as labels of which there are as many as rows would be taken for measurements.
    classes = check_class_labels(np.tile(np.array(list(counts)), 2), name)[0]
    for label in classes.tolist():
        if not weights[label] > 0:
            raise ValueError(
                f"sample_weight is zero on all rows of class {label!r}; give some rows of each "
                "class a positive weight."
            )
    places = {label: place for place, label in enumerate(classes.tolist())}
    return Summary(sizes, classes, places, dict(counts))


def sample_rows(
    client: Any,
    partitions: Partitions,
    summary: Summary,
    n_rows: int = SAMPLE_ROWS,
    seed: int = 0,
    verbose: bool = False,
) -> Any:
    """The features of about ``n_rows`` rows, drawn by their numbers, which are the index.

    All rows, where there are no more. Words that none of them holds are unknown to an encoder that
    learns from them.
    """
    tables, firsts = partitions.tables(partitions.features), summary.first_rows.tolist()
    tasks = [
        dask.delayed(_sampled)(table, first, n_rows / summary.n_rows, seed)
        for table, first in zip(tables, firsts, strict=True)
    ]
    return joined(gathered(client, tasks, "Drawing a sample", verbose))


def _sampled(table: Any, first_row: int, share: float, seed: int) -> Any:
    table = table.set_axis(np.arange(first_row, first_row + len(table)))
    return table[in_sample(first_row, len(table), share, seed)]


class Block(NamedTuple):
    """Rows of a partition from the row number ``first_row`` on.

    ``codes`` are bins of the columns, (n, p); ``observed`` the positions of labels among the
    classes, −1 and of weight 0 where there is none; ``trusted`` rows have labels that are right.
    """

    first_row: int
    codes: NDArray[np.uint8]
    observed: NDArray[np.int16]
    weight: NDArray[np.floating[Any]]
    trusted: NDArray[np.bool_]


def make_blocks(
    client: Any, partitions: Partitions, summary: Summary, encoder: TableEncoder, bins: Bins
) -> list[Any]:
    """Start computing the :class:`Block` of each partition; returns futures."""
    features, label, weight = partitions.features, partitions.label, partitions.weight
    # One value of the graph, from which a block that is lost with its worker can be made again.
    how = dask.delayed((features, label, weight, summary, encoder, bins), traverse=False)
    tables = partitions.tables([*features, label] + [weight] * (weight is not None))
    tasks = [
        dask.delayed(block_of)(table, first, how)
        for table, first in zip(tables, summary.first_rows.tolist(), strict=True)
    ]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
        return client.compute(tasks)


def block_of(table: Any, first_row: int, how: tuple[Any, ...]) -> Block:
    """Encode the rows of a partition."""
    features, label, weight, summary, encoder, bins = how
    n_rows = len(table)
    codes = np.empty((0, len(bins.edges)), dtype=np.uint8)
    if n_rows:
        codes = bins.codes(encoder.features(table[features]).trees)
    observed = summary.positions(table[label])
    share = weights_of(table, weight)
    share = np.where(observed == NO_LABEL, np.zeros(1, share.dtype), share)
    return Block(first_row, codes, observed, share, np.zeros(n_rows, dtype=bool))
