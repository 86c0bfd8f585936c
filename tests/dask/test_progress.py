"""Trees that were kept are taken up by the same fit, and by no other."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rboost.dask.progress import FitProgress
from rboost.engines.engine import EngineSettings
from rboost.learners.bins import Bins

SUMMARY = SimpleNamespace(n_rows=100, label_weights={"a": 60.0, "b": 40.0})
BINS = Bins((np.array([1.0, 2.0]), None), (0, 5))
SETTINGS = EngineSettings(seed=3)
# Two passes of two folds, one of which has not begun to grow.
GROWN = [[b"one", b"two"], [b"three", b""]]
FIT = {"summary": SUMMARY, "bins": BINS, "settings": SETTINGS, "noise_matrix": None}


def begun(file, version="1", **changed):
    progress = FitProgress(file=file, version=version)
    progress.begin(**FIT | changed)
    return progress


@pytest.fixture
def kept(tmp_path):
    file = tmp_path / "trees.npz"
    progress = begun(file)
    assert progress.grown == []
    progress.listen({"n_rounds": 5})
    assert not file.exists()
    progress.listen({"n_rounds": 10, "grown": GROWN})
    progress.end()
    return file


def test_the_same_fit_goes_on(kept):
    assert begun(kept).grown == GROWN


@pytest.mark.parametrize(
    "changed",
    [
        {"summary": SimpleNamespace(n_rows=101, label_weights=SUMMARY.label_weights)},
        {"summary": SimpleNamespace(n_rows=100, label_weights={"a": 59.0, "b": 41.0})},
        {"bins": Bins((np.array([1.0, 2.5]), None), (0, 5))},
        {"settings": replace(SETTINGS, seed=4)},
        {"noise_matrix": np.eye(2)},
        {"version": "2"},
    ],
    ids=str,
)
def test_another_fit_starts_anew(kept, changed):
    assert begun(kept, **changed).grown == []


@pytest.mark.parametrize("program", ["rboost", "xgboost"])
def test_another_release_starts_anew(kept, program, monkeypatch):
    if program == "rboost":
        monkeypatch.setattr("rboost.dask.progress.version", lambda name: "0")
    else:
        monkeypatch.setattr("xgboost.__version__", "0")
    assert begun(kept).grown == []


def test_a_file_that_is_cut_off_is_none(kept):
    content = kept.read_bytes()
    for n_bytes in (0, 1, 10, len(content) // 2, len(content) - 1):
        kept.write_bytes(content[:n_bytes])
        assert begun(kept).grown == []
    kept.write_bytes(b"something else")
    assert begun(kept).grown == []
