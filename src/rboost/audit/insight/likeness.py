"""Which rows are alike: by columns that matter for the labels, each of which counts once.

A column is worth what it tells of the labels: the mutual information, in nats, of the label and a
feature of the column, of which the best counts, less what a column of chance would seem to tell.
A text of which several features are made weighs no more than a single number.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from rboost._typing import Floats, Integers
from rboost.audit.insight.usual import range_edges
from rboost.audit.labels import NO_LABEL

# Rows named as neighbours, and rows of a class among which they are looked for, at most.
N_NEIGHBOURS, MOST_SEARCHED = 3, 200_000
# Ranges in which a feature is counted, and rows that are looked at, at most.
N_RANGES, MOST_ROWS = 8, 20_000
# Significance cutoff of what a feature tells, in standard deviations.
DEVIATIONS = 3.0
# A column that tells nothing by itself keeps this share of the weight of the best, as it may tell
# something together with others.
LEAST_WEIGHT = 0.005


def relevance(standardized: Floats, source: Integers, label: Integers) -> Floats:
    """What each column tells of the labels by itself, in nats.

    ``source`` (n_features,) has the column of each feature, ``label`` (n_rows,) the class of rows
    that are probably labelled rightly, −1 of others.
    """
    rows = np.flatnonzero(label >= 0)
    rows = rows[:: len(rows) // MOST_ROWS + 1]
    found = np.zeros(source.max(initial=-1) + 1)
    for feature, column in enumerate(source):
        told = _information(standardized[rows, feature], label[rows])
        found[column] = max(found[column], told)
    return found


def comparable(standardized: Floats, source: Integers, label: Integers) -> Floats:
    """Features in which distances between rows are those of columns that matter."""
    worth = relevance(standardized, source, label)
    best = worth.max(initial=0.0)
    weight = np.maximum(worth / best, LEAST_WEIGHT) if best > 0 else np.ones(len(worth))
    n_features = np.bincount(source, minlength=len(worth))
    return np.asarray(standardized * np.sqrt(weight / np.maximum(n_features, 1))[source])


class Neighbours:
    """Finds the nearest rows of a class; ``members`` has the rows of each."""

    def __init__(self, points: Floats, members: list[Integers]) -> None:
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
            if k not in self._searches:
                search = NearestNeighbors(n_neighbors=min(N_NEIGHBOURS + 1, len(members)))
                self._searches[k] = search.fit(self.points[members])
            distances, places = self._searches[k].kneighbors(self.points[rows[asked]])
            for i, distance, neighbours in zip(asked, distances, members[places], strict=True):
                others = neighbours != rows[i]  # a row is no neighbour of its own
                found[i] = (
                    tuple(neighbours[others][:N_NEIGHBOURS].tolist()),
                    tuple(distance[others][:N_NEIGHBOURS].tolist()),
                )
        return found


def _information(feature: Floats, label: Integers) -> float:
    """Mutual information of a feature and the labels, less what chance might seem to tell."""
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
        told = float(np.where(joint > 0, joint * np.log(joint / apart), 0.0).sum())
    freedom = (seen.shape[0] - 1) * (seen.shape[1] - 1)
    by_chance = (freedom + DEVIATIONS * np.sqrt(2 * freedom)) / (2 * n_rows)
    return max(0.0, told - by_chance)
