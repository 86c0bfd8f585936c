"""Rows that stand for all: the same few in every process, however the rows are spread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.engines import xgboost
from rboost.engines.xgboost import BinnedRows, SingleProcess
from rboost.noise.inference import ScoredRows
from rboost.noise.likelihood import Likelihood

MOST = 200
NAMES = ("scores", "code", "weight")


class Threads:
    """Processes of which each is a thread here; they meet whenever they share something."""

    def __init__(self, n_parts):
        self.values, self.barrier = [None] * n_parts, Barrier(n_parts, timeout=20)

    def member(self, rank):
        return _Member(self, rank)


class _Member:
    n_threads = 1

    def __init__(self, all_of_them, rank):
        self._all, self._rank = all_of_them, rank

    def gather(self, value):
        self._all.values[self._rank] = value
        self._all.barrier.wait()
        found = list(self._all.values)
        self._all.barrier.wait()
        return found

    def sum(self, numbers):
        return np.sum(self.gather(numbers), axis=0)

    def report(self, message):
        raise AssertionError("nothing is to be reported")


def scored(n_rows, n_classes, seed):
    """Scores, weights, and patterns: labels, and after them trusted labels."""
    random = np.random.RandomState(seed)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    scores = 2 * random.standard_normal(shape)
    code = random.randint(0, n_classes, n_rows)
    code = code + n_classes * (random.uniform(size=n_rows) < 0.02)
    return ScoredRows(scores, code, random.choice([0.0, 1.0, 2.0], n_rows))


def stand_ins(rows, number, n_rows, n_classes, communicator=None):
    """Those of a process with these rows; ``n_rows`` have a weight in all processes."""
    columns, trusted = np.tile(np.eye(n_classes), 2), np.repeat([False, True], n_classes)
    binned = BinnedRows(
        [], None, Likelihood(rows.code, columns, rows.weight), trusted,
        np.zeros(len(number), np.uint8), number, n_rows,
    )  # fmt: skip
    return binned.representatives(rows.scores, communicator or SingleProcess())


def spread(rows, parts, n_classes):
    """What each of several processes gets, of which each holds some of the rows, in any order."""
    processes = Threads(len(parts))

    def run(rank):
        own, n_rows = parts[rank], len(rows.scores)
        return stand_ins(rows.take(own), own, n_rows, n_classes, processes.member(rank))

    with ThreadPoolExecutor(len(parts)) as threads:
        return list(threads.map(run, range(len(parts))))


@given(
    st.sampled_from([2, 3]),
    st.sampled_from([1, 20, MOST, MOST + 1, 3 * MOST]),
    st.integers(0, 99),
    st.integers(1, 4),
)
@settings(max_examples=40)
def test_stand_ins_do_not_depend_on_how_rows_are_spread(n_classes, n_rows, seed, n_parts):
    rows = scored(n_rows, n_classes, seed)
    owner = np.random.RandomState(seed).randint(0, n_parts, n_rows)
    parts = [np.flatnonzero(owner == rank)[::-1] for rank in range(n_parts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xgboost, "MOST_ROWS", MOST)
        alone = stand_ins(rows, np.arange(n_rows), n_rows, n_classes)
        everywhere = spread(rows, parts, n_classes)
    for found in everywhere:
        for name in NAMES:
            assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-12, atol=1e-12)
            assert_array_equal(getattr(found, name), getattr(everywhere[0], name))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_stand_for_themselves(n_classes):
    rows = scored(50, n_classes, 0)
    found = stand_ins(rows, np.arange(50), 50, n_classes)
    for name in NAMES:
        assert_array_equal(getattr(found, name), getattr(rows, name)[rows.weight > 0])


def test_of_more_classes_a_share_is_drawn_and_all_trusted_rows(monkeypatch):
    monkeypatch.setattr(xgboost, "MOST_ROWS", MOST)
    rows = scored(4000, 3, 0)
    counted = rows.weight > 0  # others say nothing, and do not thin the rest out
    found = stand_ins(rows, np.arange(4000), np.count_nonzero(counted), 3)
    trusted, of_found = rows.code >= 3, found.code >= 3
    assert np.count_nonzero(of_found) == np.count_nonzero(trusted & counted)
    assert found.weight.all()
    assert abs(np.count_nonzero(~of_found) - MOST) < 5 * np.sqrt(MOST)


def test_rows_that_all_differ_in_their_patterns_are_sampled(monkeypatch):
    """As after answers: counting scores by bin and pattern would take a table of all pairs."""
    monkeypatch.setattr(xgboost, "MOST_ROWS", 500)
    monkeypatch.setattr(xgboost, "count_scores", None)
    n_rows = 2000
    likelihood = Likelihood.dense(np.ones((n_rows, 2)), np.ones(n_rows))
    binned = BinnedRows(
        [], None, likelihood, np.zeros(n_rows, bool), np.zeros(n_rows, np.uint8),
        np.arange(n_rows), n_rows,
    )  # fmt: skip
    found = binned.representatives(np.linspace(-3, 3, n_rows), SingleProcess())
    assert 400 < len(found.scores) < 600
    assert_array_equal(found.scores, np.linspace(-3, 3, n_rows)[found.code])
