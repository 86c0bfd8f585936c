"""A worker that is killed changes nothing of a fit; trees are taken up by the same fit alone."""

import os
import signal
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rboost.dask import RBoostClassifier
from rboost.dask.blocks import SAMPLE_ROWS, Block
from rboost.dask.fitting import FitProgress, _counts_of, is_for_bins, trusted_block
from rboost.engines.engine import EngineSettings
from rboost.engines.trees import BIN_ROWS
from rboost.engines.xgboost import Bins, SingleProcess, learn_bins
from rboost.numbering import in_sample

random = np.random.RandomState(0)
X = random.standard_normal((400, 4))
Y = ((X[:, 0] * X[:, 1] > 0) ^ (random.uniform(size=400) < 0.2)).astype(int) + (X[:, 2] > 0)


def fit(client):
    given = da.from_array(X, chunks=(100, 4)), da.from_array(Y, chunks=100)
    model = RBoostClassifier(max_iter=35, learning_rate=0.05, random_state=0, cluster=client).fit(
        *given
    )
    return model, model.label_issue_probability_.compute()


def assert_equal(one, other):
    assert_array_equal(one[1], other[1])
    assert_array_equal(one[0].noise_matrix_, other[0].noise_matrix_)
    assert_array_equal(one[0].predict_proba(X), other[0].predict_proba(X))
    assert one[0].stop_reason_ == other[0].stop_reason_


@pytest.mark.slow
def test_a_worker_killed_in_mid_fit_changes_nothing(client, monkeypatch):
    """Neither of that fit nor of an earlier one, whose part on that worker is computed again."""
    undisturbed = fit(client)
    pids, killed = client.run(os.getpid), []

    class Killer(FitProgress):
        def listen(self, message):
            super().listen(message)
            if self.grown and not killed:
                killed.append(pids[min(pids)])
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr("rboost.dask.classifier.FitProgress", Killer)
    disturbed = fit(client)
    assert len(killed) == 1
    client.wait_for_workers(len(pids))
    assert set(client.run(os.getpid).values()) - set(pids.values())  # one came back
    assert_equal(disturbed, undisturbed)
    assert_array_equal(undisturbed[0].label_issue_probability_.compute(), undisturbed[1])


def block(weight, trusted=False):
    weight = np.array(weight, dtype=np.float32)
    n_rows = len(weight)
    codes, observed = np.zeros((n_rows, 1), np.uint8), np.arange(n_rows, dtype=np.int16) % 3 - 1
    return Block(0, codes, observed, weight, np.full(n_rows, trusted))


@pytest.mark.parametrize("scale", [1.0, 2.0**-20, 2.0**30])
def test_weights_are_counts_and_trusted_rows_count_as_much(scale):
    weights = scale * np.array([0, 1, 3, 0, 2, 2.0])
    blocks = [block(weights), block([1, 1, 1], trusted=True)]
    counts = _counts_of(blocks, np.arange(9) > 5, SingleProcess())
    expected = np.array([0, 1, 3, 0, 2, 2, 2, 2, 2]) / (1 if scale == 1 else 2)
    assert_array_equal(counts, expected)


def test_trusted_rows_are_a_block_behind_all_others():
    columns = np.array([[0.0], [np.nan], [2.0]])
    bins = learn_bins(columns, [0], 31)
    made = trusted_block(columns, np.array([1, 0, 1]), bins, 70)
    assert made.first_row == 70
    assert made.trusted.all()
    assert_array_equal(made.codes, [[1], [0], [2]])
    assert_array_equal(made.weight, [1, 1, 1])


@pytest.mark.parametrize("n_trusted", [0, 300])
def test_bins_come_from_the_rows_that_one_process_takes(n_trusted):
    n_rows, seed = 150_000, 3
    number = np.arange(n_rows + n_trusted)
    drawn = number[:n_rows][in_sample(0, n_rows, SAMPLE_ROWS / n_rows, seed)]
    sample = np.append(drawn, number[n_rows:])
    found = sample[is_for_bins(sample, len(number), seed)]
    expected = number[in_sample(0, len(number), BIN_ROWS / len(number), seed)]
    assert_array_equal(found, expected)
    assert abs(len(found) - BIN_ROWS) < 1000


BINS = Bins((np.array([1.0, 2.0]), None), (0, 5))
SETTINGS = EngineSettings(seed=3)
# Two passes of two folds, one of which has not begun to grow.
GROWN = [[b"one", b"two"], [b"three", b""]]
FIT = {"bins": BINS, "settings": SETTINGS, "noise_matrix": None}


def begun(file, version="1", **changed):
    progress = FitProgress(file=file, version=version)
    progress.begin(**FIT | changed)
    return progress


@pytest.fixture
def kept(tmp_path):
    file = tmp_path / "trees.json"
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
        monkeypatch.setattr("rboost.dask.fitting.version", lambda name: "0")
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
