"""The rows of partitions as numbers that a fit needs, and samples of rows to learn these from.

A block takes one byte a cell; the rows themselves are forgotten once they are encoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL
from rboost.dask.checks import Summary
from rboost.dask.cluster import gathered
from rboost.dask.partitions import Partitions, Piece, joined
from rboost.numbering import in_sample
from rboost.packages import package
from rboost.table.columns import read_columns
from rboost.table.features import TableEncoder

dask, sizes = package("dask", "dask"), package("dask.sizeof", "dask")
SAMPLE_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a partition from the row number ``first_row`` on.

    ``codes`` are bins of the columns, (n, p); ``observed`` the positions of labels among the
    classes, −1 and of weight 0 where there is none; ``trusted`` rows have labels that are right.
    """

    first_row: int
    codes: NDArray[np.uint8]
    observed: NDArray[np.int16]
    weight: NDArray[np.floating[Any]]
    trusted: NDArray[np.bool_]


def _size(block: Block) -> int:
    """Bytes of a block, so that workers know how full they are."""
    arrays = (block.codes, block.observed, block.weight, block.trusted)
    return sum(array.nbytes for array in arrays)


sizes.sizeof.register(Block, _size)


def make_blocks(
    client: Any, partitions: Partitions, summary: Summary, encoder: TableEncoder, bins: Any
) -> list[Any]:
    """A future of the :class:`Block` of each piece; all are under way when this returns."""
    # One value of the graph, from which a block that is lost with its worker can be made again.
    how = dask.delayed((summary, encoder, bins), traverse=False)
    tasks = [
        dask.delayed(block_of)(piece, first, how)
        for piece, first in zip(partitions.pieces, summary.first_rows.tolist(), strict=True)
    ]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"}):
        return client.compute(tasks)


def block_of(piece: Piece, first_row: int, how: tuple[Summary, Any, Any]) -> Block:
    """Encode the rows of a piece."""
    summary, encoder, bins = how
    n_rows = len(piece.X)
    codes = np.empty((0, len(summary.columns)), dtype=np.uint8)
    if n_rows:
        codes = bins.codes(for_trees(piece.X, encoder))
    observed = summary.positions(piece.y)
    weight = np.ones(n_rows, np.float32) if piece.weight is None else piece.weight
    weight = np.where(observed == NO_LABEL, np.zeros(1, weight.dtype), weight)
    return Block(first_row, codes, observed, weight, np.zeros(n_rows, dtype=bool))


def for_trees(X: Any, encoder: TableEncoder) -> Floats:
    """Rows as trees take them."""
    return encoder.features_of(read_columns(X)).trees


def sample_rows(
    client: Any,
    partitions: Partitions,
    summary: Summary,
    n_rows: int = SAMPLE_ROWS,
    seed: int = 0,
    verbose: bool = False,
) -> Any:
    """About ``n_rows`` rows, drawn by their numbers, in that order; all where there are no more.

    Words that none of them holds are unknown to an encoder that learns from them.
    """
    share = n_rows / summary.n_rows
    tasks = [
        dask.delayed(_sampled)(piece, first, share, seed)
        for piece, first in zip(partitions.pieces, summary.first_rows.tolist(), strict=True)
    ]
    return joined(gathered(client, tasks, "Drawing a sample", verbose))


def _sampled(piece: Piece, first_row: int, share: float, seed: int) -> Any:
    is_drawn = in_sample(first_row, len(piece.X), share, seed)
    return piece.X[is_drawn]
