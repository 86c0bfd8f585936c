"""Nearest neighbours after depuration of the labels (Barandela & Gasca 2000).

Generalised editing of Koplowitz & Brown 1981: a row gets the label that at least k' of its k
nearest other rows have, whatever its own was; without such a label it is removed.

A row of weight w counts as w copies of it. Neighbours are taken in order of distance until their
weights sum to k; those at the same, last distance share the places that are left in proportion to
their weights. Hence neither the order of the rows nor a weight in the place of copies matters.
Labels are positions 0 and 1 among the classes; votes have shape (n_rows, 2) and sum to k.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Number, Requirements, warn_of_one_class
from rboost.fitting import Rows, TwoClassClassifier

# Rows looked up at a time, which bounds the memory.
BLOCK_ROWS = 1024
# A tree of boxes is faster than one of balls up to this many columns.
FEW_COLUMNS = 15
# Sums of weights are equal when they differ by less than this.
ROUNDING = 1e-9


class Neighbourhood:
    """Looks up how the nearest rows vote.

    Equal rows are one point, as they are many where columns have few values: ``points`` are rows
    without repetitions, ``weight`` (n_points, 2) that of each class there, ``of_row`` the point of
    each row.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.points, of_row = np.unique(rows.X, axis=0, return_inverse=True)
        self.of_row = of_row.reshape(-1)  # some versions of NumPy return a column
        self.weight = np.zeros((len(self.points), 2))
        np.add.at(self.weight, (self.of_row, rows.observed), rows.sample_weight)
        # Unlike a product of matrices, a tree finds equal points at distance 0.
        kind = "kd_tree" if rows.X.shape[1] <= FEW_COLUMNS else "ball_tree"
        self.tree = NearestNeighbors(algorithm=kind).fit(self.points)

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
            n_asked = min(n_asked, len(self.points))
            distance, point = self.tree.kneighbors(X[pending], n_asked)
            weight = self.weight[point]
            if itself is not None:
                self._leave_out(itself[pending], point, weight)
            total = weight.sum(axis=2)
            fraction = voting_fraction(distance, total, k)
            votes[pending] = np.einsum("ij,ijk->ik", fraction, weight)
            # Points at the last distance may be missing; those nearer are all there.
            nearer = np.sum(total, axis=1, where=distance < distance[:, -1:])
            pending = pending[(nearer < k - ROUNDING) & (n_asked < len(self.points))]
            n_asked *= 2
        return votes

    def _leave_out(self, itself: Integers, point: Integers, weight: Floats) -> None:
        """Take one copy of each row, or all there is of it if that is less, from the weights."""
        query, place = np.nonzero(point == self.of_row[itself, np.newaxis])
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


@dataclass(eq=False, repr=False, kw_only=True)
class DepurationNeighborsClassifier(TwoClassClassifier):
    """Nearest neighbours that correct and remove training rows before they classify.

    Each training row gets the label that at least ``n_agreeing`` of its ``n_neighbors`` nearest
    other rows have, whatever its own label is, and is removed where there is no such label. New
    rows are then classified by their nearest neighbours among the rows that were kept.

    Distances are Euclidean. Columns are not standardised, as in scikit-learn's neighbours; put a
    :class:`sklearn.preprocessing.StandardScaler` before it where their units differ.

    Parameters
    ----------
    n_neighbors : int, default=7
        Number of other rows, k, that decide on the label of a training row.
    n_agreeing : int, default=5
        How many of them, k', must agree; more than half of ``n_neighbors``. The paper has 2 of 3:
        labels are changed but, of two classes, no row is removed, and two wrong labels outvote
        the rest. As many as ``n_neighbors`` keeps only rows with unanimous neighbours.
    n_passes : int, default=1
        How often the training rows are depurated; each pass starts from the labels of the last.
    n_voters : int, default=1
        Number of nearest rows, among those kept, that vote on the class of a new row.

    Attributes
    ----------
    kept_rows_ : ndarray of int
        Positions of the training rows that were kept.
    kept_labels_ : ndarray
        Their labels after depuration.
    relabelled_ : ndarray of bool of shape (n_samples,)
        Which training rows were kept with another label than they came with.

    Notes
    -----
    A row of weight w counts as w copies of itself, so that copies confirm its label. Weights with a
    mean below 1 are divided by it first.

    References
    ----------
    R. Barandela & E. Gasca, "Decontamination of training samples for supervised pattern recognition
    methods", SSPR 2000. J. Koplowitz & T. A. Brown, "On the relation of performance to editing in
    nearest neighbor rules", Pattern Recognition 13, 1981.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from rboost.noise import flip_labels, symmetric
    >>> from rboost.robust import DepurationNeighborsClassifier
    >>> X, y = make_blobs(1000, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> noisy, _ = flip_labels(y, symmetric(0.2), random_state=0)
    >>> model = DepurationNeighborsClassifier().fit(X, noisy)
    >>> round(float((model.kept_labels_ == y[model.kept_rows_]).mean()), 2)
    0.99
    """

    n_neighbors: int = 7
    n_agreeing: int = 5
    n_passes: int = 1
    n_voters: int = 1

    _requirements: ClassVar[Requirements] = {
        "n_neighbors": Number(1, integer=True, closed=True),
        "n_agreeing": Number(1, integer=True, closed=True),
        "n_passes": Number(1, integer=True, closed=True),
        "n_voters": Number(1, integer=True, closed=True),
    }

    def _fit(self, rows: Rows) -> None:
        if not self.n_neighbors / 2 < self.n_agreeing <= self.n_neighbors:
            raise ValueError(
                f"n_agreeing must be more than half of n_neighbors={self.n_neighbors} and at most "
                f"all of it, not {self.n_agreeing}."
            )
        left, positions = rows.used().counted(), np.flatnonzero(rows.sample_weight)
        self._more_common = int(left.prevalence.argmax())
        for _ in range(self.n_passes):
            if len(positions):
                left, kept = depurate(left, self.n_neighbors, self.n_agreeing)
                positions = positions[kept]
        self.kept_rows_, self.kept_labels_ = positions, self.classes_[left.observed]
        self.relabelled_ = np.zeros(len(rows.observed), dtype=bool)
        self.relabelled_[positions] = left.observed != rows.observed[positions]
        self._neighbourhood = Neighbourhood(left) if len(positions) else None
        predicted = self.kept_labels_ if len(positions) else self.classes_[[self._more_common]]
        warn_of_one_class(predicted, "lower n_agreeing or n_passes.", stacklevel=4)

    def predict_proba(self, X: Any) -> Floats:
        """Share of each class among the nearest rows that were kept, shape (n_samples, 2).

        Where depuration has left no row, the class that was more common has probability 1.
        """
        check_is_fitted(self)
        X = self._check_X(X)
        if self._neighbourhood is None:
            return np.tile(np.eye(2)[self._more_common], (len(X), 1))
        votes = self._neighbourhood.votes(X, self.n_voters)
        return votes / votes.sum(axis=1, keepdims=True)
