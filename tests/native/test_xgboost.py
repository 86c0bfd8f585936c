"""XGBoost, CuPy and GPUs that are not there: one sentence each; arrays of a GPU come to the host.

Tests of real GPUs are in tests/gpu.
"""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rboost import RBoostClassifier
from rboost._validation import on_host
from rboost.native import boosters as native

pytest.importorskip("xgboost")
pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Forget what was found before, and what a test has made it find."""
    for function in (native.xgboost, native.arrays_on):
        function.cache_clear()
    yield
    monkeypatch.undo()
    for function in (native.xgboost, native.arrays_on):
        function.cache_clear()


class NoGPUError(RuntimeError):
    """What CuPy raises without a driver."""


def pretend(monkeypatch, *, use_cuda=True, n_devices=1, without=()):
    """Have XGBoost and CuPy be what they are on another machine."""

    def count():
        if n_devices is None:
            raise NoGPUError("cudaErrorNoDevice")
        return n_devices

    runtime = SimpleNamespace(getDeviceCount=count, CUDARuntimeError=NoGPUError)
    modules = {
        "xgboost": SimpleNamespace(build_info=lambda: {"USE_CUDA": use_cuda}),
        "cupy": SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)),
    }

    def found(name):
        if name in without:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return modules[name]

    monkeypatch.setattr(native, "import_module", found)
    return modules


CASES = {
    "no xgboost": ({"without": ["xgboost"]}, ImportError, "pip install 'rboost[gpu]'"),
    "xgboost-cpu": ({"use_cuda": False}, ValueError, "pip uninstall xgboost-cpu"),
    "no cupy": ({"without": ["cupy"]}, ImportError, "pip install 'rboost[gpu]'"),
    "no driver": ({"n_devices": None}, ValueError, "nvidia-smi"),
    "no gpu": ({"n_devices": 0}, ValueError, "nvidia-smi"),
}


def fit(**parameters):
    X = np.arange(40.0).reshape(20, 2)
    return RBoostClassifier(**parameters).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_says_what_is_missing_before_anything_is_fitted(monkeypatch, case):
    machine, kind, remedy = CASES[case]
    pretend(monkeypatch, **machine)
    monkeypatch.setattr("rboost.model.classifier.fit_rows", None)
    model = RBoostClassifier(device="cuda")
    with pytest.raises(kind) as raised:
        model.fit(np.arange(40.0).reshape(20, 2), np.arange(20) % 2)
    said = str(raised.value)
    assert remedy in said
    assert said.endswith(".")
    assert "\n" not in said
    assert vars(model) == vars(RBoostClassifier(device="cuda"))


@pytest.mark.parametrize("engines", ["xgboost", ["pool", "xgboost"]], ids=str)
def test_without_xgboost_nothing_is_fitted_either(monkeypatch, engines):
    pretend(monkeypatch, without=["xgboost"])
    monkeypatch.setattr("rboost.model.classifier.fit_rows", None)
    with pytest.raises(ImportError, match=r"pip install xgboost-cpu where there is no GPU\.$"):
        fit(engines=engines)
    assert native.arrays_on("cpu") is np


def test_a_gpu_that_is_there_is_used(monkeypatch):
    modules = pretend(monkeypatch)
    assert native.arrays_on("cuda") is modules["cupy"]


@pytest.mark.parametrize("device", ["gpu", "cuda:0", None, 1])
def test_other_devices_are_refused(device):
    with pytest.raises(ValueError, match=r"device .* must be one of 'cpu', 'cuda', not"):
        fit(device=device)


@pytest.fixture
def gpu_arrays(monkeypatch):
    """Arrays and frames of a GPU as far as they can be had without: nothing else may read them."""
    cupy, cudf = ModuleType("cupy"), ModuleType("cudf")

    class Lent:
        def __init__(self, values):
            self._values, self.shape, self.ndim = values, values.shape, values.ndim

        def __len__(self):
            return len(self._values)

        def __array__(self, *_, **__):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        def __iter__(self):
            raise TypeError("not iterable")

    class ndarray(Lent):  # noqa: N801
        def get(self):
            return self._values

    class DataFrame(Lent):
        def to_pandas(self):
            return self._values

    class Series(DataFrame):
        pass

    ndarray.__module__ = "cupy"
    DataFrame.__module__ = Series.__module__ = "cudf.core"
    cupy.ndarray, cudf.DataFrame, cudf.Series = ndarray, DataFrame, Series
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cudf", cudf)
    return cupy, cudf


def assert_equal_models(found, expected, found_rows, rows):
    for name in ("classes_", "label_issue_probability_", "noise_matrix_", "true_class_"):
        assert type(getattr(found, name)) is np.ndarray
        assert_array_equal(getattr(found, name), getattr(expected, name))
    for method in ("predict", "predict_proba", "decision_function", "score_rows"):
        said = getattr(found, method)(found_rows)
        assert type(said) is np.ndarray
        assert_array_equal(said, getattr(expected, method)(rows))


def table():
    random = np.random.RandomState(0)
    X = random.standard_normal((200, 3))
    weight = random.choice([0.0, 1.0, 2.0], 200)
    return X, (X[:, 0] + random.standard_normal(200) > 0).astype(int), weight


def test_arrays_of_cupy_are_taken_and_those_of_numpy_given(gpu_arrays):
    array = gpu_arrays[0].ndarray
    X, y, weight = table()
    model = RBoostClassifier(engines="xgboost", max_iter=5, random_state=0, n_jobs=1)
    given = {"sample_weight": weight, "X_trusted": X[:9], "y_trusted": y[:9]}
    expected = RBoostClassifier(**model.get_params()).fit(X, y, **given)
    lent = {name: array(values) for name, values in given.items()}
    found = RBoostClassifier(**model.get_params()).fit(array(X), array(y), **lent)
    assert_equal_models(found, expected, array(X), X)


def test_frames_of_cudf_are_taken(gpu_arrays):
    cudf = gpu_arrays[1]
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(word=np.where(X[:, 1] > 0, "x", "y"))
    labels, who = pd.Series(np.array(["no", "yes"])[y]), pd.Series(np.arange(200) % 2)
    answers = pd.Series([*labels[:30], *[None] * 170])
    model = RBoostClassifier(engines="xgboost", max_iter=5, random_state=0, n_jobs=1)
    expected = model.fit(frame, labels, y_checked=answers, context=who)
    found = RBoostClassifier(**model.get_params()).fit(
        cudf.DataFrame(frame), cudf.Series(labels), y_checked=cudf.Series(answers),
        context=cudf.Series(who),
    )  # fmt: skip
    assert_equal_models(found, expected, cudf.DataFrame(frame), frame)


def test_what_is_on_the_host_stays_as_it_is():
    for values in ([1], np.ones(2), pd.Series([1]), None):
        assert on_host(values) is values
