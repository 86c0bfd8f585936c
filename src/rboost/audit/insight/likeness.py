"""Rows that are alike: distances in the columns that matter for the labels, and the nearest rows.

Each column is weighted by its relevance: the mutual information, in nats, of the label and the best
feature of the column, less a significance cutoff. The squared distance of two texts is twice one
less the cosine of their TF-IDF: in the mean no more than that of a standardized number, which is 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import linalg
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from rboost._typing import Floats, Integers
from rboost.audit.insight.usual import range_edges
from rboost.audit.labels import NO_LABEL

# Rows named as neighbours, and rows of a class among which they are looked for, at most.
N_NEIGHBOURS, MOST_SEARCHED = 3, 200_000
# Rows that are compared at a time, and with how many others, where there are texts.
BLOCK_ASKED, BLOCK_SEARCHED = 256, 8192
# Ranges in which a feature is counted, and rows that are looked at, at most.
N_RANGES, MOST_ROWS = 8, 20_000
# Significance cutoff of the mutual information, in standard deviations.
DEVIATIONS = 3.0
# Least weight of a column as a share of the largest: it may be relevant together with others.
LEAST_WEIGHT = 0.005
# Less than any product of lengths that are not 0.
TINY = 1e-9


@dataclass(frozen=True, eq=False)
class Points:
    """Rows between which there are distances.

    ``numbers`` (n, n_features) are weighted. ``texts`` has the weight of each column of texts, its
    TF-IDF (n, n_terms), and the lengths of its rows, (n,); rows of length 0, such as those without
    a text, are alike and have nothing in common with others.
    """

    numbers: Floats
    texts: tuple[tuple[float, Any, Floats], ...] = ()

    def distances(self, rows: Integers, others: Integers) -> Floats:
        """How far each of some rows is from each of others, (n_rows, n_others)."""
        found = np.empty((len(rows), len(others)))
        for block in gen_batches(len(others), BLOCK_SEARCHED):
            found[:, block] = self._squared(rows, others[block])
        return np.sqrt(np.maximum(found, 0.0))

    def _squared(self, rows: Integers, others: Integers) -> Floats:
        one, other = self.numbers[rows], self.numbers[others]
        lengths = np.square(one).sum(axis=1)[:, np.newaxis] + np.square(other).sum(axis=1)
        found = lengths - 2 * one @ other.T
        for weight, terms, length in self.texts:
            cosine = (terms[rows] @ terms[others].T).toarray()
            cosine /= np.maximum(np.outer(length[rows], length[others]), TINY)
            cosine += np.outer(length[rows] == 0, length[others] == 0)
            found += 2 * weight * (1 - cosine)
        return np.asarray(found)


def comparable(
    standardized: Floats, source: Integers, label: Integers, texts: Mapping[int, Any] | None = None
) -> Points:
    """Points between which distances are those of columns that matter.

    ``source`` (n_features,) has the column of each feature, ``texts`` the TF-IDF of columns of
    texts; their features only tell how relevant they are.
    """
    texts = texts or {}
    worth = relevance(standardized, source, label)
    best = worth.max(initial=0.0)
    weight = np.maximum(worth / best, LEAST_WEIGHT) if best > 0 else np.ones(len(worth))
    n_features = np.bincount(source, minlength=len(worth))
    is_number = ~np.isin(source, list(texts))
    scale = np.sqrt(weight / np.maximum(n_features, 1))[source[is_number]]
    read = tuple(
        (float(weight[place]), terms, linalg.norm(terms, axis=1)) for place, terms in texts.items()
    )
    return Points(np.asarray(standardized[:, is_number] * scale), read)


def relevance(standardized: Floats, source: Integers, label: Integers) -> Floats:
    """The mutual information of each column by itself and the labels, in nats.

    ``source`` (n_features,) has the column of each feature, ``label`` (n_rows,) the class of rows
    that are probably labelled rightly, −1 of others.
    """
    rows = np.flatnonzero(label >= 0)
    rows = rows[:: len(rows) // MOST_ROWS + 1]
    found = np.zeros(source.max(initial=-1) + 1)
    for feature, column in enumerate(source):
        own = _information(standardized[rows, feature], label[rows])
        found[column] = max(found[column], own)
    return found


class Neighbours:
    """Finds the nearest rows of a class; ``members`` has the rows of each."""

    def __init__(self, points: Points, members: list[Integers]) -> None:
        self.points = points
        self._members = [rows[:: len(rows) // MOST_SEARCHED + 1] for rows in members]
        self._searches: dict[int, NearestNeighbors] = {}

    def nearest(
        self, rows: Integers, wanted: Integers
    ) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        """For each row, the nearest others of the wanted class, and how far they are."""
        found: list[tuple[tuple[int, ...], tuple[float, ...]]] = [((), ())] * len(rows)
        for k in np.unique(wanted[wanted != NO_LABEL]).tolist():
            members, asked = self._members[k], np.flatnonzero(wanted == k)
            if not len(members):
                continue
            search = self._by_texts if self.points.texts else self._by_numbers
            for i, distance, near in zip(asked, *search(rows[asked], k), strict=True):
                others = near != rows[i]  # a row is no neighbour of its own
                found[i] = (
                    tuple(near[others][:N_NEIGHBOURS].tolist()),
                    tuple(distance[others][:N_NEIGHBOURS].tolist()),
                )
        return found

    def _by_numbers(self, rows: Integers, k: int) -> tuple[Floats, Integers]:
        members = self._members[k]
        if k not in self._searches:
            search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS + 1, len(members)))
            self._searches[k] = search.fit(self.points.numbers[members])
        distances, places = self._searches[k].kneighbors(self.points.numbers[rows])
        return distances, members[places]

    def _by_texts(self, rows: Integers, k: int) -> tuple[Floats, Integers]:
        """The same with one distance after the other, a block of them at a time."""
        found = [self._among(rows[block], k) for block in gen_batches(len(rows), BLOCK_ASKED)]
        return np.vstack([one for one, _ in found]), np.vstack([rows for _, rows in found])

    def _among(self, rows: Integers, k: int) -> tuple[Floats, Integers]:
        members = self._members[k]
        nearest, near = np.empty((len(rows), 0)), np.empty((len(rows), 0), dtype=np.intp)
        for block in gen_batches(len(members), BLOCK_SEARCHED):
            distances = self.points.distances(rows, members[block])
            others = np.broadcast_to(members[block], distances.shape)
            nearest, near = np.hstack([nearest, distances]), np.hstack([near, others])
            order = np.argsort(nearest, axis=1, kind="stable")[:, : N_NEIGHBOURS + 1]
            nearest = np.take_along_axis(nearest, order, axis=1)
            near = np.take_along_axis(near, order, axis=1)
        return nearest, near


def _information(feature: Floats, label: Integers) -> float:
    """Mutual information of a feature and the labels above the significance cutoff, or 0."""
    edges = range_edges(feature, N_RANGES)
    n_rows, n_classes = len(label), label.max(initial=-1) + 1
    counts = np.zeros((len(edges) + 1, n_classes))
    np.add.at(counts, (np.searchsorted(edges, feature, side="right"), label), 1.0)
    seen = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    if min(seen.shape, default=0) < 2:
        return 0.0
    joint = seen / n_rows
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(np.where(joint > 0, joint * np.log(joint / apart), 0.0).sum())
    freedom = (seen.shape[0] - 1) * (seen.shape[1] - 1)
    by_chance = (freedom + DEVIATIONS * np.sqrt(2 * freedom)) / (2 * n_rows)
    return max(0.0, found - by_chance)
