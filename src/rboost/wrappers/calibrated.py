"""NoiseCalibratedClassifier: any classifier made aware of wrong labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    all_or_nothing,
    check_checked_labels,
    check_class_labels,
    check_lengths,
    check_sample_weight,
    warn_of_one_class,
)
from rboost.fitting import ScoreClassifier
from rboost.noise.inference import infer_noise, prevalence_of
from rboost.noise.likelihood import likeliest
from rboost.noise.matrix import check_noise_parameter
from rboost.tables import (
    as_counts,
    check_trusted_labels,
    check_weighed,
    stack_rows,
    warn_of_copies,
)
from rboost.wrappers.base import ClassifierAround
from rboost.wrappers.out_of_fold import (
    check_scorer,
    model_outputs,
    out_of_fold_outputs,
    outputs_as_scores,
)


@dataclass(eq=False, repr=False)
class NoiseCalibratedClassifier(ClassifierAround, ScoreClassifier):
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
        X_trusted: Any = None,
        y_trusted: ArrayLike | None = None,
        y_checked: Any = None,
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
            X, rows = self._training_rows(X, y, sample_weight, X_trusted, y_trusted, y_checked)
            noise = check_noise_parameter(self.noise_matrix, len(self.classes_))
            outputs = out_of_fold_outputs(
                self.estimator, X, rows.best_labels, cv=self.cv, sample_weight=rows.weight,
                random_state=check_random_state(self.random_state), n_jobs=self.n_jobs,
                verbose=bool(self.verbose),
            )  # fmt: skip
            self._prevalence = prevalence_of(rows.labels, len(self.classes_), rows.weight)
            scores = outputs_as_scores(self.estimator, outputs, self._prevalence)
            self._noise = infer_noise(
                scores, rows.labels, sample_weight=rows.weight,
                trusted=np.arange(len(rows.labels)) >= rows.n_observed,
                checked=rows.checked, noise_matrix=noise,
            )  # fmt: skip
            self._describe_rows(scores, rows, is_inferred=noise is None)
            weighted = {} if rows.weight is None else {"sample_weight": rows.weight}
            self.estimator_ = clone(self.estimator).fit(X, rows.best_labels, **weighted)
        predicted = self.classes_[self._noise.probability(scores).argmax(axis=1)]
        warn_of_one_class(predicted, "try another estimator or other features.", stacklevel=3)
        return self

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, X_trusted: Any, y_trusted: Any, y_checked: Any
    ) -> tuple[Any, _Rows]:
        """All rows that are fitted to, trusted ones last, checked."""
        check_scorer(self.estimator, sample_weight)
        self._check_X(X, reset=True)
        self.classes_, labels = check_class_labels(y)
        check_lengths(X, labels)
        weight = None
        if sample_weight is not None:
            weight = as_counts(check_sample_weight(sample_weight, labels))
            check_weighed(labels, weight, self.classes_)
        warn_of_copies(X, labels)
        n_observed = len(labels)
        trusted = check_trusted_labels(X_trusted, y_trusted, self.classes_)
        checked = check_checked_labels(y_checked, n_observed, self.classes_)
        if trusted is not None:
            X, labels = stack_rows(X, X_trusted), np.concatenate([labels, trusted])
            if weight is not None:
                weight = np.concatenate([weight, np.full(len(trusted), weight.mean())])
            if checked is not None:
                checked = np.append(checked, np.full(len(trusted), -1))
        return X, _Rows(labels, weight, n_observed, checked)

    def _describe_rows(self, scores: Floats, rows: _Rows, is_inferred: bool) -> None:
        """What is known of the noise and of the training rows."""
        self.noise_matrix_ = self._noise.noise_matrix
        self.__dict__.pop("noise_interval_", None)  # of an earlier fit
        if is_inferred:
            self.noise_interval_ = self._noise.interval()
        self.held_out_scores_ = scores
        scores, labels = scores[: rows.n_observed], rows.labels[: rows.n_observed]
        self.label_issue_probability_ = self._noise.issue_probability(scores, labels)
        self.true_class_ = self.classes_[likeliest(self._noise.posterior(scores, labels), labels)]

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


class _Rows(NamedTuple):
    """Positions of labels among the classes, weights, and how many rows are not trusted.

    ``checked`` has what people said of them beside, −1 where nobody looked.
    """

    labels: Integers
    weight: Floats | None
    n_observed: int
    checked: Integers | None

    @property
    def best_labels(self) -> Integers:
        """Checked labels where there are any, else those given; or these, if a class were lost."""
        if self.checked is None:
            return self.labels
        best = np.where(self.checked >= 0, self.checked, self.labels)
        return best if len(np.unique(best)) == len(np.unique(self.labels)) else self.labels
