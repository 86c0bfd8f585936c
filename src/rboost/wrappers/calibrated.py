"""Noise and true classes inferred from held-out scores of any classifier.

:func:`estimate_noise_matrix` gives the noise alone, :class:`NoiseCalibratedClassifier` is a
classifier of the true classes.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

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
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    all_or_nothing,
    as_counts,
    check_checked_labels,
    check_class_labels,
    check_lengths,
    check_order,
    check_sample_weight,
    check_trusted_labels,
    check_weighed,
    warn_of_one_class,
)
from rboost.fitting import Savable, ScoreClassifier
from rboost.labels import NO_CLASS, Labels
from rboost.noise.inference import infer_noise, infer_with_answers, judge, prevalence_of
from rboost.noise.matrix import check_noise_parameter
from rboost.noise.posterior import NoisePosterior
from rboost.table.columns import under_each_other
from rboost.table.features import warn_of_copies
from rboost.wrappers.base import (
    ClassifierAround,
    check_scorer,
    model_outputs,
    out_of_fold_outputs,
    outputs_as_scores,
)

# Of more than two classes, flips that reach this rate are named one by one.
WORTH_NAMING = 0.05


@dataclass(eq=False, repr=False)
class NoiseCalibratedClassifier(Savable, ClassifierAround, ScoreClassifier):
    """A classifier whose probabilities are of the true class, not of the observed label.

    The estimator is fitted as it is, to the labels as they are. Scores of rows it was not fitted to
    then tell how often labels are flipped, and how a score must be read to predict the true class
    (:func:`rboost.noise.infer_noise`).

    Parameters
    ----------
    estimator : classifier
        Any classifier or pipeline with ``predict_proba`` or ``decision_function``; it is given X as
        it is, and positions of classes, 0 to n_classes − 1.
    cv : int or splitter, default=5
        Number of folds for the out-of-fold scores, or anything that scikit-learn splits by.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds.

    Attributes
    ----------
    noise_interval_ : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends of intervals that hold its entries with probability .9, where it was
        inferred.
    held_out_scores_ : ndarray of shape (n_samples + n_trusted,), of more classes (…, n_classes)
        Scores by copies of the estimator that were not fitted to the row, from which the noise is
        inferred; those of trusted rows come last.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from rboost import NoiseCalibratedClassifier
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    >>> forest = RandomForestClassifier(min_samples_leaf=5, random_state=0)
    >>> aware = NoiseCalibratedClassifier(forest, random_state=0).fit(X, noisy)
    >>> aware.score(X, y) > forest.fit(X, noisy).score(X, y)
    True
    """

    estimator: Any
    cv: Any = 5
    _: KW_ONLY
    noise_matrix: Any = "estimate"
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0

    # One number per training row, which prediction does not need; a model file leaves it out.
    _training_only: ClassVar[tuple[str, ...]] = (
        "label_issue_probability_", "true_class_", "held_out_scores_"
    )  # fmt: skip

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        y_checked: Any = None,
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
    ) -> Self:
        """Fit to observed, possibly wrong labels.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Features, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Observed labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, for the estimator and for the calibration.
        X_trusted : array-like of shape (n_trusted, n_features), default=None
            Rows whose labels are known to be right. They are trained on too, and tell noise from
            overlap of the classes.
        y_trusted : array-like of shape (n_trusted,), default=None
            Their labels.
        y_checked : array-like of shape (n_samples,), default=None
            What people said who looked at rows of X, missing (None, NaN) where nobody did; they
            may have chosen rows as they liked. The estimator is fitted to these labels, and from
            them follows how far to believe the others.
        """
        with all_or_nothing(self):
            check_scorer(self.estimator, sample_weight)
            check_order(y_checked, "y_checked", X, y)
            self._check_X(X, reset=True)
            classes, given = check_class_labels(y)
            check_lengths(X, given)
            weight = None
            if sample_weight is not None:
                weight = as_counts(check_sample_weight(sample_weight, given))
                check_weighed(given, weight, classes)
            warn_of_copies(X, given)
            answers = check_checked_labels(y_checked, len(given), classes)
            labels = Labels.of(classes, given).with_answers(answers)
            trusted = check_trusted_labels(X_trusted, y_trusted, classes)
            if trusted is not None:
                X, labels = under_each_other(X, X_trusted), labels.followed_by_trusted(trusted)
                if weight is not None:
                    weight = np.append(weight, np.full(len(trusted), weight.mean()))
            predicted = self._fit_labels(X, labels, weight, len(given))
        warn_of_one_class(predicted, "try another estimator or other features.", stacklevel=3)
        return self

    # It infers no noise by context group; audits do.
    group_noise: ClassVar[None] = None

    @property
    def label_noise(self) -> NoisePosterior:
        """What is known of the noise, with intervals."""
        check_is_fitted(self)
        return self._noise

    def fit_labels(self, X: Any, labels: Labels) -> Self:
        """Fit to statements about the rows of X, as audits do; each row has at least one."""
        with all_or_nothing(self):
            check_scorer(self.estimator, None)
            self._check_X(X, reset=True)
            labels.check_rows(X)
            self._fit_labels(X, labels, None, len(labels))
        return self

    def _fit_labels(
        self, X: Any, labels: Labels, weight: Floats | None, n_judged: int
    ) -> NDArray[Any]:
        """Fit, infer the noise and judge the first rows; return what rows are predicted."""
        self.classes_, best = labels.classes, best_labels(labels)
        noise = check_noise_parameter(self.noise_matrix, labels.n_classes)
        outputs = out_of_fold_outputs(
            self.estimator, X, best, cv=self.cv, sample_weight=weight,
            random_state=check_random_state(self.random_state), n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
        )  # fmt: skip
        self._prevalence = prevalence_of(labels.observed, labels.n_classes, weight)
        scores = outputs_as_scores(self.estimator, outputs, self._prevalence)
        self._noise = infer_with_answers(scores, labels, weight, noise)
        self.noise_matrix_ = self._noise.noise_matrix
        self.__dict__.pop("noise_interval_", None)  # of an earlier fit
        if noise is None:
            self.noise_interval_ = self._noise.interval()
        self.held_out_scores_ = scores
        judged = judge(self._noise, scores, labels)
        self.label_issue_probability_ = judged.issue[:n_judged]
        self.true_class_ = self.classes_[judged.likeliest[:n_judged]]
        weighted = {} if weight is None else {"sample_weight": weight}
        self.estimator_ = clone(self.estimator).fit(X, best, **weighted)
        return self.classes_[self._noise.probability(scores).argmax(axis=1)]

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]``; of more classes, the logarithm of each one's probability."""
        scores = self.score_rows(X)
        return self._noise.log_odds(scores)

    def score_rows(self, X: Any) -> Floats:
        """Scores on the scale of ``held_out_scores_``, before the noise is taken into account."""
        check_is_fitted(self)
        self._check_X(X)
        outputs = model_outputs(self.estimator_, X, len(self.classes_))
        return outputs_as_scores(self.estimator_, outputs, self._prevalence)


def best_labels(labels: Labels) -> Integers:
    """Answers where there are any, else labels as observed; or these, if a class were lost."""
    best = np.where(labels.checked != NO_CLASS, labels.checked, labels.observed)
    is_lost = len(np.unique(best)) < len(np.unique(labels.observed))
    return labels.observed if is_lost else best


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
