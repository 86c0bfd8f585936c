"""Scores of rows by models that were not fitted to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import StratifiedKFold, check_cv, cross_val_predict
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats, Integers
from rboost.noise.platt import smoothed_log_odds


def check_scorer(estimator: Any, sample_weight: Any) -> None:
    """Fail with one sentence when the estimator cannot give scores."""
    is_instance = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not is_instance or not is_classifier(estimator):
        raise ValueError(
            "estimator must be a scikit-learn classifier such as RandomForestClassifier(), "
            f"not {estimator!r}."
        )
    if not any(hasattr(estimator, name) for name in ("predict_proba", "decision_function")):
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function; "
            "use a classifier that has one of them."
        )
    if sample_weight is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight; leave it out, or use another "
            "estimator."
        )


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


def score_rows(model: Any, X: Any) -> Floats:
    """Scores of a model fitted on classes 0 and 1: log-odds if it has probabilities."""
    if hasattr(model, "predict_proba"):
        return smoothed_log_odds(np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1])
    return np.asarray(model.decision_function(X), dtype=np.float64)


def out_of_fold_scores(
    estimator: Any,
    X: Any,
    classes: Integers,
    *,
    cv: Any = 5,
    sample_weight: Floats | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Scores of every row by a copy of the estimator fitted to the other folds.

    They are on the scale of :func:`score_rows`. ``classes`` are 0 or 1.
    """
    has_probabilities = hasattr(estimator, "predict_proba")
    found = cross_val_predict(
        clone(estimator),
        X,
        classes,
        cv=folds(cv, classes, random_state),
        n_jobs=n_jobs,
        method="predict_proba" if has_probabilities else "decision_function",
        params=None if sample_weight is None else {"sample_weight": sample_weight},
    )
    found = np.asarray(found, dtype=np.float64)
    return smoothed_log_odds(found[:, 1]) if has_probabilities else found
