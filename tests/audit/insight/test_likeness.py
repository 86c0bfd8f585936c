import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit.fit import learn_features, why_unused
from rboost.audit.insight.explanation import Neighbours, comparable, relevance
from rboost.table.features import standardized

FIRST = ["Ada", "Bo", "Cy", "Di", "Eve", "Flo", "Gus", "Hal", "Ivy", "Jo", "Kim", "Lea", "Max"]
LAST = ["Ames", "Bell", "Cole", "Dunn", "Ezra", "Frost", "Gold", "Hart", "Ives", "Jung", "Kerr"]


def test_a_column_of_random_names_hardly_changes_the_neighbours():
    random = np.random.RandomState(0)
    true = random.randint(0, 2, 300)
    table = pd.DataFrame(random.randn(300, 3) + 2 * true[:, np.newaxis], columns=["a", "b", "c"])
    y = np.where(random.rand(300) < 0.1, 1 - true, true)
    names = [f"{random.choice(FIRST)} {random.choice(LAST)}{random.randint(99)}" for _ in y]
    members, rows = [np.flatnonzero(y == k) for k in range(2)], np.arange(0, 300, 5)
    found = []
    for X in (table, table.assign(name=names)):
        features = learn_features(X)
        assert not any(map(why_unused, features.encoder.columns))  # they are no names of rows
        points = comparable(standardized(features.dense), features.encoder.source("dense"), y)
        found.append([set(near) for near, _ in Neighbours(points, members).nearest(rows, y[rows])])
    shared = [len(one & other) for one, other in zip(*found, strict=True)]
    assert np.mean(shared) >= 2.8  # of three


def test_what_tells_nothing_is_worth_nothing_and_what_tells_all_the_entropy():
    random = np.random.RandomState(0)
    label = random.randint(0, 2, 2000)
    features = np.column_stack([label, random.randn(2000), np.abs(random.randn(2000)) * label])
    worth = relevance(features, np.arange(3), label)
    assert worth[0] == pytest.approx(np.log(2), abs=0.02)
    assert worth[1] == 0
    assert worth[2] > 0.5


def test_a_column_counts_once_however_many_features_it_has():
    random = np.random.RandomState(0)
    label = random.randint(0, 2, 500)
    features = random.randn(500, 9)
    features[:, 0] += label
    features[:, 1:] += label[:, np.newaxis]
    points = comparable(standardized(features), np.array([0] + [1] * 8), label)
    assert_allclose(points[:, 1:].var(axis=0).sum(), points[:, 0].var(), rtol=0.5)


def test_where_nothing_tells_all_columns_count_alike():
    features = standardized(np.random.RandomState(0).randn(100, 4))
    points = comparable(features, np.arange(4), np.full(100, -1))
    assert_allclose(points, features)
