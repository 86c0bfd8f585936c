"""How the fit of a classifier begins, and what all of them share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from rboost._typing import Floats, Integers
from rboost._validation import (
    Requirements,
    all_or_nothing,
    check_labels,
    check_parameters,
    check_sample_weight,
)
from rboost.literature.documented import Documented
from rboost.tables import Table, training_table


class TrainingRows(NamedTuple):
    """All rows with their observed classes, 0 or 1, which of them count, and the table of those."""

    X: Floats
    observed: Integers
    used: NDArray[np.bool_]
    table: Table


class TwoClassClassifier(Documented, ClassifierMixin, BaseEstimator):
    """A classifier of two classes with dense features; parameters are fields of a dataclass."""

    classes_: NDArray[Any]
    _requirements: ClassVar[Requirements]

    @abstractmethod
    def _fit(self, rows: TrainingRows) -> None:
        """Fit to checked rows; ``classes_`` are known."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, shape (n_samples, 2)."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Observed labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights: a row of weight 2 counts twice, one of weight 0 is left out. All
            but kernel logistic regression divide weights with a mean below 1 by it.

        Returns
        -------
        self
            The fitted estimator.
        """
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            X, y = self._check_X(X, reset=True), check_labels(y)
            table, self.classes_ = training_table(X, y, sample_weight)
            observed = np.searchsorted(self.classes_, y)
            used = check_sample_weight(sample_weight, observed) > 0
            self._fit(TrainingRows(X, observed, used, table))
        return self

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the more probable class."""
        probability = self.predict_proba(X)
        return self.classes_[probability.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
