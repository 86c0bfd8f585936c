"""Trees of XGBoost on bins as a Forest of the columns themselves, against XGBoost's own scores."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.engines.xgboost import LAST_LEVEL, XGBOOST, forest_of, learn_bins, matrix_of

xgboost = pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers
# A number, a rounded one, categories of many, few and two levels, a constant, a column of nothing.
LEVELS = [0, 0, 100, 5, 2, 0, 0]


def table(n_rows, seed, missing=0.1):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, len(LEVELS)))
    X[:, 1] = np.round(X[:, 1])
    for place, n_levels in enumerate(LEVELS):
        if n_levels:
            X[:, place] = np.minimum(random.geometric(0.05, n_rows) - 1, n_levels - 1)
    X[:, 5] = 1.5
    X[random.uniform(size=X.shape) < missing] = np.nan
    X[:, 6] = np.nan
    return X


def grown(X, bins, n_outputs, n_rounds, seed=0, **options):
    """A booster on a target that all columns tell of, missing values too."""
    Z = np.nan_to_num(X, nan=2.0)
    value = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + Z[:, 3] % 2 + Z[:, 4] + np.isnan(X[:, 0])
    wanted = np.column_stack([value, np.sin(value), value**2])[:, :n_outputs]
    options = XGBOOST | {"nthread": 1, "num_class": n_outputs, "min_child_weight": 0} | options
    if n_outputs == 1:
        del options["num_class"]
    data = matrix_of([bins.codes(X)], bins, 1)
    booster = xgboost.Booster(options, [data])
    booster.data = data  # of which one without trees has its columns
    for place in range(n_rounds):
        random = np.random.RandomState(seed + place)
        counts = (random.uniform(size=wanted.shape) < 0.8).astype(np.float32)
        said = booster.predict(data, output_margin=True).reshape(wanted.shape)
        booster.boost(data, place, grad=counts * np.float32(said - wanted), hess=counts)
    return booster


def predicted(boosters, bins, X, n_outputs):
    codes = bins.codes(X)
    own = [booster.inplace_predict(codes, predict_type="margin") for booster in boosters]
    return np.mean(np.reshape(own, (len(boosters), len(X), n_outputs)).astype(float), axis=0)


def unusual(X, bins):
    """Rows with values that no training row had, on edges of bins and beside them."""
    edges = bins.edges[0][: len(X)]
    odd = np.concatenate([edges, np.nextafter(edges, 9), np.nextafter(edges, -9), [1e300, -1e300]])
    more = np.resize(X, (len(odd) + 5, X.shape[1])).copy()
    more[: len(odd), 0] = odd
    more[: len(odd), 1] = odd[::-1]
    more[:, 2] = np.arange(len(more)) % LEVELS[2]
    more[:, 3] = np.arange(len(more)) % LEVELS[3]
    more[:, 5:] = np.arange(len(more))[:, np.newaxis] - 9.0
    more[-5:] = np.nan
    return np.vstack([X, more])


@given(
    n_outputs=st.sampled_from([1, 3]),
    n_boosters=st.integers(1, 3),
    max_leaves=st.sampled_from([2, 31, 300]),
    missing=st.sampled_from([0, 0.2]),
    seed=st.integers(0, 99),
)
@settings(max_examples=12)
def test_scores_are_those_of_xgboost(n_outputs, n_boosters, max_leaves, missing, seed):
    X = table(600, seed, missing)
    bins = learn_bins(X, LEVELS, 31)
    boosters = [
        grown(X[fold::2], bins, n_outputs, 3, seed + fold, max_leaves=max_leaves)
        for fold in range(n_boosters)
    ]
    forest, rows = forest_of(boosters, bins, n_outputs), unusual(X, bins)
    assert len(forest) == 3
    expected = predicted(boosters, bins, rows, n_outputs)
    assert np.ptp(expected, axis=0).min() > 0
    assert_allclose(forest.scores(rows), expected, rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module", params=[1, 3], ids=["one output", "three outputs"])
def fitted(request):
    X = table(800, 0)
    bins = learn_bins(X, LEVELS, 31)
    boosters = [grown(X[fold::2], bins, request.param, 4, fold) for fold in range(2)]
    return X, bins, boosters, forest_of(boosters, bins, request.param)


def test_every_kind_of_column_is_split(fitted):
    """Else the comparison with XGBoost says little."""
    _, _, _, forest = fitted
    split = np.bincount(forest.feature, minlength=len(LEVELS))
    assert np.all(split[:5] > 0)
    assert_array_equal(split[6], 0)
    assert np.any(forest.category_set[forest.feature == 2] >= 0)
    assert np.all(forest.category_set[forest.feature < 2] < 0)


def test_missing_and_unknown_levels_go_the_same_way(fitted):
    X, _, _, forest = fitted
    for place in (2, 3, 4):
        rows, unknown = X.copy(), X.copy()
        rows[:, place] = np.nan
        for code in (LEVELS[place], 1000.0, -1.0):
            unknown[:, place] = code
            assert_array_equal(forest.scores(unknown), forest.scores(rows))


def test_levels_beyond_the_last_code_go_the_same_way(fitted):
    X, _, _, forest = fitted
    one, other = X.copy(), X.copy()
    one[:, 2], other[:, 2] = LAST_LEVEL, LEVELS[2] - 1
    assert_array_equal(forest.scores(one), forest.scores(other))


def test_importances_are_the_gains_of_xgboost(fitted):
    _, _, boosters, forest = fitted
    gains = np.zeros(len(LEVELS))
    for booster in boosters:
        for name, gain in booster.get_score(importance_type="total_gain").items():
            gains[int(name.removeprefix("f"))] += gain
    assert_allclose(forest.importances, gains / gains.sum(), rtol=1e-4)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_no_rounds_score_nothing(n_outputs):
    X = table(50, 0)
    bins = learn_bins(X, LEVELS, 31)
    empty = forest_of([grown(X, bins, n_outputs, 0)] * 2, bins, n_outputs)
    assert len(empty) == 0
    assert_array_equal(empty.scores(X), np.zeros((50, n_outputs)))
    assert_array_equal(empty.importances, np.zeros(len(LEVELS)))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_trees_that_are_a_single_leaf(n_outputs):
    X = table(50, 0)
    bins = learn_bins(X, LEVELS, 31)
    stumps = grown(X, bins, n_outputs, 3, gamma=1e9)
    trees = json.loads(stumps.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
    assert all(len(tree["left_children"]) == 1 for tree in trees)
    boosters = [stumps, grown(X, bins, n_outputs, 3)]
    for some in ([stumps], boosters):
        forest = forest_of(some, bins, n_outputs)
        assert len(forest) == 3
        expected = predicted(some, bins, X, n_outputs)
        assert_allclose(forest.scores(X), expected, rtol=1e-5, atol=1e-5)
