"""What classifiers around another classifier share: X passes through, and held-out outputs.

A scorer is a classifier that scores the classes by one of three methods, tried in this
order: ``score_rows`` (a model that takes noise into account itself; its scores before it does so),
``predict_proba`` or ``decision_function``. Outputs have shape (n_rows,) for two classes, that of
class 1, and (n_rows, n_classes) for more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import Tags, _safe_indexing, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter, validate_data

from rboost._typing import Floats, Integers
from rboost._validation import check_classifier
from rboost.engines.learners import class_probability, of_all_classes
from rboost.fitting import Documented
from rboost.noise.inference import smoothed_scores
from rboost.progress import track

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


SCORING_METHODS = ("score_rows", "predict_proba", "decision_function")


def check_scorer(estimator: Any, sample_weight: Any) -> None:
    """Fail with one sentence when the estimator cannot give scores."""
    check_classifier(estimator, "RandomForestClassifier()")
    if not any(hasattr(estimator, method) for method in SCORING_METHODS):
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function; "
            "use a classifier that has one of them."
        )
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight; leave it out, or use another "
            "estimator."
        )


def scoring_method(estimator: Any) -> str:
    """The method by which an estimator scores the classes."""
    return next(method for method in SCORING_METHODS if hasattr(estimator, method))


def folds(cv: Any, classes: Integers, random_state: Any) -> Any:
    """The splitter that ``cv`` names; a number means that many shuffled, stratified folds.

    Fewer where a class has fewer rows than that.
    """
    if not isinstance(cv, (int, np.integer)) or isinstance(cv, bool):
        return check_cv(cv, classes, classifier=True)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, not {cv!r}.")
    rarest = int(np.bincount(classes, minlength=2).min())
    if rarest < 2:
        raise ValueError(
            "One class has a single row, and a model that is not fitted to that row cannot know "
            "the class; at least two rows of each are needed."
        )
    return StratifiedKFold(min(cv, rarest), shuffle=True, random_state=random_state)


def row_splits(
    cv: Any, X: Any, classes: Integers, random_state: Any, sample_weight: Floats | None = None
) -> list[tuple[Integers, Integers]]:
    """Rows to fit and rows to leave out, for each fold; every row is left out once."""
    weight = np.ones(len(classes)) if sample_weight is None else sample_weight
    splits = list(folds(cv, classes, random_state).split(X, classes))
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(len(classes))):
        raise ValueError("cv must put every row into exactly one test fold; use KFold or a number.")
    if any(len(np.unique(classes[train][weight[train] > 0])) < 2 for train, _ in splits):
        raise ValueError(
            "The rows of a fold that are fitted to are all of one class; give cv a number, which "
            "shuffles them, or more rows of the rarer class."
        )
    return splits


def model_outputs(model: Any, X: Any, n_classes: int) -> Floats:
    """Outputs of a model fitted on classes 0 to n_classes − 1, some of which it may have missed."""
    method = scoring_method(model)
    if method == "predict_proba":
        found = class_probability(model, X, n_classes)
        return found[:, 1] if n_classes == 2 else found
    found = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if n_classes == 2:
        return found
    if found.ndim == 1 and len(model.classes_) == 2:  # all other classes are missing from its rows
        found = np.column_stack([-found, found]) / 2
    of_pairs = getattr(model, "decision_function_shape", None) == "ovo"
    if found.ndim == 2 and found.shape[1] == len(model.classes_) and not of_pairs:
        return of_all_classes(found, model.classes_, n_classes, absent=found.min() - 1)
    raise ValueError(
        f"{type(model).__name__} gives scores of the shape {found.shape}, not one for each of "
        f"{n_classes} classes; use decision_function_shape='ovr', or an estimator with "
        "predict_proba."
    )


def outputs_as_scores(estimator: Any, outputs: Floats, prevalence: Floats) -> Floats:
    """Outputs as scores that a linear calibration can take: logarithms of probabilities."""
    if scoring_method(estimator) != "predict_proba":
        return outputs
    if outputs.ndim == 1:
        outputs = np.column_stack([1 - outputs, outputs])
    return smoothed_scores(outputs, prevalence)


def by_fold(
    splits: list[tuple[Integers, Integers]],
    outputs_of: Callable[[Integers, Integers], Floats],
    n_jobs: int | None,
    verbose: bool = False,
) -> Floats:
    """What ``outputs_of(train, test)`` gives for the rows ``test`` of each fold, in their order."""
    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(outputs_of)(train, test) for train, test in splits
    )
    shown = track(found, len(splits), "Fitting without each fold of rows", enabled=verbose)
    held_out = np.concatenate(list(shown))
    outputs = np.empty_like(held_out)
    outputs[np.concatenate([test for _, test in splits])] = held_out
    return outputs


def out_of_fold_outputs(
    estimator: Any,
    X: Any,
    classes: Integers,
    *,
    cv: Any = 5,
    sample_weight: Floats | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Floats:
    """Outputs for every row of a copy of the estimator that was fitted to the other folds.

    ``classes`` are 0 to n_classes − 1.
    """
    (X,) = indexable(X)
    splits = row_splits(cv, X, classes, random_state, sample_weight)
    n_classes = int(classes.max()) + 1

    def outputs_of(train: Integers, test: Integers) -> Floats:
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        model = clone(estimator).fit(_safe_indexing(X, train), classes[train], **weighted)
        return model_outputs(model, _safe_indexing(X, test), n_classes)

    outputs = by_fold(splits, outputs_of, n_jobs, verbose)
    if not np.isfinite(outputs).all():
        raise ValueError(
            f"{type(estimator).__name__} gave scores that are not finite; scale the features, or "
            "use another estimator."
        )
    return outputs
