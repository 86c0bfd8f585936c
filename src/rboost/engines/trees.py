"""Engine "trees": boosted trees on the likelihood, grown by LightGBM.

Each fold has a booster that does not see its rows and gives them their held-out scores; boosters
grow in step. A first pass takes labels as they are, until the held-out likelihood has its maximum.
The noise that the scores then show is put into the likelihood, and a second pass goes on from the
best round until the held-out likelihood rises no more. Where L is settled there is one pass. The
model is the mean of the boosters. XGBoost's boosters grow in the same two passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse

from rboost import native
from rboost._typing import Floats, Integers
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer, start_scores
from rboost.engines.learners import in_blocks
from rboost.native.boosters import lightgbm
from rboost.noise.inference import ScoredRows
from rboost.noise.likelihood import Likelihood
from rboost.table.features import by_table_column, for_trees, level_counts, source_of

# All settings in this file were chosen on tables of the suite "large development" (docs/method.md).
LEARNING_RATE, MAX_ROUNDS = 0.15, 400
# Rounds between two evaluations of the held-out likelihood; early-stopping patience, in rounds, of
# the first and of the second pass.
EVALUATION_INTERVAL, FIRST_PATIENCE, PATIENCE = 5, 10, 15
# Bins of a column, fewer for small tables; the number of rows that they are learnt from.
FEW_ROWS, BINS_OF_FEW, BINS, BIN_ROWS = 1000, 31, 63, 50_000
# The number of folds of tables of up to this many rows, and of larger ones.
FOLDS_BY_ROWS, FEWEST_FOLDS = {20_000: 5, 200_000: 3}, 2
# Settings of LightGBM.
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
# Minimum number of rows in a leaf: more where there are many.
MANY_ROWS, LEAF_OF_MANY, LEAF_OF_FEW = 5000, 20, 10

# Rows that are walked down all trees at a time.
BLOCK_ROWS = 1024
# Bits of a ``decision_type``; the next two are the kind of missing values, 2 for NaN.
CATEGORICAL, DEFAULT_LEFT = 1, 2
NAN_IS_MISSING = 2


class FoldBoosters(Protocol):
    """A booster for each fold, fitted to the other rows."""

    n_rounds: int

    def grow(self, n_rounds: int, likelihood: Likelihood) -> None:
        """Grow every booster by this many rounds."""

    def loss(self, likelihood: Likelihood) -> float:
        """The mean loss of held-out rows."""

    def state(self) -> Any:
        """A checkpoint of the boosters."""

    def go_back(self, state: Any) -> None:
        """Return to a checkpoint."""

    def scored(self) -> ScoredRows:
        """Held-out scores of all rows, or of representative ones."""


def grow_in_two_passes(
    boosters: FoldBoosters, likelihood: Likelihood, infer: Infer | None, settings: EngineSettings
) -> tuple[Likelihood, str]:
    """Grow boosters to their best round; return the L that they ended with, and why they stopped.

    Without ``infer`` L is settled, and there is one pass.
    """
    most_rounds = settings.max_iter or MAX_ROUNDS
    steps = step_sizes(most_rounds)
    shown = iter(settings.track(steps, len(steps), "Growing trees"))
    if infer is not None:
        grow_to_best(boosters, likelihood, islice(shown, len(steps) // 2), FIRST_PATIENCE)
        likelihood = likelihood.with_columns(infer(boosters.scored()))
    at_best = grow_to_best(boosters, likelihood, shown, PATIENCE)
    reason = f"held-out likelihood is largest after {boosters.n_rounds} rounds"
    if not at_best:
        reason = f"all {most_rounds} rounds grown, {boosters.n_rounds} of them kept"
    return likelihood, reason


def grow_to_best(
    boosters: FoldBoosters, likelihood: Likelihood, steps: Iterator[int], patience: int
) -> bool:
    """Grow until the held-out likelihood rises no more, and go back to the best round.

    Return whether that came before the steps ran out.
    """
    best, best_round, best_loss = boosters.state(), boosters.n_rounds, boosters.loss(likelihood)
    for n_rounds in steps:
        boosters.grow(n_rounds, likelihood)
        loss = boosters.loss(likelihood)
        if loss < best_loss:
            best, best_round, best_loss = boosters.state(), boosters.n_rounds, loss
        elif boosters.n_rounds - best_round >= patience:
            break
    ended = boosters.n_rounds - best_round >= patience
    boosters.go_back(best)
    return ended


def n_folds(n_rows: int) -> int:
    """The number of folds that a table of this many rows is split into."""
    usual = next((folds for most, folds in FOLDS_BY_ROWS.items() if n_rows <= most), FEWEST_FOLDS)
    return min(usual, n_rows)


def stratified_folds(label: Integers, n_folds: int, seed: int) -> NDArray[np.uint8]:
    """The fold that leaves each row out: stratified by label, in random order."""
    shuffled = np.random.RandomState(seed).permutation(len(label))
    by_class = shuffled[np.argsort(label[shuffled], kind="stable")]
    fold = np.empty(len(label), dtype=np.uint8)
    fold[by_class] = np.resize(np.arange(n_folds, dtype=np.uint8), len(label))
    return fold


def n_bins(n_rows: int) -> int:
    """The number of bins of a column."""
    return BINS_OF_FEW if n_rows < FEW_ROWS else BINS


def step_sizes(most_rounds: int) -> list[int]:
    """Rounds grown at a time, which sum up to the most that may be grown."""
    whole, rest = divmod(most_rounds, EVALUATION_INTERVAL)
    return [EVALUATION_INTERVAL] * whole + [rest] * (rest > 0)


def rows_in_leaf(n_rows: int) -> int:
    """The minimum number of rows in a leaf; of a very small table a twentieth."""
    return LEAF_OF_MANY if n_rows >= MANY_ROWS else max(1, min(LEAF_OF_FEW, n_rows // 20))


def rows_of_levels(n_rows: int) -> int:
    """The minimum number of rows of a category to split off.

    With LightGBM's 100, few tables would have any.
    """
    return min(100, max(rows_in_leaf(n_rows), n_rows // 50))


@dataclass(frozen=True)
class BoostedTrees:
    """The mean of the boosters of all folds; ``start`` is the score before the first tree.

    ``source[c]`` is the column of the table from which the trees' column c was made; None where
    they were given the table's own columns.
    """

    forest: Forest
    start: Floats
    n_columns: int
    source: Integers | None = None

    def __len__(self) -> int:
        return len(self.forest)

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The scores of the trees."""
        X = for_trees(X)
        if sparse.issparse(X):
            return in_blocks(lambda rows: self._read(self.forest.scores(rows.toarray())), X, n_jobs)
        return self._read(self.forest.scores(X, effective_n_jobs(n_jobs)))

    def _read(self, raw: Floats) -> Floats:
        return self.start + raw.reshape(len(raw), *self.start.shape)

    def feature_importances(self) -> Floats:
        """The share of each column in what the splits gained."""
        return by_table_column(self.forest.importances, self.source, self.n_columns)


def fit_trees(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Grow trees on the columns of a table, of which some may be codes of categories."""
    X, n_folds = for_trees(rows.X), int(rows.fold.max()) + 1
    with ThreadPoolExecutor(
        min(effective_n_jobs(settings.n_jobs), n_folds), initializer=_quieten
    ) as threads:
        boosters = LightGBMBoosters(X, rows, level_counts(rows.X), settings, threads)
        likelihood, reason = grow_in_two_passes(boosters, rows.likelihood, infer, settings)
    forest, source = boosters.forest(X.shape[1]), source_of(rows.X, "trees")
    member = BoostedTrees(forest, boosters.start, rows.X.shape[1], source)
    return EngineFit(
        member, boosters.scores, boosters.scored(), likelihood.columns, boosters.n_rounds, reason
    )


def _quieten() -> None:
    """Silence LightGBM in this thread, as verbosity is a setting of each thread."""
    module = lightgbm()
    assert module is not None  # whoever chooses trees has looked for it
    module.Dataset(np.zeros((1, 1)), np.zeros(1), params={"verbosity": -1}).construct()


@dataclass(frozen=True)
class _State:
    """A checkpoint of the boosters; one that finds no split in a round has no tree of it."""

    n_rounds: int
    n_trees: list[int]
    scores: Floats


class LightGBMBoosters:
    """A booster for each fold, fitted to the other rows; ``scores`` are of the rows left out."""

    def __init__(
        self,
        X: Any,
        rows: EngineRows,
        n_levels: Sequence[int],
        settings: EngineSettings,
        threads: ThreadPoolExecutor,
    ) -> None:
        module = lightgbm()
        assert module is not None  # whoever chooses trees has looked for it
        n_rows, n_classes = len(rows.likelihood), rows.likelihood.n_classes
        self._n_outputs = 1 if n_classes == 2 else n_classes
        options = LIGHTGBM | {
            "learning_rate": settings.learning_rate or LEARNING_RATE,
            "min_data_in_leaf": rows_in_leaf(n_rows),
            "max_bin": n_bins(n_rows),
            "min_data_per_group": rows_of_levels(n_rows),
            "bagging_freq": int(n_rows > 2),  # of one row no part can be drawn
            "num_class": self._n_outputs,
            "num_threads": max(1, effective_n_jobs(settings.n_jobs) // n_folds(n_rows)),
        }
        no_labels = np.zeros(n_rows, dtype=np.float32)  # derivatives are computed here
        table = module.Dataset(
            X, no_labels, params=options,
            categorical_feature=[place for place, n in enumerate(n_levels) if n],
        ).construct()  # fmt: skip
        if all(table.feature_num_bin(column) <= 1 for column in range(X.shape[1])):
            # LightGBM takes no table without any column to split, but one of ones.
            table = module.Dataset(np.ones((n_rows, 1)), no_labels, params=options).construct()
        self._likelihood, self._map = rows.likelihood, threads.map
        self._folds = [
            self._booster(module, table, rows.fold, int(number), options, settings.seed)
            for number in np.unique(rows.fold)
        ]
        self.start, self.n_rounds = start_scores(rows.shares), 0
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
        """A checkpoint of the boosters."""
        n_trees = [booster.current_iteration() for booster, _, _ in self._folds]
        return _State(self.n_rounds, n_trees, self.scores.copy())

    def grow(self, n_rounds: int, likelihood: Likelihood) -> None:
        """Grow every booster, on several threads, and read the scores of the rows left out."""

        def grow(fold: tuple[Any, NDArray[np.int32], NDArray[np.int32]]) -> None:
            booster, kept, out = fold
            own = likelihood.take(kept)
            for _ in range(n_rounds):
                booster.update(fobj=lambda raw, _: own.derivatives(self.start + raw, np.float32))

            def read(raw: Floats, _: Any) -> tuple[str, float, bool]:
                self.scores[out] = self.start + raw
                return "", 0.0, False

            booster.eval_valid(read)

        list(self._map(grow, self._folds))
        self.n_rounds += n_rounds

    def loss(self, likelihood: Likelihood) -> float:
        """The mean loss of the rows left out."""
        return likelihood.loss(self.scores)

    def scored(self) -> ScoredRows:
        """Held-out scores of all rows."""
        return ScoredRows(self.scores, self._likelihood.code, self._likelihood.weight)

    def go_back(self, state: _State) -> None:
        """Return to a checkpoint."""
        for (booster, _, _), n_trees in zip(self._folds, state.n_trees, strict=True):
            for _ in range(booster.current_iteration() - n_trees):
                booster.rollback_one_iter()
        self.n_rounds, self.scores = state.n_rounds, state.scores

    def forest(self, n_columns: int) -> Forest:
        """The mean of the boosters."""
        boosters = [booster for booster, _, _ in self._folds]
        n_trees = max(booster.current_iteration() for booster in boosters)
        n_rounds = min(n_trees, self.n_rounds)
        return Forest.from_boosters(boosters, self._n_outputs, n_rounds, n_columns)


# --- fitted trees as arrays


@dataclass(frozen=True, eq=False)
class Forest:
    """The mean of the raw scores of boosters, such as those of several folds.

    Values up to the threshold of a node go left, whole numbers in its set of categories too; NaN
    goes where ``nan_left`` says. Set s is the words ``set_starts[s]:set_starts[s + 1]`` of
    ``bitset``, with a bit for each category; nodes of numbers have the set −1. ``importances`` are
    the shares of the columns in what the splits gained.
    """

    feature: NDArray[np.int32]
    threshold: Floats
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    nan_left: NDArray[np.bool_]
    category_set: NDArray[np.int32]
    set_starts: NDArray[np.int32]
    bitset: NDArray[np.uint32]
    leaf_value: Floats
    roots: NDArray[np.int32]
    importances: Floats
    n_outputs: int
    n_boosters: int

    @classmethod
    def from_boosters(
        cls, boosters: Sequence[Any], n_outputs: int, n_rounds: int, n_columns: int
    ) -> Forest:
        """The first rounds of LightGBM's boosters; one that stopped before adds 0 from there on.

        Their datasets must not have been made with ``zero_as_missing``.
        """
        texts = [_text_of_trees(booster, n_rounds) for booster in boosters]
        fields = _by_name("".join(texts))
        n_leaves = _numbers(fields, "num_leaves", np.int32)
        n_splits = n_leaves - 1
        first_node, first_leaf = _starts(n_splits), _starts(n_leaves)
        left, right = (
            np.where(
                child < 0,
                child - np.repeat(first_leaf[:-1], n_splits),  # ~(~child + the first leaf)
                child + np.repeat(first_node[:-1], n_splits),
            )
            for child in (_numbers(fields, f"{side}_child", np.int32) for side in ("left", "right"))
        )
        # The last leaf is the tree of a booster that has stopped.
        values = np.append(_numbers(fields, "leaf_value", np.float64) / len(boosters), 0.0)
        root = np.where(n_splits > 0, first_node[:-1], ~first_leaf[:-1])
        roots = np.full((len(boosters), n_rounds * n_outputs), -len(values), dtype=np.int32)
        n_trees = [text.count("\nTree=") for text in texts]
        for own, end, n in zip(roots, np.cumsum(n_trees), n_trees, strict=True):
            own[:n] = root[end - n : end]
        by_round = roots.reshape(len(boosters), n_rounds, n_outputs).transpose(1, 0, 2)
        feature = _numbers(fields, "split_feature", np.int32)
        return cls(
            feature=feature,
            left=left,
            right=right,
            leaf_value=values,
            roots=by_round.ravel(),
            importances=gain_shares(feature, _numbers(fields, "split_gain", np.float64), n_columns),
            n_outputs=n_outputs,
            n_boosters=len(boosters),
            **_decisions(fields, n_splits),
        )

    def __len__(self) -> int:
        return len(self.roots) // (self.n_boosters * self.n_outputs)

    def scores(self, X: NDArray[Any], n_threads: int = 1) -> Floats:
        """The raw scores of rows of float32 or float64, shape (n_rows, n_outputs)."""
        return self._packed.scores(X, n_threads)

    @cached_property
    def _packed(self) -> PackedTrees:
        return PackedTrees(
            self.feature, self.threshold, self.left, self.right, self.nan_left,
            self.category_set, self.set_starts, self.bitset, self.leaf_value, self.roots,
            self.n_outputs,
        )  # fmt: skip


class PackedTrees:
    """Trees as :func:`forest_scores` takes them; the native core lays them out once."""

    def __init__(self, *arrays: Any) -> None:
        self._arrays = arrays
        self._native: Any = None

    def scores(self, X: NDArray[Any], n_threads: int = 1) -> Floats:
        """The sums of the leaf values, shape (n_rows, n_outputs)."""
        module = native.compiled()
        if module is None:
            return forest_scores(X, *self._arrays)
        if self._native is None:
            self._native = module.pack_forest(*self._arrays)
        found: Floats = self._native.scores(X, n_threads)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"_arrays": self._arrays, "_native": None}


def gain_shares(feature: NDArray[np.int32], gain: Floats, n_columns: int) -> Floats:
    """The share of each column in what the splits gained."""
    gains = np.bincount(feature, gain, minlength=n_columns)
    return gains / (gains.sum() or 1.0)


def _text_of_trees(booster: Any, n_rounds: int) -> str:
    """The trees in the text format of LightGBM, which is ten times as fast as its JSON."""
    if n_rounds == 0:
        return ""
    text = booster.model_to_string(num_iteration=n_rounds)
    return text[text.index("\nTree=") : text.index("\nend of trees")]


def _by_name(text: str) -> dict[str, list[str]]:
    """What follows ``name=`` in the text of all trees, in their order."""
    fields = defaultdict[str, list[str]](list)
    for line in text.splitlines():
        name, _, value = line.partition("=")
        fields[name].append(value)
    return fields


def _numbers(fields: dict[str, list[str]], name: str, dtype: Any) -> NDArray[Any]:
    return np.array(" ".join(fields[name]).split(), dtype=dtype)


def _starts(sizes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where parts of these sizes begin, one after the other, and where the last one ends."""
    return np.append(0, np.cumsum(sizes)).astype(np.int32)


def _decisions(
    fields: dict[str, list[str]], n_splits: NDArray[np.int32]
) -> dict[str, NDArray[Any]]:
    """The decision of each node. For a category the threshold is the number of its set."""
    threshold = _numbers(fields, "threshold", np.float64)
    decision = _numbers(fields, "decision_type", np.int32)
    categorical = decision & CATEGORICAL > 0
    # Where NaN is not a value of its own, it counts as 0.
    nan_left = np.where(
        decision >> 2 == NAN_IS_MISSING, decision & DEFAULT_LEFT > 0, threshold >= 0
    )
    first_set = np.repeat(_starts(_numbers(fields, "num_cat", np.int32))[:-1], n_splits)
    bounds = _numbers(fields, "cat_boundaries", np.int32)  # from 0 on for each tree
    return {
        "threshold": threshold,
        "nan_left": nan_left & ~categorical,
        "category_set": np.where(categorical, threshold + first_set, -1).astype(np.int32),
        "set_starts": _starts(np.diff(bounds)[bounds[1:] > 0]),
        "bitset": _numbers(fields, "cat_threshold", np.uint32),
    }


def forest_scores(
    X: NDArray[Any],
    feature: NDArray[np.int32],
    threshold: Floats,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    nan_left: NDArray[np.bool_],
    category_set: NDArray[np.int32],
    set_starts: NDArray[np.int32],
    bitset: NDArray[np.uint32],
    leaf_value: Floats,
    roots: NDArray[np.int32],
    n_outputs: int,
) -> Floats:
    """The sums of the leaf values of trees, shape (n_rows, n_outputs); tree t counts for t mod K.

    A root or child that is negative is the leaf ~number. Values up to the threshold go left, and
    so do whole numbers in the set of categories of a node; NaN goes left where ``nan_left``.
    """
    scores = np.zeros((len(X), n_outputs))
    for begin in range(0, len(X), BLOCK_ROWS):
        rows = X[begin : begin + BLOCK_ROWS]
        node = np.tile(roots, (len(rows), 1))
        while (walking := np.nonzero(node >= 0))[0].size:
            at = node[walking]
            value = rows[walking[0], feature[at]].astype(np.float64)
            goes_left = np.where(np.isnan(value), nan_left[at], value <= threshold[at])
            categories = category_set[at] >= 0
            goes_left[categories] = _in_sets(
                value[categories], category_set[at[categories]], set_starts, bitset
            )
            node[walking] = np.where(goes_left, left[at], right[at])
        values = leaf_value[~node].reshape(len(rows), -1, n_outputs)
        scores[begin : begin + BLOCK_ROWS] = values.sum(axis=1)
    return scores


def _in_sets(
    value: Floats,
    sets: NDArray[np.int32],
    set_starts: NDArray[np.int32],
    bitset: NDArray[np.uint32],
) -> NDArray[np.bool_]:
    """Whether the whole part of each value is in its set; NaN and negative numbers are in none."""
    known = (value > -1) & (value < 2**31)
    word, bit = np.divmod(np.where(known, value, 0).astype(np.int64), 32)
    known &= word < np.diff(set_starts)[sets]
    words = bitset[np.where(known, set_starts[sets] + word, 0)]
    return known & (words >> bit.astype(np.uint32) & 1 == 1)
