"""What held-out scores of all processes say of the noise: from few rows that stand for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats, Integers
from rboost.boosting.together import Together
from rboost.noise import NoisePosterior, infer_noise
from rboost.noise.stand_ins import MOST_ROWS, ScoredRows, count_scores, counted_rows
from rboost.numbering import NOISE, draws


@dataclass(frozen=True, eq=False)
class RowNumbers:
    """The numbers of the rows of one process, and how many rows with a weight all have together."""

    number: Integers
    n_rows: int


def stand_ins(own: ScoredRows, numbers: RowNumbers, together: Together) -> ScoredRows:
    """The same few rows in every process, however the rows are spread."""
    if own.scores.ndim == 1 and numbers.n_rows > MOST_ROWS:
        return counted_rows(together.sum(count_scores(own)))
    # Any seed will do, as long as it is the same in all processes.
    drawn = draws(numbers.number, 0, NOISE) < MOST_ROWS / numbers.n_rows
    chosen = (own.weight > 0) & (own.trusted | drawn)
    parts = together.gather((numbers.number[chosen], own.take(chosen)))
    order = np.argsort(np.concatenate([number for number, _ in parts]), kind="stable")
    columns = (
        np.concatenate([getattr(rows, name) for _, rows in parts])[order]
        for name in ("scores", "observed", "weight", "trusted")
    )
    return ScoredRows(*columns)


def infer_from(rows: ScoredRows, noise_matrix: Floats | None = None) -> NoisePosterior:
    """Infer the noise from rows that stand for all."""
    return infer_noise(
        rows.scores, rows.observed, sample_weight=rows.weight, trusted=rows.trusted,
        noise_matrix=noise_matrix,
    )  # fmt: skip
