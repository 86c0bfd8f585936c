"""Boosted trees grown by LightGBM: the rows are binned once, and each booster has some of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.boosting.engines.growing import (
    BIN_ROWS,
    LEARNING_RATE,
    GrownTrees,
    TreeSettings,
    grow_in_two_passes,
    n_bins,
    n_folds,
)
from rboost.boosting.likelihood import TrainingLabels, start_scores
from rboost.boosting.members import BoostedTrees
from rboost.learners.forest import Forest
from rboost.native.lightgbm import lightgbm
from rboost.noise import NoisePosterior, infer_noise
from rboost.tables import Rows

# The settings of LightGBM. They and what follows were chosen on tables of the suite "large
# development" (docs/method.md).
LIGHTGBM: dict[str, Any] = {
    "objective": "none",
    "num_leaves": 31,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 1.0,
    "feature_pre_filter": False,
    "bin_construct_sample_cnt": BIN_ROWS,
    "verbosity": -1,
    # The same trees from any number of threads.
    "deterministic": True,
    "force_col_wise": True,
}
# Rows in a leaf: more where there are many.
MANY_ROWS, LEAF_OF_MANY, LEAF_OF_FEW = 5000, 20, 10


def grow_trees(
    X: Any,
    rows: Rows,
    known_noise: Floats | None,
    n_levels: Sequence[int],
    settings: TreeSettings,
    by_group: Floats | None = None,
) -> GrownTrees:
    """Grow trees on the columns of X, of which some may be codes of categories, so many of each.

    Without ``known_noise`` it is inferred once trees that know of none are at their best, and so is
    that of groups of rows, (G, K, K), if there are any.
    """
    fold = deal_folds(rows.observed, n_folds(len(rows.observed)), settings.seed)
    n_threads = min(settings.n_jobs, n_folds(len(rows.observed)))
    with ThreadPoolExecutor(n_threads, initializer=_quieten) as threads:
        boosters = LightGBMBoosters(X, rows, fold, n_levels, settings, threads)
        growth = grow_in_two_passes(boosters, rows, known_noise, by_group, settings)
    member = BoostedTrees(boosters.forest(), boosters.start, X.shape[1])
    return GrownTrees(
        member, boosters.scores, growth.noise_matrix, growth.by_group, boosters.n_rounds,
        growth.stop_reason,
    )  # fmt: skip


def deal_folds(observed: Integers, n_folds: int, seed: int) -> NDArray[np.uint8]:
    """The fold that leaves each row out: shares of every class, dealt at random in turn."""
    shuffled = np.random.RandomState(seed).permutation(len(observed))
    by_class = shuffled[np.argsort(observed[shuffled], kind="stable")]
    fold = np.empty(len(observed), dtype=np.uint8)
    fold[by_class] = np.resize(np.arange(n_folds, dtype=np.uint8), len(observed))
    return fold


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


@dataclass(frozen=True)
class _State:
    """Where boosters stand; one that finds no split in a round has no tree of that round."""

    n_rounds: int
    n_trees: list[int]
    scores: Floats


class LightGBMBoosters:
    """A booster for each fold, fitted to the other rows; ``scores`` are of the rows left out."""

    def __init__(
        self,
        X: Any,
        rows: Rows,
        fold: NDArray[np.uint8],
        n_levels: Sequence[int],
        settings: TreeSettings,
        threads: ThreadPoolExecutor,
    ) -> None:
        module = lightgbm()
        assert module is not None  # whoever chooses trees has looked for it
        n_rows, self._n_outputs = len(rows.observed), 1 if rows.n_classes == 2 else rows.n_classes
        options = LIGHTGBM | {
            "learning_rate": settings.learning_rate or LEARNING_RATE,
            "min_data_in_leaf": rows_in_leaf(n_rows),
            "max_bin": n_bins(n_rows),
            "min_data_per_group": rows_of_levels(n_rows),
            "bagging_freq": int(n_rows > 2),  # of one row no part can be drawn
            "num_class": self._n_outputs,
            "num_threads": max(1, settings.n_jobs // n_folds(n_rows)),
        }
        no_labels = np.zeros(n_rows, dtype=np.float32)  # derivatives are computed here
        table = module.Dataset(
            X, no_labels, params=options,
            categorical_feature=[place for place, n in enumerate(n_levels) if n],
        ).construct()  # fmt: skip
        if all(table.feature_num_bin(column) <= 1 for column in range(X.shape[1])):
            # LightGBM takes no table without any column to split, but one of ones.
            table = module.Dataset(np.ones((n_rows, 1)), no_labels, params=options).construct()
        self._rows, self._map = rows, threads.map
        self._folds = [
            self._booster(module, table, fold, int(number), options, settings.seed)
            for number in np.unique(fold)
        ]
        self.start, self.n_rounds = start_scores(rows.prevalence), 0
        self.scores = np.zeros((n_rows, *self.start.shape)) + self.start

    def _booster(
        self,
        module: Any,
        table: Any,
        fold: NDArray[np.uint8],
        number: int,
        options: dict[str, Any],
        seed: int,
    ) -> tuple[Any, NDArray[np.int32], NDArray[np.int32]]:
        """A booster, the rows that it is fitted to, and those that it leaves out."""
        chosen = [
            np.flatnonzero(rows).astype(np.int32) for rows in (fold != number, fold == number)
        ]
        parts = [table.subset(rows).construct() for rows in chosen]
        booster = module.Booster({**options, "seed": (seed + number) % 2**31}, parts[0])
        booster.add_valid(parts[1], "left out")
        for part in parts:  # they have copies of their rows of the table, which can go
            part.reference = None
        return booster, chosen[0], chosen[1]

    def state(self) -> _State:
        """Where the boosters stand."""
        n_trees = [booster.current_iteration() for booster, _, _ in self._folds]
        return _State(self.n_rounds, n_trees, self.scores.copy())

    def grow(self, n_rounds: int, labels: TrainingLabels) -> None:
        """Grow every booster, on several threads, and read the scores of the rows left out."""

        def grow(fold: tuple[Any, NDArray[np.int32], NDArray[np.int32]]) -> None:
            booster, kept, out = fold
            own = labels.take(kept)
            for _ in range(n_rounds):
                booster.update(fobj=lambda raw, _: own.derivatives(self.start + raw, np.float32))

            def read(raw: Floats, _: Any) -> tuple[str, float, bool]:
                self.scores[out] = self.start + raw
                return "", 0.0, False

            booster.eval_valid(read)

        list(self._map(grow, self._folds))
        self.n_rounds += n_rounds

    def loss(self, labels: TrainingLabels) -> float:
        """The mean loss of the rows left out."""
        return labels.loss(self.scores)

    def infer_noise(self) -> NoisePosterior:
        """What the scores say of the noise."""
        rows = self._rows
        return infer_noise(
            self.scores, rows.observed, sample_weight=rows.sample_weight, trusted=rows.trusted
        )

    def go_back(self, state: _State) -> None:
        """Stand where they stood."""
        for (booster, _, _), n_trees in zip(self._folds, state.n_trees, strict=True):
            for _ in range(booster.current_iteration() - n_trees):
                booster.rollback_one_iter()
        self.n_rounds, self.scores = state.n_rounds, state.scores

    def forest(self) -> Forest:
        """The mean of the boosters."""
        boosters = [booster for booster, _, _ in self._folds]
        n_trees = max(booster.current_iteration() for booster in boosters)
        return Forest.from_boosters(boosters, self._n_outputs, min(n_trees, self.n_rounds))
