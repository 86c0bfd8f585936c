"""RBoostClassifier with more than two classes."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier

from rboost import RBoostClassifier
from rboost.noise import flip_labels, symmetric
from tests.models import STUMP, algorithm_1

N_ROWS, NEXT = 450, 0.75 * np.eye(3) + 0.25 * np.roll(np.eye(3), 1, axis=1)


def boost(**parameters):
    return RBoostClassifier(**{"engines": "pool", "max_iter": 40, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def blobs():
    """Features, true classes, and labels of which a quarter name the next class."""
    X, y = make_blobs(2 * N_ROWS, centers=3, cluster_std=1.5, random_state=2)
    observed, _ = flip_labels(y[:N_ROWS], NEXT, random_state=0)
    return X[:N_ROWS], y[:N_ROWS], observed, X[N_ROWS:], y[N_ROWS:]


@pytest.fixture(scope="module")
def fitted(blobs):
    X, _, observed, *_ = blobs
    return boost().fit(X, observed)


def assert_consistent(model, X, n_classes=3):
    decisions, probability = model.decision_function(X), model.predict_proba(X)
    assert decisions.shape == probability.shape == (X.shape[0], n_classes)
    assert np.all(np.isfinite(decisions))
    assert np.all((probability >= 0) & (probability <= 1))
    assert_allclose(probability.sum(axis=1), 1)
    assert_allclose(np.exp(model.predict_log_proba(X)), probability)
    for numbers in (decisions, probability):
        np.testing.assert_array_equal(model.predict(X), model.classes_[numbers.argmax(axis=1)])


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_no_noise_is_samme_round_by_round(load, learning_rate):
    X, y = load(return_X_y=True)
    arguments = {"n_estimators": 25, "learning_rate": learning_rate, "random_state": 0}
    ours = algorithm_1(STUMP, noise_matrix=np.eye(3), **arguments).fit(X, y)
    peer = AdaBoostClassifier(STUMP, **arguments).fit(X, y)
    assert len(ours.estimators_) == len(peer.estimators_) == 25
    assert_allclose(3 / 4 * ours.estimator_weights_, peer.estimator_weights_, rtol=1e-6)
    assert_allclose(ours.estimator_errors_, peer.estimator_errors_, rtol=1e-6)
    for mine, theirs in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_noise_true_classes_and_wrong_labels_are_found(fitted, blobs):
    X, y, observed, X_new, y_new = blobs
    assert_allclose(fitted.noise_matrix_, NEXT, atol=0.1)
    lower, upper = fitted.noise_interval_
    assert lower.shape == upper.shape == (3, 3)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))
    assert np.mean((lower <= NEXT) & (upper >= NEXT)) > 0.7
    assert average_precision_score(observed != y, fitted.label_issue_probability_) > 0.85
    assert np.mean(fitted.true_class_ == y) > np.mean(observed == y) + 0.1
    assert_consistent(fitted, X_new)
    plain = boost(noise_matrix=np.eye(3)).fit(X, observed)
    assert fitted.score(X_new, y_new) >= plain.score(X_new, y_new)
    assert_allclose(fitted.feature_importances_.sum(), 1)


def test_scores_of_rows_are_on_the_scale_of_the_held_out_ones(fitted, blobs):
    _, _, observed, X_new, _ = blobs
    assert fitted.held_out_scores_.shape == (N_ROWS, 3)
    scores = fitted.score_rows(X_new)
    posterior = fitted._model.noise
    assert_allclose(posterior.probability(scores), fitted.predict_proba(X_new), atol=1e-9)
    assert_allclose(
        posterior.issue_probability(fitted.held_out_scores_, observed),
        fitted.label_issue_probability_,
    )


def test_the_stages_of_algorithm_1_end_at_the_whole(blobs):
    X, _, observed, X_new, _ = blobs
    model = algorithm_1(DecisionTreeClassifier(min_samples_leaf=3), n_rounds=12, random_state=0)
    model.fit(X, observed)
    for name in ["decision_function", "predict", "predict_proba"]:
        stages = list(getattr(model, "staged_" + name)(X_new))
        assert len(stages) == len(model.estimators_)
        np.testing.assert_array_equal(stages[-1], getattr(model, name)(X_new))
    assert model.noise_matrix_history_.shape == (len(model.estimators_), 3, 3)


@pytest.mark.slow
@pytest.mark.parametrize("votes", ["class", "probability"])
@pytest.mark.parametrize("negative_weights", ["flip", "keep"])
@pytest.mark.parametrize("mixing", ["posterior", "paper"])
def test_every_way_of_algorithm_1_is_sane(votes, negative_weights, mixing, blobs):
    X, _, observed, X_new, y_new = blobs
    model = algorithm_1(
        DecisionTreeClassifier(max_depth=3), votes=votes, negative_weights=negative_weights,
        mixing=mixing, sampling="weights" if votes == "class" else "uniform", max_samples=0.5,
        learning_rate=0.5, n_rounds=15, noise_matrix=NEXT, random_state=0,
    ).fit(X, observed)  # fmt: skip
    assert_consistent(model, X_new)
    assert model.score(X_new, y_new) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("calibration", ["platt", "logistic"])
@pytest.mark.parametrize("noise_matrix", ["estimate", symmetric(0.2, 3)], ids=["estimate", "known"])
def test_every_calibration_of_algorithm_1_is_sane(calibration, noise_matrix, blobs):
    X, y, observed, X_new, y_new = blobs
    model = algorithm_1(
        DecisionTreeClassifier(max_depth=3), calibration=calibration, n_rounds=15,
        noise_matrix=noise_matrix, learning_rate=0.5, random_state=0,
    )  # fmt: skip
    for trusted in [{}, {"X_trusted": X[:60], "y_trusted": y[:60]}]:
        model.fit(X, observed, **trusted)
        assert_consistent(model, X_new)
        assert model.score(X_new, y_new) > 0.6
        assert_allclose(model.noise_matrix_.sum(axis=1), 1)


@pytest.mark.slow
def test_the_learning_rate_of_the_pool_depends_on_the_number_of_classes(noisy_banana, blobs):
    """As its losses do: the exponential one for two classes, the likelihood for more."""
    banana, three = (noisy_banana[0], noisy_banana[2]), (blobs[0], blobs[2])
    for (X, y), rate in [(banana, 0.015), (three, 0.045)]:
        model = boost(max_iter=20).fit(X, y)
        again = boost(max_iter=20, learning_rate=rate).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
def test_trusted_rows_and_answers_are_taken(blobs):
    X, y, observed, *_ = blobs
    rest, known = slice(90, None), slice(None, 90)
    trusted = {"X_trusted": X[known], "y_trusted": y[known]}
    for extra in [{}, trusted]:
        model = boost().fit(X[rest], observed[rest], **extra)
        assert model.label_issue_probability_.shape == model.true_class_.shape == (N_ROWS - 90,)
        assert len(model.held_out_scores_) == N_ROWS - 90 + (90 if extra else 0)
    answers = [label if row < 90 else None for row, label in enumerate(y.tolist())]
    model = boost().fit(X, observed, y_checked=answers)
    np.testing.assert_array_equal(model.true_class_[known], y[known])
    np.testing.assert_array_equal(
        model.label_issue_probability_[known] > 0.5, (y != observed)[known]
    )
    assert_allclose(model.noise_matrix_, NEXT, atol=0.12)
    with pytest.raises(ValueError, match="only 2 of 3 classes"):
        algorithm_1().fit(X, observed, X_trusted=X[y < 2], y_trusted=y[y < 2])


def test_models_are_pickled(fitted, blobs):
    X_new = blobs[3]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X_new), fitted.predict_proba(X_new))


def test_weights_of_zero_leave_rows_out_but_judge_their_labels(blobs):
    X, y, observed, X_new, _ = blobs
    weight = np.where(np.arange(N_ROWS) % 5 == 0, 0.0, 1.0)
    kept = weight > 0
    model = boost(max_iter=30).fit(X, observed, sample_weight=weight)
    alone = boost(max_iter=30).fit(X[kept], observed[kept])
    np.testing.assert_array_equal(model.predict_proba(X_new), alone.predict_proba(X_new))
    issues = model.label_issue_probability_
    assert_allclose(issues[kept], alone.label_issue_probability_)
    assert average_precision_score((observed != y)[~kept], issues[~kept]) > 0.7
    with pytest.raises(ValueError, match="zero on all rows of class 2; give some rows"):
        boost().fit(X, observed, sample_weight=(observed != 2).astype(float))


@pytest.mark.slow
@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 5, 9]], ids=str)
def test_labels_of_any_type(labels, blobs, fitted):
    X, _, observed, X_new, _ = blobs
    model = boost().fit(X, np.array(labels)[observed])
    np.testing.assert_array_equal(model.predict(X_new), np.array(labels)[fitted.predict(X_new)])
    np.testing.assert_array_equal(model.true_class_, np.array(labels)[fitted.true_class_])


@pytest.mark.slow
@pytest.mark.parametrize("engines", ["auto", "pool", "trees", "linear", ["linear", "pool"]])
def test_every_engine_takes_several_classes(engines, blobs):
    X, _, observed, X_new, y_new = blobs
    model = boost(engines=engines, max_iter=12).fit(X, observed)
    assert_consistent(model, X_new)
    assert model.score(X_new, y_new) > 0.75
    few = boost(engines=engines, max_iter=9).fit(sparse.csr_array(X), observed)
    assert_consistent(few, sparse.csr_array(X_new))


@pytest.mark.filterwarnings("ignore:Every training row is predicted as:UserWarning")
@pytest.mark.filterwarnings("ignore:No base learner was kept:UserWarning")
def test_few_rows_rare_classes_and_constant_features_stay_finite():
    rng = np.random.RandomState(0)
    for X, y in [
        (rng.standard_normal((6, 2)), np.arange(6) % 3),
        (rng.standard_normal((60, 2)), np.where(np.arange(60) < 2, 2, np.arange(60) % 2)),
        (np.ones((30, 2)), np.arange(30) % 3),
    ]:
        assert_consistent(boost(max_iter=30).fit(X, y), X)


def test_what_is_for_two_classes_only_says_so(blobs):
    X, _, observed, *_ = blobs
    for model, message in [
        (algorithm_1(calibration="isotonic"), r"calibration='isotonic'.* 3 classes; use calib"),
        (algorithm_1(noise_matrix=np.eye(2)), "3 classes"),
        (boost(noise_matrix=np.eye(2)), "3 classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, observed)
        assert not hasattr(model, "classes_")
