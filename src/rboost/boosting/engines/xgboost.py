"""Boosted trees grown by XGBoost: on a CPU, on a GPU, or by many processes that share the rows.

Each process has one matrix of its rows, in bins. The booster of a fold is given derivatives that
are 0 on the rows it leaves out, so that the matrix serves all boosters, and what they say of every
row is known as soon as a tree is grown. XGBoost adds up the histograms of all processes; folds,
bins and noise do not depend on how rows are spread, and so neither do the trees, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches, gen_even_slices

from rboost._typing import Floats
from rboost.boosting.engines.binned import BinnedRows, in_grains, matrix_of
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

# The settings of XGBoost; where LightGBM has the same ones, its values.
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
    n_rows: int
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
    """A booster for each fold, whose derivatives are 0 on the rows of the fold.

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
        self._xp, self._matrix = arrays_on(settings.device), matrix_of(binned, settings.n_jobs)
        rows, numbers = binned.rows, binned.numbers
        fold = folds(numbers.number, n_folds(numbers.n_rows), settings.seed)
        self._left_out = [
            self._xp.asarray(fold == number) for number in range(n_folds(numbers.n_rows))
        ]
        self._bags = Bags(numbers.number, BAG, settings.seed, self._xp)
        counts = together.sum(rows.prevalence * rows.sample_weight.sum())
        self.start, self.n_rounds, self._n_steps = start_scores(counts / counts.sum()), 0, 0
        self._scores = self._xp.zeros((len(fold), *self.start.shape)) + self._xp.asarray(self.start)
        self._labels: tuple[TrainingLabels, TrainingLabels] | None = None
        self._to_replay, self._passes = [*(grown or [])], Grown()
        self._begin_pass([self._loaded() for _ in self._left_out])

    def _loaded(self, stored: bytes | None = None) -> Any:
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
        return xgboost().Booster(options, [self._matrix], model)

    def _begin_pass(self, boosters: list[Any]) -> None:
        """Go on with these boosters, or with those that have gone on from them before."""
        self._boosters = boosters
        self._margins: list[Any] = [None] * len(boosters)
        self._n_ready = 0
        if self._to_replay:
            self._boosters = [self._loaded(stored) for stored in self._to_replay.pop(0)]
            self._n_ready = self._boosters[0].num_boosted_rounds()

    @property
    def scores(self) -> Floats:
        """Of the rows left out, in the memory of the processor."""
        return on_host(self._scores)

    def grow(self, n_rounds: int, labels: TrainingLabels) -> None:
        """Grow every booster, and read the scores of the rows left out."""
        labels = self._on_device(labels)
        for number, left_out in enumerate(self._left_out):
            for place in range(self.n_rounds, self.n_rounds + n_rounds):
                self._add_tree(number, place, labels)
            own = self._margins[number][left_out]
            self._scores[left_out] = own + self._xp.asarray(self.start)
        self.n_rounds += n_rounds
        self._n_steps += 1
        self._tell(with_trees=self._n_steps % STEPS_TOLD == 0)

    def _add_tree(self, number: int, place: int, labels: TrainingLabels) -> None:
        """Grow a tree, or take the one that was grown before; keep what the booster says now."""
        if place == self._n_ready:
            self._margins[number] = None  # from here on XGBoost is to keep them too
        grows, on_cpu = place >= self._n_ready, self._xp is np
        margins = self._margins[number]
        if margins is None:
            margins = self._kept(number) if grows and on_cpu else self._said(number, 0, place)
        if grows:
            gradient, curvature = map(in_grains, self._derivatives(labels, margins))
            unseen = self._bags.without(place * len(self._boosters) + number)
            unseen |= self._left_out[number]
            gradient[unseen], curvature[unseen] = 0, 0
            self._boosters[number].boost(self._matrix, place, grad=gradient, hess=curvature)
        if grows and on_cpu:
            self._margins[number] = self._kept(number)
        else:
            self._margins[number] = margins + self._said(number, place, place + 1)

    def _kept(self, number: int) -> Any:
        """What a booster says of all rows, as XGBoost keeps it while it grows on a CPU."""
        return self._boosters[number].predict(self._matrix, output_margin=True, training=True)

    def _said(self, number: int, begin: int, end: int) -> Any:
        """What some trees of a booster say of all rows; of a GPU it never leaves the device."""
        if begin == end:
            return self._xp.zeros(self._scores.shape, dtype=np.float32)
        booster, trees = self._boosters[number], (begin, end)
        if self._xp is np:
            return booster.predict(self._matrix, output_margin=True, iteration_range=trees)
        return booster.inplace_predict(
            self._binned.codes[0], iteration_range=trees, predict_type="margin"
        )

    def _derivatives(self, labels: TrainingLabels, margins: Any) -> tuple[Any, Any]:
        """On a CPU by several threads, which share the rows."""
        if self._xp is not np or self._settings.n_jobs == 1:
            return labels.derivatives(margins + self._xp.asarray(self.start), np.float32)
        gradient, curvature = (np.empty(margins.shape, dtype=np.float32) for _ in range(2))

        def fill(rows: slice) -> None:
            scores = margins[rows] + self.start
            gradient[rows], curvature[rows] = labels.take(rows).derivatives(scores, np.float32)

        with ThreadPoolExecutor(self._settings.n_jobs) as threads:
            list(threads.map(fill, gen_even_slices(len(margins), self._settings.n_jobs)))
        return gradient, curvature

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
        self._begin_pass(
            [own[: self.n_rounds] if self.n_rounds else self._loaded() for own in self._boosters]
        )

    def _stored(self) -> list[bytes]:
        return [bytes(own.save_raw("ubj")) for own in self._boosters]

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
        return StoredTrees(
            self._stored(), self.start, self._binned.numbers.n_rows, self._settings.seed
        )

    def member(self) -> BoostedTrees:
        """The mean of the boosters."""
        bins, n_outputs = self._binned.bins, 1 if self.start.ndim == 0 else len(self.start)
        forest = forest_of(self._boosters, bins, n_outputs)
        return BoostedTrees(forest, self.start, len(bins.edges))
