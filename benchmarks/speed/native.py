"""What ``rboost.core`` offers to be timed alone; the only use of anything but the public names.

Each function returns None, or falls back to NumPy, where the package has no such thing.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.speed.data import Rows


def _offered(name: str) -> Any:
    try:
        return getattr(importlib.import_module("rboost.core"), name, None)
    except ImportError:
        return None


def stream_bandwidth(X: Rows, repeats: int) -> tuple[float, str]:
    """Bytes per second of one thread that reads X once in order, and who read it.

    The fallback is a dot product of X with itself, which reads it once; it comes nearer to the
    limit than a sum does.
    """
    native = _offered("stream_bandwidth")
    if native is not None:
        return float(native(X, repeats)), "rboost.core"
    flat, seconds = X.reshape(-1), []
    for _ in range(repeats):
        start = time.perf_counter()
        flat.dot(flat)
        seconds.append(time.perf_counter() - start)
    return X.nbytes / min(seconds), "NumPy"


# STUB, to be connected: the arguments of the pass that rboost.core will offer.
def fused_pass(X: Rows) -> Callable[[], Any] | None:
    """One pass over the rows as each round makes it, ready to be timed; None: not available."""
    native = _offered("fused_pass")
    return None if native is None else partial(native, X)


# STUB, to be connected: how a fitted model is handed to the kernel that predicts one row.
def row_kernel(model: Any) -> Callable[[Any], Any] | None:
    """Prediction of one row without the checks of ``predict``; None: not available."""
    native = _offered("row_kernel")
    return None if native is None else native(model)
