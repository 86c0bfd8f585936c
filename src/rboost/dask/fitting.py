"""A fit to a table of partitions: columns become codes where they lie, trees grow on all workers.

What the client sees are sums, a sample of rows, the trees, and few rows that stand for all where
noise is inferred. Scores of rows are computed from the trees where the rows lie, whenever they are
asked for, so that nothing is lost with a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import as_counts
from rboost.dask.blocks import SAMPLE_ROWS, Block, for_trees, make_blocks, sample_rows
from rboost.dask.checks import Summary
from rboost.dask.cluster import run_together
from rboost.dask.gathering import wait_for
from rboost.dask.partitions import Partitions
from rboost.dask.progress import FitProgress
from rboost.engines import XGBOOST
from rboost.engines.engine import EngineSettings
from rboost.engines.stack import Stack
from rboost.engines.trees import BIN_ROWS, BoostedTrees, grow_in_two_passes, n_bins, n_folds
from rboost.engines.xgboost import (
    BinnedRows,
    Communicator,
    Grown,
    StoredTrees,
    XGBoostBoosters,
)
from rboost.labels import Labels, Patterns
from rboost.learners.bins import Bins, learn_bins
from rboost.model.fit import Fitted, StackedModel
from rboost.noise import NoisePosterior
from rboost.noise.inference import NoiseInference, ScoredRows, judge
from rboost.noise.likelihood import Likelihood
from rboost.numbering import SAMPLE, draws, hashed_folds, in_sample
from rboost.packages import package

dask = package("dask", "dask")


@dataclass(frozen=True, eq=False)
class TrustedRows:
    """Rows whose labels are right: as trees take them, and the positions of their classes."""

    columns: Floats
    observed: NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class GrownOnCluster:
    """What the first worker gives when trees have grown."""

    trees: StoredTrees
    member: BoostedTrees
    n_rounds: int
    stop_reason: str
    stand_ins: ScoredRows


@dataclass(frozen=True, eq=False)
class TableFit:
    """A model of a table of partitions, and the codes of its rows on the cluster."""

    encoder: Any
    bins: Bins
    fitted: Fitted
    noise: NoisePosterior
    trees: StoredTrees
    stand_ins: ScoredRows
    labels_of_stand_ins: Integers
    blocks: list[Any]

    def posteriors(self) -> list[Any]:
        """p(true class j | row i, its label) of each partition, computed when it is needed."""
        how = dask.delayed((self.trees, self.noise), traverse=False)
        return [dask.delayed(posterior_of)(block, how) for block in self.blocks]


# What turns columns into numbers, and how many levels those have that are categories.
Encoding = tuple[Any, Sequence[int]]


def fit_table(
    client: Any,
    partitions: Partitions,
    summary: Summary,
    learn: Callable[[Any], Encoding],
    settings: EngineSettings,
    noise_matrix: Floats | None,
    progress: FitProgress,
    trusted: Callable[[Any], TrustedRows | None] = lambda encoder: None,
) -> TableFit:
    """Fit trees to a table; ``learn`` finds the encoding from a sample of its rows."""
    sample = sample_rows(client, partitions, summary, seed=settings.seed, verbose=progress.verbose)
    encoder, n_levels = learn(sample)
    more = trusted(encoder)
    n_rows = summary.n_rows + (0 if more is None else len(more.observed))
    columns = _for_bins(for_trees(sample, encoder), more, summary, n_rows, settings.seed)
    bins = learn_bins(columns, n_levels, n_bins(n_rows))
    blocks = make_blocks(client, partitions, summary, encoder, bins)
    wait_for(blocks, "Encoding", progress.verbose)
    further = [] if more is None else [client.submit(_trusted_block, more, bins, summary.n_rows)]
    filled = [block for block, n in zip(blocks, summary.sizes, strict=True) if n]
    progress.begin(summary, bins, settings, noise_matrix)

    def arguments() -> tuple[Any, ...]:
        return bins, settings, noise_matrix, len(summary.classes), progress.grown

    try:
        grown: GrownOnCluster = run_together(
            client, filled + further, grow_here, arguments, progress.listen
        )
    finally:
        progress.end()
    no_rows = np.zeros(0, dtype=np.intp)
    patterns = Patterns.of_labels(no_rows, None, len(summary.classes))
    noise = NoiseInference(patterns, noise_matrix).noise(grown.stand_ins)
    stack = Stack({XGBOOST: grown.member}, {XGBOOST: 1.0}, {XGBOOST: 1.0})
    fitted = Fitted(
        StackedModel(stack, noise), None, grown.n_rounds, f"{XGBOOST}: {grown.stop_reason}"
    )
    label = patterns.label[grown.stand_ins.code]
    return TableFit(encoder, bins, fitted, noise, grown.trees, grown.stand_ins, label, blocks)


def _for_bins(
    sample: Floats, more: TrustedRows | None, summary: Summary, n_rows: int, seed: int
) -> Floats:
    """Fewer rows of a sample will do for bins: those that one process would take."""
    first_rows, sizes = summary.first_rows.tolist(), summary.sizes
    number = np.concatenate(
        [
            first + np.flatnonzero(in_sample(first, size, SAMPLE_ROWS / summary.n_rows, seed))
            for first, size in zip(first_rows, sizes, strict=True)
        ]
    )
    if more is not None:
        sample = np.concatenate([sample, more.columns])
        number = np.append(number, np.arange(summary.n_rows, n_rows))
    return sample[draws(number, seed, SAMPLE) < BIN_ROWS / n_rows]


def _trusted_block(rows: TrustedRows, bins: Bins, first_row: int) -> Block:
    n_rows = len(rows.observed)
    ones = np.ones(n_rows)
    return Block(first_row, bins.codes(rows.columns), rows.observed, ones, ones.astype(bool))


def grow_here(
    blocks: list[Block],
    communicator: Communicator,
    bins: Bins,
    settings: EngineSettings,
    noise_matrix: Floats | None,
    n_classes: int,
    grown: Grown,
) -> GrownOnCluster:
    """The part of one worker: grow trees on its rows together with all others."""
    observed, trusted = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("observed", "trusted")
    )
    weight = _counts_of(blocks, trusted, communicator)
    patterns = Patterns.of_labels(np.maximum(observed, 0), trusted, n_classes)
    infer = NoiseInference(patterns, noise_matrix)
    columns = patterns.first_likelihoods()
    if noise_matrix is not None:
        columns = infer.likelihoods(noise_matrix)
    likelihood = Likelihood(patterns.code, columns, weight)
    own_weights = np.bincount(patterns.label[patterns.code], weight, n_classes)
    of_classes = communicator.sum(own_weights.astype(np.float64))
    number = np.concatenate([np.arange(len(b.observed)) + b.first_row for b in blocks])
    n_rows = int(communicator.sum(np.array([np.count_nonzero(weight)]))[0])
    binned = BinnedRows(
        [b.codes for b in blocks], bins, likelihood, patterns.trusted,
        hashed_folds(number, n_folds(n_rows), settings.seed), number, n_rows,
    )  # fmt: skip
    own = replace(settings, n_jobs=communicator.n_threads, verbose=False)
    boosters = XGBoostBoosters(binned, of_classes / of_classes.sum(), own, communicator, grown)
    update = infer if noise_matrix is None else None
    _, stop_reason = grow_in_two_passes(boosters, likelihood, update, own)
    return GrownOnCluster(
        boosters.stored(), boosters.member(), boosters.n_rounds, stop_reason, boosters.scored()
    )


def _counts_of(
    blocks: list[Block], trusted: NDArray[np.bool_], communicator: Communicator
) -> NDArray[np.floating[Any]]:
    """The weights of rows, as counts; trusted rows count as much as others."""
    weight = np.concatenate([block.weight for block in blocks])
    counted = (weight > 0) & ~trusted
    sums = np.array([weight[counted].sum(dtype=float), counted.sum()])
    total, n_counted = communicator.sum(sums)
    mean = total / n_counted
    weight[trusted] = mean
    factor = float(as_counts(np.array([mean]))[0]) / mean
    return weight if factor == 1 else weight * factor  # without weights, ones of four bytes do


def posterior_of(block: Block, how: tuple[StoredTrees, NoisePosterior]) -> Floats:
    """p(true class j | row i, its label) of the rows of a block."""
    trees, noise = how
    scores = trees.held_out(block.codes, block.first_row)
    classes = np.arange(len(noise.noise_matrix))
    return judge(noise, scores, Labels.of(classes, block.observed.astype(np.intp))).posterior
