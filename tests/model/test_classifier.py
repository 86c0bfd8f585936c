"""What holds for every engine of RBoostClassifier and for Algorithm 1, and how they fail."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from rboost import RBoostClassifier
from rboost.engines import learners
from tests.models import algorithm_1, every_engine, every_version, stumps, with_engines


@every_version
def test_separable_classes_are_told_apart(version):
    X = np.linspace(-1, 1, 50)[:, None]
    y = X[:, 0] > 0
    for noise in [np.eye(2), [[0.9, 0.1], [0.2, 0.8]], "estimate"]:
        model = version(30, noise_matrix=noise, random_state=0).fit(X, y)
        assert model.score(X, y) == 1
        assert np.all(np.isfinite(model.decision_function(X)))
        assert np.all(np.isfinite(model.predict_proba(X)))


@every_engine
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_decision_is_the_log_odds_of_the_true_class(version, n_classes, noisy_banana):
    X, _, noisy, _ = noisy_banana
    label = np.where((X[:, 0] > 1) & (n_classes == 3), 2, noisy)
    model = version(10, random_state=0).fit(X, label)
    decisions, probability = model.decision_function(X), model.predict_proba(X)
    expected = model._model.noise.probability(model.score_rows(X))
    assert_allclose(probability, expected, atol=1e-9)
    assert_allclose(np.exp(model.predict_log_proba(X)), probability)
    if n_classes == 2:
        assert_allclose(decisions, np.log(expected[:, 1] / expected[:, 0]), rtol=1e-6, atol=1e-9)
        assert_array_equal(model.predict(X), decisions > 0)
    else:
        assert_allclose(decisions.sum(axis=1), 0, atol=1e-9)
        logs = np.log(expected)
        assert_allclose(decisions, logs - logs.mean(axis=1, keepdims=True), atol=1e-6)
        assert_array_equal(model.predict(X), decisions.argmax(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1 / 400, 1e12, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        algorithm_1(n_rounds=10, random_state=0),
        algorithm_1(n_rounds=10, sampling="weights", random_state=0),
        with_engines("pool")(10, random_state=0),
        with_engines("linear")(10, random_state=0),
    ],
    ids=["algorithm 1", "algorithm 1, rows drawn", "pool", "linear"],
)
def test_weights_that_are_no_counts_have_no_scale(model, scale, noisy_banana):
    X, _, noisy, _ = noisy_banana
    one = clone(model).fit(X, noisy).predict_proba(X)
    other = clone(model).fit(X, noisy, sample_weight=np.full(400, scale)).predict_proba(X)
    assert_allclose(one, other, atol=1e-6)


@every_version
def test_a_weight_of_zero_removes_a_row(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    weight = np.where(np.arange(400) < 50, 0.0, 1.0)
    one = version(10, random_state=0).fit(X, noisy, sample_weight=weight)
    other = version(10, random_state=0).fit(X[50:], noisy[50:])
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@every_version
def test_weights_come_as_anything_that_holds_numbers(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    weight = np.where(np.arange(400) % 7 == 0, 0.0, 1.0)
    plain = version(5, random_state=0).fit(X, noisy, sample_weight=weight)
    for container in [list, pd.Series, pl.Series]:
        model = version(5, random_state=0)
        model.fit(X, noisy, sample_weight=container(weight))
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@every_version
def test_what_is_passed_is_left_as_it_is(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    passed = X.copy(), noisy.copy(), np.tile([0.0, 0.25, 0.5, 0.75], 100)
    before = [each.copy() for each in passed]
    version(3, random_state=0).fit(*passed)
    for one, other in zip(passed, before, strict=True):
        assert_array_equal(one, other)


@pytest.mark.slow
@every_version
def test_same_seed_same_model_whatever_the_number_of_threads(version, noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(learners, "BLOCK_ROWS", 50)  # several blocks for several threads
    drawn = {"sampling": "uniform", "max_samples": 0.5} if version is stumps else {}
    model = version(20, random_state=3, **drawn)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(X, noisy) for n_jobs in [1, 2])
    assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = clone(model).set_params(random_state=4).fit(X, noisy)
    assert np.any(one.decision_function(X) != other.decision_function(X))


@pytest.mark.parametrize(
    "change",
    [{"engines": "trees"}, {"max_iter": 3}, {"noise_matrix": np.eye(2)}, {"learning_rate": 1.0}],
    ids=str,
)
def test_a_parameter_changes_predictions_with_the_next_fit_only(change, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(max_iter=6, random_state=0).fit(X, noisy)
    before = model.predict_proba(X)
    assert_array_equal(model.set_params(**change).predict_proba(X), before)


def test_a_new_fit_forgets_the_old_one(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(max_iter=5, random_state=0)
    model.fit(X, noisy, context=np.repeat(["a", "b"], 200))
    model.set_params(noise_matrix=np.eye(2)).fit(X[:200], noisy[:200])
    fresh = clone(model).fit(X[:200], noisy[:200])
    assert vars(model).keys() == vars(fresh).keys()
    assert_array_equal(model.predict_proba(X), fresh.predict_proba(X))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@every_engine
def test_sparse_features(version, container, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = version(10, random_state=0).fit(container(X), noisy)
    assert model.score(container(X), noisy) > 0.6
    assert_allclose(model.predict_proba(container(X)), model.predict_proba(X), atol=1e-6)


@every_version
def test_missing_features(version, noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    X = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    model = version(10, random_state=0)
    if model.get_params().get("engines") == "linear":
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, noisy)
        return
    assert model.fit(X, noisy).score(X, noisy) > 0.6
    assert np.all(np.isfinite(model.predict_proba(X)))


@every_version
def test_feature_importances_where_the_learners_have_them(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    X = np.column_stack([X, np.zeros(len(X))])
    model = version(20, random_state=0).fit(X, noisy)
    if model.get_params().get("engines") == "linear":
        assert not hasattr(model, "feature_importances_")
        return
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_[2] == 0


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        (with_engines("pool"), ["Boosting", "5/5"]),
        (with_engines("linear"), ["Boosting", "5/5"]),
        (with_engines("auto"), ["Boosting", "5/5", "Growing trees"]),
        (stumps, ["Boosting", "5/5"]),
    ],
    ids=["pool", "linear", "default", "algorithm 1"],
)
def test_verbose_shows_a_bar_and_silence_is_the_default(
    version, shown, noisy_banana, capsys, monkeypatch
):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    X, _, noisy, _ = noisy_banana
    version(5).fit(X, noisy)
    assert capsys.readouterr() == ("", "")
    version(5, verbose=True).fit(X, noisy)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert all(words in captured.err for words in shown)
    assert captured.err.endswith("\n")


@every_version
@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        ((np.zeros((4, 2)), None), "belong together"),
        ((None, [0, 1]), "belong together"),
        ((np.zeros((4, 3)), [0, 1, 0, 1]), "X_trusted must have the columns of X.*3 features"),
        ((np.zeros((4, 2)), [0, 1, 0]), "X_trusted has 4 rows but y_trusted has 3"),
        ((np.zeros((4, 2)), ["a", "b", "a", "b"]), "use the same labels in both"),
        ((np.full((4, 2), np.inf), [0, 1, 0, 1]), "X_trusted .*infinity"),
    ],
)
def test_bad_trusted_rows_are_named(version, trusted, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = version(2)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy, X_trusted=trusted[0], y_trusted=trusted[1])
    assert vars(model) == before


def test_all_but_weights_is_passed_by_name(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(max_iter=2, random_state=0)
    with pytest.raises(TypeError, match="positional"):
        model.fit(X, noisy, None, noisy)
    with pytest.raises(TypeError, match="positional"):
        RBoostClassifier("pool")
