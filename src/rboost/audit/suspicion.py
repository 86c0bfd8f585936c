"""Which columns spoil an audit: a few cheap fits with and without them.

A copy of the label makes every label look right. It alone predicts labels nearly without error, and
all other columns together do not; a good feature has others that know nearly as much. Columns that
make wrong labels vanish are told by ``insight/columns.py``. At most :data:`MOST_FITS` fits, of some
trees to some rows.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.insight import columns
from rboost.audit.insight.columns import SuspiciousColumn
from rboost.audit.insight.reading import why_unused
from rboost.audit.labels import TableLabels
from rboost.labels import Groups, Labels, group_rows
from rboost.model import RBoostClassifier
from rboost.table.columns import NUMBER
from rboost.table.features import Features

# Rows that are looked at: fewer say too little, and more would say no more.
FEWEST_ROWS, MOST_ROWS = 100, 2000
MOST_ROUNDS, LEARNING_RATE = 30, 0.2
# Columns that are left out in turn, of few values or dates and of many numbers, if a group is this
# much less sure than others.
MOST_CATEGORIES, MOST_NUMBERS, LEAST_LACK = 2, 1, 0.7
MOST_FITS = 2 + MOST_CATEGORIES + MOST_NUMBERS
# A copy errs on no more labels than this. The others must err so many times as often, and this
# often. Columns with hardly an error are left out together, as either would stand in for the other.
COPY_ERRORS, TIMES, OTHER_ERRORS, EXACT = 0.03, 4.0, 0.02, 0.005


class SuspiciousColumnWarning(UserWarning):
    """A column hides wrong labels; the audit names it."""


class _Sample:
    """Some rows of a table in numbers, and what trees say of them."""

    def __init__(self, features: Features, label: Integers, seed: int) -> None:
        self.features = features
        self.label = label
        self.seed = seed

    def scores(self, without: Sequence[int] = ()) -> Floats:
        """Held-out scores of trees that see all columns but these."""
        seen = self.features.only([k for k in range(self.features.shape[1]) if k not in without])
        model = RBoostClassifier(
            engines="trees", max_iter=MOST_ROUNDS, learning_rate=LEARNING_RATE,
            noise_matrix=np.eye(self.label.max() + 1), random_state=self.seed,
        )  # fmt: skip
        with threadpool_limits(1, "blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer columns than the user has
            labels = Labels.of(np.arange(self.label.max() + 1), self.label)
            return model.fit_labels(seen, labels).held_out_scores_

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

    Labels that a person has checked play no part. Whether labels of some group are wrong more often
    need not be asked where somebody has said what they depend on: not ``by_group``.
    """
    rows = np.flatnonzero(labels.is_observed)
    rows = np.sort(np.random.RandomState(seed).permutation(rows)[:MOST_ROWS])
    classes, label = np.unique(labels.given[rows], return_inverse=True)
    encoders = features.encoder.columns
    used = np.array([k for k, own in enumerate(encoders) if not why_unused(own)], dtype=np.intp)
    if len(rows) < FEWEST_ROWS or len(used) < 2 or len(classes) < 2:
        return ()
    sample = _Sample(features[rows], label, seed)
    names = [str(name) for name in table.columns]
    found = list(_copies(sample, used, names))
    if by_group and not found:  # wrong labels that a copy hides can be looked for once it is gone
        found = list(_groupings(sample, used, names, table.iloc[rows]))
    return tuple(found)


def _copies(sample: _Sample, used: Integers, names: list[str]) -> Iterator[SuspiciousColumn]:
    alone = {column: sample.errors_alone(column) for column in used}
    best = min(alone, key=lambda column: alone[column])
    if alone[best] > COPY_ERRORS:
        return
    copies = [column for column in used if column == best or alone[column] <= EXACT]
    if len(copies) == len(used):
        return
    n_rows = len(sample.label)
    others = _probability(sample.scores(without=copies)).argmax(axis=1)
    without = float(np.mean(others != sample.label))
    if without >= OTHER_ERRORS and n_rows * without + 1 >= TIMES * (n_rows * alone[best] + 1):
        for column in copies:
            yield SuspiciousColumn(names[column], columns.COPY, alone[column], without)


def _groupings(
    sample: _Sample, used: Integers, names: list[str], table: Any
) -> Iterator[SuspiciousColumn]:
    groups = dict(_groups_of(table, used))
    if not groups:
        return
    with_all = _probability(sample.scores())
    for column, alike in _candidates(with_all, groups, sample.features):
        if len(alike) + 1 == len(used):
            continue
        scores, group = sample.scores(without=[column, *alike]), groups[column].position
        worst = columns.contradicted_group(with_all, _probability(scores), sample.label, group)
        if worst is None:
            continue
        with threadpool_limits(1, "blas"):
            shares = columns.wrong_shares(scores, sample.label, group, worst)
        if shares is not None:
            yield SuspiciousColumn(
                names[column], columns.GROUPS, *shares, groups[column].names[worst],
                tuple(names[other] for other in alike),
            )  # fmt: skip


def _groups_of(table: Any, used: Integers) -> Iterator[tuple[int, Groups]]:
    """The groups that each column would make as context; none if it has few rows of each value."""
    for column in used:
        with contextlib.suppress(ValueError):
            found = group_rows(table.iloc[:, [column]], len(table))
            if len(found) > 1:
                yield column, found


def _candidates(
    probability: Floats, groups: dict[int, Groups], features: Features
) -> Iterator[tuple[int, list[int]]]:
    """The columns that most lack certainty in a group, each with those that say the same."""
    left = {False: MOST_CATEGORIES, True: MOST_NUMBERS}
    lack = {
        column: columns.lack_of_certainty(probability, found.position)
        for column, found in groups.items()
    }
    done: set[int] = set()
    for column in sorted(lack, key=lambda column: -lack[column]):
        values = features.values[:, column]
        is_number = features.encoder.columns[column].kind == NUMBER
        kind = is_number and len(np.unique(values[~np.isnan(values)])) > len(groups[column])
        if column in done or not left[kind] or lack[column] < LEAST_LACK:
            continue
        alike = [
            other for other, found in groups.items()
            if other != column and columns.say_the_same(groups[column].position, found.position)
        ]  # fmt: skip
        done.update(alike)
        left[kind] -= 1
        yield column, alike


def _probability(scores: Floats) -> Floats:
    if scores.ndim == 2:
        return softmax(scores, axis=1)
    return np.column_stack([expit(-scores), expit(scores)])
