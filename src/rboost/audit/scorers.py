"""Models that score every row without having been fitted to it.

A scorer is a classifier of two classes that takes ``X_trusted``, ``y_trusted`` and ``flip_counts``
in ``fit`` and has ``held_out_scores_`` afterwards. Several classes take one scorer each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats
from rboost.audit.features import as_features
from rboost.audit.labels import MISSING, Labels, encode_labels
from rboost.boosting import RBoostClassifier
from rboost.meta import NoiseCalibratedClassifier


def _linear(seed: int) -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))


# Names for the command line; rBoost is the default.
MODELS: dict[str, Callable[[int], Any]] = {
    "rboost": lambda seed: RBoostClassifier(random_state=seed),
    "linear": _linear,
    "forest": lambda seed: ExtraTreesClassifier(300, min_samples_leaf=5, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
}


def make_scorer(model: Any, seed: int, n_jobs: int | None, verbose: int) -> Any:
    """The scorer that a name or a classifier stands for."""
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"There is no model {model!r}; choose one of {', '.join(MODELS)}.")
        model = MODELS[model](seed)
    if not has_fit_parameter(model, "flip_counts"):
        return NoiseCalibratedClassifier(model, random_state=seed, n_jobs=n_jobs)
    scorer = clone(model)
    options = {"n_jobs": n_jobs, "verbose": verbose}
    return scorer.set_params(**{k: v for k, v in options.items() if k in scorer.get_params()})


class ClassByClass(ClassifierMixin, BaseEstimator):
    """A scorer for each class against the others; for two classes, a single one.

    After ``fit_rows`` the attribute ``held_out_scores_`` holds what
    :func:`rboost.audit.inference.infer` takes.
    """

    classes_: NDArray[Any]
    held_out_scores_: Floats

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def fit(self, features: Floats, y: Any) -> Self:
        """Fit to labels of which nobody checked any; a step of a pipeline has to have this."""
        return self.fit_rows(features, encode_labels(y))

    def fit_rows(self, features: Floats, labels: Labels) -> Self:
        """Fit to given labels and to checked ones, which are trusted; score all rows."""
        self.classes_ = labels.classes
        n_classes = len(labels.classes)
        positives = range(1, 2) if n_classes == 2 else range(n_classes)
        observed = np.flatnonzero(labels.is_observed)
        checked = np.flatnonzero(labels.is_checked)
        others = np.flatnonzero(labels.current == MISSING)
        self.scorers_, columns = [], []
        for positive in positives:
            scorer = clone(self.scorer)
            known: dict[str, Any] = {}
            if len(checked):
                known = {
                    "X_trusted": features[checked],
                    "y_trusted": (labels.checked[checked] == positive).astype(np.intp),
                    "flip_counts": labels.flip_counts_of(positive),
                }
            y = (labels.given[observed] == positive).astype(np.intp)
            self.scorers_.append(scorer.fit(features[observed], y, **known))
            column = np.zeros(len(labels))
            column[np.concatenate([observed, checked])] = scorer.held_out_scores_
            if len(others):
                column[others] = scorer.score_rows(features[others])
            columns.append(column)
        self.held_out_scores_ = np.column_stack(columns)
        return self

    def predict_proba(self, features: Any) -> Floats:
        """Probability of each true class, shape (n_rows, n_classes)."""
        if hasattr(features, "to_numpy"):  # what the vectorizer of a pipeline gives
            features = as_features(features)
        positive = np.column_stack([s.predict_proba(features)[:, 1] for s in self.scorers_])
        if len(self.classes_) == 2:
            return np.column_stack([1 - positive, positive])
        return positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300)

    def predict(self, features: Any) -> NDArray[Any]:
        """The most probable true class."""
        return self.classes_[self.predict_proba(features).argmax(axis=1)]
