import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from rboost.learners import HistogramTreeClassifier
from tests.learners.tables import tables

SHAPES = [
    {},
    {"max_depth": 3},
    {"max_leaf_nodes": 4, "min_samples_leaf": 3},
    {"max_features": "sqrt"},
    {"max_cuts": 2},
    {"max_rows": 20},
]
shapes = st.sampled_from(SHAPES)


@pytest.fixture(scope="module")
def many_rows():
    return make_classification(3000, 10, n_informative=5, flip_y=0.2, random_state=0)


def impurity(leaf, y, weight):
    """Weighted Gini impurity of a partition of the rows."""
    total = np.bincount(leaf, weight)
    ones = np.bincount(leaf, weight * y)
    return float(np.sum(ones * (total - ones) / np.where(total > 0, total, 1)))


@given(tables(), shapes)
def test_a_leaf_says_the_weighted_share_of_each_class(table, shape):
    X, y, weight = table
    shape = {**shape, "max_rows": None}
    model = HistogramTreeClassifier(random_state=0, **shape).fit(X, y, weight)
    probability = model.predict_proba(X)[:, 1]
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    for value in np.unique(probability):
        leaf = probability == value  # leaves that say the same are as good as one
        assert_allclose(value, np.average(y[leaf], weights=weight[leaf]), atol=1e-12)


@given(tables(n_classes=3), st.sampled_from(SHAPES[:3]))
def test_each_of_several_classes_has_the_tree_that_tells_it_from_the_others(table, shape):
    X, y, weight = table
    model = HistogramTreeClassifier(**shape)
    alone = [clone(model).fit(X, y == k, weight) for k in range(3)]
    share = np.column_stack([tree.predict_proba(X)[:, 1] for tree in alone])
    total = share.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, share / np.where(total > 0, total, 1), 1 / 3)
    model.fit(X, y, weight)
    assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    assert np.isclose(model.feature_importances_.sum(), 1) or not model.feature_importances_.any()


def test_several_classes_are_learnt_from_copies_that_weigh_what_each_label_is_worth():
    X, y = load_digits(return_X_y=True)
    X, y, more, true = X[:1000], y[:1000], X[1000:], y[1000:]
    model = HistogramTreeClassifier(max_depth=6).fit(X, y)
    peer = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    assert model.score(more, true) > peer.score(more, true)
    worth = np.where(y[:, np.newaxis] == np.arange(10), 0.91, 0.01).ravel()
    copies = np.repeat(X, 10, axis=0), np.tile(np.arange(10), 1000), worth
    soft = clone(model).fit(*copies)
    assert soft.score(more, true) > peer.score(more, true)
    assert soft.predict_proba(more).min() >= 0.001  # 0.01 in every tree, and they sum to at most 10


@given(st.one_of(tables(), tables(n_classes=3)), shapes)
def test_prepared_rows_give_the_tree_of_raw_ones(table, shape):
    X, y, weight = table
    model = HistogramTreeClassifier(random_state=3, **shape)
    rows = model.prepare(X)
    raw = clone(model).fit(X, y, weight)
    prepared = clone(model).fit(rows, y, weight)
    assert_array_equal(prepared._trees[0].nodes, raw._trees[0].nodes)
    assert_array_equal(raw.predict_proba(X), prepared.predict_proba(X))
    assert_array_equal(raw.predict_proba(X), prepared.predict_proba(rows))
    assert_array_equal(raw.predict(X), prepared.predict(rows))
    assert_array_equal(raw.feature_importances_, prepared.feature_importances_)


@given(tables(missing=False), st.integers(1, 4))
def test_splits_are_as_good_as_those_of_scikit_learn(table, max_depth):
    X, y, weight = table
    model = HistogramTreeClassifier(max_depth=1).fit(X, y, weight)
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y, weight)
    ours, theirs = (
        impurity(np.unique(each.predict_proba(X)[:, 1], return_inverse=True)[1], y, weight)
        for each in (model, stump)
    )
    assert_allclose(ours, theirs, rtol=1e-6)


@given(st.integers(0, 2**31 - 1), st.integers(1, 5))
def test_the_tree_is_that_of_scikit_learn_where_splits_are_unique(seed, max_depth):
    random = np.random.RandomState(seed)
    X = random.randint(0, 200, size=(300, 3)).astype(float)
    y = (X.sum(axis=1) + 60 * random.standard_normal(300) > 360).astype(int)
    weight = random.gamma(1.0, size=300)
    shape = {"max_depth": max_depth, "min_samples_leaf": 20}  # no ties between splits of few rows
    ours = HistogramTreeClassifier(**shape).fit(X, y, weight)
    theirs = DecisionTreeClassifier(**shape, random_state=0).fit(X, y, weight)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-5)


@given(tables(), shapes)
def test_a_weight_of_two_is_a_row_that_stands_there_twice(table, shape):
    X, y, _ = table
    # A leaf of one row draws no columns and is small, one of two rows is not.
    shape = {**shape, "min_samples_leaf": 1, "max_features": None, "max_rows": None}
    count = 1 + np.arange(len(y)) % 2
    model = HistogramTreeClassifier(random_state=0, **shape)
    weighted = clone(model).fit(X, y, count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


@given(tables(), shapes, st.integers(-300, 300))
def test_the_scale_of_the_weights_does_not_matter(table, shape, exponent):
    X, y, weight = table
    model = HistogramTreeClassifier(random_state=0, **shape)
    scaled = clone(model).fit(X, y, np.ldexp(weight, exponent))
    assert_array_equal(scaled.predict_proba(X), model.fit(X, y, weight).predict_proba(X))


@given(tables(), shapes, st.integers(0, 99))
def test_the_order_of_the_rows_does_not_matter(table, shape, seed):
    X, y, weight = table
    shape = {**shape, "max_rows": None}
    order = np.random.RandomState(seed).permutation(len(y))
    model = HistogramTreeClassifier(random_state=0, **shape)
    moved = clone(model).fit(X[order], y[order], weight[order])
    assert_allclose(moved.predict_proba(X), model.fit(X, y, weight).predict_proba(X), atol=1e-12)


@given(tables(), shapes)
def test_only_the_order_of_the_values_in_a_column_matters(table, shape):
    X, y, weight = table
    model = HistogramTreeClassifier(random_state=0, **shape)
    moved = clone(model).fit(np.exp(3 * X), y, weight)
    assert_array_equal(moved.predict_proba(np.exp(3 * X)), model.fit(X, y, weight).predict_proba(X))


def test_rows_without_weight_are_not_there(many_rows):
    X, y = many_rows
    weight = np.arange(len(y)) % 3.0
    kept = weight > 0
    weighted = HistogramTreeClassifier(max_depth=5).fit(X, y, weight)
    removed = HistogramTreeClassifier(max_depth=5).fit(X[kept], y[kept], weight[kept])
    assert_array_equal(weighted.predict_proba(X), removed.predict_proba(X))


def test_weights_over_many_orders_of_magnitude(many_rows, rng):
    X, y = many_rows
    for exponents in [(-300, 0), (-300, 300), (-10, 10)]:
        weight = rng.permutation(10.0 ** np.linspace(*exponents, len(y)))
        probability = HistogramTreeClassifier().fit(X, y, weight).predict_proba(X)
        assert np.all((probability >= 0) & (probability <= 1))


def test_missing_values_have_a_side_of_their_own():
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]] * 5)
    y = np.array([0, 0, 1, 1] * 5)
    model = HistogramTreeClassifier().fit(X, y)
    assert_array_equal(model.predict(X), y)
    few_cuts = HistogramTreeClassifier(max_cuts=1, random_state=0)
    rows = few_cuts.prepare(X)
    assert_array_equal(few_cuts.fit(rows, y).predict(rows), y)
    assert_array_equal(few_cuts.predict(X), y)


def test_values_that_are_missing_only_later_go_with_the_many():
    X = np.arange(10.0)[:, np.newaxis]
    y = (X[:, 0] > 6).astype(int)
    model = HistogramTreeClassifier().fit(X, y)
    assert_array_equal(model.predict([[np.nan]]), [0])
    assert_array_equal(model.predict(model.prepare(np.array([[np.nan]]))), [0])


def test_columns_without_values_or_with_one_say_nothing():
    X = np.column_stack([np.full(8, np.nan), np.ones(8)])
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1])
    model = HistogramTreeClassifier().fit(X, y)
    assert_allclose(model.predict_proba(X)[:, 1], 0.25)
    assert_array_equal(model.feature_importances_, [0, 0])


def test_importances_are_shares_of_the_gain(many_rows):
    X, y = many_rows
    table = np.column_stack([X, np.zeros(len(y))])
    importances = HistogramTreeClassifier(max_depth=5).fit(table, y).feature_importances_
    assert_allclose(importances.sum(), 1)
    assert importances[-1] == 0


def test_limits_are_kept(many_rows):
    X, y = many_rows
    nodes = HistogramTreeClassifier(max_depth=3).fit(X, y)._trees[0].nodes
    assert nodes["depth"].max() == 3
    nodes = HistogramTreeClassifier(max_leaf_nodes=9).fit(X, y)._trees[0].nodes
    assert nodes["is_leaf"].sum() == 9
    nodes = HistogramTreeClassifier(min_samples_leaf=50).fit(X, y)._trees[0].nodes
    assert nodes["count"].min() >= 50
    rows = HistogramTreeClassifier(max_bins=6).prepare(X)
    assert rows.bins.max() == 5


@pytest.mark.parametrize(
    ("max_features", "n_drawn"), [("sqrt", 3), (0.5, 5), (0.05, 1), (1.0, 10), (None, 10)]
)
def test_the_number_of_columns_drawn(max_features, n_drawn, many_rows):
    model = HistogramTreeClassifier(max_features=max_features, random_state=0).fit(*many_rows)
    assert np.ceil(model._column_fraction() * 10) == n_drawn


def test_a_large_table_is_represented_by_some_of_its_rows(many_rows):
    X, y = many_rows
    few = HistogramTreeClassifier(max_depth=3, max_rows=500, random_state=0).fit(X, y)
    assert few._trees[0].nodes["count"][0] == 500
    assert few.score(X, y) > 0.65
    every = HistogramTreeClassifier(max_depth=3, max_rows=3000).fit(X, y)
    assert_array_equal(
        every.predict_proba(X), HistogramTreeClassifier(max_depth=3).fit(X, y).predict_proba(X)
    )
    # A class too rare to be drawn is a class all the same.
    lone = HistogramTreeClassifier(max_rows=2, random_state=0).fit(X, np.arange(len(y)) == 0)
    assert_array_equal(lone.predict_proba(X[:2]), [[1, 0], [1, 0]])


def test_seeds_decide_where_something_is_drawn_and_nowhere_else(many_rows):
    X, y = many_rows
    for drawn in [{"max_features": 0.3}, {"max_cuts": 3}]:
        one, again, other = (
            HistogramTreeClassifier(max_depth=4, random_state=seed, **drawn).fit(X, y)
            for seed in (0, 0, 1)
        )
        assert_array_equal(one.predict_proba(X), again.predict_proba(X))
        assert np.any(one.predict_proba(X) != other.predict_proba(X))
    one, other = (HistogramTreeClassifier(random_state=seed).fit(X, y) for seed in (0, 1))
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_threads_change_nothing_and_pickles_predict_alike(many_rows):
    X, y = many_rows
    one = HistogramTreeClassifier(max_depth=8, max_features="sqrt", random_state=0).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(one._trees[0].nodes, two._trees[0].nodes)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert_array_equal(pickle.loads(pickle.dumps(one)).predict_proba(X), one.predict_proba(X))


def test_labels_of_any_kind(many_rows):
    X, y = many_rows
    named = HistogramTreeClassifier(max_depth=4).fit(X, np.array(["no", "yes"])[y])
    plain = HistogramTreeClassifier(max_depth=4).fit(X, y)
    assert_array_equal(named.predict(X) == "yes", plain.predict(X) == 1)


def test_prepared_rows_with_other_columns_are_refused(many_rows):
    X, y = many_rows
    model = HistogramTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="expecting 10 features"):
        model.predict(model.prepare(X[:, :3]))


def test_a_tree_that_was_not_fitted_says_so(many_rows):
    with pytest.raises(NotFittedError):
        HistogramTreeClassifier().predict(many_rows[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depth": 0}, "max_depth of .* must be an integer of at least 1, or None, not 0"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes of .* must be an integer of at least 2, or None"),
        ({"min_samples_leaf": 0.5}, "min_samples_leaf of .* must be an integer of at least 1"),
        ({"max_features": "log"}, "max_features of .* must be 'sqrt', or a finite number above 0"),
        ({"max_features": 1.5}, "max_features of .* above 0 and at most 1, or None, not 1.5"),
        ({"max_bins": 256}, "max_bins of .* an integer of at least 2 and at most 255, not 256"),
        ({"max_rows": 1}, "max_rows of .* must be an integer of at least 2, or None"),
        ({"max_cuts": 0}, "max_cuts of .* must be an integer of at least 1, or None"),
    ],
)
def test_bad_parameters_are_named(parameters, message, many_rows):
    model = HistogramTreeClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*many_rows)
    with pytest.raises(ValueError, match=message):
        model.prepare(many_rows[0])
    assert not hasattr(model, "classes_")
