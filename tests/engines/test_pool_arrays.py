"""Learners as arrays vote as the learners do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from rboost import RBoostClassifier, RobustLogisticRegression, native
from rboost.engines import pool
from rboost.engines.learners import Ensemble
from rboost.engines.pool import StackedLearners, VotingKernels
from rboost.learners import RandomKernelClassifier, kernel

LEARNERS = [
    DecisionTreeClassifier(max_depth=4, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=7, random_state=0),
    ExtraTreeClassifier(random_state=0),
    ExtraTreeClassifier(max_depth=1, random_state=0),
    RandomKernelClassifier(n_components=9, random_state=0),
    RobustLogisticRegression(n_init=1, random_state=0),
    LogisticRegression(max_iter=1000),
]


def table(n_classes, n_rows=150):
    random = np.random.RandomState(0)
    X = random.normal(3, 1, size=(n_rows, 5))
    value = X[:, 0] + X[:, 1] * X[:, 2] / 3
    return X, np.digitize(value, np.quantile(value, np.arange(1, n_classes) / n_classes))


def ensemble(n_classes, votes, X, y):
    """Every kind of learner; some have not seen all classes, one has seen a single one."""
    learners = [type(own)(**own.get_params()).fit(X, y) for own in LEARNERS]
    for n_seen in range(2, n_classes):
        some = y < n_seen
        learners += [type(own)(**own.get_params()).fit(X[some], y[some]) for own in LEARNERS]
    one = np.flatnonzero(y == n_classes - 1)
    learners.append(DummyClassifier(strategy="prior").fit(X[one], y[one]))
    steps = np.random.RandomState(1).uniform(0.1, 1, len(learners))
    return Ensemble(learners, steps, votes, n_classes)


@pytest.mark.parametrize("votes", ["class", "probability"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, int])
def test_sums_are_those_of_the_learners(n_classes, votes, dtype):
    X, y = table(n_classes)
    X = (3 * X).astype(dtype)
    own = ensemble(n_classes, votes, X, y)
    stacked = StackedLearners.of(own, X.shape[1])
    # Products of float32: those of kernel machines, and of linear models fitted to such rows.
    atol = 1e-12 if n_classes == 2 and dtype is not np.float32 else 1e-5
    assert_allclose(stacked.scores(X, 1), own.scores(X, 1), atol=atol)
    assert len(stacked) == len(own)
    assert len(stacked.parts) == 3
    assert_array_equal(stacked.feature_importances(), own.feature_importances())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_blocks_threads_and_the_reference_change_nothing(n_classes, monkeypatch):
    X, y = table(n_classes)
    stacked = StackedLearners.of(ensemble(n_classes, "probability", X, y), 5)
    expected = stacked.scores(X, 1)
    monkeypatch.setattr(pool, "BLOCK_LEAVES", 40)
    monkeypatch.setitem(pool.in_blocks.__globals__, "BLOCK_ROWS", 64)
    for n_jobs in (1, 2):
        assert_allclose(stacked.scores(X, n_jobs), expected, atol=1e-6)
    monkeypatch.setattr(native, "compiled", lambda: None)
    assert_allclose(stacked.scores(X, 1), expected, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_missing_values_and_sparse_rows(n_classes, monkeypatch):
    X, y = table(n_classes)
    X[np.random.RandomState(0).uniform(size=X.shape) < 0.2] = np.nan
    some = [own for own in LEARNERS if not hasattr(own, "C") or hasattr(own, "n_components")]
    learners = [type(own)(**own.get_params()).fit(X, y) for own in some]
    own = Ensemble(learners, np.ones(len(learners)), "probability", n_classes)
    assert_allclose(StackedLearners.of(own, 5).scores(X, 1), own.scores(X, 1), atol=1e-12)
    rows = sparse.csr_matrix(np.where(np.nan_to_num(X) > 3, X, 0))
    learners = [type(own)(**own.get_params()).fit(rows, y) for own in LEARNERS]
    own = Ensemble(learners, np.ones(len(learners)), "probability", n_classes)
    stacked = StackedLearners.of(own, 5)
    monkeypatch.setattr(pool, "SPARSE_ROWS", 64)
    assert_allclose(stacked.scores(rows, 1), own.scores(rows, 1), atol=1e-12)
    dense = rows.toarray()
    assert_allclose(stacked.scores(dense, 1), own.scores(dense, 1), atol=1e-12)


def test_kernel_machines_of_dense_rows_take_sparse_ones(monkeypatch):
    X, y = table(2)
    learner = RandomKernelClassifier(n_components=9, random_state=0).fit(X, y)
    stacked = StackedLearners.of(Ensemble([learner], np.ones(1), "probability", 2), 5)
    (kernels,) = stacked.parts
    assert isinstance(kernels, VotingKernels)
    rows = sparse.csr_matrix(X)
    assert_array_equal(stacked.scores(rows, 1), stacked.scores(X, 1))
    assert_array_equal(learner.predict_proba(rows), learner.predict_proba(X))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_random_directions_are_kept_where_they_take_little_memory(is_sparse, monkeypatch):
    X, y = table(2)
    X = sparse.csr_matrix(np.where(X > 3, X, 0)) if is_sparse else X
    learners = [RandomKernelClassifier(n_components=9, random_state=k).fit(X, y) for k in (0, 1, 2)]
    stacked = StackedLearners.of(Ensemble(learners, np.ones(3), "probability", 2), 5)
    kept = stacked.scores(X, 1)

    def is_kept():
        (kernels,) = stacked.parts
        return "_directions" in vars(kernels) or "drawn" in vars(kernels._machines[0])

    assert is_kept()
    monkeypatch.setattr(pool, "KEPT_BYTES", 100)
    monkeypatch.setattr(kernel, "AT_ONCE", 1)
    stacked = StackedLearners.of(Ensemble(learners, np.ones(3), "probability", 2), 5)
    assert_allclose(stacked.scores(X, 1), kept, rtol=1e-12)
    assert not is_kept()


@pytest.mark.parametrize("n_rows", [1, 3, 16, 17, 150])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_alone_are_scored_as_among_others(n_rows, n_classes):
    X, y = table(n_classes)
    learners = [RandomKernelClassifier(random_state=k).fit(X, y) for k in range(40)]
    stacked = StackedLearners.of(Ensemble(learners, np.ones(40), "probability", n_classes), 5)
    assert_allclose(stacked.scores(X[:n_rows], 1), stacked.scores(X, 1)[:n_rows], atol=1e-5)


def test_trees_refuse_what_float32_cannot_hold():
    X, y = table(2)
    tree = DecisionTreeClassifier().fit(X, y)
    stacked = StackedLearners.of(Ensemble([tree], np.ones(1), "class", 2), 5)
    X[0, 0] = 1e300
    with pytest.raises(ValueError, match="infinity or a value too large"):
        stacked.scores(X, 1)


def test_an_ensemble_without_learners_or_importances():
    stacked = StackedLearners.of(Ensemble([], np.zeros(0), "class", 3), 5)
    assert_array_equal(stacked.scores(np.ones((4, 5)), 1), np.zeros((4, 3)))
    with pytest.raises(AttributeError, match="no feature_importances_"):
        stacked.feature_importances()


def test_learners_without_arrays_are_named():
    X, y = table(2)
    own = Ensemble([GaussianNB().fit(X, y)], np.ones(1), "class", 2)
    with pytest.raises(ValueError, match="GaussianNB as base learner is not saved"):
        StackedLearners.of(own, 5)


@pytest.mark.filterwarnings("ignore:Every training row is predicted")
@pytest.mark.parametrize("n_positive", [2, 20])
def test_linear_models_from_the_native_core_are_those_of_its_learners(monkeypatch, n_positive):
    """Constant ones too, which samples of one class give."""
    random = np.random.RandomState(0)
    X, y = random.normal(size=(40, 3)), np.arange(40) < n_positive

    def decisions():
        model = RBoostClassifier(engines="linear", max_iter=50, random_state=0)
        return model.fit(X, y).decision_function(X)

    found = decisions()
    monkeypatch.setattr("rboost.engines.pool.NativeRounds", type("Other", (), {}))
    assert_allclose(found, decisions(), rtol=1e-12, atol=1e-12)
