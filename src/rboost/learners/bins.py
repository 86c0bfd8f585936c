"""Columns as small whole numbers: which of a few bins each value lies in.

The edges of bins are learnt from a sample of the rows. A table in bins has an eighth of its size,
and trees that are grown on bins are the same on every machine and device, however rows are spread.
Codes are bytes. Missing numbers have the code 0, below all others: were trees to look for their
better side at every split, devices would decide ties in different ways. Numbers have the code of
their bin, from 1 on. Categories are whole numbers already; the rarest, from LAST_LEVEL on, share a
code, and missing ones have their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.noise.likelihood import array_module

MISSING = 0
MOST_CODES = 256
LAST_LEVEL, MISSING_LEVEL = 61, 62
# Rows that are looked up at a time: enough for a GPU, few enough for a cache.
BLOCK_ROWS = {"numpy": 2**14, "cupy": 2**21}


@dataclass(frozen=True, eq=False)
class Bins:
    """Upper ends of the bins of each column but of the last bin; None of categories.

    ``n_levels`` says how many categories there are, 0 of numbers.
    """

    edges: tuple[Floats | None, ...]
    n_levels: tuple[int, ...]

    def codes(self, columns: Any, n_threads: int = 1) -> NDArray[np.uint8]:
        """The codes of rows, in an array of the module whose array the rows are."""
        xp = array_module(columns)
        codes = xp.empty(columns.shape, dtype=np.uint8)
        edges = [None if own is None else xp.asarray(own) for own in self.edges]

        def fill(rows: slice) -> None:
            for place, own in enumerate(edges):
                codes[rows, place] = _codes(columns[rows, place], own, xp)

        size = BLOCK_ROWS[xp.__name__]
        blocks = [slice(first, first + size) for first in range(0, len(columns), size)]
        if xp is not np or n_threads == 1:
            for block in blocks:
                fill(block)
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                list(threads.map(fill, blocks))
        return codes


def _codes(values: Any, edges: Any, xp: Any) -> Any:
    missing = xp.isnan(values)
    if edges is None:
        return xp.where(missing, MISSING_LEVEL, xp.minimum(values, LAST_LEVEL)).astype(np.uint8)
    values = xp.ascontiguousarray(values, dtype=np.float64)
    return xp.where(missing, MISSING, xp.searchsorted(edges, values) + 1).astype(np.uint8)


def learn_bins(sample: Floats, n_levels: Sequence[int], n_bins: int) -> Bins:
    """The bins of columns of which some rows are given; of categories the number of levels."""
    edges = (None if n else bin_edges(sample[:, place], n_bins) for place, n in enumerate(n_levels))
    return Bins(tuple(edges), tuple(n_levels))


def bin_edges(values: Floats, n_bins: int) -> Floats:
    """Edges between about so many bins that hold the same number of values.

    Frequent values have a bin of their own, and the others share what is left.
    """
    found, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(found) > n_bins:
        is_frequent = counts > counts.sum() / n_bins
        others = np.where(is_frequent, 0, counts)
        n_shared = max(1, n_bins - np.count_nonzero(is_frequent))
        share = (np.cumsum(others) - others) * n_shared // max(1, others.sum())
        begins = (np.diff(share) > 0) | is_frequent[1:] | is_frequent[:-1]
    else:
        begins = np.ones(max(0, len(found) - 1), dtype=bool)
    low, high = found[:-1][begins].astype(np.float64), found[1:][begins].astype(np.float64)
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)
