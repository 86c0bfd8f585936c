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

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers

# Rows looked up at a time, which bounds the memory.
BLOCK_ROWS = 1024
# A tree of boxes is faster than one of balls up to this many columns.
FEW_COLUMNS = 15
# Sums of weights are equal when they differ by less than this.
ROUNDING = 1e-9


@dataclass(frozen=True)
class LabelledRows:
    """Rows with labels and weights, and their positions before others were removed."""

    X: Floats
    labels: Integers
    sample_weight: Floats
    positions: Integers

    def take(self, rows: NDArray[np.bool_]) -> LabelledRows:
        """Some of the rows."""
        return LabelledRows(
            self.X[rows], self.labels[rows], self.sample_weight[rows], self.positions[rows]
        )


@dataclass(frozen=True)
class Neighbourhood:
    """Looks up how the nearest rows vote."""

    rows: LabelledRows

    @cached_property
    def tree(self) -> NearestNeighbors:
        """Finds rows by distance; unlike a product of matrices, equal ones have the distance 0."""
        kind = "kd_tree" if self.rows.X.shape[1] <= FEW_COLUMNS else "ball_tree"
        return NearestNeighbors(algorithm=kind).fit(self.rows.X)

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
            n_asked = min(n_asked, len(self.rows.X))
            distance, neighbour = self.tree.kneighbors(X[pending], n_asked)
            weight = self.rows.sample_weight[neighbour]
            if itself is not None:
                is_self = neighbour == itself[pending, np.newaxis]
                weight = np.where(is_self, np.maximum(weight - 1, 0), weight)
            share = shares_of_places(distance, weight, k)
            ones = (share * self.rows.labels[neighbour]).sum(axis=1)
            votes[pending] = np.column_stack([share.sum(axis=1) - ones, ones])
            # Rows at the last distance may be missing; those nearer are all there.
            nearer = np.sum(weight, axis=1, where=distance < distance[:, -1:])
            pending = pending[(nearer < k - ROUNDING) & (n_asked < len(self.rows.X))]
            n_asked *= 2
        return votes


def shares_of_places(distance: Floats, weight: Floats, k: int) -> Floats:
    """How many of the k places each neighbour takes, in order of distance; shape of ``weight``."""
    full = np.cumsum(weight, axis=1) >= k - ROUNDING
    last = np.where(
        full.any(axis=1), distance[np.arange(len(distance)), full.argmax(axis=1)], np.inf
    )[:, np.newaxis]
    before, at_last = distance < last, distance == last
    left = k - np.sum(weight, axis=1, where=before, keepdims=True)
    tied = np.sum(weight, axis=1, where=at_last, keepdims=True)
    return weight * (before + at_last * left / np.where(tied > 0, tied, 1))


def depurate(rows: LabelledRows, n_neighbors: int, n_agreeing: int) -> LabelledRows:
    """Give each row the label that enough of its neighbours have, and remove the others."""
    votes = Neighbourhood(rows).votes(rows.X, n_neighbors, own=True)
    relabelled = replace(rows, labels=votes.argmax(axis=1))
    return relabelled.take(votes.max(axis=1) >= n_agreeing - ROUNDING)
