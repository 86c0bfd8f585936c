"""What engines leave behind: models that score rows, the members of a stack.

Scores of two classes are log-odds, (n_rows,), of more classes logarithms of probabilities up to a
constant, (n_rows, K). Noise is not yet taken into account in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from rboost._typing import Floats, Integers
from rboost.boosting.additive import in_blocks
from rboost.boosting.decisions import VoteCalibration
from rboost.boosting.ensemble import Ensemble
from rboost.encoding import for_pool, for_trees
from rboost.learners.forest import Forest


class Member(Protocol):
    """A model that scores rows of tables."""

    def __len__(self) -> int:
        """The number of rounds."""

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Scores of rows."""

    def staged_scores(self, X: Any) -> Iterator[Floats]:
        """The scores after each round."""

    def feature_importances(self) -> Floats:
        """How much each column told, as shares; AttributeError where nobody knows."""


@dataclass(frozen=True)
class BoostedLearners:
    """Learners of Algorithm 1, and how their votes are read where they are out-of-bag.

    ``source`` is the column of the table behind each that the learners were given, if others.
    """

    ensemble: Ensemble
    votes: str
    n_classes: int
    reading: VoteCalibration | None
    source: Integers | None = None

    def __len__(self) -> int:
        return len(self.ensemble)

    def vote_sums(self, X: Any, n_jobs: int | None) -> Floats:
        """H(x), eq. (8)."""
        return self.ensemble.scores(for_pool(X), self.votes, self.n_classes, n_jobs)

    def staged_vote_sums(self, X: Any) -> Iterator[tuple[Floats, float]]:
        """H(x) after each round, with the Σ α of the learners so far."""
        sums, total = np.zeros(()), 0.0
        votes = self.ensemble.contributions(for_pool(X), self.votes, self.n_classes)
        for step, contribution in zip(self.ensemble.steps, votes, strict=True):
            sums, total = sums + contribution, total + step
            yield sums, total

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The mean votes, read as probabilities."""
        assert self.reading is not None
        return self.reading.row_scores(self.vote_sums(X, n_jobs))

    def staged_scores(self, X: Any) -> Iterator[Floats]:
        """The same after each round."""
        assert self.reading is not None
        for sums, total in self.staged_vote_sums(X):
            yield self.reading.row_scores(sums * (self.reading.total_step / total))

    def feature_importances(self) -> Floats:
        """Mean importance over the learners."""
        found = self.ensemble.feature_importances()
        return found if self.source is None else np.bincount(self.source, found).astype(np.float64)


@dataclass(frozen=True)
class BoostedTrees:
    """The mean of the boosters of all folds; ``start`` is the score before the first tree."""

    forest: Forest
    start: Floats
    n_columns: int

    def __len__(self) -> int:
        return len(self.forest)

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The scores of the trees."""
        X = for_trees(X)
        if sparse.issparse(X):
            return in_blocks(lambda rows: self._read(self.forest.scores(rows.toarray())), X, n_jobs)
        return self._read(self.forest.scores(X, effective_n_jobs(n_jobs)))

    def staged_scores(self, X: Any) -> Iterator[Floats]:
        """The same after each round."""
        X = for_trees(X)
        dense = X.toarray() if sparse.issparse(X) else X
        return map(self._read, self.forest.staged_scores(dense))

    def _read(self, raw: Floats) -> Floats:
        return self.start + raw.reshape(len(raw), *self.start.shape)

    def feature_importances(self) -> Floats:
        """The share of each column in what the splits gained."""
        return self.forest.feature_importances(self.n_columns)
