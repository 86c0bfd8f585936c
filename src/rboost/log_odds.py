"""What classifiers of two classes share whose decision function is the log-odds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from rboost._typing import Floats


class LogOddsClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of two classes; a subclass fits ``classes_`` and says the log-odds."""

    classes_: NDArray[Any]
    # F with p(y = 1 | x) = F(decision) = 1 − F(−decision), and log F.
    _distribution: ClassVar[Any] = expit
    _log_distribution: ClassVar[Any] = log_expit

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Log-odds that the true class is ``classes_[1]``."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the true class, whatever the observed label may be."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of the *true* class, not of the observed label; shape (n_samples, 2).

        For the probability of the observed label pass this to
        :func:`rboost.noise.observed_probability`.
        """
        log_odds = self.decision_function(X)
        return np.column_stack([self._distribution(-log_odds), self._distribution(log_odds)])

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of the true class."""
        log_odds = self.decision_function(X)
        log_distribution = self._log_distribution
        return np.column_stack([log_distribution(-log_odds), log_distribution(log_odds)])
