"""Columns cut into bins: small whole numbers that stand for the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.learners._grower import BinMapper

# Quantiles of more rows than this, drawn with a fixed seed, would hardly differ.
MAX_QUANTILE_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Rows as the numbers of their bins, and the largest value in each bin but the last.

    ``bins`` has shape (n_rows, n_features) and is contiguous by columns; a missing value has the
    number ``missing``. Rows are taken out with ``[...]``, as from an array.
    """

    bins: NDArray[np.uint8]
    thresholds: list[Floats]
    missing: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and of columns."""
        return self.bins.shape

    @property
    def n_bins(self) -> Integers:
        """Number of bins in each column, without that of missing values."""
        return np.array([len(thresholds) + 1 for thresholds in self.thresholds])

    def __len__(self) -> int:
        return len(self.bins)

    def __getitem__(self, rows: Any) -> BinnedRows:
        chosen = np.arange(len(self))[rows]
        return replace(self, bins=np.take(self.bins.T, chosen, axis=1).T)

    def coarsened(
        self, max_cuts: int, random: np.random.Generator
    ) -> tuple[BinnedRows, NDArray[np.uint8]]:
        """Keep some thresholds of each column, drawn at random, and put the rows in fewer bins.

        The second array holds the number, among the old bins, of the last one in each new bin.
        """
        kept = [np.sort(random.permutation(len(cuts))[:max_cuts]) for cuts in self.thresholds]
        missing = max(map(len, kept)) + 1
        bins = np.empty_like(self.bins)
        last = np.full((len(kept), missing), self.missing - 1, dtype=np.uint8)
        for column, cuts in enumerate(kept):
            last[column, : len(cuts)] = cuts
            new = np.searchsorted(cuts, np.arange(self.missing + 1)).astype(np.uint8)
            new[self.missing] = missing
            np.take(new, self.bins[:, column], out=bins[:, column])
        thresholds = [all_[cuts] for all_, cuts in zip(self.thresholds, kept, strict=True)]
        return BinnedRows(bins, thresholds, missing), last


@dataclass(frozen=True)
class Binning:
    """Cut columns at their quantiles, or between their values where they have few.

    Equal binnings of the same table are equal.
    """

    max_bins: int = 255
    n_threads: int = 1

    def __call__(self, X: Floats) -> BinnedRows:
        """Bin the rows of X, which may have missing values."""
        mapper = BinMapper(
            self.max_bins + 1,  # the last for missing values
            subsample=MAX_QUANTILE_ROWS,
            random_state=0,
            n_threads=self.n_threads,
        )
        # The mapper needs one value in every column to find no threshold in it.
        empty = np.isnan(X).all(axis=0)
        mapper.fit(np.where(empty, 0.0, X) if empty.any() else X)
        return BinnedRows(mapper.transform(X), mapper.bin_thresholds_, self.max_bins)
