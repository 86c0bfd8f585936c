"""One thread of BLAS, for many small products: more would only wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

# Held by the block that limits the threads, which are those of the whole process.
_limiting = threading.Lock()


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process; to find them takes longer than a fit of few rows.

    Those of NumPy and SciPy are loaded before anything is fitted, and no others are used here.
    """
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread of BLAS in this block.

    Of blocks that overlap, in several threads, the first one limits and restores; those that go on
    after it are slower, and no limit outlasts them.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1, user_api="blas"):
            yield
    finally:
        _limiting.release()
