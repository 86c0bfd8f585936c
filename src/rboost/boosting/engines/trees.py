"""Boosted trees on the likelihood of the observed labels, grown by LightGBM.

The rows are binned once and dealt into folds. Each fold has a booster that does not see its rows
and says what these score; all boosters grow in step. They first grow as if no label were wrong,
until labels that they have not seen become no likelier. What the scores say of the noise is then
put into the likelihood, and the boosters go on from their best round until it rises no more. The
model is the mean of the boosters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._typing import Floats, Integers
from rboost.boosting.likelihood import LabelLikelihood, start_scores
from rboost.boosting.members import BoostedTrees
from rboost.learners.forest import Forest
from rboost.native.lightgbm import lightgbm
from rboost.noise import infer_noise
from rboost.progress import track
from rboost.tables import Rows

# The settings of LightGBM. They and what follows were chosen on the suite "large development".
LIGHTGBM: dict[str, Any] = {
    "objective": "none",
    "num_leaves": 31,
    "feature_fraction": 0.7,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "feature_pre_filter": False,
    "verbosity": -1,
    # The same trees from any number of threads.
    "deterministic": True,
    "force_col_wise": True,
}
LEARNING_RATE, MOST_ROUNDS = 0.1, 400
# Rounds between two looks at the likelihood of labels that were not seen, and how many may pass
# without its rising: before and after the noise is known.
STEP, PATIENCE_AT_FIRST, PATIENCE = 5, 10, 30
# Tables up to these numbers of rows are dealt into so many folds, larger ones into two.
FOLDS = {20_000: 5, 200_000: 3}
FEWEST_FOLDS = 2
# Rows in a leaf: more where there are many.
MANY_ROWS, LEAF_OF_MANY, LEAF_OF_FEW = 5000, 20, 10
# Bins of a column: fewer where there are few rows.
FEW_ROWS, BINS_OF_FEW, BINS = 1000, 31, 63


@dataclass(frozen=True)
class TreeSettings:
    """What the user may say of the trees; None leaves it to the table."""

    learning_rate: float | None = None
    most_rounds: int | None = None
    seed: int = 0
    n_jobs: int = 1
    verbose: bool = False


@dataclass(frozen=True)
class GrownTrees:
    """The trees, scores of rows that they were not fitted to, and the noise they reckon with."""

    member: BoostedTrees
    held_out: Floats
    noise_matrix: Floats
    n_iter: int
    stop_reason: str


def grow_trees(
    X: Any,
    rows: Rows,
    known_noise: Floats | None,
    categorical: Sequence[int],
    settings: TreeSettings,
) -> GrownTrees:
    """Grow trees on the columns of X, of which some may be codes of categories.

    Without ``known_noise`` it is inferred once trees that know of none are at their best.
    """
    left_out = deal_folds(rows.observed, n_folds(len(rows.observed)), settings.seed)
    most_rounds = settings.most_rounds or MOST_ROUNDS
    steps = step_sizes(most_rounds)
    with ThreadPoolExecutor(min(settings.n_jobs, len(left_out)), initializer=_quieten) as threads:
        boosters = FoldBoosters(X, rows, left_out, categorical, settings, threads)
        shown = track(steps, len(steps), "Trees", enabled=settings.verbose)
        noise_matrix = known_noise
        if noise_matrix is None:
            labels = LabelLikelihood.of(rows, np.eye(rows.n_classes))
            boosters.grow_to_best(labels, shown, PATIENCE_AT_FIRST)
            noise_matrix = infer_noise(
                boosters.scores, rows.observed, sample_weight=rows.sample_weight,
                trusted=rows.trusted, flip_counts=rows.flip_counts,
            ).noise_matrix  # fmt: skip
        labels = LabelLikelihood.of(rows, noise_matrix)
        at_best = boosters.grow_to_best(labels, shown, PATIENCE)
    n_rounds = boosters.n_rounds
    reason = (
        f"labels left out are likeliest after {n_rounds} rounds" if at_best else "all rounds done"
    )
    member = BoostedTrees(boosters.forest(), boosters.start, X.shape[1])
    return GrownTrees(member, boosters.scores, noise_matrix, n_rounds, reason)


def n_folds(n_rows: int) -> int:
    """Into how many folds so many rows are dealt."""
    usual = next((folds for most, folds in FOLDS.items() if n_rows <= most), FEWEST_FOLDS)
    return min(usual, n_rows)


def deal_folds(observed: Integers, n_folds: int, seed: int) -> list[Integers]:
    """The rows that each fold leaves out: shares of every class, dealt at random in turn."""
    shuffled = np.random.RandomState(seed).permutation(len(observed))
    by_class = shuffled[np.argsort(observed[shuffled], kind="stable")]
    fold = np.empty(len(observed), dtype=np.intp)
    fold[by_class] = np.arange(len(observed)) % n_folds
    return [np.flatnonzero(fold == number) for number in range(n_folds)]


def step_sizes(most_rounds: int) -> list[int]:
    """Rounds grown at a time, which sum up to the most that may be grown."""
    whole, rest = divmod(most_rounds, STEP)
    return [STEP] * whole + [rest] * (rest > 0)


def rows_in_leaf(n_rows: int) -> int:
    """The fewest rows of a leaf; of a very small table a twentieth."""
    return LEAF_OF_MANY if n_rows >= MANY_ROWS else max(1, min(LEAF_OF_FEW, n_rows // 20))


def rows_of_levels(n_rows: int) -> int:
    """The fewest rows of categories to split off: LightGBM's 100 would leave few tables any."""
    return min(100, max(rows_in_leaf(n_rows), n_rows // 50))


def _quieten() -> None:
    """Have LightGBM print nothing from a thread: each thread has its own level of talk."""
    module = lightgbm()
    assert module is not None  # whoever chooses trees has looked for it
    module.Dataset(np.zeros((1, 1)), np.zeros(1), params={"verbosity": -1}).construct()


class FoldBoosters:
    """A booster for each fold, fitted to the other rows; ``scores`` are of the rows left out."""

    def __init__(
        self,
        X: Any,
        rows: Rows,
        left_out: list[Integers],
        categorical: Sequence[int],
        settings: TreeSettings,
        threads: ThreadPoolExecutor,
    ) -> None:
        module = lightgbm()
        assert module is not None  # whoever chooses trees has looked for it
        n_rows, self._n_outputs = len(rows.observed), 1 if rows.n_classes == 2 else rows.n_classes
        options = LIGHTGBM | {
            "learning_rate": settings.learning_rate or LEARNING_RATE,
            "min_data_in_leaf": rows_in_leaf(n_rows),
            "max_bin": BINS_OF_FEW if n_rows < FEW_ROWS else BINS,
            "min_data_per_group": rows_of_levels(n_rows),
            "bagging_freq": int(n_rows > 2),  # of one row no part can be drawn
            "num_class": self._n_outputs,
            "num_threads": max(1, settings.n_jobs // len(left_out)),
        }
        no_labels = np.zeros(n_rows, dtype=np.float32)  # derivatives are computed here
        table = module.Dataset(
            X, no_labels, params=options, categorical_feature=list(categorical)
        ).construct()
        self._folds, self._map = [], threads.map
        for number, out in enumerate(left_out):
            kept = np.setdiff1d(np.arange(n_rows), out, assume_unique=True)
            seeded = {**options, "seed": (settings.seed + number) % 2**31}
            booster = module.Booster(seeded, table.subset(kept))
            booster.add_valid(table.subset(out), "left out")
            self._folds.append((booster, kept, out))
        self.start, self.n_rounds = start_scores(rows), 0
        self.scores = np.zeros((n_rows, *self.start.shape)) + self.start

    def grow_to_best(self, labels: LabelLikelihood, steps: Iterator[int], patience: int) -> bool:
        """Grow until labels left out become no likelier, go back to the best round.

        Say whether that came before the steps ran out.
        """
        best, best_loss = (self.n_rounds, self.scores.copy()), labels.loss(self.scores)
        for n_rounds in steps:
            self._grow(n_rounds, labels)
            loss = labels.loss(self.scores)
            if loss < best_loss:
                best, best_loss = (self.n_rounds, self.scores.copy()), loss
            elif self.n_rounds - best[0] >= patience:
                break
        ended = self.n_rounds - best[0] >= patience
        self._go_back(*best)
        return ended

    def _grow(self, n_rounds: int, labels: LabelLikelihood) -> None:
        """Grow every booster, on several threads, and read the scores of the rows left out."""

        def grow(fold: tuple[Any, Integers, Integers]) -> None:
            booster, kept, out = fold
            own = labels.take(kept)
            for _ in range(n_rounds):
                booster.update(fobj=lambda raw, _: own.derivatives(self.start + raw))

            def read(raw: Floats, _: Any) -> tuple[str, float, bool]:
                self.scores[out] = self.start + raw
                return "", 0.0, False

            booster.eval_valid(read)

        list(self._map(grow, self._folds))
        self.n_rounds += n_rounds

    def _go_back(self, n_rounds: int, scores: Floats) -> None:
        for booster, _, _ in self._folds:
            for _ in range(booster.current_iteration() - n_rounds):
                booster.rollback_one_iter()
        self.n_rounds, self.scores = n_rounds, scores

    def forest(self) -> Forest:
        """The mean of the boosters."""
        boosters = [booster for booster, _, _ in self._folds]
        return Forest.from_boosters(boosters, self._n_outputs, self.n_rounds)
