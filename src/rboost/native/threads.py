"""One thread of BLAS, for many small products: more would only wait for each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside: list[Any] = []  # the limit that holds, once for each block that is being run


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process; to find them takes longer than a fit of few rows.

    Those of NumPy and SciPy are loaded before anything is fitted, and no others are used here.
    """
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Use one thread of BLAS in this block; of blocks in several threads the last one ends that."""
    with _lock:
        own = _inside[0] if _inside else _libraries().limit(limits=1, user_api="blas")
        _inside.append(own)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                own.restore_original_limits()
