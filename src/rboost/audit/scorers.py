"""Models that score every row without having been fitted to it.

A scorer is a classifier of two classes that takes ``X_trusted``, ``y_trusted`` and ``flip_counts``
in ``fit`` and has ``held_out_scores_`` afterwards. Several classes take one scorer each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter

from rboost._typing import Floats
from rboost.audit.features import as_features, cut_texts
from rboost.audit.labels import NO_LABEL, Labels
from rboost.boosting import RBoostClassifier
from rboost.wrappers import NoiseCalibratedClassifier


def _linear(seed: int) -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))


# Names for the command line.
DEFAULT = "rboost"
MODELS: dict[str, Callable[[int], Any]] = {
    DEFAULT: lambda seed: RBoostClassifier(random_state=seed),
    "linear": _linear,
    "forest": lambda seed: ExtraTreesClassifier(300, min_samples_leaf=5, random_state=seed),
}


# On a small table of two classes it pays to leave out a tenth of the rows at a time, instead of the
# half that out-of-bag scores leave out: better scores tell noise from overlap. A hundred rounds
# are enough for that.
SMALL_TABLE, FOLDS, ROUNDS = 2000, 10, 100


def make_scorer(model: Any, labels: Labels, seed: int, n_jobs: int | None, verbose: int) -> Any:
    """The scorer that a name or a classifier stands for."""
    if model == DEFAULT and len(labels) <= SMALL_TABLE and len(labels.classes) == 2:
        learner = RBoostClassifier(n_estimators=ROUNDS, random_state=seed)
        return NoiseCalibratedClassifier(
            learner, cv=FOLDS, random_state=seed, n_jobs=n_jobs, verbose=verbose
        )
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"There is no model {model!r}; choose one of {', '.join(MODELS)}.")
        model = MODELS[model](seed)
    if not has_fit_parameter(model, "flip_counts"):
        return NoiseCalibratedClassifier(model, random_state=seed, n_jobs=n_jobs, verbose=verbose)
    scorer = clone(model)
    options = {"n_jobs": n_jobs, "verbose": verbose}
    return scorer.set_params(**{k: v for k, v in options.items() if k in scorer.get_params()})


# The score of a class that no row has any more.
LOWEST_SCORE = -10.0


def _has_two(is_positive: NDArray[np.bool_]) -> bool:
    return bool(is_positive.any() and not is_positive.all())


class ClassByClass(ClassifierMixin, BaseEstimator):
    """A scorer for each class against the others; for two classes, a single one.

    After ``fit_rows`` the attribute ``held_out_scores_`` holds what
    :func:`rboost.audit.inference.infer` takes.
    """

    classes_: NDArray[Any]
    held_out_scores_: Floats

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def fit_rows(self, features: Floats, labels: Labels) -> Self:
        """Fit to given labels and to checked ones, which are trusted; score all rows."""
        self.classes_ = labels.classes
        n_classes = len(labels.classes)
        positives = range(1, 2) if n_classes == 2 else range(n_classes)
        found = [self._fit_class(features, labels, positive) for positive in positives]
        self.scorers_ = [scorer for scorer, _ in found]
        self.held_out_scores_ = np.column_stack([scores for _, scores in found])
        return self

    def _fit_class(self, features: Floats, labels: Labels, positive: int) -> tuple[Any, Floats]:
        """A scorer of one class against the others, and its scores of all rows."""
        scorer = clone(self.scorer)
        observed, checked = np.flatnonzero(labels.is_observed), np.flatnonzero(labels.is_checked)
        known: dict[str, Any] = {}
        if len(checked):
            known = {
                "X_trusted": features[checked],
                "y_trusted": (labels.checked[checked] == positive).astype(np.intp),
                "flip_counts": labels.flip_counts_of(positive),
            }
        if not _has_two(labels.given[observed] == positive):
            # All rows of the class were checked. They are then fitted like any others.
            observed, checked, known = np.concatenate([observed, checked]), checked[:0], {}
        y = labels.current[observed] == positive
        scores = np.full(len(labels), LOWEST_SCORE)
        if not _has_two(y) and len(labels.classes) > 2:
            return None, scores  # a class of which no row is left
        given = features if len(observed) == len(features) else features[observed]
        with warnings.catch_warnings():
            # Of one class against the others; the audit says it of all classes together.
            warnings.filterwarnings("ignore", message="Every training row is predicted")
            scorer.fit(given, y.astype(np.intp), **known)
        scores[np.concatenate([observed, checked])] = scorer.held_out_scores_
        others = np.flatnonzero(labels.current == NO_LABEL)
        if len(others):
            scores[others] = scorer.score_rows(features[others])
        return scorer, scores

    def predict_proba(self, features: Any) -> Floats:
        """Probability of each true class, shape (n_rows, n_classes)."""
        positive = np.column_stack(
            [
                np.zeros(len(features)) if scorer is None else scorer.predict_proba(features)[:, 1]
                for scorer in self.scorers_
            ]
        )
        if len(self.classes_) == 2:
            return np.column_stack([1 - positive, positive])
        return positive / np.maximum(positive.sum(axis=1, keepdims=True), 1e-300)

    def predict(self, features: Any) -> NDArray[Any]:
        """The most probable true class."""
        return self.classes_[self.predict_proba(features).argmax(axis=1)]


class TableModel(ClassifierMixin, BaseEstimator):
    """A fitted vectorizer and a fitted classifier: from frames to probabilities of classes."""

    def __init__(self, vectorizer: Any, classifier: ClassByClass) -> None:
        self.vectorizer = vectorizer
        self.classifier = classifier

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.classifier.classes_

    def features(self, table: Any) -> Floats:
        """The frame in numbers."""
        return as_features(self.vectorizer.transform(cut_texts(table)))

    def predict_proba(self, table: Any) -> Floats:
        """Probability of each true class, shape (n_rows, n_classes)."""
        return self.classifier.predict_proba(self.features(table))

    def predict(self, table: Any) -> NDArray[Any]:
        """The most probable true class of each row."""
        return self.classifier.predict(self.features(table))
