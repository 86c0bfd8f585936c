"""What all rivals share: small trees, one a round, and a score that is the sum of what they add."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost._validation import Number, Requirements
from rboost.calibration import agree_with_decision
from rboost.engines.learners import scaled_weights
from rboost.fitting import Rows, TwoClassClassifier
from rboost.model.additive import AdditiveClassifier


class Addend(Protocol):
    """Something fitted that adds a real number to the score of each row."""

    def predict(self, X: Any) -> Floats:
        """What it adds."""


@dataclass(frozen=True)
class Step:
    """A fitted tree times its step size α."""

    tree: Any
    step: float

    def predict(self, X: Any) -> Floats:
        """α·h(x) of each row."""
        return self.step * self.tree.predict(X)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeBooster(AdditiveClassifier, TwoClassClassifier):
    """Boosting of small trees; the score is F(x) = Σ f(x), a sum over ``estimators_``.

    How a tree is fitted and what it adds is what distinguishes one booster from another.
    """

    n_estimators: int = 150
    max_splits: int = 2
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    _shared_parameters: ClassVar[str] = """
n_estimators : int
    Largest number of rounds.
max_splits : int, default=2
    Splits of each tree, as in the paper's baselines; 1 makes it a stump.
random_state : int, RandomState instance or None, default=None
    Seed of all that is drawn, such as the order in which a tree tries features.
n_jobs : int, default=None
    Threads used by prediction."""
    _shared_attributes: ClassVar[str] = """\
estimators_ : list
    What is added to the score, round by round: trees with their steps or leaf values.
"""

    _requirements: ClassVar[Requirements] = {
        "n_estimators": Number(1, integer=True, closed=True),
        # Trees take memory for all the leaves they may have.
        "max_splits": Number(1, integer=True, closed=True, high=100_000),
        "n_jobs": Number(-np.inf, integer=True, optional=True),
    }

    @abstractmethod
    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Addend]:
        """What is added to the score, round by round; weights of rows are counts."""

    def _fit(self, rows: Rows) -> None:
        random = check_random_state(self.random_state)
        self.estimators_ = self._boost(rows.used().counted(), random)
        if not self.estimators_:
            warnings.warn(
                "No base learner was kept, as no tree tells the classes apart, so every row is "
                f"predicted as {self.classes_.tolist()[0]!r}; try other features or parameters.",
                stacklevel=4,
            )

    def _seeded_trees(self, random: np.random.RandomState) -> Iterator[Any]:
        """An unfitted tree for each round."""
        for _ in range(self.n_estimators):
            (tree,) = self._base_learners()
            yield tree.set_params(random_state=random.randint(np.iinfo(np.int32).max))

    def _contributions(self, X: Any) -> Iterator[Floats]:
        for addend in self.estimators_:
            yield addend.predict(X)

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision(expit(2 * scores), scores)


def fit_weighted(tree: Any, rows: Rows, targets: Floats, weights: Floats) -> Any:
    """Fit to weights that sum to the sample weights, with ties between splits kept exact."""
    scaled = scaled_weights(weights, rows.sample_weight)
    return tree.fit(rows.X, targets, sample_weight=scaled)
