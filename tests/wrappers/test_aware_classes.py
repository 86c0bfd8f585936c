"""NoiseAwareClassifier with more than two classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import get_tags

from rboost import robust
from rboost.noise import flip_labels
from rboost.wrappers import NoiseAwareClassifier

# A third of the first class is called the second, a tenth of the third the first.
NOISE = np.array([[0.67, 0.33, 0], [0, 1, 0], [0.1, 0, 0.9]])


@pytest.fixture(scope="module")
def blobs():
    """Features, true and observed labels of three classes that overlap a little."""
    X, true = make_blobs(600, centers=[[0, 0], [3, 0], [0, 3]], random_state=0)
    return X, true, flip_labels(true, NOISE, random_state=0)[0]


def exact_logistic():
    return LogisticRegression(C=100, solver="newton-cholesky", tol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inner", "cv"),
    [
        (exact_logistic(), None),
        (RandomForestClassifier(25, min_samples_leaf=10, random_state=0), 3),
    ],
    ids=["plain", "left out"],
)
def test_it_finds_the_noise_and_the_true_classes(inner, cv, blobs):
    X, true, noisy = blobs
    names = np.array(["a", "b", "c"])
    model = NoiseAwareClassifier(inner, cv, random_state=0).fit(X, names[noisy])
    assert np.abs(model.noise_matrix_ - NOISE).max() < 0.15
    plain = clone(inner).fit(X, noisy)
    assert model.score(X, names[true]) > plain.score(X, true) + 0.01
    assert np.mean(model.true_class_ == names[true]) > np.mean(noisy == true) + 0.04
    surely_wrong = model.label_issue_probability_ > 0.5
    assert np.all(model.true_class_[surely_wrong] != names[noisy][surely_wrong])
    assert np.mean((noisy != true)[surely_wrong]) > 0.8
    probability = model.predict_proba(X)
    assert probability.shape == (600, 3)
    np.testing.assert_array_equal(model.predict(X), names[probability.argmax(axis=1)])


def test_plain_em_never_lowers_the_likelihood(blobs):
    X, _, noisy = blobs
    model = NoiseAwareClassifier(exact_logistic(), cv=None, tol=1e-3).fit(X, noisy)
    assert np.all(np.diff(model.log_likelihood_) >= -1e-9)


def test_renaming_the_classes_changes_nothing_else(blobs):
    X, _, noisy = blobs
    turn = np.array([2, 0, 1])  # class k becomes class turn[k]
    model = NoiseAwareClassifier(exact_logistic(), cv=None, random_state=0)
    one, other = clone(model).fit(X, noisy), clone(model).fit(X, turn[noisy])
    assert_allclose(other.noise_matrix_[np.ix_(turn, turn)], one.noise_matrix_, atol=1e-6)
    assert_allclose(other.predict_proba(X)[:, turn], one.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(other.true_class_, turn[one.true_class_])


def test_a_known_noise_matrix_is_used(blobs):
    X, _, noisy = blobs
    told = NoiseAwareClassifier(exact_logistic(), cv=None, noise_matrix=NOISE).fit(X, noisy)
    np.testing.assert_array_equal(told.noise_matrix_, NOISE)
    assert np.all(told.true_class_[noisy == 2] == 2)  # nothing else is ever called that
    none = NoiseAwareClassifier(exact_logistic(), cv=None, noise_matrix=np.eye(3)).fit(X, noisy)
    plain = exact_logistic().fit(X, noisy)
    assert_allclose(none.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    assert not none.label_issue_probability_.any()
    np.testing.assert_array_equal(none.true_class_, noisy)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_class_that_a_fold_misses(blobs):
    X, _, noisy = blobs
    fold = np.where(noisy == 2, 0, np.arange(600) % 2)  # no row of class 2 is fitted to at first
    model = NoiseAwareClassifier(exact_logistic(), cv=PredefinedSplit(fold), max_iter=5)
    model.fit(X, noisy)
    assert np.all(np.isfinite(model.log_likelihood_))
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_it_takes_as_many_classes_as_the_estimator_does():
    for inner, several in [
        (LogisticRegression(), True),
        (robust.RobustDiscriminantClassifier(), False),
    ]:
        tags = get_tags(NoiseAwareClassifier(inner))
        assert tags.classifier_tags.multi_class is several
