"""One thread of BLAS holds within a block, and no longer than the last of several blocks."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rboost.native.threads import one_blas_thread


@pytest.fixture
def before():
    """Threads of BLAS, two where there are as many."""
    # Not as a context, in which threadpoolctl lets no other thread change anything.
    limits = threadpool_limits(2, user_api="blas")
    yield n_threads()
    limits.restore_original_limits()


def n_threads():
    return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


def test_the_last_of_overlapping_blocks_gives_the_threads_back(before):
    first_ends, second_begun, seen = threading.Event(), threading.Event(), []

    def second():
        with one_blas_thread():
            second_begun.set()
            first_ends.wait(20)
            seen.append(n_threads())

    other = threading.Thread(target=second)
    with one_blas_thread():
        other.start()
        assert second_begun.wait(20)
        assert n_threads() == {1}
    first_ends.set()
    other.join()
    assert seen == [{1}]
    assert n_threads() == before


def test_threads_come_back_after_an_error(before):
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert n_threads() == before
