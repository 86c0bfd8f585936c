"""Rows in bins as XGBoost takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost.boosting.held_out import RowNumbers
from rboost.learners.bins import MISSING_LEVEL, MOST_CODES, Bins
from rboost.native.xgboost import array_module, xgboost
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


def matrix_of(codes: Sequence[NDArray[np.uint8]], bins: Bins, n_threads: int) -> Any:
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

    options = {
        "max_bin": MOST_CODES, "nthread": n_threads, "enable_categorical": types is not None
    }  # fmt: skip
    grid = module.QuantileDMatrix(_all_codes(codes[0], bins), feature_types=types, **options)
    return module.QuantileDMatrix(Parts(), ref=grid, **options)


def _all_codes(like: NDArray[np.uint8], bins: Bins) -> NDArray[np.uint8]:
    """Rows that hold every code of every column, in an array of the same module.

    XGBoost reads codes from bins of its own, in which the lowest that it has met may be any lower
    one. When it has met all, it can mistake none, and all matrices are read alike.
    """
    last = [MISSING_LEVEL if own is None else len(own) + 1 for own in bins.edges]
    codes = np.minimum(np.arange(MOST_CODES)[:, np.newaxis], last).astype(np.uint8)
    return array_module(like).asarray(codes)
