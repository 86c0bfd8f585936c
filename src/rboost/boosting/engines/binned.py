"""Rows in bins as XGBoost takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost.boosting.held_out import RowNumbers
from rboost.learners.bins import MOST_CODES, Bins
from rboost.native.xgboost import xgboost
from rboost.tables import Rows


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of one process: their codes, in parts; labels and weights; numbers."""

    codes: Sequence[NDArray[np.uint8]]
    bins: Bins
    rows: Rows
    numbers: RowNumbers

    def codes_of(self, is_in: NDArray[np.bool_]) -> list[NDArray[np.uint8]]:
        """The codes of some of the rows, in parts."""
        ends = np.cumsum([len(part) for part in self.codes])
        masks = np.split(is_in, ends[:-1])
        return [part[np.flatnonzero(own)] for part, own in zip(self.codes, masks, strict=True)]


def matrix_of(codes: Iterable[NDArray[np.uint8]], bins: Bins, n_threads: int) -> Any:
    """Rows of a process as XGBoost takes them; all processes make it at once, to agree on it."""
    module = xgboost()
    types = ["c" if n else "q" for n in bins.n_levels] if any(bins.n_levels) else None

    class Parts(module.DataIter):  # type: ignore[name-defined]
        """The codes, part by part."""

        def __init__(self) -> None:
            super().__init__()
            self._left = iter(codes)

        def next(self, input_data: Any) -> bool:
            part = next(self._left, None)
            if part is not None:
                input_data(data=part, feature_types=types)
            return part is not None

        def reset(self) -> None:
            self._left = iter(codes)

    return module.QuantileDMatrix(
        Parts(), max_bin=MOST_CODES, nthread=n_threads, enable_categorical=types is not None
    )
