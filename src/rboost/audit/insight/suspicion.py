"""Columns that hide wrong labels from an audit, found by a few cheap fits with and without them.

A copy of the label makes every label look right. It alone predicts labels nearly without error, and
all other columns together do not; a good feature has others that know nearly as much. A column that
is filled, or empty, in rows of one class alone is such a copy for these rows: the reason of a
complaint, the date of a cancellation.

A column that identifies who labelled a row, or which part of the table was mislabelled, hides wrong
labels: a model that sees it is less confident where they are, which looks like overlap of classes.
Such a column fulfils four conditions. With it, rows of one of its groups are predicted with less
confidence than others. Without it, labels of that group contradict confident predictions far more
often than those of others. The column does not help to predict them, as one that the class depends
on would. And groups differ in their noise, not only in the frequencies of classes.

At most :data:`MOST_FITS` fits, of some trees to some rows.

Shapes: ``probability`` (n_rows, K) is p(label = k | row) by models that were not fitted to the row;
``label`` and ``group`` (n_rows,) are positions, −1 for rows of no group.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from rboost._typing import Floats, Integers
from rboost.audit.fit import used_columns
from rboost.audit.labels import TableLabels
from rboost.labels import Groups, class_probabilities, group_rows
from rboost.model import RBoostClassifier
from rboost.native.threads import one_blas_thread
from rboost.noise import infer_noise
from rboost.noise.groups import infer_group_noise
from rboost.table.columns import NUMBER
from rboost.table.features import Features

COPY, FILLED, EMPTY, GROUPS = "copy", "filled", "empty", "groups"
# Groups of fewer rows say too little.
FEWEST_OF_GROUP = 20
# Quantile of the confidence of rows by which groups are compared; the number of rows from which on
# a group's gap counts in full.
QUANTILE, MANY_ROWS = 0.75, 100
# Cutoffs: ratio and difference of the rates at which labels of the group and of others contradict
# confident predictions without the column; share of these that it leaves contradicted, and the loss
# of confidence by it; log evidence that groups differ in noise. Chosen on the first half of the
# tables of benchmarks/suspicious_columns.py.
LEAST_RATIO, LEAST_DIFFERENCE, LEAST_LEFT, LEAST_LOSS, EVIDENCE = 1.8, 0.08, 0.75, 0.05, 7.0
# A column that lowers the error rate by more than this is a feature.
HELPFUL = 0.05
# Two columns are redundant if the groups of one predict those of the other with at most this share
# of the errors of a constant prediction.
MOST_ERRORS = 0.1
# Rows of the sample: with fewer nothing is decided, and more would change little.
FEWEST_ROWS, MOST_ROWS = 100, 2000
MOST_ROUNDS, LEARNING_RATE = 30, 0.2
# The most columns that are left out in turn, of few values or dates and of many numbers; the least
# confidence gap of such a column.
MOST_CATEGORIES, MOST_NUMBERS, LEAST_GAP = 2, 1, 0.7
MOST_FITS = 2 + MOST_CATEGORIES + MOST_NUMBERS
# Error rates: the largest of a copy; the least ratio of that of the other columns to it, and the
# least of these. Columns below ``EXACT`` are left out together, as one would replace the other.
COPY_ERRORS, COPY_RATIO, OTHER_ERRORS, EXACT = 0.03, 4.0, 0.02, 0.005
# The largest probability that any column is filled, or empty, for any one class alone by chance.
CHANCE = 0.001


@dataclass(frozen=True)
class SuspiciousColumn:
    """A column that hides wrong labels.

    ``kind`` "copy": alone it errs on the share ``rate`` of the labels, all others together on
    ``other_rate``. ``kind`` "filled" or "empty": of the rows where it is, all but the share
    ``rate`` have the label ``value``; the other columns together err on ``other_rate`` of them.
    ``kind`` "groups": where its value is ``value``, without it about the share ``rate`` of the
    labels is wrong, elsewhere ``other_rate``. ``alike`` are redundant columns, which were left out
    with it.
    """

    column: str
    kind: str
    rate: float
    other_rate: float
    value: str = ""
    alike: tuple[str, ...] = ()


def are_redundant(first: Integers, second: Integers) -> bool:
    """Whether the groups of the second column predict those of the first."""
    counts = np.zeros((second.max() + 2, first.max() + 2))
    np.add.at(counts, (second + 1, first + 1), 1)
    errors = len(first) - counts.max(axis=1).sum()
    return bool(errors <= MOST_ERRORS * (len(first) - counts.sum(axis=0).max()))


def confidence_gap(probability: Floats, group: Integers) -> float:
    """By how much the most confident rows of one group are less confident than others.

    In log-odds: the gap among all rows plus the largest among rows of the same predicted class.
    """
    largest = probability.max(axis=1)
    confidence = np.log(largest) - np.log(1.01 - largest)
    predicted = probability.argmax(axis=1)
    within_classes = [
        _largest_gap(confidence[predicted == k], group[predicted == k])
        for k in np.unique(predicted)
    ]
    return _largest_gap(confidence, group) + max(within_classes)


def _largest_gap(confidence: Floats, group: Integers) -> float:
    largest = 0.0
    for place in range(group.max(initial=-1) + 1):
        inside = group == place
        n_rows = np.count_nonzero(inside)
        if FEWEST_OF_GROUP <= n_rows <= len(group) - FEWEST_OF_GROUP:
            high = (np.quantile(confidence[rows], QUANTILE) for rows in (~inside, inside))
            gap = float(np.subtract(*high))
            largest = max(largest, gap * min(1.0, np.sqrt(n_rows / MANY_ROWS)))
    return largest


def contradicted_group(
    with_column: Floats, without: Floats, label: Integers, group: Integers
) -> int | None:
    """The group whose labels contradict confident predictions, with and without the column."""
    sure, predicted = _confident_half(without), without.argmax(axis=1)
    wrong, still_wrong = predicted != label, with_column.argmax(axis=1) != label
    if wrong.mean() - still_wrong.mean() > HELPFUL:
        return None
    worst, largest, expected = None, 0.0, 0.0
    for place in range(group.max(initial=-1) + 1):
        inside, outside = sure & (group == place), sure & (group != place)
        if min(np.count_nonzero(inside), np.count_nonzero(outside)) < FEWEST_OF_GROUP // 2:
            continue
        usual = _usual_rate(predicted[inside], predicted[outside], wrong[outside])
        distance = (wrong[inside].mean() - usual) * np.sqrt(np.count_nonzero(inside))
        if distance > largest:
            worst, largest, expected = place, distance, usual
    inside = sure & (group == worst)
    if worst is None or wrong[inside].mean() < max(
        LEAST_RATIO * expected, expected + LEAST_DIFFERENCE
    ):
        return None
    less_sure = without[inside].max(axis=1).mean() - with_column[inside].max(axis=1).mean()
    is_no_feature = still_wrong[inside].mean() >= LEAST_LEFT * wrong[inside].mean()
    return worst if is_no_feature and less_sure >= LEAST_LOSS else None


def _usual_rate(predicted: Integers, of_others: Integers, others_wrong: NDArray[np.bool_]) -> float:
    """The error rate of other rows with the same predicted classes, as noise may depend on them."""
    n_classes = max(predicted.max(), of_others.max()) + 1
    n_rows = np.bincount(of_others, minlength=n_classes)
    n_wrong = np.bincount(of_others, others_wrong, n_classes)
    rates = np.where(n_rows > 0, n_wrong / np.maximum(n_rows, 1), others_wrong.mean())
    return float(rates[predicted].mean())


def _confident_half(probability: Floats) -> NDArray[np.bool_]:
    """Of the rows with the same predicted class, the more confident half."""
    largest, predicted = probability.max(axis=1), probability.argmax(axis=1)
    chosen = np.zeros(len(largest), dtype=bool)
    for k in np.unique(predicted):
        rows = np.flatnonzero(predicted == k)
        order = np.argsort(-largest[rows], kind="stable")
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


class SuspiciousColumnWarning(UserWarning):
    """A column hides wrong labels; the audit names it."""


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some rows with the columns that are used, and trees that are fitted to them."""

    features: Features
    label: Integers
    seed: int

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.features.encoder.names

    def scores(self, without: Sequence[int] = ()) -> Floats:
        """Held-out scores of trees that see all columns but these."""
        seen = self.features.only([k for k in range(self.features.shape[1]) if k not in without])
        model = RBoostClassifier(
            engines="trees", max_iter=MOST_ROUNDS, learning_rate=LEARNING_RATE,
            noise_matrix=np.eye(self.label.max() + 1), random_state=self.seed,
        )  # fmt: skip
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer columns than the user has
            return model.fit(seen.dense, self.label).held_out_scores_

    def errors_alone(self, column: int) -> float:
        """The share of labels that a small tree predicts wrongly from one column."""
        seen = self.features.only([column]).dense
        tree = DecisionTreeClassifier(
            max_leaf_nodes=4 * (self.label.max() + 1), random_state=self.seed
        )
        if tree.fit(seen, self.label).score(seen, self.label) < 1 - 2 * COPY_ERRORS:
            return 1.0
        folds = KFold(5, shuffle=True, random_state=self.seed)
        return float(np.mean(cross_val_predict(tree, seen, self.label, cv=folds) != self.label))


def find_suspicious_columns(
    table: Any,
    features: Features,
    labels: TableLabels,
    seed: int,
    by_group: bool = True,
) -> tuple[SuspiciousColumn, ...]:
    """The columns of a table that hide wrong labels.

    Checked labels are left out. Without ``by_group`` only copies of the label are looked for: where
    there is a context, the noise of groups is inferred anyway.
    """
    observed = np.flatnonzero(labels.is_observed)
    rows = np.sort(np.random.RandomState(seed).permutation(observed)[:MOST_ROWS])
    classes, label = np.unique(labels.given[rows], return_inverse=True)
    used = used_columns(features)
    if len(rows) < FEWEST_ROWS or len(used) < 2 or len(classes) < 2:
        return ()
    sample = _Sample(features[rows].only(used), label, seed)
    missing = np.isnan(features.values[observed][:, used])
    patterns = telling_patterns(missing, labels.given[observed])
    found = list(_copies(sample, patterns, labels.classes))
    if by_group and not found:  # wrong labels that a copy hides can be looked for once it is gone
        found = list(_groupings(sample, table.iloc[rows, used]))
    return tuple(found)


@dataclass(frozen=True)
class Pattern:
    """Rows where a column is filled, or empty: all but the share ``rate`` are of one class."""

    column: int
    kind: str
    label: int
    rate: float


def telling_patterns(missing: NDArray[np.bool_], label: Integers) -> Iterator[Pattern]:
    """The columns that are filled, or empty, nearly only in rows of one class, hardly by chance.

    ``missing`` is (n_rows, n_columns).
    """
    n_classes, n_columns = label.max() + 1, missing.shape[1]
    of_class = np.bincount(label, minlength=n_classes)
    n_chances = 2 * n_columns * np.count_nonzero(of_class)
    for column in range(n_columns):
        empty = np.bincount(label[missing[:, column]], minlength=n_classes)
        for kind, counts in ((FILLED, of_class - empty), (EMPTY, empty)):
            n_rows, k = int(counts.sum()), int(counts.argmax())
            n_others, usual = n_rows - int(counts[k]), 1 - of_class[k] / len(label)
            is_group = FEWEST_OF_GROUP <= n_rows <= len(label) - FEWEST_OF_GROUP
            if (
                is_group
                and _is_copy(n_others / n_rows, usual, n_rows)
                and bdtr(n_others, n_rows, usual) * n_chances <= CHANCE
            ):
                yield Pattern(column, kind, k, n_others / n_rows)
                break


def _is_copy(rate: float, without: float, n_rows: int) -> bool:
    """Whether a column's error is near zero, and that without the column far larger."""
    is_better = n_rows * without + 1 >= COPY_RATIO * (n_rows * rate + 1)
    return rate <= COPY_ERRORS and without >= OTHER_ERRORS and is_better


def _copies(
    sample: _Sample, patterns: Iterable[Pattern], classes: NDArray[Any]
) -> Iterator[SuspiciousColumn]:
    """Copies of the label, and of one class; all of them are left out to see what others know."""
    alone = np.array([sample.errors_alone(column) for column in range(len(sample.names))])
    best = int(alone.argmin())
    copies = [column for column, rate in enumerate(alone) if column == best or rate <= EXACT]
    if alone[best] > COPY_ERRORS:
        copies = []
    patterns = [one for one in patterns if one.column not in copies]
    left_out = copies + [one.column for one in patterns]
    if not left_out or len(left_out) == len(alone):
        return
    others = class_probabilities(sample.scores(without=left_out)).argmax(axis=1)
    wrong = others != sample.label
    for column in copies:
        if _is_copy(alone[best], wrong.mean(), len(wrong)):
            rates = float(alone[column]), float(wrong.mean())
            yield SuspiciousColumn(sample.names[column], COPY, *rates)
    yield from _partial_copies(sample, patterns, wrong, classes)


def _partial_copies(
    sample: _Sample, patterns: list[Pattern], wrong: NDArray[np.bool_], classes: NDArray[Any]
) -> Iterator[SuspiciousColumn]:
    """Columns that are filled, or empty, for one class, where the others are often ``wrong``.

    Those of one class are named together.
    """
    found: dict[tuple[str, int], list[tuple[Pattern, float]]] = {}
    for one in patterns:
        inside = np.isnan(sample.features.values[:, one.column]) == (one.kind == EMPTY)
        n_rows = int(np.count_nonzero(inside))
        if n_rows >= FEWEST_OF_GROUP // 2 and _is_copy(one.rate, wrong[inside].mean(), n_rows):
            same = found.setdefault((one.kind, one.label), [])
            same.append((one, float(wrong[inside].mean())))
    for (kind, label), same in found.items():
        first, without = same[0]
        yield SuspiciousColumn(
            sample.names[first.column], kind, first.rate, without, str(classes[label]),
            tuple(sample.names[other.column] for other, _ in same[1:]),
        )  # fmt: skip


def _groupings(sample: _Sample, table: Any) -> Iterator[SuspiciousColumn]:
    groups = dict(_groups_of(table))
    if not groups:
        return
    with_all = class_probabilities(sample.scores())
    for column, alike in _candidates(with_all, groups, sample.features):
        if len(alike) + 1 == len(sample.names):
            continue
        scores, group = sample.scores(without=[column, *alike]), groups[column].position
        worst = contradicted_group(with_all, class_probabilities(scores), sample.label, group)
        if worst is None:
            continue
        with one_blas_thread():
            shares = wrong_shares(scores, sample.label, group, worst)
        if shares is not None:
            yield SuspiciousColumn(
                sample.names[column], GROUPS, *shares, groups[column].names[worst],
                tuple(sample.names[other] for other in alike),
            )  # fmt: skip


def _groups_of(table: Any) -> Iterator[tuple[int, Groups]]:
    """The groups that each column would make as context; none if it has few rows of each value."""
    for column in range(table.shape[1]):
        with contextlib.suppress(ValueError):
            found = group_rows(table.iloc[:, [column]], len(table))
            if len(found) > 1:
                yield column, found


def _candidates(
    probability: Floats, groups: dict[int, Groups], features: Features
) -> Iterator[tuple[int, list[int]]]:
    """The columns that most gap certainty in a group, each with those that say the same."""
    left = {False: MOST_CATEGORIES, True: MOST_NUMBERS}
    gap = {column: confidence_gap(probability, found.position) for column, found in groups.items()}
    done: set[int] = set()
    for column in sorted(gap, key=lambda column: -gap[column]):
        values = features.values[:, column]
        is_number = features.encoder.columns[column].kind == NUMBER
        kind = is_number and len(np.unique(values[~np.isnan(values)])) > len(groups[column])
        if column in done or not left[kind] or gap[column] < LEAST_GAP:
            continue
        alike = [
            other for other, found in groups.items()
            if other != column and are_redundant(groups[column].position, found.position)
        ]  # fmt: skip
        done.update(alike)
        left[kind] -= 1
        yield column, alike
