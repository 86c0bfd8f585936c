"""BLAS has one thread within a block, and as many as before when all blocks have ended."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rboost.native.threads import one_blas_thread


@pytest.fixture
def before():
    """Threads of BLAS, two where there are as many."""
    (own,) = n_threads()
    limit(2)
    yield n_threads()
    limit(own)


def limit(number):
    """Not as a context, which keeps other threads from changing anything; in one that ends."""
    other = threading.Thread(target=threadpool_limits, args=(number, "blas"))
    other.start()
    other.join()


def n_threads():
    return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_overlapping_blocks_give_the_threads_back(before, first_ends_first):
    second_begun, second_ends = threading.Event(), threading.Event()

    def second():
        with one_blas_thread():
            second_begun.set()
            second_ends.wait(20)

    other = threading.Thread(target=second)
    with one_blas_thread():
        other.start()
        assert second_begun.wait(20)
        assert n_threads() == {1}
        if not first_ends_first:
            second_ends.set()
            other.join()
            assert n_threads() == {1}
    second_ends.set()
    other.join()
    assert n_threads() == before


def test_a_block_within_another_changes_nothing(before):
    with one_blas_thread():
        with one_blas_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
    assert n_threads() == before


def test_threads_come_back_after_an_error(before):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert n_threads() == before
