"""Engine "xgboost": boosted trees grown by XGBoost, on a CPU, on a GPU, or by many processes.

Each process holds some of the rows, in bins, and XGBoost adds up the histograms of all processes.
Folds, bags, bins and noise depend on the rows and their numbers alone, and sums are exact: so the
trees do not depend on how rows are spread, nor on the device.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import gen_batches, gen_even_slices

from rboost._typing import Floats, Integers
from rboost._validation import on_host
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer, start_scores
from rboost.engines.trees import (
    BIN_ROWS,
    LEARNING_RATE,
    BoostedTrees,
    Forest,
    gain_shares,
    grow_in_two_passes,
    n_bins,
    n_folds,
)
from rboost.native.boosters import arrays_on, xgboost
from rboost.noise.inference import ScoredRows, count_scores, counted_rows
from rboost.noise.likelihood import Likelihood, array_module
from rboost.noise.row_dependent import MOST_ROWS
from rboost.numbering import NOISE, Bags, draws, hashed_folds, in_sample
from rboost.table.features import for_trees, level_counts, source_of

Value = TypeVar("Value")
# Codes of bins: see :class:`Bins`.
MISSING = 0
MOST_CODES = 256
LAST_LEVEL, MISSING_LEVEL = 61, 62
# Rows that are looked up at a time: enough for a GPU, few enough for a cache.
BLOCK_ROWS = {"numpy": 2**14, "cupy": 2**21}
# Settings of XGBoost: those of LightGBM (engines/trees.py), but for the minimum weight of a leaf,
# which is a sum of Hessians, not a number of rows, and has XGBoost's own default.
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
# Steps of growing between two reports that hold the trees so far.
REPORT_INTERVAL = 5
# With at most this many patterns, scores are counted by bin and pattern; else rows are sampled.
MOST_PATTERNS = 1000
# Rows of sparse tables that are made dense at a time.
SPARSE_ROWS = 2**14
# Derivatives are multiples of this. Their sums are then exact in whatever order rows are added, and
# trees the same on every device and for every number of processes.
GRAIN = 2.0**-24
# The stored boosters of all folds, at the end of each pass so far.
Grown = list[list[bytes]]


class Communicator(Protocol):
    """The processes of a fit, each with some of the rows; all call each method in the same order.

    Every statistic of training is a sum over rows. ``n_threads`` is that of this process.
    """

    n_threads: int

    def sum(self, numbers: Floats) -> Floats:
        """The sum of the arrays of all processes, the same in each of them."""

    def gather(self, value: Value) -> list[Value]:
        """The values of all processes, small ones, in the same order everywhere."""

    def report(self, message: dict[str, Any]) -> None:
        """Have one of the processes report progress to whoever started the fit."""


class SingleProcess:
    """One process that holds all rows."""

    n_threads = 1

    def sum(self, numbers: Floats) -> Floats:
        """The numbers themselves."""
        return numbers

    def gather(self, value: Value) -> list[Value]:
        """The value alone."""
        return [value]

    def report(self, message: dict[str, Any]) -> None:
        """Nothing: the progress bar is in this process."""


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """The rows of one process: their codes, in parts; likelihoods; folds and row numbers.

    ``always_kept`` marks patterns whose rows are kept where others are sampled; ``n_rows`` is the
    number of rows with a weight in all processes.
    """

    codes: Sequence[NDArray[np.uint8]]
    bins: Bins
    likelihood: Likelihood
    always_kept: NDArray[np.bool_]
    fold: NDArray[np.uint8]
    number: Integers
    n_rows: int

    def codes_of(self, is_in: NDArray[np.bool_]) -> list[NDArray[np.uint8]]:
        """The codes of some of the rows, in parts."""
        ends = np.cumsum([len(part) for part in self.codes])
        masks = np.split(is_in, ends[:-1])
        return [part[np.flatnonzero(own)] for part, own in zip(self.codes, masks, strict=True)]

    def representatives(self, scores: Floats, communicator: Communicator) -> ScoredRows:
        """A weighted sample or summary of all rows: the same in every process."""
        own = ScoredRows(scores, self.likelihood.code, self.likelihood.weight)
        n_patterns = self.likelihood.columns.shape[1]
        if scores.ndim == 1 and self.n_rows > MOST_ROWS and n_patterns <= MOST_PATTERNS:
            return counted_rows(communicator.sum(count_scores(own, n_patterns)), n_patterns)
        drawn = draws(self.number, 0, NOISE) < MOST_ROWS / self.n_rows
        chosen = (own.weight > 0) & (self.always_kept[own.code] | drawn)
        parts = communicator.gather((self.number[chosen], own.take(chosen)))
        order = np.argsort(np.concatenate([number for number, _ in parts]), kind="stable")
        columns = (
            np.concatenate([getattr(rows, name) for _, rows in parts])[order]
            for name in ("scores", "code", "weight")
        )
        return ScoredRows(*columns)


def matrix_of(codes: Sequence[NDArray[np.uint8]], bins: Bins, n_threads: int) -> Any:
    """Rows of a process as XGBoost takes them; all processes make it at once, to agree on it."""
    module = xgboost()
    types = ["c" if n else "q" for n in bins.n_levels] if any(bins.n_levels) else None

    class Parts(module.DataIter):  # type: ignore[name-defined]
        """The codes, part by part."""

        def __init__(self) -> None:
            super().__init__()
            self._left = iter(codes)

        def next(self, input_data: Any) -> bool:
            part = next(self._left, None)
            if part is not None:
                input_data(data=part, feature_types=types)
            return part is not None

        def reset(self) -> None:
            self._left = iter(codes)

    options = {
        "max_bin": MOST_CODES, "nthread": n_threads, "enable_categorical": types is not None
    }  # fmt: skip
    grid = module.QuantileDMatrix(_all_codes(codes[0], bins), feature_types=types, **options)
    return module.QuantileDMatrix(Parts(), ref=grid, **options)


def _all_codes(like: NDArray[np.uint8], bins: Bins) -> NDArray[np.uint8]:
    """Rows that hold every code of every column, in an array of the same module.

    XGBoost reads codes from bins of its own, in which the lowest that it has met may be any lower
    one. When it has met all, it can mistake none, and all matrices are read alike.
    """
    last = [MISSING_LEVEL if own is None else len(own) + 1 for own in bins.edges]
    codes = np.minimum(np.arange(MOST_CODES)[:, np.newaxis], last).astype(np.uint8)
    return array_module(like).asarray(codes)


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows of a process: their places, their codes on the device, XGBoost's matrix."""

    places: Any
    codes: list[NDArray[np.uint8]]
    matrix: Any


class FoldBooster:
    """A booster that grows on the rows ``seen`` and scores the rows ``left_out``.

    ``shape`` is that of the scores of one row: () for two classes, (K,) for more.

    Margins of rows are in float32, added up tree by tree in all cases, so that they do not depend
    on how they were computed. On a CPU, XGBoost caches the margins of both matrices. From a GPU it
    would return copies in main memory, so there each tree predicts on the device.
    """

    def __init__(self, seen: Part, left_out: Part, shape: tuple[int, ...], xp: Any) -> None:
        self.seen, self.left_out, self._shape, self._xp = seen, left_out, shape, xp
        self.trees: Any = None
        self._n_ready = 0
        self._of_seen: Any = None
        self._of_left_out: Any = None

    def begin(self, trees: Any, n_ready: int = 0) -> None:
        """Go on with these trees, of which the first ``n_ready`` are grown already."""
        self.trees, self._n_ready = trees, n_ready
        self._of_seen = self._of_left_out = None

    def add_trees(
        self, first: int, end: int, derivatives: Callable[[int, Any], tuple[Any, Any]]
    ) -> None:
        """Grow the trees from the first one on, but for those that are there already."""
        for place in range(max(first, self._n_ready), end):
            if self._of_seen is None:
                self._of_seen = (
                    self._kept() if self._xp is np else self._margins(self.seen, 0, place)
                )
            gradient, curvature = map(self._in_grains, derivatives(place, self._of_seen))
            self.trees.boost(self.seen.matrix, place, grad=gradient, hess=curvature)
            if self._xp is np:
                self._of_seen = self._kept()
            else:
                self._of_seen = self._of_seen + self._margins(self.seen, place, place + 1)

    def margins(self, first: int, end: int) -> Any:
        """Margins of the rows left out by the trees before ``end``; ``first`` of them are known."""
        if self._xp is np and end >= self._n_ready:
            return self._predicted(self.left_out)
        if self._of_left_out is None:
            self._of_left_out = self._margins(self.left_out, 0, first)
        for place in range(first, end):
            self._of_left_out = self._of_left_out + self._margins(self.left_out, place, place + 1)
        return self._of_left_out

    def _kept(self) -> Any:
        """Margins of the rows that the booster grows on, which XGBoost keeps."""
        return self._predicted(self.seen, training=True)

    def _margins(self, part: Part, first: int, end: int) -> Any:
        """Margins of rows by some of the trees."""
        if first == end or not len(part.places):
            return self._xp.zeros((len(part.places), *self._shape), dtype=np.float32)
        if self._xp is np:
            return self._predicted(part, iteration_range=(first, end))
        margins = [
            self.trees.inplace_predict(own, iteration_range=(first, end), predict_type="margin")
            for own in part.codes
            if len(own)
        ]
        return margins[0] if len(margins) == 1 else self._xp.concatenate(margins)

    def _predicted(self, part: Part, **options: Any) -> Any:
        """Margins of a matrix, in shape also where it has no rows."""
        margins = self.trees.predict(part.matrix, output_margin=True, **options)
        return margins.reshape(len(part.places), *self._shape)

    def _in_grains(self, derivative: Any) -> Any:
        derivative /= GRAIN
        self._xp.rint(derivative, out=derivative)
        derivative *= GRAIN
        return derivative


@dataclass(frozen=True, eq=False)
class StoredTrees:
    """The boosters of all folds, which can score rows that they have left out."""

    boosters: list[bytes]
    start: Floats
    seed: int

    def held_out(self, codes: NDArray[np.uint8], first_row: int) -> Floats:
        """Scores of the rows first_row, first_row + 1, …, by boosters that have not seen them."""
        number = np.arange(first_row, first_row + len(codes))
        fold = hashed_folds(number, len(self.boosters), self.seed)
        scores = np.empty((len(codes), *self.start.shape))
        for place, stored in enumerate(self.boosters):
            booster = xgboost().Booster({"nthread": 1}, model_file=bytearray(stored))
            own = np.flatnonzero(fold == place)
            if len(own) and booster.num_boosted_rounds():
                scores[own] = booster.inplace_predict(codes[own], predict_type="margin")
            else:
                scores[own] = 0
        return scores + self.start


def fit_xgboost(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Grow trees on the columns of a table, as :func:`rboost.engines.trees.fit_trees` does."""
    X, n_rows = for_trees(rows.X), len(rows.likelihood)
    sampled = in_sample(0, n_rows, BIN_ROWS / n_rows, settings.seed)
    bins = learn_bins(_dense(X[sampled]), level_counts(rows.X), n_bins(n_rows))
    codes = _codes(X, bins, settings)
    binned = BinnedRows(
        [codes], bins, rows.likelihood, rows.always_kept, rows.fold, np.arange(n_rows), n_rows
    )
    fit, _ = grow_trees(binned, rows.shares, infer, settings, SingleProcess())
    assert isinstance(fit.member, BoostedTrees)
    source = source_of(rows.X, "trees")
    return replace(fit, member=replace(fit.member, n_columns=rows.X.shape[1], source=source))


def grow_trees(
    binned: BinnedRows,
    shares: Floats,
    infer: Infer | None,
    settings: EngineSettings,
    communicator: Communicator,
    grown: Grown | None = None,
) -> tuple[EngineFit, StoredTrees]:
    """Grow trees on the rows of this process together with all others; also give all boosters.

    ``grown`` are trees of a run that was interrupted.
    """
    boosters = XGBoostBoosters(binned, shares, settings, communicator, grown)
    likelihood, reason = grow_in_two_passes(boosters, binned.likelihood, infer, settings)
    fit = EngineFit(
        boosters.member(), boosters.scores, boosters.scored(), likelihood.columns,
        boosters.n_rounds, reason,
    )  # fmt: skip
    return fit, boosters.stored()


def _dense(X: Any) -> Floats:
    return X.toarray() if sparse.issparse(X) else X


def _codes(X: Any, bins: Bins, settings: EngineSettings) -> NDArray[np.uint8]:
    """The codes of all rows, on the device."""
    if sparse.issparse(X):
        parts = (X[rows].toarray() for rows in gen_batches(X.shape[0], SPARSE_ROWS))
        codes = np.concatenate([bins.codes(part) for part in parts])
        return arrays_on(settings.device).asarray(codes)
    return bins.codes(arrays_on(settings.device).asarray(X), effective_n_jobs(settings.n_jobs))


class XGBoostBoosters:
    """A booster for each fold, fitted to the rows of the others.

    ``grown`` are trees of a run that was interrupted: they are taken as they are, pass by pass, and
    then growing goes on. Scores, labels and derivatives are on the device.
    """

    def __init__(
        self,
        binned: BinnedRows,
        shares: Floats,
        settings: EngineSettings,
        communicator: Communicator,
        grown: Grown | None = None,
    ) -> None:
        self._binned, self._settings, self._communicator = binned, settings, communicator
        self._n_threads = effective_n_jobs(settings.n_jobs)
        self._xp, self.n_rounds, self._n_steps = arrays_on(settings.device), 0, 0
        self.start = start_scores(shares)
        shape = len(binned.likelihood), *self.start.shape
        self._scores = self._xp.zeros(shape) + self._xp.asarray(self.start)
        self._on_device: tuple[Likelihood, Likelihood] | None = None
        self._folds = self._make_folds(n_folds(binned.n_rows))
        self._bags = [
            Bags(binned.number[on_host(own.seen.places)], BAG, settings.seed, self._xp)
            for own in self._folds
        ]
        self._to_replay, self._passes = [*(grown or [])], Grown()
        self._begin_pass([self._loaded(own) for own in self._folds])

    def _make_folds(self, n_folds: int) -> list[FoldBooster]:
        """Of two folds, each is seen by the booster of the other: two parts serve both."""
        fold = self._binned.fold
        parts: dict[frozenset[int], Part] = {}

        def part(numbers: frozenset[int]) -> Part:
            if numbers not in parts:
                is_in = np.isin(fold, list(numbers))
                codes = [self._xp.asarray(own) for own in self._binned.codes_of(is_in)]
                matrix = matrix_of(codes, self._binned.bins, self._n_threads)
                places = self._xp.asarray(np.flatnonzero(is_in))
                kept = [] if self._xp is np else codes  # XGBoost has them, in its matrix
                parts[numbers] = Part(places, kept, matrix)
            return parts[numbers]

        everything = frozenset(range(n_folds))
        sides = [(part(everything - {own}), part(frozenset([own]))) for own in range(n_folds)]
        return [FoldBooster(*both, self.start.shape, self._xp) for both in sides]

    def _loaded(self, fold: FoldBooster, stored: bytes | None = None) -> Any:
        settings, n_classes = self._settings, self._binned.likelihood.n_classes
        options = XGBOOST | {
            "learning_rate": settings.learning_rate or LEARNING_RATE,
            "seed": settings.seed,
            "nthread": self._n_threads,
            "device": settings.device,
        }
        if n_classes > 2:
            options["num_class"] = n_classes
        model = None if stored is None else bytearray(stored)
        return xgboost().Booster(options, [fold.seen.matrix, fold.left_out.matrix], model)

    def _begin_pass(self, trees: list[Any]) -> None:
        """Go on with these trees, or with those of the interrupted run."""
        n_ready = 0
        if self._to_replay:
            stored = self._to_replay.pop(0)
            trees = [self._loaded(*each) for each in zip(self._folds, stored, strict=True)]
            n_ready = trees[0].num_boosted_rounds()
        for fold, own in zip(self._folds, trees, strict=True):
            fold.begin(own, n_ready)

    @property
    def scores(self) -> Floats:
        """Held-out scores, in main memory."""
        return on_host(self._scores)

    def grow(self, n_rounds: int, likelihood: Likelihood) -> None:
        """Grow every booster, and read the scores of the rows left out."""
        likelihood, first = self._moved(likelihood), self.n_rounds
        start = self._xp.asarray(self.start)
        for fold, bags in zip(self._folds, self._bags, strict=True):
            own = likelihood.take(fold.seen.places)
            fold.add_trees(first, first + n_rounds, partial(self._derivatives, own, bags))
            margins = fold.margins(first, first + n_rounds)
            self._scores[fold.left_out.places] = margins + start
        self.n_rounds += n_rounds
        self._n_steps += 1
        self._report(with_trees=self._n_steps % REPORT_INTERVAL == 0)

    def _derivatives(
        self, likelihood: Likelihood, bags: Bags, place: int, margins: Any
    ) -> tuple[Any, Any]:
        """The derivatives of rows in a bag, 0 of others; on a CPU threads share the rows."""
        start, n_threads = self._xp.asarray(self.start), self._n_threads
        if self._xp is not np or n_threads == 1:
            found = likelihood.derivatives(margins + start, np.float32)
        else:
            found = np.empty(margins.shape, np.float32), np.empty(margins.shape, np.float32)

            def fill(rows: slice) -> None:
                part = likelihood.take(rows).derivatives(margins[rows] + start, np.float32)
                found[0][rows], found[1][rows] = part

            with ThreadPoolExecutor(n_threads) as threads:
                list(threads.map(fill, gen_even_slices(len(margins), n_threads)))
        outside = bags.without(place)
        for derivative in found:
            derivative[outside] = 0
        return found

    def _moved(self, likelihood: Likelihood) -> Likelihood:
        """L where the scores are; it is the same for many rounds."""
        if self._on_device is None or self._on_device[0] is not likelihood:
            self._on_device = likelihood, likelihood.moved_to(self._xp)
        return self._on_device[1]

    def loss(self, likelihood: Likelihood) -> float:
        """The mean loss of held-out rows, in all processes."""
        own = self._moved(likelihood)
        sums = np.array([own.loss_sum(self._scores), float(own.weight.sum())])
        loss, weight = self._communicator.sum(sums)
        return float(loss / weight)

    def state(self) -> tuple[int, Any]:
        """The number of rounds and the scores."""
        return self.n_rounds, self._scores.copy()

    def go_back(self, state: tuple[int, Any]) -> None:
        """Keep the trees of the first rounds: a pass has ended."""
        self._passes.append(self._stored())
        self.n_rounds, self._scores = state
        kept = slice(self.n_rounds)
        self._begin_pass(
            [own.trees[kept] if self.n_rounds else self._loaded(own) for own in self._folds]
        )

    def _stored(self) -> list[bytes]:
        return [bytes(own.trees.save_raw("ubj")) for own in self._folds]

    def _report(self, with_trees: bool) -> None:
        """Report how far the trees have come, and now and then the trees themselves."""
        message: dict[str, Any] = {"n_rounds": self.n_rounds}
        if with_trees:
            message["grown"] = [*self._passes, self._stored()]
        self._communicator.report(message)

    def scored(self) -> ScoredRows:
        """Representative rows, from which the noise is inferred."""
        return self._binned.representatives(self.scores, self._communicator)

    def stored(self) -> StoredTrees:
        """The boosters of all folds."""
        return StoredTrees(self._stored(), self.start, self._settings.seed)

    def member(self) -> BoostedTrees:
        """The mean of the boosters."""
        bins, n_outputs = self._binned.bins, 1 if self.start.ndim == 0 else len(self.start)
        forest = forest_of([own.trees for own in self._folds], bins, n_outputs)
        return BoostedTrees(forest, self.start, len(bins.edges))


# --- columns as bins


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns as small whole numbers: which of a few bins each value lies in.

    The edges of bins are learnt from a sample of the rows. A table in bins has an eighth of its
    size, and trees that are grown on bins are the same on every machine and device, however rows
    are spread. Codes are bytes. Missing numbers have the code 0, below all others: were trees to
    look for their better side at every split, devices would decide ties in different ways. Numbers
    have the code of their bin, from 1 on. Categories are whole numbers already; the rarest, from
    ``LAST_LEVEL`` on, share a code, and missing ones have their own.

    ``edges`` are the upper ends of the bins of each column but of the last bin; None of categories.
    ``n_levels`` is the number of categories, 0 of numbers.
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
                codes[rows, place] = _column_codes(columns[rows, place], own, xp)

        size = BLOCK_ROWS[xp.__name__]
        blocks = [slice(first, first + size) for first in range(0, len(columns), size)]
        if xp is not np or n_threads == 1:
            for block in blocks:
                fill(block)
        else:
            with ThreadPoolExecutor(n_threads) as threads:
                list(threads.map(fill, blocks))
        return codes


def _column_codes(values: Any, edges: Any, xp: Any) -> Any:
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
    """Edges of about ``n_bins`` bins that hold the same number of values.

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


# --- fitted trees as arrays


def forest_of(boosters: Sequence[Any], bins: Bins, n_outputs: int) -> Forest:
    """The mean of boosters that have grown equally many rounds."""
    models = [json.loads(booster.save_raw("json"))["learner"] for booster in boosters]
    trees = [model["gradient_booster"]["model"]["trees"] for model in models]
    first_of_rounds = range(0, len(trees[0]), n_outputs)
    in_order = [t for f in first_of_rounds for own in trees for t in own[f : f + n_outputs]]
    left, right = (_joined(in_order, f"{side}_children") for side in ("left", "right"))
    is_split, sizes = left >= 0, [len(tree["left_children"]) for tree in in_order]
    first = np.append(0, np.cumsum(sizes)).astype(np.intp)
    # Splits and leaves are numbered apart, and a leaf is known by its negative number.
    n_splits, n_leaves = np.cumsum(is_split), np.cumsum(~is_split)
    number = np.where(is_split, n_splits - 1, ~(n_leaves - 1)).astype(np.int32)
    offset = np.repeat(first[:-1], sizes)
    left, right = (number[(child + offset)[is_split]] for child in (left, right))
    conditions = _joined(in_order, "split_conditions", np.float64)
    feature = _joined(in_order, "split_indices", np.int32)[is_split]
    gain = _joined(in_order, "loss_changes", np.float64)[is_split]
    sets = _Sets(bins, feature, _category_splits(in_order, first, number))
    return Forest(
        feature=feature,
        threshold=_thresholds(conditions[is_split], feature, bins),
        left=np.where(sets.swapped, right, left),
        right=np.where(sets.swapped, left, right),
        nan_left=sets.of_node < 0,
        category_set=sets.of_node,
        set_starts=sets.starts,
        bitset=sets.bits,
        leaf_value=conditions[~is_split] / len(boosters),
        roots=number[first[:-1]],
        importances=gain_shares(feature, gain, len(bins.edges)),
        n_outputs=n_outputs,
        n_boosters=len(boosters),
    )


def _joined(trees: list[dict[str, Any]], name: str, dtype: Any = np.intp) -> NDArray[Any]:
    return np.array([value for tree in trees for value in tree[name]], dtype=dtype)


def _category_splits(
    trees: list[dict[str, Any]], first: Integers, number: NDArray[np.int32]
) -> Iterator[tuple[int, list[int]]]:
    """The splits of categories, by number, and the codes that XGBoost sends right there."""
    for tree, offset in zip(trees, first, strict=False):
        places = (tree[f"categories_{name}"] for name in ("nodes", "segments", "sizes"))
        for node, start, size in zip(*places, strict=True):
            yield number[offset + node], tree["categories"][start : start + size]


def _thresholds(conditions: Floats, feature: NDArray[np.int32], bins: Bins) -> Floats:
    """The largest values that go left: XGBoost sends codes below its condition there.

    Below the first bin are missing values alone. Conditions of categories mean nothing.
    """
    last = np.ceil(np.clip(np.nan_to_num(conditions), 1, MOST_CODES)).astype(np.intp) - 1
    found = np.empty(len(last))
    for place, edges in enumerate(bins.edges):
        ends = np.concatenate([[-np.inf], [] if edges is None else edges, [np.inf]])
        at = feature == place
        found[at] = ends[np.minimum(last[at], len(ends) - 1)]
    return found


class _Sets:
    """The sets of levels that go left at splits of categories, as words of bits.

    A level that is in no set goes right, and so does a missing one. So the branch of the missing
    ones is made the right one, which may swap the branches.
    """

    def __init__(
        self,
        bins: Bins,
        feature: NDArray[np.int32],
        splits: Iterable[tuple[int, list[int]]],
    ) -> None:
        self.swapped = np.zeros(len(feature), dtype=bool)
        self.of_node = np.full(len(feature), -1, dtype=np.int32)
        words = [np.zeros(0, dtype=np.uint32)]
        for number, (split, right_codes) in enumerate(splits):
            goes_right = np.isin(np.arange(MISSING_LEVEL + 1), right_codes)
            self.swapped[split] = not goes_right[MISSING_LEVEL]
            listed = goes_right if self.swapped[split] else ~goes_right
            levels = listed[np.minimum(np.arange(bins.n_levels[feature[split]]), LAST_LEVEL)]
            padded = np.pad(levels, (0, -len(levels) % 32))  # to whole words
            words.append(np.packbits(padded, bitorder="little").view(np.uint32))
            self.of_node[split] = number
        self.starts = np.cumsum([len(own) for own in words]).astype(np.int32)
        self.bits = np.concatenate(words)
