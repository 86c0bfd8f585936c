"""AdaBoost over logistic regression that never stops before its last round.

scikit-learn's AdaBoostClassifier ends as soon as a learner is no better than chance, with linear
learners often after a few rounds. To compare time at equal rounds, this does in every round what
scikit-learn 1.6 and later does (fit, predict, weighted error, step, new weights), and goes on.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from rboost._typing import Floats, Integers


class ForcedAdaBoost:
    """As many rounds as are asked for, whatever the learners are worth. Classes are 0 and 1."""

    def __init__(self, n_estimators: int) -> None:
        self.n_estimators = n_estimators

    def fit(self, X: NDArray[Any], y: Integers) -> Self:
        """Boost."""
        tiny = np.finfo(np.float64).eps
        weight: Floats = np.full(len(y), 1 / len(y))
        self.estimators_: list[Any] = []
        self.steps_: list[float] = []
        for _ in range(self.n_estimators):
            weight = np.clip(weight, tiny, None)
            learner = LogisticRegression().fit(X, y, sample_weight=weight)
            wrong = learner.predict(X) != y
            error = np.clip(np.average(wrong, weights=weight), tiny, 1 - tiny)
            step = float(np.log((1 - error) / error))
            weight = np.exp(np.log(weight) + step * wrong)
            weight /= weight.sum()
            self.estimators_.append(learner)
            self.steps_.append(step)
        return self

    def predict(self, X: NDArray[Any]) -> Integers:
        """Class by the weighted vote."""
        votes = sum(
            step * (2 * learner.predict(X) - 1)
            for step, learner in zip(self.steps_, self.estimators_, strict=True)
        )
        return (np.asarray(votes) > 0).astype(np.intp)
