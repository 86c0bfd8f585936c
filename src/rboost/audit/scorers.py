"""Models that score every row without having been fitted to it.

A scorer is a classifier with ``fit_labels``, which takes all that was said of rows, and then with
``held_out_scores_``, ``score_rows``, ``label_noise`` and ``group_noise``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, TableLabels, counted_rows, first_copies
from rboost.model import RBoostClassifier
from rboost.noise import NoisePosterior
from rboost.table.features import Features, TableEncoder
from rboost.wrappers import NoiseCalibratedClassifier

# Names for the command line.
DEFAULT = "rboost"
MODELS: dict[str, Callable[[int], Any]] = {
    DEFAULT: lambda seed: RBoostClassifier(random_state=seed),
    "linear": lambda seed: LogisticRegression(max_iter=1000),
    "forest": lambda seed: ExtraTreesClassifier(300, min_samples_leaf=5, random_state=seed),
}


def make_scorer(
    model: Any, seed: int, n_jobs: int | None, verbose: int, device: str = "cpu"
) -> Any:
    """The scorer that a name or a classifier stands for."""
    if device != "cpu" and model != DEFAULT:
        raise ValueError(f"device={device!r} is for the model {DEFAULT!r}; leave one of them out.")
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(f"There is no model {model!r}; choose one of {', '.join(MODELS)}.")
        model = MODELS[model](seed)
    if not hasattr(model, "fit_labels"):
        return NoiseCalibratedClassifier(model, random_state=seed, n_jobs=n_jobs, verbose=verbose)
    scorer = clone(model)
    options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose}
    if device != "cpu":
        options["device"] = device
    return scorer.set_params(**{k: v for k, v in options.items() if k in scorer.get_params()})


def rows_for(scorer: Any, features: Features) -> Any:
    """The rows in the form that a scorer takes."""
    if isinstance(scorer, RBoostClassifier):
        return features
    is_linear = isinstance(scorer.estimator, LogisticRegression)
    return features.sparse if is_linear else features.dense


def fit_scorer(
    scorer: Any, features: Features, labels: TableLabels, copy_of: Integers | None = None
) -> tuple[Floats, bool]:
    """Fit to all that was said of rows; score all of them.

    ``copy_of`` has, for each row, the first that it is a copy of. Copies are fitted to once, as a
    row of which there is another is never held out, and have the same scores. Also returned:
    whether the scorer saw exactly these labels. It does not if a class has no row (it is left out)
    or is named by answers only (these answers replace the given labels).
    """
    kept, rows = first_copies(labels, copy_of), counted_rows(labels, copy_of)
    own = labels.take(rows)
    is_given = True
    while (new := (own.checked != NO_LABEL) & ~np.isin(own.checked, own.observed)).any():
        own, is_given = own.with_given(np.where(new, own.checked, own.given)), False
    present = np.unique(own.observed)
    # Linear models do many small products, for which threads of BLAS only wait.
    with threadpool_limits(1, "blas"):
        seen = rows_for(scorer, features if len(rows) == len(features) else features[rows])
        scorer.fit_labels(seen, own.of_classes(present))
    scores = np.empty((len(labels), *scorer.held_out_scores_.shape[1:]))
    scores[rows] = scorer.held_out_scores_
    scores = scores[kept]
    others = np.flatnonzero(labels.observed == NO_LABEL)
    if len(others):
        scores[others] = scorer.score_rows(rows_for(scorer, features[others]))
    is_of_labels = is_given and len(present) == len(labels.classes)
    return _of_all_classes(scores, present, len(labels.classes)), is_of_labels


# Scores of a class absent from the training labels are this far below the largest of the row.
ABSENT = 10.0


def _of_all_classes(scores: Floats, present: Integers, n_classes: int) -> Floats:
    """Scores of all classes, from those of the classes that a scorer was fitted to."""
    if len(present) == n_classes:
        return scores
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    found = np.tile(scores.max(axis=1, keepdims=True) - ABSENT, n_classes)
    found[:, present] = scores
    return found


class TableModel(ClassifierMixin, BaseEstimator):
    """From frames to probabilities of classes: an encoder, a fitted scorer, the noise.

    ``noise`` is what the audit inferred, so that a row with the same scores gets the probabilities
    that the report has.
    """

    def __init__(
        self,
        encoder: TableEncoder,
        scorer: Any,
        classes: NDArray[Any],
        noise: NoisePosterior,
    ) -> None:
        self.encoder = encoder
        self.scorer = scorer
        self.classes = classes
        self.noise = noise

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, sorted."""
        return self.classes

    def with_noise(self, noise: NoisePosterior) -> Self:
        """The same model after more was learnt about the noise."""
        return type(self)(self.encoder, self.scorer, self.classes, noise)

    def probability(self, features: Features) -> Floats:
        """Probability of each true class, for rows that are encoded."""
        scores = self.scorer.score_rows(rows_for(self.scorer, features))
        return self.noise.probability(
            _of_all_classes(scores, self.scorer.classes_, len(self.classes))
        )

    def predict_proba(self, table: Any) -> Floats:
        """Probability of each true class, shape (n_rows, n_classes)."""
        return self.probability(self.encoder.features(table))

    def predict(self, table: Any) -> NDArray[Any]:
        """The most probable true class of each row."""
        return self.classes[self.predict_proba(table).argmax(axis=1)]
