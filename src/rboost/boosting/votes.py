"""What base learners, trained on the positions of classes, say of rows, and what that adds up to.

A learner's class probabilities p have shape (n_rows, K). Its vote is g = (K·p − 1) / (K − 1), which
is 1 for a class that it is sure of and sums to 0. For two classes g = (−h, h) with the paper's h:
votes and scores of two classes are kept as h and H, (n_rows,), those of more as (n_rows, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._typing import Floats, Integers


def named_class(learner: Any, X: Any, n_classes: int, **options: bool) -> Floats:
    """Probability 1 of the predicted class, as in the paper."""
    return np.eye(n_classes)[np.asarray(learner.predict(X, **options), dtype=np.intp)]


def class_probability(learner: Any, X: Any, n_classes: int, **options: bool) -> Floats:
    """The learner's own probabilities, by which unsure learners say so."""
    said = np.asarray(learner.predict_proba(X, **options), dtype=np.float64)
    if said.shape[1] == n_classes:
        return said
    probability = np.zeros((len(said), n_classes))
    probability[:, learner.classes_] = said  # it has not seen all classes
    return probability


VOTES = {"class": named_class, "probability": class_probability}


def coded(probability: Floats) -> Floats:
    """The votes of class probabilities."""
    n_classes = probability.shape[1]
    if n_classes == 2:
        return 2 * probability[:, 1] - 1
    return (n_classes * probability - 1) / (n_classes - 1)


def expanded(scores: Floats) -> Floats:
    """F, (n_rows, K), also for two classes."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


@dataclass
class RowVotes:
    """For each training row, the votes of the learners that count for it.

    ``sums`` is Σ α·h or Σ α·g over those learners and ``steps`` their Σ α, (n_rows,): of those that
    have not seen the row. Without ``steps`` all learners count for all rows. ``total`` is Σ α of
    all learners.
    """

    sums: Floats
    steps: Floats | None
    total: float = 0.0

    @staticmethod
    def none_yet(n_rows: int, n_classes: int, out_of_bag: bool) -> RowVotes:
        """Scores of 0, so that the weights start as w_jk = γ_jk."""
        shape = (n_rows,) if n_classes == 2 else (n_rows, n_classes)
        return RowVotes(np.zeros(shape), np.zeros(n_rows) if out_of_bag else None)

    def copy(self) -> RowVotes:
        """The same votes, to which others can be added."""
        steps = None if self.steps is None else self.steps.copy()
        return RowVotes(self.sums.copy(), steps, self.total)

    def add(self, step: float, votes: Floats, rows: Integers | slice) -> None:
        """Count the votes of one more learner on these rows."""
        self.sums[rows] += step * votes
        if self.steps is not None:
            self.steps[rows] += step
        self.total += step

    @property
    def means(self) -> Floats:
        """Σ α·g / Σ α; 0 for a row that every learner was fitted to."""
        steps = np.full(len(self.sums), self.total) if self.steps is None else self.steps
        by_class = self.sums.T
        return np.divide(by_class, steps, out=np.zeros_like(by_class), where=steps > 0).T

    @property
    def scores(self) -> Floats:
        """What the learners that count for each row would sum up to, were they all."""
        if self.steps is None:
            return self.sums
        scores = self.means
        scores *= self.total
        return scores
