"""What the other boosters share: a loop of rounds, each of which adds a small tree to the score.

Labels ỹ and votes h(x) are −1 or +1, scores F are positive for class +1, weights D are not
negative; all have shape (n_rows,).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost._validation import Number, Requirements, Threads
from rboost.calibration import agree_with_decision
from rboost.engines.learners import scaled_weights
from rboost.engines.rounds import step_size
from rboost.fitting import Rows, TwoClassClassifier
from rboost.model.additive import AdditiveClassifier
from rboost.noise.inference import infer_noise, prevalence_of
from rboost.wrappers.base import out_of_fold_outputs, outputs_as_scores


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

    As it stands this is AdaBoost: trees are fitted to the labels with weights D ∝ e^(−ỹF), and add
    α·h with α = ½·ln((1 − ε)/ε). Other boosters fit to something else, or add something else. They
    may also remember something else between rounds than the scores F, their ``state``.
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
        "n_jobs": Threads(),
    }
    _tree: ClassVar[type] = DecisionTreeClassifier

    def _start(self, rows: Rows) -> Any:
        """The state before the first round."""
        return np.zeros(len(rows.labels))

    def _targets(self, rows: Rows, state: Any) -> tuple[Floats, Floats]:
        """What a tree is fitted to, and the weights D up to a factor, sample weights in them."""
        return rows.labels, self._row_weights(rows, state)

    def _row_weights(self, rows: Rows, state: Any) -> Floats:
        return exponential_weights(rows, rows.labels * state)

    def _add(self, tree: Any, rows: Rows, state: Any, weights: Floats) -> tuple[Any, Any] | None:
        """What a fitted tree adds, and the next state; None when nothing is left to gain.

        ``weights`` are D with the sum 1.
        """
        votes = tree.predict(rows.X)
        step = self._step(rows, state, weights, votes)
        return (Step(tree, step), state + step * votes) if step > 0 else None

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        """The step size α of a tree with these votes; not positive when they are of no use."""
        return adaboost_step(weights, rows.labels * votes)

    def _rounds(
        self, rows: Rows, state: Any, random: np.random.RandomState
    ) -> tuple[list[Any], Any]:
        """Boost from the state before the first round to that after the last."""
        addends: list[Any] = []
        for _ in range(self.n_estimators):
            (tree,) = self._base_learners()
            tree.set_params(random_state=random.randint(np.iinfo(np.int32).max))
            targets, weights = self._targets(rows, state)
            # Weights with the sum of the sample weights, so that ties between splits stay exact.
            scaled = scaled_weights(weights, rows.sample_weight)
            tree.fit(rows.X, targets, sample_weight=scaled)
            added = self._add(tree, rows, state, weights / (weights.sum() or 1.0))
            if added is None:
                break
            addend, state = added
            addends.append(addend)
        return addends, state

    def _boost(self, rows: Rows, random: np.random.RandomState) -> list[Any]:
        """What is added to the score, round by round; weights of rows are counts."""
        return self._rounds(rows, self._start(rows), random)[0]

    def _fit(self, rows: Rows) -> None:
        random = check_random_state(self.random_state)
        self.estimators_ = self._boost(rows.used().counted(), random)
        if not self.estimators_:
            warnings.warn(
                "No base learner was kept, as no tree tells the classes apart, so every row is "
                f"predicted as {self.classes_.tolist()[0]!r}; try other features or parameters.",
                stacklevel=4,
            )

    def _base_learners(self) -> list[Any]:
        return [self._tree(max_leaf_nodes=self.max_splits + 1)]

    def _contributions(self, X: Any) -> Iterator[Floats]:
        for addend in self.estimators_:
            yield addend.predict(X)

    def _positive_probability(self, scores: Floats) -> Floats:
        return agree_with_decision(expit(2 * scores), scores)


class WorkingResponseBooster(TreeBooster):
    """Boosting of regression trees, each fitted to a response z with weights w.

    For a loss L, z = −L'(F) / L''(F) and w = L''(F): the weighted least-squares fit of z is then a
    Newton step for F, restricted to what a tree can say.
    """

    _tree: ClassVar[type] = DecisionTreeRegressor
    # What a unit of the response is worth in units of the score.
    _unit: ClassVar[float] = 1.0

    @abstractmethod
    def _working_response(self, labels: Floats, scores: Floats) -> tuple[Floats, Floats]:
        """Response z and weight w of each row; only ratios of the weights matter."""

    def _targets(self, rows: Rows, state: Floats) -> tuple[Floats, Floats]:
        response, weights = self._working_response(rows.labels, state)
        return response, rows.sample_weight * weights

    def _step(self, rows: Rows, scores: Floats, weights: Floats, votes: Floats) -> float:
        return self._unit


def exponential_weights(rows: Rows, margins: Floats) -> Floats:
    """e^(−margin) of each row times its sample weight, scaled so that no exponential exceeds 1."""
    return rows.sample_weight * np.exp(margins.min() - margins)


def adaboost_step(weights: Floats, agreement: Floats) -> float:
    """α = ½·ln((1 + r) / (1 − r)) for the edge r = Σ D·ỹ·h; 0 when there is none."""
    return step_size(float(weights @ (1 + agreement)), float(weights @ (1 - agreement)))


def share_of_wrong_labels(rows: Rows, seed: int) -> float:
    """How many labels are wrong, inferred from what a forest says of rows that it has not seen."""
    scorer = RandomForestClassifier(min_samples_leaf=5, random_state=seed)
    labels, weight = rows.observed, rows.sample_weight
    outputs = out_of_fold_outputs(scorer, rows.X, labels, sample_weight=weight, random_state=seed)
    scores = outputs_as_scores(scorer, outputs, prevalence_of(labels, 2, weight))
    noise = infer_noise(scores, labels, sample_weight=weight)
    return float(np.average(noise.issue_probability(scores, labels), weights=weight))
