"""Whether there is a native core; what it computes is specified in NumPy.

The native module is built when the package is installed on a machine with a C++ compiler. Without
it everything works, more slowly; the first fit without it warns, once. With the environment
variable ``RBOOST_NATIVE=0`` it is left aside.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray


def rows_for_native(X: Any) -> NDArray[Any] | None:
    """The rows as the native core takes them: dense, contiguous, float32 or float64.

    They are copied at most once. None when the rows are sparse, no numbers, or so large that
    float32 cannot compute with them.
    """
    module = compiled()
    if module is None or not isinstance(X, np.ndarray) or X.dtype.kind not in "fiub":
        return None
    rows = np.ascontiguousarray(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))
    return rows if module.is_moderate(rows) else None


@cache
def compiled() -> ModuleType | None:
    """The native module, or None where there is none."""
    if os.environ.get("RBOOST_NATIVE") == "0":
        return None
    try:
        from rboost.native import _native
    except ImportError:
        warnings.warn(
            "rboost runs without its native core, which is slower; install a C++ compiler and "
            "reinstall rboost, or set RBOOST_NATIVE=0 to silence this.",
            stacklevel=4,
        )
        return None
    return _native
