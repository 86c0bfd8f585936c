import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_hastie_10_2

from rboost.literature.losses import leaf_values
from rboost.rivals import GentleBoostClassifier, ModestBoostClassifier

BOOSTERS = [GentleBoostClassifier, ModestBoostClassifier]


@pytest.fixture(scope="module")
def hastie():
    X, y = make_hastie_10_2(3000, random_state=0)
    return X[:1000], y[:1000], X[1000:], y[1000:]


def test_modest_leaf_values_by_hand():
    leaf = np.array([0, 0, 1, 1])
    labels = np.array([1.0, -1.0, -1.0, -1.0])
    weights = np.array([0.4, 0.1, 0.3, 0.2])
    inverse = np.array([0.2, 0.3, 0.25, 0.25])
    expected = [0.4 * (1 - 0.2) - 0.1 * (1 - 0.3), -0.5 * (1 - 0.5)]
    assert_allclose(leaf_values(leaf, labels, weights, inverse), expected)


def test_gentle_steps_are_weighted_means_within_one(hastie):
    X, y, _, _ = hastie
    model = GentleBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    first = model.estimators_[0].tree
    leaf = first.apply(X)
    for number in np.unique(leaf):
        assert_allclose(first.tree_.value[number, 0, 0], y[leaf == number].mean())
    assert all(np.abs(tree.predict(X)).max() <= 1 + 1e-9 for tree in model.estimators_)


def test_gentle_lowers_the_exponential_loss_every_round(hastie):
    X, y, _, _ = hastie
    model = GentleBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    losses = [np.exp(-y * scores).mean() for scores in model.staged_decision_function(X)]
    assert np.all(np.diff(losses) <= 1e-9)


@pytest.mark.slow
def test_modest_generalises_and_is_cautious(hastie):
    """Its paper: slower on the training rows than Gentle, no worse gap to the test rows."""
    X, y, X_test, y_test = hastie
    gentle, modest = (b(n_estimators=80, random_state=0).fit(X, y) for b in BOOSTERS)
    assert modest.score(X, y) < gentle.score(X, y)
    gap = [model.score(X, y) - model.score(X_test, y_test) for model in (gentle, modest)]
    assert gap[1] < gap[0] + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("booster", BOOSTERS)
def test_they_learn_and_have_small_trees(booster, hastie):
    X, y, X_test, y_test = hastie
    model = booster(n_estimators=60, max_splits=2, random_state=0).fit(X, y)
    trees = [getattr(tree, "tree", tree) for tree in model.estimators_]
    assert max(tree.get_n_leaves() for tree in trees) <= 3
    assert model.score(X_test, y_test) > (0.85 if booster is GentleBoostClassifier else 0.6)
    assert np.any(model.decision_function(X_test) != 0)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_bad_parameters_are_named(booster):
    with pytest.raises(ValueError, match=r"max_splits of .* must be an integer of at least 1"):
        booster(max_splits=0).fit([[0.0], [1.0]], [0, 1])
