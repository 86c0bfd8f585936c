"""One GPU for each worker of a cluster on this machine; workers load this when they start."""

from __future__ import annotations

import os
from typing import Any

from rboost.native.xgboost import arrays_on

VISIBLE = "CUDA_VISIBLE_DEVICES"


def count() -> int:
    """How many GPUs there are; one where it cannot be told, of which workers will say more."""
    try:
        return int(arrays_on("cuda").cuda.runtime.getDeviceCount())
    except (ImportError, ValueError):
        return 1


def dask_setup(worker: Any) -> None:
    """Leave a worker one GPU; those of a local cluster have the names 0, 1 and so on."""
    named = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = named.split(",")[worker.name] if named else str(worker.name)
