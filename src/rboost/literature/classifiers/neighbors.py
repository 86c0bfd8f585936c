"""Nearest neighbours after depuration, Barandela & Gasca 2000."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import Number, Requirements, warn_of_one_class
from rboost.fitting import Rows, TwoClassClassifier
from rboost.literature.classifiers.depuration import Neighbourhood, depurate


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
    >>> from rboost.literature.classifiers import DepurationNeighborsClassifier
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
