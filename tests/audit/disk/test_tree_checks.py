from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from rboost import NoiseCalibratedClassifier, RBoostClassifier
from rboost.audit.disk.tree_checks import check_trees
from rboost.learners.forest import Forest

X = np.random.RandomState(0).normal(size=(200, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        RBoostClassifier(max_iter=9, random_state=0),
        NoiseCalibratedClassifier(make_pipeline(StandardScaler(), RandomForestClassifier(5))),
        HistGradientBoostingClassifier(max_iter=3),
    ],
)
def test_trees_that_were_grown_pass(model):
    with threadpool_limits(1):
        check_trees(make_pipeline(StandardScaler(), model).fit(X, Y))


@pytest.mark.parametrize(("field", "value"), [("left_child", 10**6), ("feature", 4)])
@pytest.mark.parametrize("where", ["tree", "forest"])
def test_nodes_that_lead_out_of_a_tree(field, value, where):
    model = DecisionTreeClassifier() if where == "tree" else RandomForestClassifier(3)
    model.fit(X, Y)
    tree = (model if where == "tree" else model.estimators_[1]).tree_
    state = tree.__getstate__()
    state["nodes"][field][0] = value
    tree.__setstate__(state)
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees({"model": [model]})


def test_a_tree_that_asks_for_more_columns_than_its_forest():
    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    forest.n_features_in_ = 1
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees(forest)


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 4)])
def test_nodes_that_lead_out_of_a_histogram_tree(field, value):
    with threadpool_limits(1):
        model = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    model._predictors[1][0].nodes[field][0] = value
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees(model)


def forested(forest):
    """What holds a forest and says of how many columns."""
    model = DecisionTreeClassifier()
    model.n_features_in_, model.forest = 4, forest
    return model


@pytest.fixture(scope="module")
def forest():
    rows = np.column_stack([X[:, :3], np.arange(len(X)) % 7])
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_per_group": 2}
    data = lightgbm.Dataset(rows, rows[:, 3] % 2 + X[:, 0] > 0.5, categorical_feature=[3])
    return Forest.from_boosters([lightgbm.train(options, data, 3)], 1, 3)


def test_a_forest_that_was_grown_passes(forest):
    assert forest.bitset.size
    check_trees(forested(forest))


CHANGES = [
    ("left", 10**6), ("right", 0), ("left", -(10**6)), ("feature", 4), ("feature", -1),
    ("category_set", 10**6), ("roots", 10**6), ("roots", -(10**6)), ("set_starts", -1),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_numbers_that_lead_out_of_a_forest(forest, field, value):
    changed = getattr(forest, field).copy()
    changed[0] = value
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees(forested(replace(forest, **{field: changed})))


@pytest.mark.parametrize("field", ["threshold", "nan_left", "left", "bitset", "roots"])
def test_arrays_of_a_forest_that_do_not_fit_together(forest, field):
    changes = {field: getattr(forest, field)[:-1]}
    if field == "roots":
        changes = {"n_outputs": 2}
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees(forested(replace(forest, **changes)))


def test_numbers_of_another_type_in_a_forest(forest):
    with pytest.raises(ValueError, match="a tree whose nodes lead nowhere"):
        check_trees(forested(replace(forest, left=forest.left.astype(float))))
