"""The paper's version: every row judges every learner, and the sign of the score decides."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_hastie_10_2, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import AdaRBoostClassifier, RobustLogisticRegression
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels, symmetric
from tests.models import STUMP, algorithm_1

# Of rows that are drawn.
SHARE = {"none": 1.0, "uniform": 0.9, "weights": 0.9}
PAPER_RLR = RobustLogisticRegression(C=None, solver="alternating", n_init=1, max_iter=10)


def test_its_defaults_are_the_paper_with_stumps_and_a_consistent_loss(noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = AdaRBoostClassifier(random_state=0).fit(X, noisy)
    assert len(model.estimators_) <= model.n_iter_ <= 150
    named = algorithm_1(STUMP, random_state=0).fit(X, noisy)
    np.testing.assert_array_equal(model.decision_function(X), named.decision_function(X))
    assert {type(learner) for learner in model.estimators_} == {DecisionTreeClassifier}


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
    model = algorithm_1(estimator, n_rounds=10, noise_matrix=noise, random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.55


def test_a_learner_without_weights_is_boosted_by_drawing_rows(noisy_banana):
    X, _, noisy, _ = noisy_banana
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(15))
    model = algorithm_1(pipeline, n_rounds=5, sampling="weights", random_state=0)
    assert model.fit(X, noisy).score(X, noisy) > 0.6
    with pytest.raises(ValueError, match="use sampling='weights'"):
        algorithm_1(pipeline).fit(X, noisy)


def test_a_list_of_learners_is_taken_in_turn(noisy_banana):
    X, _, noisy, _ = noisy_banana
    pool = [DecisionTreeClassifier(max_depth=3), LinearSVC()]
    model = algorithm_1(pool, n_rounds=8, random_state=0).fit(X, noisy)
    kinds = [type(learner) for learner in model.estimators_]
    assert kinds == [DecisionTreeClassifier, LinearSVC] * 4
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("votes", ["class", "probability"])
def test_the_stages_end_at_the_whole(votes, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(DecisionTreeClassifier(max_depth=3), 12, votes=votes, random_state=0)
    model.fit(X, noisy)
    for name in ["decision_function", "predict", "predict_proba"]:
        stages = list(getattr(model, "staged_" + name)(X))
        assert len(stages) == len(model.estimators_) <= 12
        assert_allclose(stages[-1], getattr(model, name)(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_features(container, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(DecisionTreeClassifier(max_depth=3), n_rounds=5, random_state=0)
    one, other = clone(model).fit(container(X), noisy), clone(model).fit(X, noisy)
    np.testing.assert_array_equal(one.predict(container(X)), other.predict(X))
    for learners in (GaussianNB(), [STUMP, GaussianNB()]):
        with pytest.raises(TypeError, match=r"[Dd]ense"):
            algorithm_1(learners).fit(container(X), noisy)


def test_missing_features_are_for_learners_that_take_them(noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    X = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    assert algorithm_1(n_rounds=10).fit(X, noisy).score(X, noisy) > 0.6
    with pytest.raises(ValueError, match="NaN"):
        algorithm_1(LogisticRegression()).fit(X, noisy)


def test_importances_are_those_of_learners_that_have_them(noisy_banana):
    X, _, noisy, _ = noisy_banana
    few = algorithm_1(sampling="weights", max_samples=0.005, random_state=0).fit(X, noisy)
    assert any(isinstance(learner, DummyClassifier) for learner in few.estimators_)
    assert_allclose(few.feature_importances_.sum(), 1)
    linear = algorithm_1(LogisticRegression(), n_rounds=3).fit(X, noisy)
    assert not hasattr(linear, "feature_importances_")


def test_the_prediction_does_not_depend_on_the_calibration(noisy_banana):
    X, _, noisy, noise = noisy_banana
    one, two, three = (
        algorithm_1(n_rounds=10, calibration=name, noise_matrix=noise).fit(X, noisy)
        for name in ("platt", "logistic", "isotonic")
    )
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    np.testing.assert_array_equal(one.decision_function(X), three.decision_function(X))
    assert np.any(one.predict_proba(X) != two.predict_proba(X))


@pytest.mark.parametrize(
    "change",
    [{"votes": "probability"}, {"calibration": "isotonic"}, {"estimator": GaussianNB()}],
    ids=str,
)
def test_a_parameter_changes_predictions_with_the_next_fit_only(change, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(n_rounds=6, random_state=0).fit(X, noisy)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(**change).predict_proba(X), before)


def test_a_bar_ends_also_when_boosting_ends_early(capsys, monkeypatch):
    monkeypatch.setattr("rboost.progress.DELAY", -1)
    perfect = np.linspace(-1, 1, 50)[:, None]
    algorithm_1(noise_matrix=np.eye(2), verbose=1).fit(perfect, perfect[:, 0] > 0)
    assert capsys.readouterr().err.endswith("\n")


@pytest.mark.parametrize(
    ("X", "y"),
    [make_hastie_10_2(1000, random_state=0), load_breast_cancer(return_X_y=True)],
    ids=["hastie", "breast cancer"],
)
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_no_noise_is_adaboost_round_by_round(X, y, learning_rate):
    arguments = {"n_estimators": 60, "learning_rate": learning_rate, "random_state": 0}
    ours = algorithm_1(STUMP, noise_matrix=np.eye(2), **arguments).fit(X, y)
    peer = AdaBoostClassifier(STUMP, **arguments).fit(X, y)
    assert len(ours.estimators_) == len(peer.estimators_) == 60
    assert_allclose(2 * ours.estimator_weights_, peer.estimator_weights_)
    assert_allclose(ours.estimator_errors_, peer.estimator_errors_)
    for mine, theirs in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_knowing_the_noise_helps(noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    plain = algorithm_1(noise_matrix=np.eye(2), random_state=0).fit(X, noisy)
    robust = algorithm_1(noise_matrix=noise, random_state=0).fit(X, noisy)
    assert robust.score(*clean_banana) > plain.score(*clean_banana) + 0.05


def test_keeping_the_labels_of_negative_weights_is_another_algorithm(noisy_banana):
    X, _, noisy, noise = noisy_banana
    models = [
        algorithm_1(noise_matrix=noise, negative_weights=name, random_state=0).fit(X, noisy)
        for name in ("flip", "keep")
    ]
    assert np.any(models[0].decision_function(X) != models[1].decision_function(X))
    assert all(model.score(X, noisy) > 0.6 for model in models)


@pytest.mark.slow
def test_the_papers_estimate_falls_to_zero_and_trusted_rows_repair_it(noisy_banana, clean_banana):
    X, _, noisy, noise = noisy_banana
    trusted = dict(zip(["X_trusted", "y_trusted"], make_banana(20, random_state=5), strict=True))
    model = algorithm_1(PAPER_RLR, sampling="weights", random_state=0)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        alone = clone(model).fit(X, noisy)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        helped = clone(model).fit(X, noisy, **trusted)
    assert alone.noise_matrix_[0, 1] < 0.1  # the truth is .3: section 4.3's disappointment
    assert_allclose(helped.noise_matrix_, noise, atol=0.15)
    assert helped.score(*clean_banana) > alone.score(*clean_banana)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
@pytest.mark.parametrize("mixing", ["posterior", "paper"])
@pytest.mark.parametrize("calibration", ["platt", "logistic", "isotonic"])
def test_every_combination_is_sane_and_consistent(sampling, mixing, calibration, noisy_banana):
    X, _, noisy, _ = noisy_banana
    model = algorithm_1(
        DecisionTreeClassifier(max_depth=3),
        n_estimators=15,
        sampling=sampling,
        max_samples=1.0 if sampling == "none" else 0.5,
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


def test_a_perfect_learner_leaves_nothing_to_boost():
    X = np.linspace(-1, 1, 50)[:, None]
    y = X[:, 0] > 0
    for noise in [np.eye(2), [[0.9, 0.1], [0.2, 0.8]], "estimate"]:
        model = algorithm_1(noise_matrix=noise, random_state=0).fit(X, y)
        assert model.score(X, y) == 1
        assert np.all(np.isfinite(model.decision_function(X)))
        assert np.all(np.isfinite(model.predict_proba(X)))
    assert "without errors" in algorithm_1(noise_matrix=np.eye(2)).fit(X, y).stop_reason_


def test_warm_start_after_the_end_adds_nothing():
    X = np.linspace(-1, 1, 50)[:, None]
    model = algorithm_1(n_estimators=3, noise_matrix=np.eye(2), warm_start=True)
    model.fit(X, X[:, 0] > 0)
    assert len(model.set_params(n_estimators=9).fit(X, X[:, 0] > 0).estimators_) == 1


@pytest.mark.slow
def test_scores_whose_exponentials_overflow_stay_finite():
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = algorithm_1(
        DecisionTreeClassifier(max_depth=3),
        n_estimators=700,
        noise_matrix=np.eye(2),
        random_state=0,
    ).fit(X, y)
    assert np.abs(model.decision_function(X)).max() > np.log(np.finfo(float).max)
    assert np.all(np.isfinite(model.decision_function(X)))
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert np.all(np.isfinite(model.estimator_weights_))
    assert model.score(X, y) > 0.8


@pytest.mark.slow
def test_the_heaviest_rows_are_fitted(noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    for exponents in [(-300, 0), (-150, 150), (0, 300)]:
        weight = rng.permutation(10.0 ** np.linspace(*exponents, len(X)))
        heaviest = weight > 1e-3 * weight.max()
        for sampling in ["none", "uniform", "weights"]:
            model = algorithm_1(
                n_rounds=15, sampling=sampling, max_samples=SHARE[sampling], random_state=0
            ).fit(X, noisy, sample_weight=weight)
            assert np.all(np.isfinite(model.predict_proba(X)))
            assert np.all(np.isfinite(model.noise_matrix_))
            if sampling == "none":
                assert model.score(X[heaviest], noisy[heaviest]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["none", "uniform", "weights"])
def test_rows_fitted_perfectly_under_noise(sampling):
    """Estimated rates fall towards 0 and weights towards the smallest numbers; both must hold."""
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = algorithm_1(
        DecisionTreeClassifier(), n_rounds=100, sampling=sampling, max_samples=SHARE[sampling]
    )
    assert model.set_params(random_state=0).fit(X, y).score(X, y) > 0.95
    line = np.linspace(-1, 1, 50)[:, None]
    for rate in [0.01, 0.1, 0.2, 0.37]:
        model = algorithm_1(noise_matrix=symmetric(rate), sampling=sampling, random_state=0)
        model.fit(line, line[:, 0] > 0)
        assert model.score(line, line[:, 0] > 0) > 0.9
        assert np.all(model.estimator_weights_ > 1e-12)


def test_a_useless_learner_is_reported():
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="No base learner was kept .*no better than chance"):
        model = algorithm_1(DummyClassifier(strategy="constant", constant=1)).fit(X, y)
    assert model.estimators_ == []
    np.testing.assert_array_equal(model.predict(X), 0)
    assert_allclose(model.predict_proba(X), 0.5, atol=0.02)


def test_flipping_both_classes_mirrors_the_model():
    X, y = make_banana(300, random_state=0)
    noisy, _ = flip_labels(y, asymmetric(0.2, from_class=0), random_state=0)
    one = algorithm_1(noise_matrix=asymmetric(0.2, 0), random_state=0).fit(X, noisy)
    two = algorithm_1(noise_matrix=asymmetric(0.2, 1), random_state=0).fit(X, 1 - noisy)
    assert_allclose(one.decision_function(X), -two.decision_function(X), atol=1e-9)


def test_trusted_rows_of_one_class_calibrate_nothing(noisy_banana):
    X, _, noisy, _ = noisy_banana
    with pytest.raises(ValueError, match="y_trusted holds only one class"):
        algorithm_1(n_estimators=2).fit(X, noisy, X_trusted=X[:4], y_trusted=[1, 1, 1, 1])


def test_trusted_rows_may_be_stored_otherwise_than_the_rest(noisy_banana):
    X, _, noisy, _ = noisy_banana
    X_trusted, y_trusted = make_banana(20, random_state=5)
    one, other = (
        algorithm_1(n_estimators=5, random_state=0).fit(
            X, noisy, X_trusted=container(X_trusted), y_trusted=y_trusted
        )
        for container in (np.asarray, sparse.csr_array)
    )
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
