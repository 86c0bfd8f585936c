"""LightGBM, imported when trees are first grown."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def lightgbm() -> ModuleType | None:
    """The module, or None and one warning where it cannot be imported.

    Its wheel for Linux needs ``libgomp.so.1`` of the system, which slim machines lack.
    """
    try:
        return import_module("lightgbm")
    except ImportError:
        remedy = "install it with: pip install lightgbm"
    except OSError as error:
        remedy = (
            f"its library cannot be loaded here ({error}); install OpenMP (Debian and Ubuntu: "
            "apt install libgomp1, Fedora and Alpine: libgomp, macOS: libomp)."
        )
    warnings.warn(
        f"rboost runs its pool of learners alone, as boosted trees need LightGBM: {remedy}",
        stacklevel=4,
    )
    return None
