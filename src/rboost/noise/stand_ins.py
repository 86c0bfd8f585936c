"""Few rows that stand for many where noise is inferred: all that many processes need to share.

Of two classes the held-out scores and labels are counted in narrow bins, which can be added up; of
more, a sample of the rows is taken, by the number of each row. Up to MOST_ROWS rows stand for
themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers

MOST_ROWS = 60_000
# Log-odds are told apart to this width, and beyond these ends not at all.
BIN_WIDTH, FARTHEST = 1 / 64, 32
N_BINS = round(2 * FARTHEST / BIN_WIDTH)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Held-out scores with labels, weights, and whether labels are known to be right."""

    scores: Floats
    observed: Integers
    weight: Floats
    trusted: NDArray[np.bool_]

    def take(self, rows: NDArray[np.bool_] | Integers) -> ScoredRows:
        """Some of the rows."""
        return ScoredRows(
            self.scores[rows], self.observed[rows], self.weight[rows], self.trusted[rows]
        )


def count_scores(rows: ScoredRows) -> Floats:
    """The weight of the rows of each bin, label and trust, and the sum of their scores."""
    scores = np.asarray(rows.scores, dtype=np.float64)
    bins = np.clip((scores + FARTHEST) / BIN_WIDTH, 0, N_BINS - 1).astype(np.intp)
    cell = (bins * 2 + rows.observed) * 2 + rows.trusted
    sums = [np.bincount(cell, own, 4 * N_BINS) for own in (rows.weight, rows.weight * scores)]
    return np.stack(sums)


def counted_rows(counts: Floats) -> ScoredRows:
    """One row for each bin, label and trust that any row has."""
    cell = np.flatnonzero(counts[0])
    weight, sums = counts[:, cell]
    return ScoredRows(sums / weight, cell // 2 % 2, weight, cell % 2 == 1)
