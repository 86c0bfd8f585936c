"""Nearest neighbours after depuration, Barandela & Gasca 2000.

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
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats, Integers
from rboost._validation import (
    Number,
    Requirements,
    all_or_nothing,
    check_labels,
    check_parameters,
    check_sample_weight,
    warn_of_one_class,
)
from rboost.tables import as_counts, training_table

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


class DepurationNeighborsClassifier(ClassifierMixin, BaseEstimator):
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
    classes_ : ndarray of shape (2,)
        The two class labels.
    kept_rows_ : ndarray of int
        Positions of the training rows that were kept.
    kept_labels_ : ndarray
        Their labels after depuration.
    relabelled_ : ndarray of bool of shape (n_samples,)
        Which training rows were kept with another label than they came with.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X had string column names.

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

    _requirements: ClassVar[Requirements] = {
        "n_neighbors": Number(1, integer=True, closed=True),
        "n_agreeing": Number(1, integer=True, closed=True),
        "n_passes": Number(1, integer=True, closed=True),
        "n_voters": Number(1, integer=True, closed=True),
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 7,
        n_agreeing: int = 5,
        n_passes: int = 1,
        n_voters: int = 1,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_agreeing = n_agreeing
        self.n_passes = n_passes
        self.n_voters = n_voters

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Depurate the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Observed labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out.

        Returns
        -------
        self : DepurationNeighborsClassifier
            The fitted estimator.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X, y = validate_data(self, X, dtype=np.float64), check_labels(y)
            table, self.classes_ = training_table(X, y, sample_weight)
            observed = np.searchsorted(self.classes_, y)
            positions = np.flatnonzero(check_sample_weight(sample_weight, observed))
            weight = as_counts(table.sample_weight)
            rows = LabelledRows(table.X, observed[positions], weight, positions)
            self._more_common = int(np.bincount(rows.labels, weight).argmax())
            for _ in range(self.n_passes):
                if len(rows.X):
                    rows = depurate(rows, self.n_neighbors, self.n_agreeing)
            self._set_fit(rows, observed)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, self._requirements)
        if not self.n_neighbors / 2 < self.n_agreeing <= self.n_neighbors:
            raise ValueError(
                f"n_agreeing must be more than half of n_neighbors={self.n_neighbors} and at most "
                f"all of it, not {self.n_agreeing}."
            )

    def _set_fit(self, rows: LabelledRows, observed: Integers) -> None:
        self.kept_rows_ = rows.positions
        self.kept_labels_ = self.classes_[rows.labels]
        self.relabelled_ = np.zeros(len(observed), dtype=bool)
        self.relabelled_[rows.positions] = rows.labels != observed[rows.positions]
        self._neighbourhood = Neighbourhood(rows) if len(rows.X) else None
        left = self.kept_labels_ if len(rows.X) else self.classes_[[self._more_common]]
        warn_of_one_class(left, "lower n_agreeing or n_passes.", stacklevel=4)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of most of the nearest rows that were kept."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Share of each class among the nearest rows that were kept, shape (n_samples, 2).

        Where depuration has left no row, the class that was more common has probability 1.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if self._neighbourhood is None:
            return np.tile(np.eye(2)[self._more_common], (len(X), 1))
        votes = self._neighbourhood.votes(X, self.n_voters)
        return votes / votes.sum(axis=1, keepdims=True)
