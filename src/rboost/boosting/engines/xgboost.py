"""Boosted trees grown by XGBoost: on a CPU, on a GPU, or by many processes that share the rows.

Each process has its rows in bins, and XGBoost adds up the histograms of all processes. Folds, bags,
bins and noise depend on the rows and their numbers alone, and sums are exact: so the trees do not
depend on how rows are spread, nor on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches, gen_even_slices

from rboost._typing import Floats
from rboost.boosting.engines.binned import BinnedRows, matrix_of
from rboost.boosting.engines.fold_booster import FoldBooster, Part
from rboost.boosting.engines.growing import (
    BIN_ROWS,
    LEARNING_RATE,
    GrownTrees,
    TreeSettings,
    grow_in_two_passes,
    n_bins,
    n_folds,
)
from rboost.boosting.held_out import RowNumbers, infer_from, stand_ins
from rboost.boosting.likelihood import TrainingLabels, start_scores
from rboost.boosting.members import BoostedTrees
from rboost.boosting.together import Alone, Together
from rboost.learners.bins import MOST_CODES, Bins, learn_bins
from rboost.learners.xgboost_forest import forest_of
from rboost.native.xgboost import arrays_on, on_host, xgboost
from rboost.noise import NoisePosterior
from rboost.noise.stand_ins import ScoredRows
from rboost.numbering import Bags, folds, in_sample
from rboost.tables import Rows

# The settings of XGBoost: those of LightGBM (engines/trees.py), but for the least weight of a leaf,
# which counts the Hessian, not the rows, and is XGBoost's own.
XGBOOST: dict[str, Any] = {
    "tree_method": "hist",
    "grow_policy": "lossguide",
    "max_leaves": 31,
    "max_depth": 0,
    "reg_lambda": 1.0,
    "min_child_weight": 1.0,
    "max_bin": MOST_CODES,
    "base_score": 0.0,
    "verbosity": 0,
}
# The share of the rows that a tree is grown on, as of LightGBM's.
BAG = 0.8
# Trees are told to whoever keeps them every so many steps of growing.
STEPS_TOLD = 5
# Rows of sparse tables that are made dense at a time.
SPARSE_ROWS = 2**14
# Boosters of all folds as XGBoost stores them, at the end of each pass so far.
Grown = list[list[bytes]]


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """The boosters of all folds, which can score rows that they have left out."""

    boosters: list[bytes]
    start: Floats
    seed: int

    def held_out(self, codes: NDArray[np.uint8], first_row: int) -> Floats:
        """Scores of the rows first_row, first_row + 1, …, by boosters that have not seen them."""
        number = np.arange(first_row, first_row + len(codes))
        fold = folds(number, len(self.boosters), self.seed)
        scores = np.empty((len(codes), *self.start.shape))
        for place, stored in enumerate(self.boosters):
            booster = xgboost().Booster({"nthread": 1}, model_file=bytearray(stored))
            own = np.flatnonzero(fold == place)
            if len(own) and booster.num_boosted_rounds():
                scores[own] = booster.inplace_predict(codes[own], predict_type="margin")
            else:
                scores[own] = 0
        return scores + self.start


def grow_on_xgboost(
    X: Any,
    rows: Rows,
    known_noise: Floats | None,
    n_levels: Sequence[int],
    settings: TreeSettings,
    by_group: Floats | None = None,
) -> GrownTrees:
    """Grow trees on the columns of X as :func:`~rboost.boosting.engines.trees.grow_trees` does."""
    n_rows = len(rows.observed)
    sampled = in_sample(0, n_rows, BIN_ROWS / n_rows, settings.seed)
    bins = learn_bins(_dense(X[sampled]), n_levels, n_bins(n_rows))
    binned = BinnedRows(
        [_codes(X, bins, settings)], bins, rows, RowNumbers(np.arange(n_rows), n_rows)
    )
    boosters = XGBoostBoosters(binned, settings, Alone())
    growth = grow_in_two_passes(boosters, rows, known_noise, by_group, settings)
    return GrownTrees(
        boosters.member(), boosters.scores, growth.noise_matrix, growth.by_group,
        boosters.n_rounds, growth.stop_reason, boosters.stand_ins(),
    )  # fmt: skip


def _dense(X: Any) -> Floats:
    return X.toarray() if sparse.issparse(X) else X


def _codes(X: Any, bins: Bins, settings: TreeSettings) -> NDArray[np.uint8]:
    """The codes of all rows, on the device."""
    if sparse.issparse(X):
        parts = (X[rows].toarray() for rows in gen_batches(X.shape[0], SPARSE_ROWS))
        codes = np.concatenate([bins.codes(part) for part in parts])
        return arrays_on(settings.device).asarray(codes)
    return bins.codes(arrays_on(settings.device).asarray(X), settings.n_jobs)


class XGBoostBoosters:
    """A booster for each fold, fitted to the rows of the others.

    ``grown`` are trees of a run that was interrupted: they are taken as they are, pass by pass, and
    then growing goes on. Scores, labels and derivatives are on the device.
    """

    def __init__(
        self,
        binned: BinnedRows,
        settings: TreeSettings,
        together: Together,
        grown: Grown | None = None,
    ) -> None:
        self._binned, self._settings, self._together = binned, settings, together
        self._xp, self.n_rounds, self._n_steps = arrays_on(settings.device), 0, 0
        rows, numbers = binned.rows, binned.numbers
        of_classes = together.sum(rows.class_weights)
        self.start = start_scores(of_classes / of_classes.sum())
        shape = len(rows.observed), *self.start.shape
        self._scores = self._xp.zeros(shape) + self._xp.asarray(self.start)
        self._labels: tuple[TrainingLabels, TrainingLabels] | None = None
        self._folds = self._make_folds(n_folds(numbers.n_rows))
        self._bags = [
            Bags(numbers.number[on_host(own.seen.places)], BAG, settings.seed, self._xp)
            for own in self._folds
        ]
        self._to_replay, self._passes = [*(grown or [])], Grown()
        self._begin_pass([self._loaded(own) for own in self._folds])

    def _make_folds(self, n_folds: int) -> list[FoldBooster]:
        """Of two folds, each is seen by the booster of the other: two parts serve both."""
        fold = folds(self._binned.numbers.number, n_folds, self._settings.seed)
        parts: dict[frozenset[int], Part] = {}

        def part(numbers: frozenset[int]) -> Part:
            if numbers not in parts:
                is_in = np.isin(fold, list(numbers))
                codes = [self._xp.asarray(own) for own in self._binned.codes_of(is_in)]
                matrix = matrix_of(codes, self._binned.bins, self._settings.n_jobs)
                places = self._xp.asarray(np.flatnonzero(is_in))
                kept = [] if self._xp is np else codes  # XGBoost has them, in its matrix
                parts[numbers] = Part(places, kept, matrix)
            return parts[numbers]

        everything = frozenset(range(n_folds))
        sides = [(part(everything - {own}), part(frozenset([own]))) for own in range(n_folds)]
        return [FoldBooster(*both, self.start.shape, self._xp) for both in sides]

    def _loaded(self, fold: FoldBooster, stored: bytes | None = None) -> Any:
        settings, n_classes = self._settings, self._binned.rows.n_classes
        options = XGBOOST | {
            "learning_rate": settings.learning_rate or LEARNING_RATE,
            "seed": settings.seed,
            "nthread": settings.n_jobs,
            "device": settings.device,
        }
        if n_classes > 2:
            options["num_class"] = n_classes
        model = None if stored is None else bytearray(stored)
        return xgboost().Booster(options, [fold.seen.matrix, fold.left_out.matrix], model)

    def _begin_pass(self, trees: list[Any]) -> None:
        """Go on with these trees, or with those that have gone on from them before."""
        n_ready = 0
        if self._to_replay:
            stored = self._to_replay.pop(0)
            trees = [self._loaded(*each) for each in zip(self._folds, stored, strict=True)]
            n_ready = trees[0].num_boosted_rounds()
        for fold, own in zip(self._folds, trees, strict=True):
            fold.begin(own, n_ready)

    @property
    def scores(self) -> Floats:
        """Of the rows left out, in the memory of the processor."""
        return on_host(self._scores)

    def grow(self, n_rounds: int, labels: TrainingLabels) -> None:
        """Grow every booster, and read the scores of the rows left out."""
        labels, first = self._on_device(labels), self.n_rounds
        start = self._xp.asarray(self.start)
        for fold, bags in zip(self._folds, self._bags, strict=True):
            own = labels.take(fold.seen.places)
            fold.add_trees(first, first + n_rounds, partial(self._derivatives, own, bags))
            margins = fold.margins(first, first + n_rounds)
            self._scores[fold.left_out.places] = margins + start
        self.n_rounds += n_rounds
        self._n_steps += 1
        self._tell(with_trees=self._n_steps % STEPS_TOLD == 0)

    def _derivatives(
        self, labels: TrainingLabels, bags: Bags, place: int, margins: Any
    ) -> tuple[Any, Any]:
        """The derivatives of rows in a bag, 0 of others; on a CPU threads share the rows."""
        start, n_threads = self._xp.asarray(self.start), self._settings.n_jobs
        if self._xp is not np or n_threads == 1:
            found = labels.derivatives(margins + start, np.float32)
        else:
            found = np.empty(margins.shape, np.float32), np.empty(margins.shape, np.float32)

            def fill(rows: slice) -> None:
                part = labels.take(rows).derivatives(margins[rows] + start, np.float32)
                found[0][rows], found[1][rows] = part

            with ThreadPoolExecutor(n_threads) as threads:
                list(threads.map(fill, gen_even_slices(len(margins), n_threads)))
        outside = bags.without(place)
        for derivative in found:
            derivative[outside] = 0
        return found

    def _on_device(self, labels: TrainingLabels) -> TrainingLabels:
        """The labels where the scores are; they are the same for many rounds."""
        if self._labels is None or self._labels[0] is not labels:
            self._labels = labels, labels.moved_to(self._xp)
        return self._labels[1]

    def loss(self, labels: TrainingLabels) -> float:
        """The mean loss of the rows left out, in all processes."""
        own = self._on_device(labels)
        sums = np.array([own.loss_sum(self._scores), float(own.weight.sum())])
        loss, weight = self._together.sum(sums)
        return float(loss / weight)

    def state(self) -> tuple[int, Any]:
        """The number of rounds and the scores."""
        return self.n_rounds, self._scores.copy()

    def go_back(self, state: tuple[int, Any]) -> None:
        """Keep the trees of so many rounds: a pass has ended."""
        self._passes.append(self._stored())
        self.n_rounds, self._scores = state
        kept = slice(self.n_rounds)
        self._begin_pass(
            [own.trees[kept] if self.n_rounds else self._loaded(own) for own in self._folds]
        )

    def _stored(self) -> list[bytes]:
        return [bytes(own.trees.save_raw("ubj")) for own in self._folds]

    def _tell(self, with_trees: bool) -> None:
        """Say how far the trees have come, and now and then what they are."""
        message: dict[str, Any] = {"n_rounds": self.n_rounds}
        if with_trees:
            message["grown"] = [*self._passes, self._stored()]
        self._together.tell(message)

    def stand_ins(self) -> ScoredRows:
        """Rows that stand for all where noise is inferred."""
        rows = self._binned.rows
        own = ScoredRows(self.scores, rows.observed, rows.sample_weight, rows.trusted)
        return stand_ins(own, self._binned.numbers, self._together)

    def infer_noise(self) -> NoisePosterior:
        """What the scores say of the noise."""
        return infer_from(self.stand_ins())

    def stored(self) -> StoredTrees:
        """The boosters of all folds."""
        return StoredTrees(self._stored(), self.start, self._settings.seed)

    def member(self) -> BoostedTrees:
        """The mean of the boosters."""
        bins, n_outputs = self._binned.bins, 1 if self.start.ndim == 0 else len(self.start)
        forest = forest_of([own.trees for own in self._folds], bins, n_outputs)
        return BoostedTrees(forest, self.start, len(bins.edges))
