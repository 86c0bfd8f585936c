"""Rows that stand for all: the same few in every process, however the rows are spread."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rboost.boosting import held_out
from rboost.boosting.held_out import RowNumbers, infer_from, stand_ins
from rboost.boosting.together import Alone
from rboost.noise.stand_ins import ScoredRows

MOST = 200
NAMES = ("scores", "observed", "weight", "trusted")


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

    def tell(self, message):
        raise AssertionError("nothing is to be told")


def scored(n_rows, n_classes, seed):
    random = np.random.RandomState(seed)
    shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
    scores = 2 * random.standard_normal(shape)
    observed = random.randint(0, n_classes, n_rows)
    weight = random.choice([0.0, 1.0, 2.0], n_rows)
    return ScoredRows(scores, observed, weight, random.uniform(size=n_rows) < 0.02)


def spread(rows, parts):
    """What each of several processes gets, of which each holds some of the rows, in any order."""
    processes = Threads(len(parts))

    def run(rank):
        numbers = RowNumbers(parts[rank], len(rows.scores))
        return stand_ins(rows.take(parts[rank]), numbers, processes.member(rank))

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
        patch.setattr(held_out, "MOST_ROWS", MOST)
        alone = stand_ins(rows, RowNumbers(np.arange(n_rows), n_rows), Alone())
        everywhere = spread(rows, parts)
    for found in everywhere:
        for name in NAMES:
            assert_allclose(getattr(found, name), getattr(alone, name), rtol=1e-12, atol=1e-12)
            assert_array_equal(getattr(found, name), getattr(everywhere[0], name))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_rows_stand_for_themselves(n_classes):
    rows = scored(50, n_classes, 0)
    found = stand_ins(rows, RowNumbers(np.arange(50), 50), Alone())
    for name in NAMES:
        assert_array_equal(getattr(found, name), getattr(rows, name)[rows.weight > 0])


def test_of_more_classes_a_share_is_drawn_and_all_trusted_rows(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", MOST)
    rows = scored(4000, 3, 0)
    counted = rows.weight > 0  # others say nothing, and do not thin the rest out
    numbers = RowNumbers(np.arange(4000), np.count_nonzero(counted))
    found = stand_ins(rows, numbers, Alone())
    assert np.count_nonzero(found.trusted) == np.count_nonzero(rows.trusted & counted)
    assert found.weight.all()
    assert abs(np.count_nonzero(~found.trusted) - MOST) < 5 * np.sqrt(MOST)


def test_the_noise_is_inferred_or_given():
    rows = scored(2000, 2, 0)
    assert infer_from(rows).noise_matrix.shape == (2, 2)
    known = np.array([[0.8, 0.2], [0.3, 0.7]])
    assert_allclose(infer_from(rows, known).noise_matrix, known)
