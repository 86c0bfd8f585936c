"""Rows in bins as XGBoost takes them, and derivatives whose sums are exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost.boosting.held_out import RowNumbers
from rboost.learners.bins import MOST_CODES, Bins
from rboost.native.xgboost import array_module, xgboost
from rboost.tables import Rows

# Derivatives are multiples of this. Their sums are then exact in whatever order rows are added, and
# trees the same on every device and for every number of processes.
GRAIN = 2.0**-24


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of one process: their codes, in parts; labels and weights; numbers."""

    codes: Sequence[NDArray[np.uint8]]
    bins: Bins
    rows: Rows
    numbers: RowNumbers


def in_grains(derivative: Any) -> Any:
    """Derivatives, rounded to grains in their place."""
    derivative /= GRAIN
    array_module(derivative).rint(derivative, out=derivative)
    derivative *= GRAIN
    return derivative


def matrix_of(binned: BinnedRows, n_threads: int) -> Any:
    """The rows of a process as XGBoost takes them; all processes agree on it."""
    module, bins = xgboost(), binned.bins
    types = ["c" if n else "q" for n in bins.n_levels] if any(bins.n_levels) else None

    class Parts(module.DataIter):  # type: ignore[name-defined]
        """The codes, part by part."""

        def __init__(self) -> None:
            super().__init__()
            self._left = iter(binned.codes)

        def next(self, input_data: Any) -> bool:
            part = next(self._left, None)
            if part is not None:
                input_data(data=part, feature_types=types)
            return part is not None

        def reset(self) -> None:
            self._left = iter(binned.codes)

    return module.QuantileDMatrix(
        Parts(), max_bin=MOST_CODES, nthread=n_threads, enable_categorical=types is not None
    )
