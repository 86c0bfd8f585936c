"""A fit to a table of partitions: columns are encoded on the workers, on which trees then grow.

The client sees sums, a sample of rows, the trees, and representative rows from which the noise is
inferred. Scores of rows are computed from the trees where the rows lie, whenever they are
asked for, so that nothing is lost with a worker. The client keeps the trees so far, so that none is
grown twice.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import as_counts
from rboost.dask.blocks import Block, Summary, make_blocks, sample_rows
from rboost.dask.cluster import wait_for
from rboost.dask.collective import run_together
from rboost.dask.partitions import Partitions
from rboost.engines import XGBOOST
from rboost.engines.engine import EngineFit, EngineSettings, Stack
from rboost.engines.trees import BIN_ROWS, MAX_ROUNDS, n_bins, n_folds, step_sizes
from rboost.engines.xgboost import (
    BinnedRows,
    Bins,
    Communicator,
    Grown,
    StoredTrees,
    grow_trees,
    learn_bins,
)
from rboost.files import write_atomically
from rboost.labels import Labels, Patterns
from rboost.model import RBoostClassifier
from rboost.model.fit import Fitted, StackedModel
from rboost.native.boosters import xgboost
from rboost.noise import NoisePosterior
from rboost.noise.inference import NoiseInference, ScoredRows, judge
from rboost.noise.likelihood import Likelihood
from rboost.numbering import SAMPLE, draws, hashed_folds
from rboost.packages import package
from rboost.progress import track
from rboost.table.columns import read_columns
from rboost.table.features import TableEncoder, learn_encoder

dask = package("dask", "dask")


@dataclass(frozen=True, eq=False)
class TableFit:
    """A model of a table of partitions, and the codes of its rows on the cluster.

    ``representatives`` are weighted rows from which the noise is inferred, ``their_labels`` the
    positions of their labels.
    """

    encoder: TableEncoder
    fitted: Fitted
    trees: StoredTrees
    representatives: ScoredRows
    their_labels: Integers
    blocks: list[Any]

    @property
    def noise(self) -> NoisePosterior:
        """What is known of the noise."""
        return self.fitted.model.noise

    def posteriors(self) -> list[Any]:
        """p(true class j | row i, its label) of each partition, computed when it is needed."""
        how = dask.delayed((self.trees, self.noise), traverse=False)
        return [dask.delayed(posterior_of)(block, how) for block in self.blocks]

    def model(self, classes: NDArray[Any], names: Sequence[Any] = ()) -> RBoostClassifier:
        """The same model for tables in memory, which predicts these classes."""
        model = RBoostClassifier(engines=XGBOOST)
        model._encoder, model._allows_nan = self.encoder, True
        model.n_features_in_ = len(self.encoder.columns)
        if len(names) and all(isinstance(name, str) for name in names):
            model.feature_names_in_ = np.array(names, dtype=object)
        model._keep(self.fitted, classes)
        return model


def fit_table(
    client: Any,
    partitions: Partitions,
    summary: Summary,
    settings: EngineSettings,
    noise_matrix: Floats | None,
    progress: FitProgress,
    trusted: tuple[Any, Integers] | None = None,
) -> TableFit:
    """Fit trees to a table; its columns are encoded as a sample of the rows says.

    ``trusted`` are rows in memory whose labels are right, and the positions of their classes.
    """
    sample = sample_rows(client, partitions, summary, seed=settings.seed, verbose=progress.verbose)
    encoder = learn_encoder(read_columns(sample))
    columns, number = encoder.features(sample).trees, sample.index.to_numpy()
    more = columns[:0] if trusted is None else encoder.features(trusted[0]).trees
    n_rows = summary.n_rows + len(more)  # trusted rows follow those of the table
    columns = np.concatenate([columns, more])
    number = np.append(number, np.arange(summary.n_rows, n_rows))
    columns = columns[is_for_bins(number, n_rows, settings.seed)]
    bins = learn_bins(columns, encoder.tree_levels, n_bins(n_rows))
    blocks = make_blocks(client, partitions, summary, encoder, bins)
    wait_for(blocks, "Encoding", progress.verbose)
    filled = [block for block, n in zip(blocks, summary.sizes, strict=True) if n]
    if trusted is not None:
        filled.append(client.submit(trusted_block, more, trusted[1], bins, summary.n_rows))
    progress.begin(bins, settings, noise_matrix)

    def arguments() -> tuple[Any, ...]:
        return bins, settings, noise_matrix, len(summary.classes), progress.grown

    try:
        grown, trees = run_together(client, filled, grow_here, arguments, progress.listen)
    finally:
        progress.end()
    no_rows = np.zeros(0, dtype=np.intp)
    patterns = Patterns.of_labels(no_rows, None, len(summary.classes))
    noise = NoiseInference(patterns, noise_matrix).noise(grown.scored)
    member = replace(grown.member, n_columns=len(encoder.columns), source=encoder.source("trees"))
    stack = Stack({XGBOOST: member}, {XGBOOST: 1.0}, {XGBOOST: 1.0})
    reason = f"{XGBOOST}: {grown.stop_reason}"
    fitted = Fitted(StackedModel(stack, noise), None, grown.n_iter, reason)
    return TableFit(encoder, fitted, trees, grown.scored, patterns.label[grown.scored.code], blocks)


def is_for_bins(number: Integers, n_rows: int, seed: int) -> NDArray[np.bool_]:
    """Which rows of a sample bins are learnt from: those that one process would take."""
    return draws(number, seed, SAMPLE) < BIN_ROWS / n_rows


def trusted_block(columns: Floats, observed: Integers, bins: Bins, first_row: int) -> Block:
    """Trusted rows as a block behind all others."""
    ones = np.ones(len(observed))
    codes = bins.codes(columns)
    return Block(first_row, codes, observed.astype(np.int16), ones, ones.astype(bool))


def grow_here(
    blocks: list[Block],
    communicator: Communicator,
    bins: Bins,
    settings: EngineSettings,
    noise_matrix: Floats | None,
    n_classes: int,
    grown: Grown,
) -> tuple[EngineFit, StoredTrees]:
    """The part of one worker: grow trees on its rows together with all others.

    Held-out scores stay behind: they are computed from the trees where rows lie.
    """
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
    own_weights = np.bincount(patterns.label[patterns.code], weight, n_classes)
    of_classes = communicator.sum(own_weights.astype(np.float64))
    number = np.concatenate([np.arange(len(b.observed)) + b.first_row for b in blocks])
    n_rows = int(communicator.sum(np.array([np.count_nonzero(weight)]))[0])
    binned = BinnedRows(
        [b.codes for b in blocks], bins, Likelihood(patterns.code, columns, weight),
        patterns.trusted, hashed_folds(number, n_folds(n_rows), settings.seed), number, n_rows,
    )  # fmt: skip
    fit, trees = grow_trees(
        binned, of_classes / of_classes.sum(), infer if noise_matrix is None else None,
        replace(settings, n_jobs=communicator.n_threads, verbose=False), communicator, grown,
    )  # fmt: skip
    return replace(fit, held_out=np.empty(0)), trees


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


class FitProgress:
    """Trees that a fit has grown so far; ``file`` keeps them for a run after a kill.

    ``version`` is that of the table: trees of another one are not used.
    """

    def __init__(self, verbose: bool = False, file: Path | None = None, version: str = "") -> None:
        self.grown: Grown = []
        self._file, self.verbose, self._version, self._run = file, verbose, version, ""
        self._bar: Iterator[int] = iter(())

    def begin(self, bins: Bins, settings: EngineSettings, noise_matrix: Floats | None) -> None:
        """Load the trees of the same fit, if there are any."""
        versions = version("rboost"), xgboost().__version__, self._version
        self._run = dask.base.tokenize(versions, bins, settings, noise_matrix)
        self.grown = self._read()
        if self.grown and self.verbose:
            print(f"Going on with the trees that are kept in {self._file}.", file=sys.stderr)
        steps = step_sizes(settings.max_iter or MAX_ROUNDS)
        self._bar = track(steps, len(steps), "Growing trees", enabled=self.verbose)
        next(self._bar)

    def listen(self, message: dict[str, Any]) -> None:
        """Receive a report: a step was taken; some reports have the trees so far."""
        next(self._bar, None)
        if "grown" in message:
            self.grown = message["grown"]
            self._write()

    def end(self) -> None:
        """The fit is done, or has failed."""
        self._bar.close()  # type: ignore[attr-defined]

    def _read(self) -> Grown:
        """The passes in the file, if they are of this fit."""
        if self._file is None:
            return []
        try:
            kept = json.loads(self._file.read_bytes())
            passes = kept["grown"] if kept["run"] == self._run else []
            return [[b64decode(stored) for stored in boosters] for boosters in passes]
        except (OSError, ValueError, KeyError, TypeError):
            return []  # there is none, or one of another version, or cut off

    def _write(self) -> None:
        if self._file is not None:
            passes = [[b64encode(stored).decode() for stored in own] for own in self.grown]
            write_atomically(self._file, json.dumps({"run": self._run, "grown": passes}))
