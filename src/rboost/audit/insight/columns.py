"""Columns that spoil an audit, by what probabilities with and without them say.

A column that tells who labelled a row, or which part of the table was mislabelled, makes wrong
labels vanish: a model that sees it is less sure where they are, which looks like overlap of
classes. Four things then come together. With the column, rows of one of its groups are never as
sure as others. Without it, labels of that group contradict what is sure far more often than those
of others. The column does not help to predict them, as one that the class depends on would. And
groups differ in their noise, not only in the frequencies of classes.

Shapes: ``probability`` (n_rows, K) is p(label = k | row) by models that were not fitted to the row;
``label`` and ``group`` (n_rows,) are positions, −1 for rows of no group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.noise import infer_noise
from rboost.noise.groups import infer_group_noise

COPY, GROUPS = "copy", "groups"
# Groups of fewer rows say too little.
FEWEST_ROWS = 20
# Quantile at which the sureness of a group is read, and the number of rows from which on it counts
# in full.
SURER, MANY_ROWS = 0.75, 100
# Cutoffs: ratio and difference of the rates at which labels of the group and of others contradict
# sure predictions; share of these that is still contradicted with the column, and loss of sureness
# by it; log evidence that groups differ in noise. Chosen on the first half of the tables of
# benchmarks/suspicious_columns.py.
TIMES, DIFFERENCE, STILL_WRONG, LESS_SURE, EVIDENCE = 1.8, 0.08, 0.75, 0.05, 7.0
# A column that spares more errors than this among all rows is a feature.
HELPFUL = 0.05
# Columns whose groups can be told from each other's with fewer errors than this say the same.
UNLIKE = 0.1


@dataclass(frozen=True)
class SuspiciousColumn:
    """A column that hides wrong labels.

    ``kind`` "copy": alone it errs on the share ``rate`` of the labels, all others together on
    ``other_rate``. ``kind`` "groups": where its value is ``value``, without it about the share
    ``rate`` of the labels is wrong, elsewhere ``other_rate``. ``alike`` are other columns that say
    the same and were left out with it.
    """

    column: str
    kind: str
    rate: float
    other_rate: float
    value: str = ""
    alike: tuple[str, ...] = ()


def say_the_same(first: Integers, second: Integers) -> bool:
    """Whether the groups of the first column can be told from those of the second."""
    counts = np.zeros((second.max() + 2, first.max() + 2))
    np.add.at(counts, (second + 1, first + 1), 1)
    errors = len(first) - counts.max(axis=1).sum()
    return bool(errors <= UNLIKE * (len(first) - counts.sum(axis=0).max()))


def lack_of_certainty(probability: Floats, group: Integers) -> float:
    """By how much the surest rows of one group are less sure than others, in log-odds.

    Compared are all rows, and rows for which the same class is predicted; both count.
    """
    surest = probability.max(axis=1)
    sureness = np.log(surest) - np.log(1.01 - surest)
    predicted = probability.argmax(axis=1)
    everyone = _largest_lack(sureness, group)
    of_classes = [_largest_lack(sureness[rows], group[rows]) for rows in _by_class(predicted)]
    return everyone + max(of_classes)


def _by_class(predicted: Integers) -> list[NDArray[np.bool_]]:
    return [predicted == k for k in np.unique(predicted)]


def _largest_lack(sureness: Floats, group: Integers) -> float:
    largest = 0.0
    for place in range(group.max(initial=-1) + 1):
        inside = group == place
        n_rows = np.count_nonzero(inside)
        if FEWEST_ROWS <= n_rows <= len(group) - FEWEST_ROWS:
            lack = np.quantile(sureness[~inside], SURER) - np.quantile(sureness[inside], SURER)
            largest = max(largest, float(lack) * min(1.0, np.sqrt(n_rows / MANY_ROWS)))
    return largest


def contradicted_group(
    with_column: Floats, without: Floats, label: Integers, group: Integers
) -> int | None:
    """The group whose labels contradict sure predictions, with the column as without; or none."""
    sure, predicted = _surer_half(without), without.argmax(axis=1)
    wrong, still_wrong = predicted != label, with_column.argmax(axis=1) != label
    if wrong.mean() - still_wrong.mean() > HELPFUL:
        return None
    worst, largest, expected = None, 0.0, 0.0
    for place in range(group.max(initial=-1) + 1):
        inside, outside = sure & (group == place), sure & (group != place)
        if min(np.count_nonzero(inside), np.count_nonzero(outside)) < FEWEST_ROWS // 2:
            continue
        usual = _usual_rate(predicted[inside], predicted[outside], wrong[outside])
        distance = (wrong[inside].mean() - usual) * np.sqrt(np.count_nonzero(inside))
        if distance > largest:
            worst, largest, expected = place, distance, usual
    inside = sure & (group == worst)
    if worst is None or wrong[inside].mean() < max(TIMES * expected, expected + DIFFERENCE):
        return None
    less_sure = without[inside].max(axis=1).mean() - with_column[inside].max(axis=1).mean()
    is_no_feature = still_wrong[inside].mean() >= STILL_WRONG * wrong[inside].mean()
    return worst if is_no_feature and less_sure >= LESS_SURE else None


def _usual_rate(predicted: Integers, of_others: Integers, others_wrong: NDArray[np.bool_]) -> float:
    """How often others are wrong that are predicted alike: noise may depend on the class."""
    n_classes = max(predicted.max(), of_others.max()) + 1
    n_rows = np.bincount(of_others, minlength=n_classes)
    n_wrong = np.bincount(of_others, others_wrong, n_classes)
    rates = np.where(n_rows > 0, n_wrong / np.maximum(n_rows, 1), others_wrong.mean())
    return float(rates[predicted].mean())


def _surer_half(probability: Floats) -> NDArray[np.bool_]:
    """Of the rows for which a class is predicted, the surer half."""
    surest, predicted = probability.max(axis=1), probability.argmax(axis=1)
    chosen = np.zeros(len(surest), dtype=bool)
    for rows in map(np.flatnonzero, _by_class(predicted)):
        order = np.argsort(-surest[rows], kind="stable")
        chosen[rows[order[: (len(rows) + 1) // 2]]] = True
    return chosen


def wrong_shares(
    scores: Floats, label: Integers, group: Integers, worst: int
) -> tuple[float, float] | None:
    """The share of wrong labels in one group and elsewhere, where groups differ in noise."""
    found = infer_group_noise(scores, label, group, noise=infer_noise(scores, label))
    if found.log_evidence < EVIDENCE:
        return None
    wrong = found.issue_probability(scores, label, group)
    return float(wrong[group == worst].mean()), float(wrong[group != worst].mean())
