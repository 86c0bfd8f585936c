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

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL
from rboost.boosting.choice import XGBOOST
from rboost.boosting.engines.binned import BinnedRows
from rboost.boosting.engines.growing import BIN_ROWS, TreeSettings, grow_in_two_passes, n_bins
from rboost.boosting.engines.xgboost import Grown, StoredTrees, XGBoostBoosters
from rboost.boosting.fitting import Fitted
from rboost.boosting.held_out import RowNumbers, infer_from
from rboost.boosting.members import BoostedTrees
from rboost.boosting.models import StackedModel
from rboost.boosting.stack import Stack
from rboost.boosting.together import Together
from rboost.dask.blocks import SAMPLE_ROWS, Block, for_trees, make_blocks, sample_rows
from rboost.dask.checks import Summary
from rboost.dask.cluster import run_together
from rboost.dask.gathering import wait_for
from rboost.dask.partitions import Partitions
from rboost.dask.progress import FitProgress
from rboost.io.packages import package
from rboost.learners.bins import Bins, learn_bins
from rboost.noise import NoisePosterior
from rboost.noise.stand_ins import ScoredRows
from rboost.numbering import SAMPLE, draws, in_sample
from rboost.tables import Rows, as_counts

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
    settings: TreeSettings,
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
    noise = infer_from(grown.stand_ins, noise_matrix)
    stack = Stack({XGBOOST: grown.member}, {XGBOOST: 1.0}, {XGBOOST: 1.0})
    fitted = Fitted(
        StackedModel(stack, noise), noise.noise_matrix, noise, None, grown.n_rounds,
        f"{XGBOOST}: {grown.stop_reason}",
    )  # fmt: skip
    return TableFit(encoder, bins, fitted, noise, grown.trees, grown.stand_ins, blocks)


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
    together: Together,
    bins: Bins,
    settings: TreeSettings,
    noise_matrix: Floats | None,
    n_classes: int,
    grown: Grown,
) -> GrownOnCluster:
    """The part of one worker: grow trees on its rows together with all others."""
    rows = _rows_of(blocks, together, n_classes)
    number = np.concatenate([np.arange(len(b.observed)) + b.first_row for b in blocks])
    n_rows = int(together.sum(np.array([np.count_nonzero(rows.sample_weight)]))[0])
    binned = BinnedRows([b.codes for b in blocks], bins, rows, RowNumbers(number, n_rows))
    own = replace(settings, n_jobs=together.n_threads, verbose=False)
    boosters = XGBoostBoosters(binned, own, together, grown)
    growth = grow_in_two_passes(boosters, rows, noise_matrix, None, own)
    return GrownOnCluster(
        boosters.stored(), boosters.member(), boosters.n_rounds, growth.stop_reason,
        boosters.stand_ins(),
    )  # fmt: skip


def _rows_of(blocks: list[Block], together: Together, n_classes: int) -> Rows:
    """The labels of blocks, with weights as counts; trusted rows count as much as others."""
    observed, weight, trusted = (
        np.concatenate([getattr(block, name) for block in blocks])
        for name in ("observed", "weight", "trusted")
    )
    counted = (weight > 0) & ~trusted
    total, n_counted = together.sum(np.array([weight[counted].sum(dtype=float), counted.sum()]))
    mean = total / n_counted
    weight[trusted] = mean
    factor = float(as_counts(np.array([mean]))[0]) / mean
    if factor != 1:  # without weights, ones of four bytes will do
        weight = weight * factor
    return Rows(None, np.maximum(observed, 0), weight, trusted, n_classes)


def posterior_of(block: Block, how: tuple[StoredTrees, NoisePosterior]) -> Floats:
    """p(true class j | row i, its label) of the rows of a block."""
    trees, noise = how
    scores = trees.held_out(block.codes, block.first_row)
    known = block.observed != NO_LABEL
    posterior = noise.probability(scores)
    posterior[known] = noise.posterior(scores[known], block.observed[known].astype(np.intp))
    return posterior
