"""What checking rows in order of suspicion is expected to find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats

# Numbers of rows that a person may want to check.
BUDGETS = (10, 20, 50, 100, 200, 500)


@dataclass(frozen=True)
class Budget:
    """A number of rows to check, and what that is expected to find."""

    n_rows: int
    expected_found: float
    expected_precision: float
    expected_recall: float


@dataclass(frozen=True, eq=False)
class ReviewGain:
    """``expected_found[n]`` wrong labels are among the ``n`` most suspicious rows, 0 ≤ n ≤ all."""

    expected_found: Floats

    @property
    def n_rows(self) -> int:
        """How many rows carry a label that nobody has checked."""
        return len(self.expected_found) - 1

    @property
    def expected_wrong(self) -> float:
        """How many of them are expected to be wrong."""
        return float(self.expected_found[-1])

    def budget(self, n_rows: int) -> Budget:
        """What a check of so many rows is expected to find."""
        found = float(self.expected_found[n_rows])
        return Budget(
            n_rows,
            found,
            found / n_rows if n_rows else float("nan"),
            found / self.expected_wrong if self.expected_wrong else float("nan"),
        )

    def budgets(self) -> tuple[Budget, ...]:
        """The usual budgets that the table has rows for."""
        return tuple(self.budget(n_rows) for n_rows in BUDGETS if n_rows <= self.n_rows)


def review_gain(unchecked: Floats) -> ReviewGain:
    """The gain from the probabilities that labels nobody checked are wrong; NaN is left out."""
    known = np.sort(unchecked[np.isfinite(unchecked)])[::-1]
    return ReviewGain(np.concatenate([[0.0], np.cumsum(known)]))
