import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit.fit import learn_features, why_unused
from rboost.audit.insight import likeness as module
from rboost.audit.insight.likeness import N_NEIGHBOURS, Neighbours, comparable, relevance
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
    points = comparable(standardized(features), np.array([0] + [1] * 8), label).numbers
    assert_allclose(points[:, 1:].var(axis=0).sum(), points[:, 0].var(), rtol=0.5)


def test_where_nothing_tells_all_columns_count_alike():
    features = standardized(np.random.RandomState(0).randn(100, 4))
    points = comparable(features, np.arange(4), np.full(100, -1)).numbers
    assert_allclose(points, features)


def of_texts(n_rows=120, seed=0):
    """Points of rows with a text, missing in some, and a number; and their labels."""
    random = np.random.RandomState(seed)
    label = random.randint(0, 2, n_rows)
    words = np.array([["pay", "fee", "bank"], ["card", "pin", "chip"]])
    texts = [
        " ".join([*random.choice(words[k], 4), *random.choice(list("abcdefg"), 2)]) for k in label
    ]
    table = pd.DataFrame({"text": texts, "number": random.randn(n_rows) + label})
    table.loc[:2, "text"] = None
    features = learn_features(table)
    assert list(features.texts) == [0]
    source = features.encoder.source("dense")
    return comparable(standardized(features.dense), source, label, features.texts), features, label


def test_distances_of_texts_are_cosines_beside_the_other_columns():
    points, features, _ = of_texts()
    ((weight, _, _),) = points.texts
    text = features.texts[0].toarray().astype(float)
    assert points.numbers.shape[1] == 1
    rows, others = np.array([5, 0, 9]), np.arange(120)
    for i, found in zip(rows, points.distances(rows, others), strict=True):
        is_empty = not text[i].any()
        cosine = text[i] @ text.T / 2  # words and parts of words are of length 1 each
        cosine[~text.any(axis=1)] = is_empty
        of_number = np.square(points.numbers[i] - points.numbers).sum(axis=1)
        assert is_empty == (i == 0)
        assert_allclose(found, np.sqrt(2 * weight * (1 - cosine).clip(0) + of_number), atol=1e-3)


def test_nearest_rows_of_texts_are_those_of_all_distances(monkeypatch):
    points, _, label = of_texts()
    members, rows = [np.flatnonzero(label == k) for k in range(2)], np.arange(0, 120, 7)
    wanted = label[rows]
    whole = Neighbours(points, members).nearest(rows, wanted)
    monkeypatch.setattr(module, "BLOCK_ASKED", 4)
    monkeypatch.setattr(module, "BLOCK_SEARCHED", 11)
    assert [near for near, _ in Neighbours(points, members).nearest(rows, wanted)] == [
        near for near, _ in whole
    ]
    for row, k, (near, distances) in zip(rows, wanted, whole, strict=True):
        own = members[k][members[k] != row]
        every = points.distances(np.array([row]), own)[0]
        assert_allclose(distances, np.sort(every)[:N_NEIGHBOURS], atol=1e-3)
        assert row not in near
