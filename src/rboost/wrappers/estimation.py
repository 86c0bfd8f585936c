"""How noisy labels are, and how sure that is: estimate_noise_matrix.

By inference from held-out scores, or, for comparison, by the counting estimators of others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from rboost._typing import Floats, Integers
from rboost._validation import check_class_labels, check_lengths, check_trusted_labels
from rboost.noise.inference import infer_noise, prevalence_of
from rboost.noise.matrix import keep_informative
from rboost.table.columns import under_each_other
from rboost.table.copies import warn_of_copies
from rboost.wrappers.base import (
    check_scorer,
    model_outputs,
    out_of_fold_outputs,
    outputs_as_scores,
)

# The share of rows at the upper end of the probabilities that anchor points skip as outliers.
ANCHOR_SHARE = 0.03


def confident_learning(observed: Floats, labels: Integers) -> Floats:
    """Count the rows that are confidently of one class and labelled as another.

    A row is confidently of class j when p(ỹ = j) is at least the mean of it over rows labelled j;
    when it is so of several, it counts as the most probable class. The counts are scaled to the
    numbers of labels and normalised (Northcutt, Jiang & Chuang 2021, section 3.1, as in cleanlab).
    """
    n_classes = observed.shape[1]
    thresholds = np.array([observed[labels == k, k].mean() for k in range(n_classes)])
    confident = observed >= thresholds
    several = confident.sum(axis=1) > 1
    true = np.where(several, observed.argmax(axis=1), confident.argmax(axis=1))
    counts = np.zeros((n_classes, n_classes))  # [label, true class]
    np.add.at(counts, (labels, true), confident.any(axis=1))
    # No confident row of a label: its own class is the best guess.
    counts += np.diag(counts.sum(axis=1) == 0)
    joint = counts * (np.bincount(labels, minlength=n_classes) / counts.sum(axis=1))[:, np.newaxis]
    # No row that is confidently of a class: it is taken to keep its label.
    joint += np.diag(joint.sum(axis=0) == 0)
    return keep_informative((joint / joint.sum(axis=0)).T)


def anchor_points(observed: Floats, labels: Integers) -> Floats:
    """Read the rates off rows that are certainly of one class (Liu & Tao 2016).

    There p(ỹ = k | x) is γjk. Such are the rows of the largest p(ỹ = j | x); a quantile stands for
    them.
    """
    place = (1 - ANCHOR_SHARE) * (len(observed) - 1)
    below = int(place)
    matrix = []
    for k in range(observed.shape[1]):
        order = np.argsort(observed[:, k], kind="stable")
        low, high = observed[order[[below, min(below + 1, len(order) - 1)]]]
        matrix.append(low + (place - below) * (high - low))
    return keep_informative(np.array(matrix))


def trusted_counting(observed: Floats, labels: Integers) -> Floats:
    """Average p(ỹ | x) over trusted rows, whose ``labels`` are true (Hendrycks et al. 2018)."""
    classes = range(observed.shape[1])
    return keep_informative(np.array([observed[labels == k].mean(axis=0) for k in classes]))


def bootstrap(
    estimate: Callable[[Floats, Integers], Floats],
    observed: Floats,
    labels: Integers,
    random_state: np.random.RandomState,
    n_draws: int = 200,
) -> Floats:
    """Estimates from rows drawn with replacement, as many of each label as there are."""
    rows_of = [np.flatnonzero(labels == k) for k in range(observed.shape[1])]
    draws = []
    for _ in range(n_draws):
        rows = np.concatenate([random_state.choice(rows, len(rows)) for rows in rows_of])
        draws.append(estimate(observed[rows], labels[rows]))
    return np.stack(draws)


COUNTING = {"confident learning": confident_learning, "anchor points": anchor_points}
METHODS = ("noise-aware", *COUNTING, "trusted counting")
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
    method : str
        How it was estimated.
    """

    noise_matrix: Floats
    standard_error: Floats
    interval: Floats
    classes: NDArray[Any]
    method: str

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
    method: str = "noise-aware",
    cv: Any = 5,
    X_trusted: Any = None,
    y_trusted: ArrayLike | None = None,
    *,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> NoiseEstimate:
    """Estimate the noise matrix of observed labels, with no clean label or with a few.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Features, as the estimator takes them.
    y : array-like of shape (n_samples,)
        Observed labels of two or more classes.
    estimator : classifier, default=None
        Any classifier with ``predict_proba`` or ``decision_function``. The better it tells the
        classes apart, the narrower the interval. None means forests and a kernel machine.
    method : str, default="noise-aware"
        "noise-aware": :func:`rboost.noise.infer_noise` on out-of-fold scores. For comparison:
        "confident learning", "anchor points", which read the noise off the out-of-fold
        probabilities, and "trusted counting", which averages them over trusted rows and so takes
        overlap of the classes for noise.
    cv : int or splitter, default=5
        Number of folds, or anything that scikit-learn splits by.
    X_trusted : array-like of shape (n_trusted, n_features), default=None
        Rows whose labels are known to be right; used by "noise-aware", needed by "trusted
        counting".
    y_trusted : array-like of shape (n_trusted,), default=None
        Their labels.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, of the default estimator and of the bootstrap.
    n_jobs : int, default=None
        Processes over folds.

    Returns
    -------
    estimate : NoiseEstimate
        The matrix, standard errors and intervals. A wide interval says that the data cannot tell
        noise from overlap of the classes; trusted rows can. Intervals of the methods for comparison
        are of the bootstrap over rows and know nothing of the methods' own bias.

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
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, not {method!r}.")
    random = check_random_state(random_state)
    estimator = default_scorer(random, sparse.issparse(X)) if estimator is None else estimator
    check_scorer(estimator, None)
    classes, labels = check_class_labels(y)
    check_lengths(X, labels)
    warn_of_copies(X, labels)
    trusted = check_trusted_labels(X_trusted, y_trusted, classes)
    options = {"cv": cv, "random_state": random, "n_jobs": n_jobs}
    if method == "noise-aware":
        return _by_inference(estimator, X, labels, X_trusted, trusted, classes, options)
    _check_counting(method, estimator, trusted, len(classes))
    if trusted is not None:
        model = clone(estimator).fit(X, labels)
        observed = model_outputs(model, X_trusted, len(classes), "predict_proba")
        of_rows, count = trusted, trusted_counting
    else:
        observed = out_of_fold_outputs(estimator, X, labels, way="predict_proba", **options)
        of_rows, count = labels, COUNTING[method]
    if observed.ndim == 1:
        observed = np.column_stack([1 - observed, observed])
    draws = bootstrap(count, observed, of_rows, random)
    return NoiseEstimate(
        count(observed, of_rows), draws.std(axis=0), np.quantile(draws, [0.05, 0.95], axis=0),
        classes, method,
    )  # fmt: skip


def _check_counting(method: str, estimator: Any, trusted: Integers | None, n_classes: int) -> None:
    """Fail with one sentence when a counting method lacks what it counts, or has too much."""
    if not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"method={method!r} needs probabilities, but {type(estimator).__name__} has no "
            "predict_proba; use method='noise-aware' or another estimator."
        )
    if method in COUNTING and trusted is not None:
        raise ValueError(f"method={method!r} makes no use of X_trusted; leave it out.")
    if method not in COUNTING and (trusted is None or len(np.unique(trusted)) < n_classes):
        raise ValueError(
            f"method={method!r} needs X_trusted and y_trusted with rows of each class."
        )


def _by_inference(
    estimator: Any,
    X: Any,
    labels: Integers,
    X_trusted: Any,
    trusted: Integers | None,
    classes: NDArray[Any],
    options: dict[str, Any],
) -> NoiseEstimate:
    """Inference from out-of-fold scores, trusted rows among them."""
    is_trusted = np.zeros(len(labels), dtype=bool)
    if trusted is not None:
        X, labels = under_each_other(X, X_trusted), np.concatenate([labels, trusted])
        is_trusted = np.concatenate([is_trusted, np.ones(len(trusted), dtype=bool)])
    outputs = out_of_fold_outputs(estimator, X, labels, **options)
    scores = outputs_as_scores(estimator, outputs, prevalence_of(labels, len(classes)))
    found = infer_noise(scores, labels, trusted=is_trusted)
    return NoiseEstimate(
        found.noise_matrix, found.standard_error, found.interval(), classes, "noise-aware"
    )
