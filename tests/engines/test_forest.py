"""Trees of LightGBM as arrays, against LightGBM itself and against the reference in NumPy."""

import copy
import pickle
from dataclasses import replace

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost import native
from rboost.engines import trees
from rboost.engines.trees import Forest


def table(n_rows, random, *, missing=True):
    """Numbers, two columns of categories and a constant one; some values are missing or 0."""
    X = random.normal(size=(n_rows, 6))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = random.randint(0, 100, n_rows)
    X[:, 3] = random.randint(0, 5, n_rows)
    X[:, 4] = 1.5
    if missing:
        X[random.uniform(size=X.shape) < 0.1] = np.nan
    return X


def grown(X, n_outputs, n_rounds, seed, **options):
    """A booster on an odd target, such that all columns matter."""
    Z = np.nan_to_num(X, nan=2.0)
    value = Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + (Z[:, 3] % 2) + np.isnan(X[:, 5])
    kind = {"objective": "binary"} if n_outputs == 1 else {"objective": "multiclass"}
    y = value > np.median(value) if n_outputs == 1 else np.digitize(value, [-0.5, 1.0])
    settings = {"min_data_in_leaf": 3, "num_leaves": 15, "verbose": -1, "num_threads": 1}
    settings |= {"min_data_per_group": 2, "num_class": n_outputs, "seed": seed}
    data = lightgbm.Dataset(X, y, categorical_feature=[2, 3], params={"verbose": -1})
    return lightgbm.train({**kind, **settings, **options}, data, n_rounds)


def predicted(boosters, X, n_rounds):
    """The mean of LightGBM's own raw scores, by rows and outputs."""
    raw = [b.predict(X, raw_score=True, num_iteration=n_rounds, num_threads=1) for b in boosters]
    return np.mean(raw, axis=0).reshape(len(X), -1)


def by_reference(forest, X, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(native, "compiled", lambda: None)
        return forest.scores(X)


def unusual(X):
    """Rows with values that no training row had."""
    odd = [
        0.0,
        -0.0,
        np.nan,
        np.inf,
        -np.inf,
        -0.5,
        -1.0,
        0.5,
        3.7,
        31,
        32,
        1e4,
        2.0**31,
        1e30,
        -3,
    ]
    return np.vstack([X, np.array(np.meshgrid(odd, odd)).reshape(2, -1).T[:, [0, 0, 1, 1, 0, 1]]])


@settings(max_examples=12, deadline=None)
@given(
    n_outputs=st.sampled_from([1, 3]),
    n_boosters=st.integers(1, 3),
    num_leaves=st.sampled_from([2, 15, 64, 65, 300]),
    missing=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 999),
)
def test_scores_are_those_of_lightgbm(n_outputs, n_boosters, num_leaves, missing, dtype, seed):
    random = np.random.RandomState(seed)
    X = table(1000, random, missing=missing)
    boosters = [
        grown(X[fold::2], n_outputs, 4, seed + fold, num_leaves=num_leaves, min_data_in_leaf=1)
        for fold in range(n_boosters)
    ]
    forest = Forest.from_boosters(boosters, n_outputs, 3, X.shape[1])
    rows = unusual(X).astype(dtype)
    assert len(forest) == 3
    scores = forest.scores(rows)
    assert scores.dtype == np.float64
    assert_allclose(scores, predicted(boosters, rows, 3), rtol=1e-12, atol=1e-12)
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert_allclose(by_reference(forest, rows, monkeypatch), scores, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module", params=[1, 3], ids=["one output", "three outputs"])
def fitted(request):
    X = table(1500, np.random.RandomState(0))
    boosters = [grown(X[fold::2], request.param, 6, fold) for fold in range(2)]
    return X, boosters, Forest.from_boosters(boosters, request.param, 5, X.shape[1])


def test_importances_are_the_gains_of_lightgbm(fitted):
    _, boosters, forest = fitted
    gains = np.sum([b.feature_importance("gain", iteration=5) for b in boosters], axis=0)
    assert_allclose(forest.importances, gains / gains.sum(), rtol=1e-4)


def test_rows_of_any_layout_and_number_score_alike(fitted):
    X, _, forest = fitted
    scores = forest.scores(X)
    wide = np.zeros((2 * len(X), 18))
    wide[::2, ::3] = X
    for rows in (np.asfortranarray(X), wide[::2, ::3], X[::-1].copy()[::-1]):
        assert_array_equal(forest.scores(rows), scores)
    for part in (slice(0, 0), slice(0, 1), slice(3, 70), slice(64, 65), slice(1499, 1500)):
        assert_array_equal(forest.scores(X[part]), scores[part])


def test_threads_change_no_bit(fitted):
    X, _, forest = fitted
    rows = np.tile(X, (20, 1))  # enough for three threads
    scores = forest.scores(rows)
    for n_threads in (-1, 0, 2, 3, 64):
        assert_array_equal(forest.scores(rows, n_threads), scores)


@pytest.mark.parametrize("instruction_set", ["portable", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same(fitted, instruction_set):
    module = pytest.importorskip("rboost.native._native")
    X, _, forest = fitted
    best, scores = module.instruction_set(), forest.scores(X)
    try:
        module.choose_instruction_set(instruction_set)
    except ValueError:
        pytest.skip(f"this processor has no {instruction_set}")
    try:
        assert_array_equal(forest.scores(X), scores)
    finally:
        module.choose_instruction_set(best)


def test_boosters_without_splits_and_ones_that_stopped():
    X = table(300, np.random.RandomState(0))
    stopped = grown(X, 1, 5, 0, min_data_in_leaf=200)
    boosters = [stopped, grown(X, 1, 5, 0)]
    assert stopped.num_trees() == 1
    forest = Forest.from_boosters(boosters, 1, 5, 6)
    assert_allclose(forest.scores(X), predicted(boosters, X, 5), rtol=1e-12)
    alone = Forest.from_boosters([stopped], 1, 5, 6)
    assert len(alone) == 5
    assert_allclose(alone.scores(X), predicted([stopped], X, 5), rtol=1e-12)
    assert_array_equal(alone.importances, np.zeros(6))


def test_no_rounds_score_nothing(fitted):
    X, boosters, forest = fitted
    empty = Forest.from_boosters(boosters, forest.n_outputs, 0, 6)
    assert len(empty) == 0
    assert_array_equal(empty.scores(X), np.zeros((len(X), forest.n_outputs)))
    assert_array_equal(empty.importances, np.zeros(6))


def test_a_forest_that_has_scored_rows_is_copied_and_pickled(fitted):
    X, _, forest = fitted
    expected = forest.scores(X)
    for other in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert_array_equal(other.scores(X), expected)
    assert_array_equal(forest.scores(X), expected)
    assert_array_equal(forest.scores(X[:1]), expected[:1])


WRONG = {
    "a child before its parent": {"left": 0},
    "a child beyond the nodes": {"right": 10**6},
    "a leaf beyond the leaves": {"left": -(10**6)},
    "a column that is not there": {"feature": 6},
    "a column below 0": {"feature": -1},
    "a set that is not there": {"category_set": 10**6},
    "a root that is not there": {"roots": 10**6},
    "a set without words": {"set_starts": 10**6},
}


@pytest.mark.parametrize("case", WRONG)
def test_numbers_that_lead_nowhere_are_refused(fitted, case):
    pytest.importorskip("rboost.native._native")
    X, _, forest = fitted
    ((name, value),) = WRONG[case].items()
    changed = getattr(forest, name).copy()
    changed[0] = value
    problem = r"must fit together\.$" if value != 6 else "too few columns"
    with pytest.raises(ValueError, match=problem):
        replace(forest, **{name: changed}).scores(X)
    with pytest.raises(ValueError, match=r"must fit together\.$"):
        replace(forest, threshold=forest.threshold[1:]).scores(X)


def test_the_reference_agrees_on_blocks_of_rows(fitted, monkeypatch):
    X, _, forest = fitted
    assert len(X) > trees.BLOCK_ROWS
    assert_allclose(by_reference(forest, X, monkeypatch), forest.scores(X), rtol=1e-12, atol=1e-12)
