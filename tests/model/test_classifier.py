"""What holds for every version of RBoostClassifier, and how it fails."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from rboost.boosting import additive
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression
from tests.models import STUMP, algorithm_1, both_versions, every_version, pool


@every_version
def test_the_stages_end_at_the_whole(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = version(n_estimators=12, random_state=0).fit(X, noisy)
    for name in ["decision_function", "predict", "predict_proba"]:
        stages = list(getattr(model, "staged_" + name)(X))
        assert len(stages) == len(model._model) <= 12
        assert_allclose(stages[-1], getattr(model, name)(X), rtol=1e-9, atol=1e-12)


@both_versions
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        RobustLogisticRegression(n_init=1),
        DecisionTreeClassifier(max_depth=2),
        ExtraTreeClassifier(max_depth=3),
        GaussianNB(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_weighted_classifier_can_be_boosted(version, estimator, noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = version(estimator, n_estimators=10, noise_matrix=noise, random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.55


@both_versions
def test_a_learner_without_weights_is_boosted_by_drawing_rows(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    model = version(pipeline, n_estimators=5, sampling="weights", random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.6
    with pytest.raises(ValueError, match="use sampling='weights'"):
        version(pipeline).fit(X, noisy)


@every_version
def test_separable_classes_are_told_apart(version):
    X = np.linspace(-1, 1, 50)[:, None]
    y = X[:, 0] > 0
    for noise in [np.eye(2), [[0.9, 0.1], [0.2, 0.8]], "estimate"]:
        model = version(n_estimators=30, noise_matrix=noise, random_state=0).fit(X, y)
        assert model.score(X, y) == 1
        assert np.all(np.isfinite(model.decision_function(X)))
        assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1 / 400, 1e12, 1e300])
@pytest.mark.parametrize(
    "model",
    [
        algorithm_1(n_estimators=10, random_state=0),
        algorithm_1(n_estimators=10, sampling="weights", random_state=0),
        pool(n_estimators=10, sampling="weights", random_state=0),
        RBoostClassifier(LogisticRegression(), n_estimators=10, random_state=0),
    ],
    ids=["algorithm 1", "algorithm 1, rows drawn", "rows drawn", "logistic regression"],
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
    one = version(n_estimators=10, random_state=0).fit(X, noisy, sample_weight=weight)
    other = version(n_estimators=10, random_state=0).fit(X[50:], noisy[50:])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@every_version
def test_weights_come_as_anything_that_holds_numbers(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    weight = np.where(np.arange(400) % 7 == 0, 0.0, 1.0)
    plain = version(n_estimators=5, random_state=0).fit(X, noisy, sample_weight=weight)
    for container in [list, pd.Series, pl.Series]:
        model = version(n_estimators=5, random_state=0)
        model.fit(X, noisy, sample_weight=container(weight))
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.slow
@every_version
def test_same_seed_same_model_whatever_the_number_of_threads(version, noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(additive, "BLOCK_ROWS", 50)  # several blocks for several threads
    model = version(n_estimators=20, sampling="uniform", max_samples=0.5, random_state=3)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(X, noisy) for n_jobs in [1, 2])
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = clone(model).set_params(random_state=4).fit(X, noisy)
    assert np.any(one.decision_function(X) != other.decision_function(X))


@pytest.mark.parametrize(
    "change",
    [{"votes": "class"}, {"calibration": "isotonic"}, {"out_of_bag": False}, {"estimator": STUMP}],
    ids=str,
)
def test_a_parameter_changes_predictions_with_the_next_fit_only(change, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=6, random_state=0).fit(X, noisy)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(**change).predict_proba(X), before)


def test_a_new_fit_forgets_the_old_one(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(STUMP, n_estimators=5, random_state=0).fit(X, noisy)
    fresh = algorithm_1(n_estimators=5, random_state=0).fit(X[:200], noisy[:200])
    model.set_params(**fresh.get_params()).fit(X[:200], noisy[:200])
    assert vars(model).keys() == vars(fresh).keys()


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_features(container, noisy_banana):
    X, _, noisy, _ = noisy_banana
    tree = DecisionTreeClassifier(max_depth=3)
    for model in [
        algorithm_1(n_estimators=5, random_state=0),
        RBoostClassifier(tree, n_estimators=10, random_state=0),
    ]:
        one, other = clone(model).fit(container(X), noisy), clone(model).fit(X, noisy)
        np.testing.assert_array_equal(one.predict(container(X)), other.predict(X))
    pool = RBoostClassifier(n_estimators=10, random_state=0).fit(container(X), noisy)
    assert pool.score(container(X), noisy) > 0.7
    with pytest.raises(TypeError, match=r"[Dd]ense"):
        RBoostClassifier(GaussianNB()).fit(container(X), noisy)
    with pytest.raises(TypeError, match=r"[Dd]ense"):
        RBoostClassifier([tree, GaussianNB()]).fit(container(X), noisy)


@every_version
def test_missing_features(version, noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    X = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    model = version(n_estimators=10, random_state=0).fit(X, noisy)
    assert model.score(X, noisy) > 0.6
    assert np.all(np.isfinite(model.predict_proba(X)))
    with pytest.raises(ValueError, match="NaN"):
        version(LogisticRegression()).fit(X, noisy)


@both_versions
def test_feature_importances_where_the_base_has_them(version, noisy_banana):
    X, _, noisy, _ = noisy_banana
    X = np.column_stack([X, np.zeros(len(X))])
    model = version(n_estimators=20, random_state=0).fit(X, noisy)
    assert_allclose(model.feature_importances_.sum(), 1)
    assert model.feature_importances_[2] == 0
    few = version(STUMP, sampling="weights", max_samples=0.005, n_estimators=150, random_state=0)
    few.fit(X, noisy)
    assert any(isinstance(learner, DummyClassifier) for learner in few.estimators_)
    assert_allclose(few.feature_importances_.sum(), 1)
    linear = version(LogisticRegression(), n_estimators=3).fit(X, noisy)
    assert not hasattr(linear, "feature_importances_")


@both_versions
def test_verbose_shows_a_bar_and_silence_is_the_default(version, noisy_banana, capsys, monkeypatch):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    X, _, noisy, _ = noisy_banana
    version(n_estimators=5).fit(X, noisy)
    assert capsys.readouterr() == ("", "")
    version(n_estimators=5, verbose=True).fit(X, noisy)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Boosting" in captured.err
    assert "5/5" in captured.err
    assert captured.err.endswith("\n")
    perfect = np.linspace(-1, 1, 50)[:, None]
    algorithm_1(noise_matrix=np.eye(2), verbose=1).fit(perfect, perfect[:, 0] > 0)
    assert capsys.readouterr().err.endswith("\n")  # also when boosting ends early


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
    model = version(n_estimators=2)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy, X_trusted=trusted[0], y_trusted=trusted[1])
    assert vars(model) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators of RBoostClassifier must be an integer of at least 1"),
        ({"learning_rate": 0}, "learning_rate of .* must be a finite number above 0"),
        ({"learning_rate": np.inf}, "learning_rate of .* must be a finite number above 0"),
        ({"max_samples": np.inf, "sampling": "weights"}, "max_samples of .* must be a finite"),
        ({"verbose": -1}, "verbose of .* must be True, False or a whole number"),
        ({"learning_rate": np.nan}, "learning_rate of .* must be a finite number above 0"),
        ({"sampling": "all"}, "sampling of .* must be one of 'none', 'uniform', 'weights'"),
        ({"sampling": "uniform", "max_samples": 1.5}, "max_samples .* at most 1"),
        ({"max_samples": 0}, "max_samples of .* must be a finite number above 0"),
        ({"out_of_bag": "yes"}, "out_of_bag of .* must be True, False"),
        ({"votes": "soft"}, "votes of .* must be one of 'class', 'probability'"),
        ({"noise_estimator": "oracle"}, "noise_estimator of .* one of 'noise-aware', 'paper'"),
        ({"mixing": None}, "mixing of .* must be one of 'posterior', 'paper'"),
        ({"negative_weights": "clip"}, "negative_weights of .* must be one of 'flip', 'keep'"),
        ({"calibration": "beta"}, "calibration of .* must be one of"),
        ({"noise_matrix": [[0.9, 0.2], [0, 1]]}, "row 0 sums to 1.1"),
        ({"noise_matrix": [[0.3, 0.7], [0.4, 0.6]]}, "must sum to less than 1"),
        ({"estimator": DecisionTreeClassifier}, "estimator must be a scikit-learn classifier"),
        ({"estimator": []}, "estimator"),
        (
            {"estimator": [STUMP, "tree"]},
            "estimator must be .*a classifier or a list .* not 'tree'",
        ),
        ({"estimator": [STUMP, StandardScaler()]}, "estimator must be .* not StandardScaler"),
        ({"estimator": [STUMP, KNeighborsClassifier()]}, "takes no sample_weight"),
        ({"estimator": LinearSVC()}, "LinearSVC has no predict_proba, .*; use votes='class'"),
        ({"estimator": [STUMP, LinearSVC()]}, "LinearSVC has no predict_proba"),
        ({"sampling": "none"}, "out_of_bag=True needs rows that a learner has not seen"),
        ({"max_samples": 1.0}, "out_of_bag=True needs rows that a learner has not seen"),
        ({"out_of_bag": False}, "noise_estimator='noise-aware' needs out-of-bag scores"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy)
    assert not hasattr(model, "n_features_in_")
