"""What classifiers share whose decision function says how likely each class is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from rboost._typing import Floats


class ScoreClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of any number of classes; a subclass fits ``classes_`` and says the scores."""

    classes_: NDArray[Any]
    # F with p(y = 1 | x) = F(decision) = 1 − F(−decision) of two classes, and log F.
    _distribution: ClassVar[Any] = expit
    _log_distribution: ClassVar[Any] = log_expit

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]``, shape (n_samples,); of more classes one score for each.

        The probabilities of more than two classes are the softmax of the scores.
        """

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the true class, whatever the observed label may be."""
        scores = self.decision_function(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of the *true* class, not of the observed label; (n_samples, n_classes).

        For the probability of the observed label pass this to
        :func:`rboost.noise.observed_probability`.
        """
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return softmax(scores, axis=1)
        return np.column_stack([self._distribution(-scores), self._distribution(scores)])

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of the true class."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return log_softmax(scores, axis=1)
        log_distribution = self._log_distribution
        return np.column_stack([log_distribution(-scores), log_distribution(scores)])
