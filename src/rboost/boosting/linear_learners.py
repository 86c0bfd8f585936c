"""Linear base learners as one matrix of coefficients: learners only when they are looked at."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from rboost import native
from rboost._typing import Floats
from rboost.native.reference import linear_scores


@dataclass(frozen=True)
class LinearLearners(Sequence[Any]):
    """Fitted copies of ``estimator``, one a row of ``coefs``.

    An infinite intercept stands for the constant learner of a sample that held one class.
    ``center`` is near the middle of the training rows. ``rates``, ``losses`` and ``iterations``
    are what each learner's own fit found.
    """

    estimator: Any
    coefs: Floats
    intercepts: Floats
    rates: Floats
    losses: Floats
    iterations: Floats
    center: Floats

    def __len__(self) -> int:
        return len(self.intercepts)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        coef, intercept = self.coefs[number], self.intercepts[number]
        if np.isinf(intercept):
            constant = [int(intercept > 0)]
            return DummyClassifier(strategy="prior").fit(coef[np.newaxis], constant)
        learner = copy.copy(self.estimator)
        learner.set_fitted(
            coef, intercept, self.rates[number], self.losses[number], int(self.iterations[number])
        )
        return learner

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def joined(self, later: LinearLearners) -> LinearLearners:
        """These learners and later ones."""
        arrays = ("coefs", "intercepts", "rates", "losses", "iterations")
        return replace(
            self,
            **{
                name: np.concatenate([getattr(self, name), getattr(later, name)]) for name in arrays
            },
        )

    def scores(self, X: NDArray[Any], steps: Floats, probability: bool, n_threads: int) -> Floats:
        """Σ α·h of each row, all learners at once."""
        module, rows = native.compiled(), native.rows_for_native(X)
        weighted = linear_scores if module is None or rows is None else module.linear_scores
        return weighted(
            X if rows is None else rows,
            self.coefs,
            self.intercepts,
            steps,
            self.center,
            probability,
            n_threads,
        )
