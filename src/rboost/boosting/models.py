"""What a fit leaves for predictions: scores of rows, and how they become decisions.

Decisions of two classes have shape (n_rows,) and are positive for class 1; of more there is one for
each class, and the largest decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, softmax

from rboost._typing import Floats
from rboost.boosting.decisions import DecisionRule
from rboost.boosting.ensemble import Ensemble
from rboost.boosting.members import BoostedLearners
from rboost.boosting.stack import Stack
from rboost.noise import NoisePosterior


class Model(Protocol):
    """A fitted model of any choice of engines."""

    def __len__(self) -> int:
        """The number of rounds that left something behind."""

    @property
    def ensemble(self) -> Ensemble:
        """The learners of Algorithm 1, if there are any."""

    @property
    def engine_weights(self) -> dict[str, float]:
        """The weight of each engine that was kept."""

    def decisions(self, X: Any, n_jobs: int | None) -> Floats:
        """What ``decision_function`` returns."""

    def staged_decisions(self, X: Any) -> Iterator[Floats]:
        """The same after each round."""

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class, (n_rows, K), largest for the class that is decided for."""

    def row_scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Scores on the scale of held-out ones, before noise is taken into account."""

    def feature_importances(self) -> Floats:
        """How much each column told."""


@dataclass(frozen=True)
class VotingModel:
    """Algorithm 1 alone: the votes of its learners, and the rule that reads them."""

    name: str
    learners: BoostedLearners
    rule: DecisionRule

    def __len__(self) -> int:
        return len(self.learners)

    @property
    def ensemble(self) -> Ensemble:
        """The learners."""
        return self.learners.ensemble

    @property
    def engine_weights(self) -> dict[str, float]:
        """The one engine has all the weight."""
        return {self.name: 1.0}

    def decisions(self, X: Any, n_jobs: int | None) -> Floats:
        """Decide by the sum of the votes."""
        return self.rule(self.learners.vote_sums(X, n_jobs), float(self.ensemble.steps.sum()))

    def staged_decisions(self, X: Any) -> Iterator[Floats]:
        """Decide after each round."""
        return (self.rule(sums, total) for sums, total in self.learners.staged_vote_sums(X))

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class."""
        return self.rule.probability(decisions)

    def row_scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The mean votes, read as probabilities."""
        return self.learners.scores(X, n_jobs)

    def feature_importances(self) -> Floats:
        """Mean importance over the learners."""
        return self.learners.feature_importances()


@dataclass(frozen=True)
class StackedModel:
    """Engines in a stack, and what is known of the noise; decisions are log-odds.

    Of more than two classes they are logarithms of probabilities less their mean.
    """

    stack: Stack
    noise: NoisePosterior

    def __len__(self) -> int:
        return max(map(len, self.stack.members.values()))

    @property
    def ensemble(self) -> Ensemble:
        """The learners of Algorithm 1 that are members."""
        n_classes = len(self.noise.noise_matrix)
        none = Ensemble(noise_matrices=np.zeros((0, n_classes, n_classes)))
        members = self.stack.members.values()
        return sum((m.ensemble for m in members if isinstance(m, BoostedLearners)), start=none)

    @property
    def engine_weights(self) -> dict[str, float]:
        """The weights of the members."""
        return self.stack.weights

    def decisions(self, X: Any, n_jobs: int | None) -> Floats:
        """Decide by what the scores say of the true class."""
        return self._decided(self.stack.scores(X, n_jobs))

    def staged_decisions(self, X: Any) -> Iterator[Floats]:
        """Decide after each round."""
        return map(self._decided, self.stack.staged_scores(X))

    def _decided(self, scores: Floats) -> Floats:
        logs = self.noise.log_odds(scores)
        return logs if logs.ndim == 1 else logs - logs.mean(axis=1, keepdims=True)

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class."""
        if decisions.ndim == 1:
            return np.column_stack([expit(-decisions), expit(decisions)])
        return softmax(decisions, axis=1)

    def row_scores(self, X: Any, n_jobs: int | None) -> Floats:
        """The weighted scores of the members."""
        return self.stack.scores(X, n_jobs)

    def feature_importances(self) -> Floats:
        """The members' importances."""
        return self.stack.feature_importances()
