"""Fits on a GPU: the answers are those of the CPU, and arrays of NumPy."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.base import clone

from benchmarks.gpu.rows import make_rows
from rboost import RBoostClassifier, numbering
from rboost.engines.engine import POOL_ROWS

N_TRAIN, N_TEST = 4000, 5000
N_TRUSTED = 300


def made_up(n_classes=2, n_rows=N_TRAIN):
    """Training rows, observed labels, test rows and their true classes."""
    rows = make_rows(n_rows + N_TEST, 14, n_classes, n_threads=4)
    return rows.X[:n_rows], rows.observed[:n_rows], rows.X[n_rows:], rows.true[n_rows:]


def with_missing_values(X):
    missing = np.random.RandomState(0).uniform(size=X.shape) < 0.05
    return np.where(missing, np.float32(np.nan), X)


def with_words(X):
    """A frame whose first two columns are words, some of them missing."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(with_missing_values(X))
    frame.columns = [f"column {k}" for k in range(X.shape[1])]
    for name in ("column 0", "column 1"):
        words = [None if np.isnan(v) else f"about {round(float(v))}" for v in frame[name]]
        frame[name] = pandas.Series(words, dtype=object)
    return frame


def fit(device, X, y, **arguments):
    model = RBoostClassifier(
        engines="xgboost", max_iter=60, device=device, random_state=0, n_jobs=1
    )
    return model.fit(X, y, **arguments)


def assert_equal_answers(X, y, X_test, y_test, **arguments):
    """Rates, ranking of labels and test errors of CPU and GPU are as near as is promised."""
    on_cpu, on_gpu = (fit(device, X, y, **arguments) for device in ("cpu", "cuda"))
    assert_array_equal(on_gpu.classes_, on_cpu.classes_)
    assert_allclose(on_gpu.noise_matrix_, on_cpu.noise_matrix_, rtol=0, atol=0.003)
    issues = [model.label_issue_probability_ for model in (on_cpu, on_gpu)]
    assert issues[0].shape == issues[1].shape == (len(y),)
    assert spearmanr(*issues).statistic >= 0.999
    errors = [np.mean(model.predict(X_test) != y_test) for model in (on_cpu, on_gpu)]
    assert abs(errors[0] - errors[1]) <= 0.001
    # And they are answers: much better than guessing.
    assert errors[1] < 0.5 * (1 - 1 / len(on_gpu.classes_))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_gpu_answers_as_the_cpu_does(n_classes):
    assert_equal_answers(*made_up(n_classes))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_weights(n_classes):
    X, y, X_test, y_test = made_up(n_classes)
    weight = np.random.RandomState(1).choice([1.0, 2.0, 3.0], len(y))
    assert_equal_answers(X, y, X_test, y_test, sample_weight=weight)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_trusted_rows(n_classes):
    X, y, X_test, y_test = made_up(n_classes)
    trusted = {"X_trusted": X_test[:N_TRUSTED], "y_trusted": y_test[:N_TRUSTED]}
    assert_equal_answers(X, y, X_test[N_TRUSTED:], y_test[N_TRUSTED:], **trusted)


@pytest.mark.parametrize("table", [with_missing_values, with_words])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_words_and_missing_values(n_classes, table):
    X, y, X_test, y_test = made_up(n_classes)
    assert_equal_answers(table(X), y, table(X_test), y_test)


def test_the_folds_are_the_same(monkeypatch):
    dealt, draws = {"cpu": [], "cuda": []}, numbering.draws
    X, y, _, _ = made_up(n_rows=2000)
    for device, seen in dealt.items():

        def recorded(*arguments, seen=seen, **options):
            seen.append(draws(*arguments, **options))
            return seen[-1]

        monkeypatch.setattr(numbering, "draws", recorded)
        fit(device, X, y)
    assert dealt["cpu"]
    assert len(dealt["cpu"]) == len(dealt["cuda"])
    for one, other in zip(dealt["cpu"], dealt["cuda"], strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_arrays_of_cupy_in_and_of_numpy_out(n_classes):
    cupy = pytest.importorskip("cupy")
    X, y, X_test, _ = made_up(n_classes, n_rows=3000)
    expected = fit("cuda", X, y)
    model = fit("cuda", cupy.asarray(X), cupy.asarray(y))
    for name in ("classes_", "noise_matrix_", "label_issue_probability_", "true_class_"):
        assert isinstance(getattr(model, name), np.ndarray), name
    assert_allclose(model.label_issue_probability_, expected.label_issue_probability_, atol=1e-4)
    for method in ("predict_proba", "predict", "decision_function"):
        found = getattr(model, method)(cupy.asarray(X_test))
        assert isinstance(found, np.ndarray), method
        # Where the rows are does not matter.
        assert_allclose(found, getattr(model, method)(X_test), atol=1e-5, err_msg=method)


def test_the_device_alone_means_xgboost_and_a_seed_means_the_same_again():
    X, y, X_test, _ = made_up(n_rows=POOL_ROWS + 1000)  # where trees are alone
    model = RBoostClassifier(max_iter=60, device="cuda", random_state=0)
    first, again = (clone(model).fit(X, y) for _ in range(2))
    named = fit("cuda", X, y)
    for other in (again, named):
        assert_allclose(other.predict_proba(X_test), first.predict_proba(X_test), atol=1e-6)


def test_a_model_of_a_gpu_survives_pickling():
    X, y, X_test, _ = made_up(n_rows=3000)
    model = fit("cuda", X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert_allclose(copy.predict_proba(X_test), model.predict_proba(X_test), atol=1e-6)
