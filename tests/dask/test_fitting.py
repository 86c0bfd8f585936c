"""A worker that is killed during a fit, or after it, changes nothing of the result."""

import os
import signal
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rboost.dask import RBoostClassifier
from rboost.dask.blocks import SAMPLE_ROWS, Block
from rboost.dask.fitting import TrustedRows, _counts_of, _for_bins, _trusted_block
from rboost.dask.progress import FitProgress
from rboost.engines.trees import BIN_ROWS
from rboost.engines.xgboost import SingleProcess
from rboost.learners.bins import learn_bins
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
    made = _trusted_block(TrustedRows(columns, np.array([1, 0, 1], np.int16)), bins, 70)
    assert made.first_row == 70
    assert made.trusted.all()
    assert_array_equal(made.codes, [[1], [0], [2]])
    assert_array_equal(made.weight, [1, 1, 1])


@pytest.mark.parametrize("n_trusted", [0, 300])
def test_bins_come_from_the_rows_that_one_process_takes(n_trusted):
    n_rows, seed = 150_000, 3
    table = np.arange(n_rows + n_trusted, dtype=float)[:, np.newaxis]
    more = TrustedRows(table[n_rows:], np.zeros(n_trusted, dtype=np.int16)) if n_trusted else None
    drawn = in_sample(0, n_rows, SAMPLE_ROWS / n_rows, seed)
    sizes = [7, 0, 89_993, 60_000]
    first_rows = np.cumsum([0, *sizes[:-1]])
    summary = SimpleNamespace(n_rows=n_rows, first_rows=first_rows, sizes=sizes)
    found = _for_bins(table[:n_rows][drawn], more, summary, len(table), seed)
    expected = table[in_sample(0, len(table), BIN_ROWS / len(table), seed)]
    assert_array_equal(found, expected)
    assert abs(len(found) - BIN_ROWS) < 1000
