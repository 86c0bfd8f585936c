"""Base learners: which classifiers can be boosted, and fitting one to weighted targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from rboost.boosting.sampling import SAMPLINGS
from rboost.noise.matrix import Floats


def check_learner(estimator: Any, sampling: str) -> None:
    """Fail with one sentence when the estimator cannot be boosted with this way of sampling."""
    if isinstance(estimator, type) or not is_classifier(estimator):
        raise ValueError(
            "estimator must be a scikit-learn classifier such as "
            f"DecisionTreeClassifier(max_depth=1), not {estimator!r}."
        )
    if sampling != "weights" and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight, which sampling={sampling!r} needs;"
            " use sampling='weights', which draws rows instead, or another estimator."
        )


def fit_learner(
    estimator: Any,
    X: Any,
    targets: Floats,
    weights: Floats,
    *,
    sampling: str,
    max_samples: float,
    random_state: np.random.RandomState,
) -> Any:
    """Fit a fresh copy of the estimator to rows drawn by ``sampling``; targets become classes 0, 1.

    Weights are scaled to a mean of 1, so that a penalty such as ``C`` means the same as in a fit
    without weights. Rows of a single class leave no choice but the constant vote.
    """
    rows, row_weights = SAMPLINGS[sampling](weights, max_samples, random_state)
    classes = (targets[rows] > 0).astype(np.intp)
    learner = clone(estimator)
    _set_random_states(learner, random_state)
    if row_weights is None:
        if len(np.unique(classes)) < 2:
            learner = DummyClassifier(strategy="prior")
        return learner.fit(X[rows], classes)
    mean = row_weights.mean()
    row_weights = row_weights / mean if mean > 0 else np.ones_like(row_weights)
    if len(np.unique(classes[row_weights > 0])) < 2:
        learner = DummyClassifier(strategy="prior")
    return learner.fit(X[rows], classes, sample_weight=row_weights)


def _set_random_states(learner: Any, random_state: np.random.RandomState) -> None:
    """Seed every random part of the learner, in the order scikit-learn's own ensembles use."""
    seeds = {
        name: random_state.randint(np.iinfo(np.int32).max)
        for name in sorted(learner.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    }
    if seeds:
        learner.set_params(**seeds)
