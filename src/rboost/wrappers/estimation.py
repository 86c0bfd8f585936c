"""How noisy labels are, and how sure that is: estimate_noise_matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from rboost._typing import Floats
from rboost._validation import check_class_labels, check_lengths, check_trusted_labels
from rboost.noise.inference import infer_noise, prevalence_of
from rboost.table.columns import under_each_other
from rboost.table.features import warn_of_copies
from rboost.wrappers.base import (
    check_scorer,
    out_of_fold_outputs,
    outputs_as_scores,
)

# Of more than two classes, flips that reach this rate are named one by one.
WORTH_NAMING = 0.05


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """An estimated noise matrix and how far to believe it.

    Attributes
    ----------
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in the order of ``classes``.
    standard_error : ndarray of shape (n_classes, n_classes)
        The standard error of each entry.
    interval : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends: the truth is between them with probability .9, if the method's
        assumptions hold.
    classes : ndarray of shape (n_classes,)
        The class labels, sorted.
    """

    noise_matrix: Floats
    standard_error: Floats
    interval: Floats
    classes: NDArray[Any]

    def __str__(self) -> str:
        if len(self.classes) == 2:
            return "\n".join([self._flip(0, 1), self._flip(1, 0)])
        lines = []
        for true, name in enumerate(self.classes.tolist()):
            high, low = 1 - self.interval[:, true, true]
            lost = 1 - self.noise_matrix[true, true]
            lines.append(f"{name!r} observed as another: {_in_percent(lost, low, high)}")
            for observed in np.flatnonzero(self.noise_matrix[true] >= WORTH_NAMING):
                if observed != true:
                    lines.append("  " + self._flip(true, int(observed)))
        return "\n".join(lines)

    def _flip(self, true: int, observed: int) -> str:
        names, (low, high) = self.classes.tolist(), self.interval[:, true, observed]
        rate = _in_percent(self.noise_matrix[true, observed], low, high)
        return f"{names[true]!r} observed as {names[observed]!r}: {rate}"


def _in_percent(rate: float, low: float, high: float) -> str:
    return f"{rate:.1%} (90 % interval {low:.1%} to {high:.1%})"


def default_scorer(random_state: Any, is_sparse: bool) -> VotingClassifier:
    """Models of three kinds that do not follow single labels, averaged."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    kernel = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True),
        StandardScaler(with_mean=not is_sparse),
        RBFSampler(gamma="scale", random_state=seed),
        LogisticRegression(C=10.0),
    )
    forests: list[Any] = [
        forest(min_samples_leaf=5, random_state=seed)
        for forest in (RandomForestClassifier, ExtraTreesClassifier)
    ]
    members = zip(["forest", "extra trees", "kernel"], [*forests, kernel], strict=True)
    return VotingClassifier(list(members), voting="soft")


def estimate_noise_matrix(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    cv: Any = 5,
    X_trusted: Any = None,
    y_trusted: ArrayLike | None = None,
    *,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> NoiseEstimate:
    """Estimate the noise matrix of observed labels, with no clean label or with a few.

    Scores of rows that the estimator was not fitted to are made in folds, and
    :func:`rboost.noise.infer_noise` reads the noise off them.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Features, as the estimator takes them.
    y : array-like of shape (n_samples,)
        Observed labels of two or more classes.
    estimator : classifier, default=None
        Any classifier with ``predict_proba`` or ``decision_function``. The better it tells the
        classes apart, the narrower the interval. None means forests and a kernel machine.
    cv : int or splitter, default=5
        Number of folds, or anything that scikit-learn splits by.
    X_trusted : array-like of shape (n_trusted, n_features), default=None
        Rows whose labels are known to be right.
    y_trusted : array-like of shape (n_trusted,), default=None
        Their labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the default estimator.
    n_jobs : int, default=None
        Processes over folds.

    Returns
    -------
    estimate : NoiseEstimate
        The matrix, standard errors and intervals. A wide interval says that the data cannot tell
        noise from overlap of the classes; trusted rows can.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from rboost import estimate_noise_matrix
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    >>> estimate_noise_matrix(X, noisy, random_state=0).noise_matrix.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """
    random = check_random_state(random_state)
    estimator = default_scorer(random, sparse.issparse(X)) if estimator is None else estimator
    check_scorer(estimator, None)
    classes, labels = check_class_labels(y)
    check_lengths(X, labels)
    warn_of_copies(X, labels)
    trusted = check_trusted_labels(X_trusted, y_trusted, classes)
    is_trusted = np.zeros(len(labels), dtype=bool)
    if trusted is not None:
        X, labels = under_each_other(X, X_trusted), np.concatenate([labels, trusted])
        is_trusted = np.concatenate([is_trusted, np.ones(len(trusted), dtype=bool)])
    outputs = out_of_fold_outputs(estimator, X, labels, cv=cv, random_state=random, n_jobs=n_jobs)
    scores = outputs_as_scores(estimator, outputs, prevalence_of(labels, len(classes)))
    found = infer_noise(scores, labels, trusted=is_trusted)
    return NoiseEstimate(found.noise_matrix, found.standard_error, found.interval(), classes)
