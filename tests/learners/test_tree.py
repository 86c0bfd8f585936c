"""Trees grown without the checks of ``fit``: the same trees."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost.engines.learners import ValidatedRows
from rboost.learners import tree
from rboost.learners.tree import grow_tree, is_plain_tree

PLAIN = [
    DecisionTreeClassifier(max_depth=6, max_features="sqrt", random_state=3),
    ExtraTreeClassifier(min_samples_leaf=5, max_features=None, random_state=3),
    DecisionTreeClassifier(max_depth=1, random_state=3),
    DecisionTreeClassifier(criterion="log_loss", min_samples_split=30, random_state=3),
]


def table(rng, n_classes=2, missing=False):
    X = rng.normal(size=(300, 5)).astype(np.float32)
    y = (np.digitize(X[:, 0] + rng.normal(size=300), [0, 1][: n_classes - 1])).astype(np.intp)
    if missing:
        X[rng.uniform(size=300) < 0.2, 1:3] = np.nan
    return X, y, rng.randint(0, 4, 300).astype(float)


@pytest.mark.parametrize("learner", PLAIN, ids=str)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_fit(rng, learner, missing, n_classes, weighted):
    X, y, weight = table(rng, n_classes, missing)
    weight = weight if weighted else None
    expected = type(learner)(**learner.get_params()).fit(X, y, sample_weight=weight)
    grown = grow_tree(type(learner)(**learner.get_params()), X, y, weight)
    for name in ("feature", "threshold", "value", "children_left", "missing_go_to_left"):
        np.testing.assert_array_equal(getattr(grown.tree_, name), getattr(expected.tree_, name))
    np.testing.assert_array_equal(grown.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(grown.feature_importances_, expected.feature_importances_)
    fitted = {name for name in vars(expected) if name.endswith("_")}
    assert fitted == {name for name in vars(grown) if name.endswith("_")}


def test_a_class_that_no_row_has(rng):
    X, y, _ = table(rng)
    grown = grow_tree(PLAIN[0], X, 2 * y)
    np.testing.assert_array_equal(grown.classes_, [0, 2])
    said = ValidatedRows(X).votes(grown, "probability", 3)
    np.testing.assert_array_equal(said[:, 1], 0)
    np.testing.assert_array_equal(said[:, [0, 2]], grown.predict_proba(X))
    by_class = ValidatedRows(X).votes(grown, "class", 3)
    np.testing.assert_array_equal(by_class.argmax(axis=1), grown.predict(X))


@pytest.mark.parametrize(
    "changed",
    [
        {"class_weight": "balanced"}, {"max_leaf_nodes": 4}, {"ccp_alpha": 0.1},
        {"min_samples_leaf": 0.1}, {"min_samples_leaf": 0}, {"min_samples_split": 0.5},
        {"max_depth": 0}, {"max_depth": 2.0}, {"max_features": 2}, {"criterion": "mse"},
        {"min_weight_fraction_leaf": 0.1}, {"monotonic_cst": [1, 0, 0, 0, 0]},
        {"min_impurity_decrease": 0.1}, {"random_state": None}, {"splitter": "worst"},
    ],
    ids=str,
)  # fmt: skip
def test_other_trees_are_fitted_by_scikit_learn(changed):
    assert is_plain_tree(PLAIN[0])
    assert not is_plain_tree(DecisionTreeClassifier(**{"random_state": 0, **changed}))


def test_subclasses_are_fitted_by_their_own_fit():
    class Other(DecisionTreeClassifier):
        pass

    assert not is_plain_tree(Other(random_state=0))


@pytest.mark.parametrize("missing", [False, True])
def test_rows_that_are_infinite_are_left_to_scikit_learn(rng, missing):
    X, y, weight = table(rng, missing=missing)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        ValidatedRows(X).fit(PLAIN[0], np.arange(300), y, sample_weight=weight)


def test_a_builder_with_other_arguments_is_left_to_fit(monkeypatch):
    def other(*arguments):
        raise TypeError("takes other arguments")

    monkeypatch.setattr(tree, "DepthFirstTreeBuilder", other)
    tree._is_as_known.cache_clear()
    try:
        assert not is_plain_tree(PLAIN[0])
    finally:
        monkeypatch.undo()
        tree._is_as_known.cache_clear()
    assert is_plain_tree(PLAIN[0])
