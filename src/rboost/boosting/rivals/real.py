"""What boosters with real-valued trees share: weights that follow the exponential loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost._validation import Number, Requirements, all_or_nothing, check_parameters
from rboost.boosting.additive import AdditiveClassifier
from rboost.boosting.learners import scaled_weights
from rboost.calibration import agree_with_decision
from rboost.tables import Table, training_table, weights_as_counts


class RealTree(Protocol):
    """A fitted tree that adds a real number to the score of each row."""

    def predict(self, X: Any) -> Floats:
        """What it adds."""


class RealBooster(AdditiveClassifier):
    """Boosting of small trees with real outputs f(x); the score is F(x) = Σ f(x).

    Each round fits a tree to weights D ∝ e^(−ỹF(x)), the gradient of the exponential loss. How a
    tree becomes f is what distinguishes one booster from another.
    """

    _requirements: ClassVar[Requirements] = {
        "n_estimators": Number(1, integer=True, closed=True),
        "max_splits": Number(1, integer=True, closed=True),
    }

    def __init__(
        self,
        *,
        n_estimators: int = 150,
        max_splits: int = 2,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_splits = max_splits
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _fit_tree(self, tree: Any, table: Table, weights: Floats) -> RealTree | None:
        """Fit one tree to ±1 labels and weights D that sum to 1; None when nothing is left."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labels of two classes, which it takes to be right.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out.
        """
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            table, self.classes_ = training_table(self._check_X(X, reset=True), y, sample_weight)
            self.estimators_ = list(self._boost(weights_as_counts(table)))
        return self

    def _boost(self, table: Table) -> Iterator[RealTree]:
        """Yield the trees, one a round."""
        random_state = check_random_state(self.random_state)
        scores = np.zeros(len(table.labels))
        for _ in range(self.n_estimators):
            margin = table.labels * scores
            weights = table.sample_weight * np.exp(margin.min() - margin)  # the largest is 1
            seed = random_state.randint(np.iinfo(np.int32).max)
            (tree,) = self._base_learners()
            tree.set_params(random_state=seed)
            fitted = self._fit_tree(tree, table, weights / weights.sum())
            if fitted is None:
                return
            yield fitted
            scores = scores + fitted.predict(table.X)

    def _contributions(self, X: Any) -> Iterator[Floats]:
        for tree in self.estimators_:
            yield tree.predict(X)

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision(expit(2 * scores), scores)


def tree_weights(weights: Floats, table: Table) -> Floats:
    """Weights as a tree should see them: summing to the sample weights, ties kept exact."""
    return scaled_weights(weights, table.sample_weight)
