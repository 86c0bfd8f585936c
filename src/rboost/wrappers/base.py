"""What classifiers around another classifier share: X passes through as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import validate_data

from rboost.fitting import Documented

PARAMETERS = """
noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
    ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it.
n_jobs : int, default=None
    Processes over folds.
verbose : int, default=0
    Whether to show a progress bar on standard error."""
ATTRIBUTES = """\
estimator_ : classifier
    The estimator fitted to all rows, on positions of classes, 0 to n_classes − 1.
noise_matrix_ : ndarray of shape (n_classes, n_classes)
    The fixed or inferred noise matrix.
label_issue_probability_ : ndarray of shape (n_samples,)
    How likely the label of each training row is to be wrong.
true_class_ : ndarray of shape (n_samples,)
    The most probable true class of each training row, given its features and its label.
"""


class ClassifierAround(Documented, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier around ``estimator``, whose fitted copy is ``estimator_``."""

    classes_: NDArray[Any]
    estimator: Any

    _shared_parameters: ClassVar[str] = PARAMETERS
    _shared_attributes: ClassVar[str] = ATTRIBUTES

    def _check_X(self, X: Any, reset: bool = False) -> None:
        """Remember or compare the columns; what is in them is the estimator's business."""
        if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "biuf":
            raise ValueError(
                "X must have two dimensions, rows and columns. Reshape your data: "
                "X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if isinstance(X, Mapping) and not issparse(X):  # of which one kind is a dictionary, too
            raise ValueError("X must be a table or an array, not a dictionary; make a frame of it.")
        validate_data(self, X, skip_check_array=True, reset=reset)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        several = inner.classifier_tags is not None and inner.classifier_tags.multi_class
        tags.classifier_tags.multi_class = several
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags
