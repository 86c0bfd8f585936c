"""One thread of BLAS, for many small products: more would only wait for each other."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process; to find them takes longer than a fit of few rows.

    Those of NumPy and SciPy are loaded before anything is fitted, and no others are used here.
    """
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Use one thread of BLAS in this block."""
    return _libraries().limit(limits=1, user_api="blas")
