"""What classifiers share: validated rows, the beginning of a fit, scores as probabilities."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats, Integers
from rboost._validation import (
    Requirements,
    all_or_nothing,
    as_counts,
    check_binary_labels,
    check_class_labels,
    check_lengths,
    check_parameters,
    check_sample_weight,
    check_weighed,
)
from rboost.labels import class_probabilities, decided_classes


@dataclass(frozen=True)
class Rows:
    """Rows with the positions of their labels among the classes, and weights."""

    X: Any
    observed: Integers
    sample_weight: Floats
    n_classes: int

    @cached_property
    def labels(self) -> Floats:
        """The labels of two classes as −1.0 and +1.0."""
        return np.where(self.observed > 0, 1.0, -1.0)

    @cached_property
    def prevalence(self) -> Floats:
        """The share of each label."""
        weights = np.bincount(self.observed, self.sample_weight, minlength=self.n_classes)
        return weights / weights.sum()

    def take(self, rows: Any) -> Rows:
        """Some of the rows, by their numbers or a mask."""
        return Rows(self.X[rows], self.observed[rows], self.sample_weight[rows], self.n_classes)

    def used(self) -> Rows:
        """The rows that have a weight."""
        used = self.sample_weight > 0
        return self if used.all() else self.take(used)

    def counted(self) -> Rows:
        """The same rows with weights :func:`as_counts`."""
        return replace(self, sample_weight=as_counts(self.sample_weight))


def validated_rows(
    X: Any, y: Any, sample_weight: Any, check_y: Callable[[Any], Any] = check_class_labels
) -> tuple[Rows, NDArray[Any]]:
    """All rows of validated X, and the classes."""
    classes, observed = check_y(y)
    check_lengths(X, observed)
    weight = check_sample_weight(sample_weight, observed)
    return Rows(X, observed, weight, len(classes)), classes


def weighed_classes(rows: Rows, classes: NDArray[Any]) -> tuple[Rows, NDArray[Any]]:
    """The rows as they are, or without those of classes that have no weight at all."""
    if rows.prevalence.all():
        return rows, classes
    rows = rows.used()
    present, observed = np.unique(rows.observed, return_inverse=True)
    return replace(rows, observed=observed, n_classes=len(present)), classes[present]


def training_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Rows, NDArray[Any]]:
    """The rows of positive weight, of all classes, with weights as counts; and the classes."""
    rows, classes = validated_rows(X, y, sample_weight)
    check_weighed(rows.observed, rows.sample_weight, classes)
    return rows.used().counted(), classes


FITTED = """\
Attributes
----------
classes_ : ndarray of shape (n_classes,)
    The class labels, sorted.
n_features_in_ : int
    Number of features seen in ``fit``.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the features, when X had string column names.
"""
# What may follow the attributes.
SECTIONS = ("Attributes", "Notes", "References", "Examples")


class Documented:
    """Puts shared parameters and attributes into the docstring of every subclass."""

    _shared_parameters: ClassVar[str] = ""
    _shared_attributes: ClassVar[str] = ""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        doc = inspect.cleandoc(cls.__doc__ or "")
        headings = [f"{name}\n{'-' * len(name)}\n" for name in SECTIONS]
        heading = next((heading for heading in headings if heading in doc), headings[0])
        before, _, after = doc.partition(heading)
        if cls._shared_parameters and "Parameters\n----------\n" not in before:
            before = f"{before.rstrip()}\n\nParameters\n----------"
        before = before.rstrip() + cls._shared_parameters
        after = after if heading == headings[0] else f"\n{heading}{after}"
        cls.__doc__ = f"{before}\n\n{FITTED}{cls._shared_attributes}{after}"


@dataclass(frozen=True)
class TrainingAttribute:
    """Finds an attribute of training rows when it is first read, or explains why there is none.

    A descriptor without ``__set__``: an attribute that the model itself has takes precedence.
    """

    name: str

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        model._judge_training_rows()
        if self.name in vars(model):
            return vars(model)[self.name]
        if "_is_from_file" in vars(model):
            raise AttributeError(
                f"{self.name} belongs to the training rows, which a model file leaves out; read it "
                "where the model was fitted."
            )
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")


class Savable:
    """A fitted classifier that can be written to a file, which leaves its training out."""

    # Attributes of training rows, which prediction does not need.
    _training_only: ClassVar[tuple[str, ...]] = ()

    def _judge_training_rows(self) -> None:
        """Set attributes of training rows that a fit leaves for when they are read."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file, such as ``model.rboost``, or leave it as it was.

        :func:`rboost.load` reads it. The file holds numbers and words alone, and no training rows.

        Parameters
        ----------
        path : str or path
            The file; it is replaced when all is written.
        """
        check_is_fitted(self)
        import_module("rboost.saving").save(self, path)  # which knows all estimators

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in cls._training_only:
            setattr(cls, name, TrainingAttribute(name))


class RowsClassifier(Documented, ClassifierMixin, BaseEstimator):
    """A classifier that is fitted to rows with labels.

    Parameters are fields of a dataclass, whose ``__init__`` only assigns.
    """

    classes_: NDArray[Any]
    _requirements: ClassVar[Requirements]
    # What X may be: arguments of scikit-learn's ``validate_data``.
    _accepted: ClassVar[dict[str, Any]] = {"dtype": np.float64}
    _check_y: ClassVar[Any] = staticmethod(check_class_labels)

    @abstractmethod
    def _fit(self, rows: Rows) -> None:
        """Fit to validated rows, some of which may have no weight; ``classes_`` are known."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, shape (n_samples, n_classes)."""

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; sparse, or with missing values, where the tags of the estimator say so.
        y : array-like of shape (n_samples,)
            Observed labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights; a row with weight 0 is left out. Methods that count rows divide
            weights with a mean below 1 by it.
        """
        with all_or_nothing(self):
            self._check_parameters()
            X = self._check_X(X, reset=True)
            rows, classes = validated_rows(X, y, sample_weight, self._check_y)
            rows, self.classes_ = weighed_classes(rows, classes)
            self._fit(rows)
        return self

    def _check_parameters(self) -> None:
        """Check what the class and those above it require."""
        for above in type(self).__mro__:
            check_parameters(self, vars(above).get("_requirements", {}))

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        return validate_data(self, X, reset=reset, **self._accepted)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class."""
        probability = self.predict_proba(X)
        return self.classes_[probability.argmax(axis=1)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._check_y is not check_binary_labels
        tags.input_tags.sparse = "accept_sparse" in self._accepted
        tags.input_tags.allow_nan = self._accepted.get("ensure_all_finite") == "allow-nan"
        return tags


class TwoClassClassifier(RowsClassifier):
    """A classifier of two classes."""

    _check_y: ClassVar[Any] = staticmethod(check_binary_labels)


class ScoreClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of any number of classes; a subclass fits ``classes_`` and computes scores."""

    classes_: NDArray[Any]
    # F with p(y = 1 | x) = F(decision) for two classes, and log F.
    _distribution: ClassVar[Any] = expit
    _log_distribution: ClassVar[Any] = log_expit

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]``, shape (n_samples,); of more classes one score for each.

        The probabilities of more than two classes are the softmax of the scores.
        """

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the true class, whatever the observed label may be."""
        scores = self.decision_function(X)  # first, as it says whether the model is fitted
        return self.classes_[decided_classes(scores)]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of the *true* class, not of the observed label; (n_samples, n_classes).

        For the probability of the observed label pass this to
        :func:`rboost.noise.observed_probability`.
        """
        return class_probabilities(self.decision_function(X), self._distribution)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of the true class."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return log_softmax(scores, axis=1)
        log_distribution = self._log_distribution
        return np.column_stack([log_distribution(-scores), log_distribution(scores)])
