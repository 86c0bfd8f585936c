"""What models say of rows that they were not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats, Integers
from rboost._validation import check_classifier
from rboost.noise.platt.scaling import smoothed_log_odds
from rboost.progress import track


def check_scorer(estimator: Any, sample_weight: Any) -> None:
    """Fail with one sentence when the estimator cannot give scores."""
    check_classifier(estimator, "RandomForestClassifier()")
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


def model_outputs(model: Any, X: Any) -> Floats:
    """p(class 1) of a model fitted on classes 0 and 1, or else its decision function.

    A model that takes noise into account itself has ``score_rows``, its scores before it does so.
    """
    if hasattr(model, "score_rows"):
        return np.asarray(model.score_rows(X), dtype=np.float64)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    return np.asarray(model.decision_function(X), dtype=np.float64)


def platt_scores(estimator: Any, outputs: Floats, prevalence: float) -> Floats:
    """Outputs as scores that a sigmoid may be linear in: log-odds of probabilities."""
    if hasattr(estimator, "predict_proba") and not hasattr(estimator, "score_rows"):
        return smoothed_log_odds(outputs, prevalence)
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

    ``classes`` are 0 or 1.
    """
    (X,) = indexable(X)
    splits = row_splits(cv, X, classes, random_state, sample_weight)

    def outputs_of(train: Integers, test: Integers) -> Floats:
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        model = clone(estimator).fit(_safe_indexing(X, train), classes[train], **weighted)
        return model_outputs(model, _safe_indexing(X, test))

    found = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(outputs_of)(train, test) for train, test in splits
    )
    outputs = np.empty(len(classes))
    tested = np.concatenate([test for _, test in splits])
    outputs[tested] = np.concatenate(list(track(found, len(splits), "Folds", enabled=verbose)))
    if not np.isfinite(outputs).all():
        raise ValueError(
            f"{type(estimator).__name__} gave scores that are not finite; scale the features, or "
            "use another estimator."
        )
    return outputs
