"""What probabilities with and without a column say of it does not depend on names and numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.audit.insight.suspicion import (
    are_redundant,
    confidence_gap,
    contradicted_group,
    telling_patterns,
)


def careless_group(n_rows=600, n_classes=3, seed=0):
    """Probabilities by a model that knows of group 1, and by one that does not; labels; groups."""
    random = np.random.RandomState(seed)
    true, group = random.randint(n_classes, size=n_rows), random.randint(-1, 3, n_rows)
    is_wrong = random.uniform(size=n_rows) < np.where(group == 1, 0.4, 0.02)
    label = np.where(is_wrong, (true + 1) % n_classes, true)
    sure = random.uniform(0.85, 0.99, n_rows)
    without = _probability(true, sure, n_classes)
    with_column = _probability(true, np.where(group == 1, 0.6, sure), n_classes)
    return with_column, without, label, group


def _probability(true, sure, n_classes):
    found = np.repeat(((1 - sure) / (n_classes - 1))[:, np.newaxis], n_classes, axis=1)
    found[np.arange(len(true)), true] = sure
    return found


def test_a_group_that_contradicts_is_found_whatever_classes_and_groups_are_called():
    with_column, without, label, group = careless_group()
    assert contradicted_group(with_column, without, label, group) == 1
    classes, places = np.array([2, 0, 1]), np.array([1, 2, 0, -1])  # the last is of rows in none
    moved = (with_column[:, classes], without[:, classes], np.argsort(classes)[label])
    assert contradicted_group(*moved, places[group]) == places[1]
    gap = confidence_gap(with_column, group)
    assert gap > 1
    assert_allclose(confidence_gap(moved[0], places[group]), gap)


def test_a_column_that_predicts_the_labels_is_a_feature():
    _, without, label, group = careless_group()
    knows = _probability(label, np.full(len(label), 0.9), 3)
    assert contradicted_group(knows, without, label, group) is None


def test_no_group_contradicts_where_all_are_alike():
    with_column, without, label, _ = careless_group()
    group = np.arange(len(label)) % 4
    assert contradicted_group(with_column, without, label, group) is None
    assert contradicted_group(with_column, without, label, np.full(len(label), -1)) is None
    assert confidence_gap(without, np.full(len(label), -1)) == 0


def test_columns_say_the_same_under_other_names():
    random = np.random.RandomState(0)
    group = random.choice(4, 200, p=[0.7, 0.1, 0.1, 0.1])
    assert are_redundant(group, np.array([2, 0, 3, 1])[group])
    assert are_redundant(group // 2, group)
    assert not are_redundant(group, group // 2)
    assert not are_redundant(group, random.permutation(group))


@pytest.mark.parametrize("rare", [0.5, 0.2, 0.02])
def test_cells_missing_by_chance_tell_no_class(rare):
    random = np.random.RandomState(0)
    label = (random.uniform(size=1000) < rare).astype(int)
    missing = random.uniform(size=(1000, 500)) < np.linspace(0.01, 0.99, 500)
    assert not list(telling_patterns(missing, label))
    missing[:, 7] = (label == 0) | (random.uniform(size=1000) < 0.2)
    found = [
        (one.column, one.kind, one.label, one.rate) for one in telling_patterns(missing, label)
    ]
    assert found in ([], [(7, "filled", 1, 0)])
    assert found or rare == 0.02  # 16 rows say too little


@pytest.mark.parametrize("n_others", [1, 50])
def test_more_classes_are_more_chances(n_others):
    label = np.where(np.arange(1000) % 2, 0, 1 + np.arange(1000) // 2 % n_others)
    missing = np.zeros((1000, 200), dtype=bool)
    missing[np.flatnonzero(label == 0)[:20], 7] = True  # by chance in 1e-6 of cases
    found = [(one.column, one.kind, one.label) for one in telling_patterns(missing, label)]
    assert found == ([(7, "empty", 0)] if n_others == 1 else [])
