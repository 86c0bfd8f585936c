"""How boosted trees are grown, whoever grows them: in two passes, to the round that is best.

Each fold has a booster that does not see its rows and says what these score; all boosters grow in
step. They first grow as if no label were wrong, until labels that they have not seen become no
likelier. What the scores say of the noise is then put into the likelihood, and the boosters go on
from their best round until it rises no more. Where the noise is known, or the pool has found it
before, it is there from the start. The model is the mean of the boosters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from rboost._typing import Floats
from rboost.boosting.groups import group_matrices
from rboost.boosting.likelihood import TrainingLabels, labels_of
from rboost.boosting.members import BoostedTrees
from rboost.noise import NoisePosterior
from rboost.noise.stand_ins import ScoredRows
from rboost.progress import track
from rboost.tables import Rows

# What follows was chosen on tables of the suite "large development" (docs/method.md).
LEARNING_RATE, MOST_ROUNDS = 0.1, 400
# Rounds between two looks at the likelihood of labels that were not seen, and how many may pass
# without its rising: before and after the noise is known.
STEP, PATIENCE_AT_FIRST, PATIENCE = 5, 10, 30
# Tables up to these numbers of rows are dealt into so many folds, larger ones into two.
FOLDS = {20_000: 5, 200_000: 3}
FEWEST_FOLDS = 2
# Bins of a column: fewer where there are few rows. They are learnt from so many rows.
FEW_ROWS, BINS_OF_FEW, BINS, BIN_ROWS = 1000, 31, 63, 50_000


@dataclass(frozen=True)
class TreeSettings:
    """What the user may say of the trees; None leaves it to the table."""

    learning_rate: float | None = None
    most_rounds: int | None = None
    seed: int = 0
    n_jobs: int = 1
    verbose: bool = False
    device: str = "cpu"


@dataclass(frozen=True)
class GrownTrees:
    """The trees, scores of rows that they were not fitted to, and the noise they reckon with.

    ``stand_ins`` are rows from which to infer it in the place of all, if not from all.
    """

    member: BoostedTrees
    held_out: Floats
    noise_matrix: Floats
    by_group: Floats | None
    n_iter: int
    stop_reason: str
    stand_ins: ScoredRows | None = None


class FoldBoosters(Protocol):
    """A booster for each fold, fitted to the other rows; ``scores`` are of the rows left out."""

    n_rounds: int

    @property
    def scores(self) -> Floats:
        """Of the rows left out."""

    def grow(self, n_rounds: int, labels: TrainingLabels) -> None:
        """Grow every booster by so many rounds."""

    def loss(self, labels: TrainingLabels) -> float:
        """The mean loss of the rows left out."""

    def state(self) -> Any:
        """Where the boosters stand."""

    def go_back(self, state: Any) -> None:
        """Stand where they stood."""

    def infer_noise(self) -> NoisePosterior:
        """What the scores say of the noise."""


@dataclass(frozen=True)
class Growth:
    """The noise that boosters reckon with in the end, and why they stopped."""

    noise_matrix: Floats
    by_group: Floats | None
    stop_reason: str


def grow_in_two_passes(
    boosters: FoldBoosters,
    rows: Rows,
    known_noise: Floats | None,
    by_group: Floats | None,
    settings: TreeSettings,
) -> Growth:
    """Grow boosters to their best round, first without noise unless it is known.

    Where probabilities of the true classes are known, there is none.
    """
    most_rounds = settings.most_rounds or MOST_ROUNDS
    steps = step_sizes(most_rounds)
    doing = "Growing trees" if rows.known is None else "Growing trees again, with the answers"
    shown = track(steps, len(steps), doing, enabled=settings.verbose)
    noise_matrix = known_noise if rows.known is None else np.eye(rows.n_classes)
    if noise_matrix is None:
        labels = labels_of(rows, np.eye(rows.n_classes))
        grow_to_best(boosters, labels, islice(shown, len(steps) // 2), PATIENCE_AT_FIRST)
        noise = boosters.infer_noise()
        noise_matrix = noise.noise_matrix
        by_group = group_matrices(boosters.scores, rows, noise)
    labels = labels_of(rows, noise_matrix, by_group)
    at_best = grow_to_best(boosters, labels, shown, PATIENCE)
    reason = f"labels left out are likeliest after {boosters.n_rounds} rounds"
    if not at_best:
        reason = f"all {most_rounds} rounds grown, {boosters.n_rounds} of them kept"
    return Growth(noise_matrix, by_group, reason)


def grow_to_best(
    boosters: FoldBoosters, labels: TrainingLabels, steps: Iterator[int], patience: int
) -> bool:
    """Grow until labels left out become no likelier, go back to the best round.

    Say whether that came before the steps ran out.
    """
    best, best_round, best_loss = boosters.state(), boosters.n_rounds, boosters.loss(labels)
    for n_rounds in steps:
        boosters.grow(n_rounds, labels)
        loss = boosters.loss(labels)
        if loss < best_loss:
            best, best_round, best_loss = boosters.state(), boosters.n_rounds, loss
        elif boosters.n_rounds - best_round >= patience:
            break
    ended = boosters.n_rounds - best_round >= patience
    boosters.go_back(best)
    return ended


def n_folds(n_rows: int) -> int:
    """Into how many folds so many rows are dealt."""
    usual = next((folds for most, folds in FOLDS.items() if n_rows <= most), FEWEST_FOLDS)
    return min(usual, n_rows)


def n_bins(n_rows: int) -> int:
    """Into how many bins the values of a column of so many rows are put."""
    return BINS_OF_FEW if n_rows < FEW_ROWS else BINS


def step_sizes(most_rounds: int) -> list[int]:
    """Rounds grown at a time, which sum up to the most that may be grown."""
    whole, rest = divmod(most_rounds, STEP)
    return [STEP] * whole + [rest] * (rest > 0)
