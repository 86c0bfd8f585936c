"""What fitted boosters share: scores, probabilities and classes from a sum of base learners."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats
from rboost.engines.learners import summed
from rboost.labels import decided_classes


class AdditiveClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose score is a sum over base learners, eq. (8); of two classes or more.

    A subclass fits ``estimators_`` and ``classes_``, has a parameter ``n_jobs``, and defines its
    base learners, what each adds to the score, and the probability that a score stands for.
    """

    classes_: NDArray[Any]
    estimators_: list[Any]
    n_jobs: int | None

    @abstractmethod
    def _base_learners(self) -> list[Any]:
        """Return the base learners that are taken in turn, unfitted."""

    @abstractmethod
    def _contributions(self, X: Any) -> Iterator[Floats]:
        """Yield what each base learner in turn adds to the scores of validated rows."""

    @abstractmethod
    def _positive_probability(self, scores: Floats) -> Floats:
        """p(y = 1) for each decision; above ½ exactly where the decision is positive."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # What is no estimator is refused in ``fit``.
        learners = [base for base in self._base_learners() if isinstance(base, BaseEstimator)]
        bases = [get_tags(base) for base in learners]
        tags.classifier_tags.multi_class = self._takes_classes() and all(
            base.classifier_tags.multi_class for base in bases
        )
        tags.input_tags.sparse = all(base.input_tags.sparse for base in bases)
        tags.input_tags.allow_nan = all(base.input_tags.allow_nan for base in bases)
        return tags

    def _takes_classes(self) -> bool:
        """Whether more than two classes can be learnt, where the base learners can."""
        return False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        """Validate features: sparse and missing values pass when the base learner takes them."""
        tags = get_tags(self).input_tags
        return validate_data(
            self,
            X,
            accept_sparse="csr" if tags.sparse else False,
            ensure_all_finite="allow-nan" if tags.allow_nan else True,
            reset=reset,
        )

    def _scores(self, X: Any) -> Floats:
        """H(x), eq. (8), of validated rows."""
        return summed(self._contributions, X, len(self.classes_), self.n_jobs)

    def _decision(self, scores: Floats, n_learners: int) -> Floats:
        """Turn the scores after ``n_learners`` learners into numbers that are positive for class 1.

        Of more than two classes the one with the largest number is predicted.
        """
        return scores

    def decision_function(self, X: Any) -> Floats:
        """Score H(x), eq. (8); positive for ``classes_[1]``.

        Of more than two classes one number each, (n_samples, n_classes), the largest predicted.
        """
        check_is_fitted(self)
        X = self._check_X(X)
        return self._decision(self._scores(X), self._n_learners())

    def _n_learners(self) -> int:
        return len(self.estimators_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class: the sign of the decision function, or its largest entry."""
        return self._to_classes(self.decision_function(X))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n_samples, n_classes); agrees with ``predict``."""
        return self._to_probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of each class."""
        with np.errstate(divide="ignore"):  # a probability of 0 has the logarithm −inf
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after each base learner."""
        check_is_fitted(self)
        scores: Any = 0.0
        for number, contribution in enumerate(self._contributions(self._check_X(X)), start=1):
            scores = scores + contribution
            yield self._decision(scores, number)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predictions after each base learner."""
        return map(self._to_classes, self.staged_decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield the probabilities after each base learner; the calibration is the final one."""
        return map(self._to_probabilities, self.staged_decision_function(X))

    def _to_classes(self, decisions: Floats) -> NDArray[Any]:
        return self.classes_[decided_classes(decisions)]

    def _to_probabilities(self, decisions: Floats) -> Floats:
        positive = self._positive_probability(decisions)
        return np.column_stack([1 - positive, positive])
