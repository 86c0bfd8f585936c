import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_hastie_10_2, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression
from rboost.boosting import additive
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels, symmetric

STUMP = DecisionTreeClassifier(max_depth=1)
PAPER_RLR = RobustLogisticRegression(C=None, solver="alternating", n_init=1, max_iter=10)


@pytest.mark.parametrize(
    ("X", "y"),
    [make_hastie_10_2(1000, random_state=0), load_breast_cancer(return_X_y=True)],
    ids=["hastie", "breast cancer"],
)
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_no_noise_is_adaboost_round_by_round(X, y, learning_rate):
    arguments = {"n_estimators": 60, "learning_rate": learning_rate, "random_state": 0}
    ours = RBoostClassifier(STUMP, noise_matrix=np.eye(2), **arguments).fit(X, y)
    peer = AdaBoostClassifier(STUMP, **arguments).fit(X, y)
    assert len(ours.estimators_) == len(peer.estimators_) == 60
    assert_allclose(2 * ours.estimator_weights_, peer.estimator_weights_)
    assert_allclose(ours.estimator_errors_, peer.estimator_errors_)
    for mine, theirs in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_knowing_the_noise_helps(noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    plain = RBoostClassifier(noise_matrix=np.eye(2), random_state=0).fit(X, noisy)
    robust = RBoostClassifier(noise_matrix=noise, random_state=0).fit(X, noisy)
    assert robust.score(*clean_banana) > plain.score(*clean_banana) + 0.05


def test_keeping_the_labels_of_negative_weights_is_another_algorithm(noisy_banana):
    X, _, noisy, noise = noisy_banana
    models = [
        RBoostClassifier(noise_matrix=noise, negative_weights=name, random_state=0).fit(X, noisy)
        for name in ("flip", "keep")
    ]
    assert np.any(models[0].decision_function(X) != models[1].decision_function(X))
    assert all(model.score(X, noisy) > 0.6 for model in models)


def test_the_papers_estimate_falls_to_zero_and_trusted_rows_repair_it(noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    trusted = dict(zip(["X_trusted", "y_trusted"], make_banana(20, random_state=5), strict=True))
    model = RBoostClassifier(PAPER_RLR, sampling="weights", random_state=0)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        alone = clone(model).fit(X, noisy)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        helped = clone(model).fit(X, noisy, **trusted)
    assert alone.noise_matrix_[0, 1] < 0.1  # the truth is .3: section 4.3's disappointment
    assert_allclose(helped.noise_matrix_, noise, atol=0.15)
    assert helped.score(*clean_banana) > alone.score(*clean_banana)


@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
@pytest.mark.parametrize("mixing", ["posterior", "paper"])
@pytest.mark.parametrize("calibration", ["platt", "logistic", "isotonic"])
def test_every_combination_is_sane_and_consistent(sampling, mixing, calibration, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(
        DecisionTreeClassifier(max_depth=3),
        n_estimators=15,
        sampling=sampling,
        max_samples=0.5,
        mixing=mixing,
        calibration=calibration,
        random_state=0,
    ).fit(X, noisy)
    probability, scores = model.predict_proba(X), model.decision_function(X)
    assert_allclose(probability.sum(axis=1), 1)
    assert_allclose(np.exp(model.predict_log_proba(X)), probability)
    np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
    np.testing.assert_array_equal(model.predict(X), model.classes_[(scores > 0).astype(int)])
    order = np.argsort(scores)
    assert np.all(np.diff(probability[order, 1]) >= -1e-12)
    if mixing == "posterior":  # eq. (10) turns a class over once its estimated rate passes ½
        assert model.score(X, noisy) > 0.6
    assert model.noise_matrix_history_.shape == (len(model.estimators_), 2, 2)
    assert_allclose(model.noise_matrix_history_[-1], model.noise_matrix_)


def test_the_stages_end_at_the_whole(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=12, random_state=0).fit(X, noisy)
    for name in ["decision_function", "predict", "predict_proba"]:
        stages = list(getattr(model, "staged_" + name)(X))
        assert len(stages) == len(model.estimators_)
        np.testing.assert_array_equal(stages[-1], getattr(model, name)(X))


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
def test_any_weighted_classifier_can_be_boosted(estimator, noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(estimator, n_estimators=10, noise_matrix=noise, random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.55


def test_a_learner_without_weights_is_boosted_by_drawing_rows(noisy_banana):
    X, _, noisy, _ = noisy_banana
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    model = RBoostClassifier(pipeline, n_estimators=5, sampling="weights", random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.6
    with pytest.raises(ValueError, match="use sampling='weights'"):
        RBoostClassifier(pipeline).fit(X, noisy)


def test_separable_data_and_a_perfect_learner():
    X = np.linspace(-1, 1, 50)[:, None]
    y = X[:, 0] > 0
    for noise in [np.eye(2), [[0.9, 0.1], [0.2, 0.8]], "estimate"]:
        model = RBoostClassifier(noise_matrix=noise, random_state=0).fit(X, y)
        assert model.score(X, y) == 1
        assert np.all(np.isfinite(model.decision_function(X)))
        assert np.all(np.isfinite(model.predict_proba(X)))
    assert "without errors" in RBoostClassifier(noise_matrix=np.eye(2)).fit(X, y).stop_reason_


@pytest.mark.slow
@pytest.mark.parametrize("noise", [np.eye(2), [[0.8, 0.2], [0.1, 0.9]], "estimate"], ids=str)
def test_five_thousand_rounds_stay_finite(noise):
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = RBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=5000, noise_matrix=noise, random_state=0
    ).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.estimator_weights_))
    assert model.score(X, y) > 0.8


def test_sample_weights_over_300_orders_of_magnitude(noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    for exponents in [(-300, 0), (-150, 150), (0, 300)]:
        weight = rng.permutation(10.0 ** np.linspace(*exponents, len(X)))
        heaviest = weight > 1e-3 * weight.max()
        for sampling in ["none", "uniform", "weights"]:
            model = RBoostClassifier(
                n_estimators=30, sampling=sampling, max_samples=0.9, random_state=0
            ).fit(X, noisy, sample_weight=weight)
            assert np.all(np.isfinite(model.predict_proba(X)))
            assert np.all(np.isfinite(model.noise_matrix_))
            if sampling == "none":
                assert model.score(X[heaviest], noisy[heaviest]) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1 / 400, 1e12, 1e300])
def test_weights_that_are_no_counts_have_no_scale(scale, noisy_banana):
    X, _, noisy, _ = noisy_banana
    for sampling in ["none", "weights"]:
        model = RBoostClassifier(n_estimators=10, sampling=sampling, random_state=0)
        one = clone(model).fit(X, noisy).predict_proba(X)
        other = clone(model).fit(X, noisy, sample_weight=np.full(400, scale)).predict_proba(X)
        assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
def test_rows_fitted_perfectly_under_noise(sampling):
    """Estimated rates fall towards 0 and weights towards the smallest numbers; both must hold."""
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = RBoostClassifier(
        DecisionTreeClassifier(), n_estimators=300, sampling=sampling, max_samples=0.9
    )
    assert model.set_params(random_state=0).fit(X, y).score(X, y) > 0.95
    line = np.linspace(-1, 1, 50)[:, None]
    for rate in [0.01, 0.1, 0.2, 0.37]:
        model = RBoostClassifier(noise_matrix=symmetric(rate), sampling=sampling, random_state=0)
        model.fit(line, line[:, 0] > 0)
        assert model.score(line, line[:, 0] > 0) > 0.9
        assert np.all(model.estimator_weights_ > 1e-12)


def test_a_useless_learner_is_reported():
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="No base learner was kept .*no better than chance"):
        model = RBoostClassifier(DummyClassifier(strategy="constant", constant=1)).fit(X, y)
    assert model.estimators_ == []
    np.testing.assert_array_equal(model.predict(X), 0)
    assert_allclose(model.predict_proba(X), 0.5, atol=0.02)


def test_same_seed_same_model_whatever_the_number_of_threads(noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    monkeypatch.setattr(additive, "BLOCK_ROWS", 50)  # several blocks for several threads
    model = RBoostClassifier(n_estimators=20, sampling="uniform", max_samples=0.5, random_state=3)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(X, noisy) for n_jobs in [1, 2])
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = clone(model).set_params(random_state=4).fit(X, noisy)
    assert np.any(one.decision_function(X) != other.decision_function(X))


@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
def test_warm_start_continues_as_if_never_stopped(sampling, noisy_banana):
    X, _, noisy, _ = noisy_banana
    trusted = dict(zip(["X_trusted", "y_trusted"], make_banana(20, random_state=5), strict=True))
    model = RBoostClassifier(sampling=sampling, max_samples=0.5, random_state=0)
    whole = clone(model).set_params(n_estimators=30).fit(X, noisy, **trusted)
    parts = clone(model).set_params(n_estimators=12, warm_start=True).fit(X, noisy, **trusted)
    parts.set_params(n_estimators=30).fit(X, noisy, **trusted)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert_allclose(parts.noise_matrix_history_, whole.noise_matrix_history_)
    assert parts.n_iter_ == 30


def clone_with_fit(model, **parameters):
    return copy.deepcopy(model).set_params(**parameters)


def test_warm_start_without_more_rounds_changes_nothing(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=5, warm_start=True, random_state=0)
    for _ in range(3):
        model.fit(X, noisy)
        assert len(model.estimators_) == model.n_iter_ == 5
        assert model.stop_reason_ == "all 5 rounds done"
    assert len(model.set_params(n_estimators=8).fit(X, noisy).estimators_) == 8


def test_an_interrupted_warm_start_can_be_run_again(noisy_banana, monkeypatch):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(
        n_estimators=10, sampling="uniform", max_samples=0.5, warm_start=True, random_state=0
    ).fit(X, noisy)
    whole = clone(model).set_params(n_estimators=20).fit(X, noisy)
    calls = []

    def interrupted(self, X):
        calls.append(1)
        if len(calls) > 15:
            raise KeyboardInterrupt
        return predict(self, X)

    predict = DecisionTreeClassifier.predict
    with monkeypatch.context() as patch:
        patch.setattr(DecisionTreeClassifier, "predict", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(n_estimators=20).fit(X, noisy)
    assert len(model.estimators_) == 10
    np.testing.assert_array_equal(model.fit(X, noisy).predict_proba(X), whole.predict_proba(X))


def test_warm_start_refuses_what_cannot_be_continued(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=5, warm_start=True, random_state=0).fit(X, noisy)
    with pytest.raises(ValueError, match=r"can only add rounds.*raise n_estimators"):
        model.set_params(n_estimators=3).fit(X, noisy)
    model.set_params(n_estimators=9)
    for changed in [(X, noisy.astype(str)), (X[:300], noisy[:300])]:
        with pytest.raises(ValueError, match=r"one of them changed; set warm_start=False"):
            model.fit(*changed)
    with pytest.raises(ValueError, match="one of them changed"):
        clone_with_fit(model, noise_matrix=np.eye(2)).fit(X, noisy)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.fit(X[:, :1], noisy)
    assert len(model.estimators_) == 5


def test_warm_start_after_the_end_adds_nothing():
    X = np.linspace(-1, 1, 50)[:, None]
    model = RBoostClassifier(n_estimators=3, noise_matrix=np.eye(2), warm_start=True)
    model.fit(X, X[:, 0] > 0)
    assert len(model.set_params(n_estimators=9).fit(X, X[:, 0] > 0).estimators_) == 1


@pytest.mark.parametrize(
    "labels", [["ham", "spam"], [False, True], [-1, 1], [3, 7]], ids=lambda labels: str(labels[1])
)
def test_labels_of_any_type(labels, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=5, random_state=0).fit(X, np.array(labels)[noisy])
    np.testing.assert_array_equal(model.classes_, labels)
    plain = RBoostClassifier(n_estimators=5, random_state=0).fit(X, noisy)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[plain.predict(X)])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_with_checked_feature_names(frame, noisy_banana):
    X, _, noisy, _ = noisy_banana
    table = frame({"width": X[:, 0], "height": X[:, 1]})
    model = RBoostClassifier(n_estimators=5, random_state=0).fit(table, noisy)
    np.testing.assert_array_equal(model.feature_names_in_, ["width", "height"])
    assert model.score(table, noisy) > 0.6
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"width": X[:, 0], "depth": X[:, 1]}))
    with pytest.raises(ValueError, match="X_trusted must have the columns of X"):
        model.fit(table, noisy, X_trusted=frame({"a": X[:, 0], "b": X[:, 1]}), y_trusted=noisy)


def test_sparse_features(noisy_banana):
    X, _, noisy, _ = noisy_banana
    for container in [sparse.csr_array, sparse.csc_matrix]:
        one = RBoostClassifier(n_estimators=5, random_state=0).fit(container(X), noisy)
        other = RBoostClassifier(n_estimators=5, random_state=0).fit(X, noisy)
        np.testing.assert_array_equal(one.predict(container(X)), other.predict(X))
    with pytest.raises(TypeError, match=r"[Dd]ense"):
        RBoostClassifier(GaussianNB()).fit(sparse.csr_array(X), noisy)


def test_pickle_clone_and_search(noisy_banana):
    X, _, noisy, noise = noisy_banana
    model = RBoostClassifier(n_estimators=5, noise_matrix=noise, random_state=0).fit(X, noisy)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "estimators_")
    search = GridSearchCV(
        make_pipeline(StandardScaler(), RBoostClassifier(STUMP, random_state=0)),
        {"rboostclassifier__n_estimators": [2, 8], "rboostclassifier__estimator__max_depth": [1]},
        cv=3,
    ).fit(X, noisy)
    assert search.best_score_ > 0.55


def test_metadata_routing(noisy_banana):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(30, random_state=5)
    weight = np.ones(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = RBoostClassifier(n_estimators=5, random_state=0).set_fit_request(
            sample_weight=True, X_trusted=True, y_trusted=True
        )
        model.set_score_request(sample_weight=False)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model, transform_input=["X_trusted"]).fit(
            100 * X + 1000,
            noisy,
            sample_weight=weight,
            X_trusted=100 * X_trusted + 1000,
            y_trusted=y_trusted,
        )
        metadata = {"sample_weight": weight, "X_trusted": X_trusted, "y_trusted": y_trusted}
        scores = cross_val_score(model, X, noisy, cv=3, params=metadata)
    direct = RBoostClassifier(n_estimators=5, random_state=0).fit(
        X, noisy, X_trusted=X_trusted, y_trusted=y_trusted
    )
    assert_allclose(routed.predict_proba(100 * X + 1000), direct.predict_proba(X), atol=1e-9)
    assert np.all(scores > 0.5)


def test_feature_importances_where_the_base_has_them(noisy_banana):
    X, _, noisy, _ = noisy_banana
    X = np.column_stack([X, np.zeros(len(X))])
    trees = RBoostClassifier(n_estimators=20, random_state=0).fit(X, noisy)
    assert_allclose(trees.feature_importances_.sum(), 1)
    assert trees.feature_importances_[2] == 0
    few = RBoostClassifier(sampling="weights", max_samples=0.005, random_state=0).fit(X, noisy)
    assert any(isinstance(learner, DummyClassifier) for learner in few.estimators_)
    assert_allclose(few.feature_importances_.sum(), 1)
    linear = RBoostClassifier(LogisticRegression(), n_estimators=3).fit(X, noisy)
    assert not hasattr(linear, "feature_importances_")


def test_verbose_shows_a_bar_and_silence_is_the_default(noisy_banana, capsys):
    X, _, noisy, _ = noisy_banana
    RBoostClassifier(n_estimators=5).fit(X, noisy)
    assert capsys.readouterr() == ("", "")
    RBoostClassifier(n_estimators=5, verbose=True).fit(X, noisy)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Boosting" in captured.err
    assert "5/5" in captured.err
    perfect = np.linspace(-1, 1, 50)[:, None]
    RBoostClassifier(noise_matrix=np.eye(2), verbose=1).fit(perfect, perfect[:, 0] > 0)
    assert captured.err.endswith("\n")
    assert capsys.readouterr().err.endswith("\n")  # also when boosting ends early


def test_flipping_both_classes_mirrors_the_model():
    X, y = make_banana(300, random_state=0)
    noisy, _ = flip_labels(y, asymmetric(0.2, from_class=0), random_state=0)
    one = RBoostClassifier(noise_matrix=asymmetric(0.2, 0), random_state=0).fit(X, noisy)
    two = RBoostClassifier(noise_matrix=asymmetric(0.2, 1), random_state=0).fit(X, 1 - noisy)
    assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        ((np.zeros((4, 2)), None), "belong together"),
        ((None, [0, 1]), "belong together"),
        ((np.zeros((4, 2)), [1, 1, 1, 1]), "y_trusted holds only one class"),
        ((np.zeros((4, 3)), [0, 1, 0, 1]), "X_trusted must have the columns of X.*3 features"),
        ((np.zeros((4, 2)), [0, 1, 0]), "X_trusted has 4 rows but y_trusted has 3"),
        ((np.zeros((4, 2)), ["a", "b", "a", "b"]), "use the same labels in both"),
        ((np.full((4, 2), np.inf), [0, 1, 0, 1]), "X_trusted .*infinity"),
    ],
)
def test_bad_trusted_rows_are_named(trusted, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(n_estimators=2)
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
        ({"noise_estimator": "oracle"}, "noise_estimator of .* must be one of 'paper'"),
        ({"mixing": None}, "mixing of .* must be one of 'posterior', 'paper'"),
        ({"negative_weights": "clip"}, "negative_weights of .* must be one of 'flip', 'keep'"),
        ({"calibration": "beta"}, "calibration of .* must be one of"),
        ({"noise_matrix": [[0.9, 0.2], [0, 1]]}, "row 0 sums to 1.1"),
        ({"noise_matrix": [[0.3, 0.7], [0.4, 0.6]]}, "must sum to less than 1"),
        ({"estimator": DecisionTreeClassifier}, "estimator must be a scikit-learn classifier"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, message, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = RBoostClassifier(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, noisy)
    assert not hasattr(model, "n_features_in_")
