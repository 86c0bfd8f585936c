"""Votes of nearest neighbours, and depuration of labels by them (Barandela & Gasca 2000).

Generalised editing of Koplowitz & Brown 1981: a row gets the label that at least k' of its k
nearest other rows have, whatever its own was; without such a label it is removed.

A row of weight w counts as w copies of it. Neighbours are taken in order of distance until their
weights sum to k; those at the same, last distance share the places that are left in proportion to
their weights. Hence neither the order of the rows nor a weight in the place of copies matters.
Labels are positions 0 and 1 among the classes; votes have shape (n_rows, 2) and sum to k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.fitting import Rows

# Rows looked up at a time, which bounds the memory.
BLOCK_ROWS = 1024
# A tree of boxes is faster than one of balls up to this many columns.
FEW_COLUMNS = 15
# Sums of weights are equal when they differ by less than this.
ROUNDING = 1e-9


class Points(NamedTuple):
    """Rows without repetitions, the weight of each class there, and the point of each row."""

    X: Floats
    weight: Floats
    of_row: Integers


@dataclass(frozen=True)
class Neighbourhood:
    """Looks up how the nearest rows vote."""

    rows: Rows

    @cached_property
    def points(self) -> Points:
        """Equal rows as one; they are many where columns have few values."""
        X, of_row = np.unique(self.rows.X, axis=0, return_inverse=True)
        of_row = of_row.reshape(-1)  # some versions of NumPy return a column
        weight = np.zeros((len(X), 2))
        np.add.at(weight, (of_row, self.rows.observed), self.rows.sample_weight)
        return Points(X, weight, of_row)

    @cached_property
    def tree(self) -> NearestNeighbors:
        """Finds points by distance; unlike a product of matrices, equal ones are at distance 0."""
        kind = "kd_tree" if self.rows.X.shape[1] <= FEW_COLUMNS else "ball_tree"
        return NearestNeighbors(algorithm=kind).fit(self.points.X)

    def votes(self, X: Floats, k: int, own: bool = False) -> Floats:
        """The votes of the k nearest rows; X are the rows themselves when ``own``."""
        votes = np.empty((len(X), 2))
        for block in gen_batches(len(X), BLOCK_ROWS):
            itself = np.arange(len(X))[block] if own else None
            votes[block] = self._block_votes(X[block], k, itself)
        return votes

    def _block_votes(self, X: Floats, k: int, itself: Integers | None) -> Floats:
        """Ask for more neighbours, twice as many each time, where weights or ties need them."""
        votes = np.empty((len(X), 2))
        pending = np.arange(len(X))
        n_asked = k + 2  # the row itself, and one beyond the last that votes
        while len(pending):
            n_asked = min(n_asked, len(self.points.X))
            distance, point = self.tree.kneighbors(X[pending], n_asked)
            weight = self.points.weight[point]
            if itself is not None:
                self._leave_out(itself[pending], point, weight)
            total = weight.sum(axis=2)
            fraction = voting_fraction(distance, total, k)
            votes[pending] = np.einsum("ij,ijk->ik", fraction, weight)
            # Points at the last distance may be missing; those nearer are all there.
            nearer = np.sum(total, axis=1, where=distance < distance[:, -1:])
            pending = pending[(nearer < k - ROUNDING) & (n_asked < len(self.points.X))]
            n_asked *= 2
        return votes

    def _leave_out(self, itself: Integers, point: Integers, weight: Floats) -> None:
        """Take one copy of each row, or all there is of it if that is less, from the weights."""
        query, place = np.nonzero(point == self.points.of_row[itself, np.newaxis])
        row = itself[query]
        weight[query, place, self.rows.observed[row]] -= np.minimum(self.rows.sample_weight[row], 1)


def voting_fraction(distance: Floats, weight: Floats, k: int) -> Floats:
    """Which fraction of its weight each neighbour, in order of distance, has among the k places."""
    full = np.cumsum(weight, axis=1) >= k - ROUNDING
    last = np.where(
        full.any(axis=1), distance[np.arange(len(distance)), full.argmax(axis=1)], np.inf
    )[:, np.newaxis]
    before, at_last = distance < last, distance == last
    left = k - np.sum(weight, axis=1, where=before, keepdims=True)
    tied = np.sum(weight, axis=1, where=at_last, keepdims=True)
    return before + at_last * left / np.where(tied > 0, tied, 1)


def depurate(rows: Rows, n_neighbors: int, n_agreeing: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Give each row the label that enough of its neighbours have, without the others; who stays."""
    votes = Neighbourhood(rows).votes(rows.X, n_neighbors, own=True)
    kept = votes.max(axis=1) >= n_agreeing - ROUNDING
    return replace(rows, observed=votes.argmax(axis=1)).take(kept), kept
