"""Calibrated classifiers and estimates of the noise with more than two classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC

from rboost import (
    NoiseAwareClassifier,
    NoiseCalibratedClassifier,
    estimate_noise_matrix,
)
from rboost.noise import flip_labels

NAMES = np.array(["ant", "bee", "cat", "dog"])
NOISE = np.array([[0.7, 0.3, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
X, POSITIONS = make_blobs(800, centers=4, cluster_std=1.0, random_state=1)
TRUE = NAMES[POSITIONS]
OBSERVED, FLIPPED = flip_labels(TRUE, NOISE, random_state=0)
MODEL = LogisticRegression(C=0.1)


@pytest.fixture(scope="module")
def fitted():
    return NoiseCalibratedClassifier(MODEL, random_state=0).fit(X, OBSERVED)


def test_noise_and_true_classes_are_found(fitted):
    assert_array_equal(fitted.classes_, NAMES)
    assert_allclose(fitted.noise_matrix_, NOISE, atol=0.06)
    low, high = fitted.noise_interval_
    assert np.mean((low <= NOISE + 1e-6) & (high + 1e-6 >= NOISE)) > 0.8
    suspects = np.argsort(-fitted.label_issue_probability_)[: FLIPPED.sum()]
    assert FLIPPED[suspects].mean() > 0.9
    assert np.mean(fitted.true_class_ == TRUE) > np.mean(OBSERVED == TRUE)
    assert fitted.score(X, TRUE) > clone(MODEL).fit(X, OBSERVED).score(X, TRUE) - 0.01


def test_shapes_are_those_of_scikit_learn(fitted):
    probability = fitted.predict_proba(X)
    assert probability.shape == fitted.decision_function(X).shape == (800, 4)
    assert fitted.held_out_scores_.shape == fitted.score_rows(X).shape == (800, 4)
    assert_allclose(probability.sum(axis=1), 1)
    assert_allclose(np.exp(fitted.decision_function(X)), probability, rtol=1e-6, atol=1e-12)
    assert_array_equal(fitted.predict(X), NAMES[probability.argmax(axis=1)])


def test_noise_may_be_told():
    told = NoiseCalibratedClassifier(MODEL, noise_matrix=NOISE, random_state=0).fit(X, OBSERVED)
    assert_allclose(told.noise_matrix_, NOISE)
    assert not hasattr(told, "noise_interval_")
    with pytest.raises(ValueError, match="4 classes; pass a 4×4"):
        NoiseCalibratedClassifier(MODEL, noise_matrix=np.eye(2)).fit(X, OBSERVED)


def test_trusted_rows_and_answers_are_used():
    answers = [label if row % 20 == 0 else None for row, label in enumerate(TRUE.tolist())]
    aware = NoiseCalibratedClassifier(MODEL, random_state=0)
    assert_allclose(aware.fit(X, OBSERVED, y_checked=answers).noise_matrix_, NOISE, atol=0.06)
    trusted = {"X_trusted": X[:40], "y_trusted": TRUE[:40]}
    aware.fit(X[40:], OBSERVED[40:], **trusted)
    assert len(aware.label_issue_probability_) == len(aware.true_class_) == 760
    assert len(aware.held_out_scores_) == 800


def test_decision_functions_are_scores_too():
    model = NoiseCalibratedClassifier(LinearSVC(), random_state=0).fit(X, OBSERVED)
    assert_allclose(model.noise_matrix_, NOISE, atol=0.12)


def test_scores_of_pairs_of_classes_are_refused():
    """Also of three classes, which make three pairs."""
    pairs = SVC(decision_function_shape="ovo")
    for rows in (slice(None), OBSERVED != "dog"):
        with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
            NoiseCalibratedClassifier(pairs).fit(X[rows], OBSERVED[rows])


def test_a_class_that_a_fold_has_missed_gets_no_probability():
    """Folds in the order of the rows, which are sorted by class."""
    order = np.argsort(POSITIONS, kind="stable")
    folds = [(order[:600], order[600:]), (order[600:], order[:600])]
    with pytest.raises(ValueError, match="all of one class"):
        NoiseCalibratedClassifier(MODEL, cv=folds).fit(X, OBSERVED)
    halves = [(order[:400], order[400:]), (order[400:], order[:400])]
    model = NoiseCalibratedClassifier(MODEL, cv=halves).fit(X, OBSERVED)
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_noise_is_estimated():
    estimate = estimate_noise_matrix(X, OBSERVED, MODEL, random_state=0)
    assert estimate.noise_matrix.shape == estimate.standard_error.shape == (4, 4)
    assert_allclose(estimate.noise_matrix.sum(axis=1), 1)
    assert estimate.noise_matrix[0, 1] == pytest.approx(0.3, abs=0.06)
    assert np.all(estimate.interval[0] <= estimate.interval[1])
    assert "'ant' observed as 'bee'" in str(estimate)


def test_an_estimate_is_said_class_by_class():
    """Noise that is alike for many classes is small for each pair of them, but not for a class."""
    lines = str(estimate_noise_matrix(X, OBSERVED, MODEL, random_state=0)).splitlines()
    assert lines[0].startswith("'ant' observed as another: 3")
    assert lines[1].startswith("  'ant' observed as 'bee': 3")
    assert [line.split(":")[0] for line in lines[2:]] == [
        f"'{name}' observed as another" for name in ("bee", "cat", "dog")
    ]


@pytest.mark.parametrize(
    "model",
    [NoiseCalibratedClassifier(MODEL), NoiseAwareClassifier(MODEL)],
    ids=["by scores", "EM"],
)
def test_a_class_without_weight_is_refused(model):
    with pytest.raises(ValueError, match="zero on all rows of class 'cat'"):
        model.fit(X, OBSERVED, sample_weight=(OBSERVED != "cat").astype(float))
