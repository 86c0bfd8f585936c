import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from rboost.wrappers.base import (
    check_scorer,
    folds,
    model_outputs,
    out_of_fold_outputs,
    outputs_as_scores,
)

X = np.random.RandomState(0).standard_normal((60, 3))
Y = (np.random.RandomState(1).uniform(size=60) < 0.4).astype(int)  # unrelated to X


class Memory(ClassifierMixin, BaseEstimator):
    """Says whether it was fitted to a row, and with which weight."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self.weights_ = {tuple(row): w for row, w in zip(X, weight, strict=True)}
        self.total_ = sum(self.weights_.values())
        return self

    def decision_function(self, X):
        return np.array([self.weights_.get(tuple(row), 0.0) for row in X])

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class TotalWeight(Memory):
    """Scores every row by the weight that it was fitted with."""

    def decision_function(self, X):
        return np.full(len(X), self.total_)


@pytest.mark.parametrize("cv", [2, 5, 10, StratifiedKFold(3), KFold(4, shuffle=True)], ids=str)
def test_no_model_has_seen_the_row_it_scores(cv):
    np.testing.assert_array_equal(out_of_fold_outputs(Memory(), X, Y, cv=cv, random_state=0), 0)
    assert np.all(model_outputs(Memory().fit(X, Y), X, 2) == 1)


def test_a_nearest_neighbour_knows_nothing_of_labels_out_of_fold():
    neighbour = KNeighborsClassifier(1)
    np.testing.assert_array_equal(model_outputs(neighbour.fit(X, Y), X, 2) > 0.5, Y == 1)
    scores = out_of_fold_outputs(neighbour, X, Y, random_state=0)
    assert 0.3 < np.mean((scores > 0.5) == Y) < 0.7


def test_sample_weight_is_passed_on_with_its_rows():
    weight = 2.0 ** np.arange(60)
    splitter = StratifiedKFold(3)
    scores = out_of_fold_outputs(TotalWeight(), X, Y, cv=splitter, sample_weight=weight)
    for train, test in splitter.split(X, Y):
        assert_allclose(scores[test], weight[train].sum())
    unweighted = out_of_fold_outputs(TotalWeight(), X, Y, cv=splitter)
    assert set(unweighted) <= {39.0, 40.0, 41.0}


def test_probabilities_become_smoothed_log_odds():
    model = LogisticRegression()
    splitter = StratifiedKFold(3)
    outputs = out_of_fold_outputs(model, X, Y, cv=splitter)
    train, test = next(splitter.split(X, Y))
    probability = model.fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
    assert_allclose(outputs[test], probability)
    assert_allclose(model_outputs(model, X[test], 2), probability)
    smoothed = np.log(outputs + 0.004) - np.log(1 - outputs + 0.006)
    assert_allclose(outputs_as_scores(model, outputs, np.array([0.6, 0.4])), smoothed)
    assert outputs_as_scores(LinearSVC(), outputs, np.array([0.6, 0.4])) is outputs


def test_every_row_is_tested_once():
    with pytest.raises(ValueError, match="exactly one test fold"):
        out_of_fold_outputs(LogisticRegression(), X, Y, cv=ShuffleSplit(3))


def test_the_estimator_itself_is_left_alone():
    model = LogisticRegression()
    out_of_fold_outputs(model, X, Y, random_state=0)
    assert not hasattr(model, "coef_")


def test_the_seed_decides_the_folds():
    model = LogisticRegression()
    one, same, other = (out_of_fold_outputs(model, X, Y, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    parallel = out_of_fold_outputs(model, X, Y, random_state=0, n_jobs=2)
    assert_allclose(parallel, one)


def test_a_rare_class_lowers_the_number_of_folds():
    labels = (np.arange(40) < 3).astype(int)
    assert folds(5, labels, 0).get_n_splits() == 3
    assert folds(np.int64(2), labels, 0).get_n_splits() == 2
    for train, test in folds(5, labels, 0).split(np.zeros(40), labels):
        assert labels[train].sum() == 2
        assert labels[test].sum() == 1


@pytest.mark.parametrize(
    ("cv", "labels", "message"),
    [
        (1, Y, "cv must be at least 2 folds, not 1"),
        (0, Y, "cv must be at least 2 folds, not 0"),
        (5, (np.arange(60) == 7).astype(int), "One class has a single row"),
        ("many", Y, "cv"),
    ],
    ids=str,
)
def test_folds_that_cannot_be_are_refused(cv, labels, message):
    with pytest.raises(ValueError, match=message):
        folds(cv, labels, 0)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        LinearSVC(),
        RidgeClassifier(),
        Perceptron(),
        Memory(),
        make_pipeline(StandardScaler(), LinearSVC()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_classifiers_with_scores_are_accepted(estimator):
    check_scorer(estimator, None)
    assert out_of_fold_outputs(estimator, X, Y, cv=3, random_state=0).shape == (60,)


class Silent(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("estimator", "weight", "message"),
    [
        (LinearRegression(), None, "must be a scikit-learn classifier"),
        (KMeans(), None, "must be a scikit-learn classifier"),
        (LogisticRegression, None, "must be a scikit-learn classifier"),
        ("forest", None, "must be a scikit-learn classifier .* not 'forest'"),
        (None, None, "must be a scikit-learn classifier"),
        (Silent(), None, "Silent has neither predict_proba nor decision_function"),
        (KNeighborsClassifier(), np.ones(60), "KNeighborsClassifier takes no sample_weight"),
    ],
    ids=["regressor", "clustering", "class", "string", "None", "silent", "weights"],
)
def test_what_cannot_score_is_refused_with_one_sentence(estimator, weight, message):
    with pytest.raises(ValueError, match=message) as caught:
        check_scorer(estimator, weight)
    assert "\n" not in str(caught.value)
