"""The base learners that were kept, with what is known of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from rboost._typing import Floats
from rboost.boosting.additive import in_blocks
from rboost.boosting.checked_rows import CheckedRows
from rboost.boosting.learners import HasImportances
from rboost.boosting.linear_learners import LinearLearners
from rboost.boosting.votes import coded


@dataclass(frozen=True)
class Ensemble:
    """Learners in the order of their rounds; ``noise_matrices`` are those after each round.

    ``steps`` and ``errors`` have shape (n_kept,), ``noise_matrices`` (n_kept, K, K).
    """

    learners: Sequence[Any] = ()
    steps: Floats = field(default_factory=lambda: np.zeros(0))
    errors: Floats = field(default_factory=lambda: np.zeros(0))
    noise_matrices: Floats = field(default_factory=lambda: np.zeros((0, 2, 2)))

    def __len__(self) -> int:
        return len(self.steps)

    def __add__(self, later: Ensemble) -> Ensemble:
        if not len(self):
            return later
        return Ensemble(
            _joined(self.learners, later.learners),
            np.concatenate([self.steps, later.steps]),
            np.concatenate([self.errors, later.errors]),
            np.concatenate([self.noise_matrices, later.noise_matrices]),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "listed"}

    @cached_property
    def listed(self) -> list[Any]:
        """The learners as a list."""
        return list(self.learners)

    def contributions(self, X: Any, votes: str, n_classes: int) -> Iterator[Floats]:
        """What each learner adds to the scores of rows."""
        rows = CheckedRows(X)
        for step, learner in zip(self.steps, self.listed, strict=True):
            yield step * coded(rows.votes(learner, votes, n_classes))

    def scores(self, X: Any, votes: str, n_classes: int, n_jobs: int | None) -> Floats:
        """H(x), eq. (8): the sum over the learners."""
        if isinstance(X, np.ndarray) and isinstance(self.learners, LinearLearners):
            n_threads = effective_n_jobs(n_jobs)
            return self.learners.scores(X, self.steps, votes == "probability", n_threads)

        def score(rows: Any) -> Floats:
            shape = (rows.shape[0],) if n_classes == 2 else (rows.shape[0], n_classes)
            scores = np.zeros(shape)
            for contribution in self.contributions(rows, votes, n_classes):
                scores += contribution
            return scores

        return in_blocks(score, X, n_jobs)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners that have any, weighted by their steps."""
        # Constant learners, fitted where a sample held one class, have none.
        weighted = [
            (step, learner.feature_importances_)
            for step, learner in zip(self.steps, self.listed, strict=True)
            if isinstance(learner, HasImportances)
        ]
        if not weighted:
            raise AttributeError("The base learners have no feature_importances_.")
        steps, importances = map(np.array, zip(*weighted, strict=True))
        return steps @ importances / steps.sum()


def _joined(first: Sequence[Any], second: Sequence[Any]) -> Sequence[Any]:
    if isinstance(first, LinearLearners) and isinstance(second, LinearLearners):
        return first.joined(second)
    return [*first, *second]
