"""LightGBM, XGBoost and CuPy, imported when they are first asked for; what a device needs.

The module ``xgboost`` comes with the package of that name, which can use a GPU, or with the small
``xgboost-cpu``; either will do on a CPU.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

DEVICES = ("cpu", "cuda")


@cache
def lightgbm() -> ModuleType | None:
    """The module, or None and one warning where it cannot be imported.

    Its wheel for Linux needs ``libgomp.so.1`` of the system, which slim machines lack.
    """
    try:
        return import_module("lightgbm")
    except ImportError:
        remedy = "install it with: pip install lightgbm"
    except AttributeError:  # it computes with its docstrings
        remedy = "it does not load without docstrings; unset PYTHONOPTIMIZE, or use -O for -OO"
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


@cache
def xgboost() -> ModuleType:
    """The module, or one sentence on how to install it."""
    try:
        return import_module("xgboost")
    except ImportError as error:
        raise ImportError(
            "These trees are grown by XGBoost, which is not installed; run: pip install "
            "'rboost[gpu]', or pip install xgboost-cpu where there is no GPU."
        ) from error


@cache
def arrays_on(device: str) -> Any:
    """NumPy for the CPU, CuPy for a GPU; one sentence where that cannot be."""
    if device == "cpu":
        return np
    if not xgboost().build_info().get("USE_CUDA", False):
        raise ValueError(
            "device='cuda' needs XGBoost built for GPUs, but xgboost-cpu is installed; run: pip "
            "uninstall xgboost-cpu, then pip install 'rboost[gpu]', or set device='cpu'."
        )
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        raise ImportError(
            "device='cuda' needs CuPy, which is not installed; run: pip install 'rboost[gpu]' "
            "(or cupy-cuda13x for CUDA 13), or set device='cpu'."
        ) from error
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        n_devices = 0
    if not n_devices:
        raise ValueError(
            "device='cuda' needs an NVIDIA GPU and its driver, but none was found here; check "
            "nvidia-smi, or set device='cpu'."
        )
    return cupy
