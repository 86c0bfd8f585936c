"""MultiAnnotatorLogisticRegression: labels by several annotators of unknown quality.

Raykar et al., "Learning from crowds" (2010).

codes   (n_rows, n_annotators), the position 0 or 1 of a label among the classes, −1 without one
noise   (n_annotators, 2, 2), ``noise[a, j, k]`` = p(annotator a says k | true class j)
t       (n_annotators, 2), log-odds that annotator a says 1 of a row of class j
μ       (n_rows,), p(y = 1 | x, all labels of the row)

The paper finds the maximum of the likelihood by EM. Here the true classes are summed out and the
same function is minimised directly, whose gradient is that of the M step at the present μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    Number,
    OneOf,
    Requirements,
    all_or_nothing,
    as_counts,
    check_binary_labels,
    check_labels,
    check_lengths,
    check_parameters,
    check_sample_weight,
    read_annotations,
    warn_not_converged,
)
from rboost.fitting import ScoreClassifier, TwoClassClassifier
from rboost.learners.logistic_objective import NoisyLogisticObjective

MISSING = -1
# The share of right labels among those that the prior adds.
PRIOR_ACCURACY = 0.8
# The shares of rows of class 0 and of class 1 that the prior says are labelled 1.
PRIOR_SHARE = np.array([1 - PRIOR_ACCURACY, PRIOR_ACCURACY])
# No t is larger, or a step too far would end where the gradient vanishes; a rate of 6·10⁻⁶.
LARGEST_LOG_ODDS = 12.0


class Annotations(NamedTuple):
    """Who said what: 1.0 where annotator a said 0 or 1 of row i, each (n_rows, n_annotators)."""

    zero: Floats
    one: Floats

    @classmethod
    def of(cls, codes: Integers) -> Self:
        """By the codes of labels."""
        return cls((codes == 0).astype(np.float64), (codes == 1).astype(np.float64))

    def log_likelihood(self, t: Floats) -> Floats:
        """Σₐ log noise[a, j, label of a] of each row and class j, shape (n_rows, 2)."""
        return self.zero @ log_expit(-t) + self.one @ log_expit(t)

    def counts(self, class_weight: Floats) -> tuple[Floats, Floats]:
        """How often each annotator said 0, and 1, of rows of class j, each (n_annotators, 2)."""
        return self.zero.T @ class_weight, self.one.T @ class_weight


@dataclass(frozen=True)
class AnnotatorObjective:
    """The mean over rows of −log Σⱼ p(y = j | xᵢ) Πₐ noise[a, j, label of a], plus the penalties.

    Parameters are packed into one vector: coefficients and intercept as ``linear`` takes them, and
    t. ``prior_strength`` is the number of labels that the prior adds to each annotator and class.
    """

    linear: NoisyLogisticObjective  # for its columns and penalty
    annotations: Annotations
    prior_strength: float

    def unpacked(self, parameters: Floats) -> tuple[Floats, Floats]:
        """The linear parameters, and t."""
        n_linear = self.linear.n_linear
        return parameters[:n_linear], parameters[n_linear:].reshape(-1, 2)

    def start(self, vote: Floats) -> Floats:
        """Coefficients 0, and annotators halfway from the prior to what the vote says of them.

        No rate is 0 or 1 there, where its gradient would vanish.
        """
        said_0, said_1 = self.annotations.counts(by_class(vote, self.linear.sample_weight))
        said = said_0 + said_1
        share = np.where(said > 0, said_1 / np.where(said > 0, said, 1), PRIOR_SHARE)
        t = logit((share + PRIOR_SHARE) / 2)
        return np.concatenate([np.zeros(self.linear.n_linear), t.ravel()])

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """The objective and its gradient."""
        linear, t = self.unpacked(parameters)
        margin = self.linear.margins(linear)
        log_true = np.column_stack([log_expit(-margin), log_expit(margin)])
        log_joint = log_true + self.annotations.log_likelihood(t)
        log_marginal = np.logaddexp(*log_joint.T)
        posterior = np.exp(log_joint[:, 1] - log_marginal)  # μ
        share, total = self.linear.share, self.linear.weight_sum

        coef, _ = self.linear.linear_model(linear)
        prior_0, prior_1 = (self.prior_strength * share for share in (1 - PRIOR_SHARE, PRIOR_SHARE))
        log_prior = np.sum(prior_0 * log_expit(-t) + prior_1 * log_expit(t)) / total
        value = -share @ log_marginal + 0.5 * self.linear.penalty * (coef @ coef) - log_prior

        by_linear = self.linear.linear_gradient(share * (expit(margin) - posterior), coef)
        said_0, said_1 = self.annotations.counts(by_class(posterior, share))
        by_t = (said_0 + prior_0 / total) * expit(t) - (said_1 + prior_1 / total) * expit(-t)
        return float(value), np.concatenate([by_linear, by_t.ravel()])


def by_class(positive: Floats, weight: Floats) -> Floats:
    """The weight of each row as either class, shape (n_rows, 2)."""
    return np.column_stack([weight * (1 - positive), weight * positive])


def check_label_matrix(y: Any) -> tuple[NDArray[Any], Integers]:
    """Return the two classes, sorted, found over all entries, and the codes.

    A one-dimensional y is the labels of one annotator, who left no gaps.
    """
    if np.ndim(y if hasattr(y, "shape") or y is None else np.array(y, dtype=object)) < 2:
        classes, codes = check_binary_labels(y)
        return classes, codes[:, np.newaxis]
    values, missing, _ = read_annotations(y)
    if values.shape[1] == 1:
        column_or_1d(values, warn=True)  # as every classifier does
    said = values[~missing]
    labels = check_labels(said)
    found = np.unique(labels).tolist()
    if len(found) > 2:
        raise ValueError(
            f"y holds {len(found)} classes, {', '.join(map(repr, found[:3]))} among them, where "
            "annotators may choose from two; mark what nobody said with NaN or None."
        )
    codes = np.full(values.shape, MISSING)
    classes, codes[~missing] = check_binary_labels(labels)
    return classes, codes


def check_row_weight(sample_weight: Any, codes: Integers) -> Floats:
    """Return one weight per row, 0 for rows without a label."""
    labelled = (codes != MISSING).any(axis=1)
    weight = check_sample_weight(sample_weight, np.arange(len(codes))) * labelled
    if len(np.setdiff1d(codes[weight > 0], [MISSING])) < 2:
        raise ValueError(
            "sample_weight is zero on all rows but those of one class or none; give some rows of "
            "each class a positive weight."
        )
    return weight


def votes(codes: Integers) -> Floats:
    """The share of label 1 among the labels of each row, ½ where there is none."""
    n_labels = (codes != MISSING).sum(axis=1)
    ones = (codes == 1).sum(axis=1)
    return np.where(n_labels > 0, ones / np.maximum(n_labels, 1), 0.5)


@dataclass(eq=False, repr=False, kw_only=True)
class MultiAnnotatorLogisticRegression(ScoreClassifier, TwoClassClassifier):
    """Logistic regression on labels by several annotators, each of whom errs in their own way.

    The true class follows a logistic model, p(y = 1 | x) = σ(βᵀx). Annotator a, given the true
    class j, says k with probability ``annotator_noise_[a, j, k]``, whatever the others say. The
    coefficients and the noise of all annotators are found together, by maximum a posteriori, with
    the true classes summed out (Raykar et al., "Learning from crowds", JMLR 2010). So a careful
    annotator counts for more than several careless ones, and one who says the opposite of the
    truth is as useful as one who says the truth.

    Parameters
    ----------
    C : float or None, default=1.0
        Inverse strength of the L2 penalty on the coefficients, as in scikit-learn; None for none.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    prior_strength : float, default=5.0
        Pseudo-count of rows that each annotator has labelled of each class, 80 % of them rightly (a
        Beta prior on each rate), so that few labels do not make an annotator perfect.
        With 0 the rates are those of maximum likelihood.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-7
        Stop when no component of the gradient of the mean loss exceeds this.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients β; positive ones speak for ``classes_[1]``.
    intercept_ : ndarray of shape (1,)
        Intercept.
    annotator_noise_ : ndarray of shape (n_annotators, 2, 2)
        The noise matrix of each annotator. ``[:, 1, 1]`` are their sensitivities, ``[:, 0, 0]``
        their specificities. One without labels has that of the prior.
    true_probability_ : ndarray of shape (n_samples,)
        How likely each training row is to be of ``classes_[1]``, given its features and all its
        labels.
    n_iter_ : int
        Number of iterations.
    loss_ : float
        The minimised objective: mean negative log-likelihood of the labels plus penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from rboost.noise import flip_labels, symmetric
    >>> from rboost.robust import MultiAnnotatorLogisticRegression
    >>> X, y = make_classification(5000, class_sep=2, random_state=0)
    >>> rates = [0.1, 0.2, 0.4]
    >>> said = [flip_labels(y, symmetric(rate), random_state=a)[0] for a, rate in enumerate(rates)]
    >>> model = MultiAnnotatorLogisticRegression().fit(X, np.column_stack(said))
    >>> model.annotator_noise_[:, 0, 1].round(1)
    array([0.1, 0.2, 0.4])
    """

    C: float | None = 1.0
    fit_intercept: bool = True
    prior_strength: float = 5.0
    max_iter: int = 1000
    tol: float = 1e-7

    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr", "dtype": (np.float64, np.float32)
    }  # fmt: skip
    _requirements: ClassVar[Requirements] = {
        "C": Number(0, finite=False, optional=True),
        "fit_intercept": OneOf((True, False)),
        "prior_strength": Number(0, closed=True),
        "max_iter": Number(1, integer=True, closed=True),
        "tol": Number(0),
    }

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the labels of one or more annotators.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like or data frame of shape (n_samples, n_annotators) or (n_samples,)
            Labels of two classes; NaN, None, pandas.NA or masked where an annotator gave none. One
            dimension is one annotator. A row without any label is left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows; a row with weight 0 is left out, one with weight 2
            counts twice. Weights that are no counts, with a mean below 1 or above a million, are
            divided by it.
        """
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            X = self._check_X(X, reset=True)
            self.classes_, codes = check_label_matrix(y)
            check_lengths(X, codes)
            weight = check_row_weight(sample_weight, codes)
            rows = weight > 0
            t = self._solve(X if rows.all() else X[rows], codes[rows], as_counts(weight[rows]))
            self.annotator_noise_ = np.stack([expit(-t), expit(t)], axis=2)
            evidence = Annotations.of(codes).log_likelihood(t)
            self.true_probability_ = expit(self._margins(X) + evidence[:, 1] - evidence[:, 0])
        return self

    def _solve(self, X: Any, codes: Integers, weight: Floats) -> Floats:
        """Descend from the majority vote, by L-BFGS, and return the annotators' log-odds t."""
        linear = NoisyLogisticObjective(
            X, votes(codes), weight, self.C, self.fit_intercept, np.eye(2)
        )
        objective = AnnotatorObjective(linear, Annotations.of(codes), self.prior_strength)
        bound = (-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        found = minimize(
            objective.value_and_gradient,
            objective.start(linear.observed),
            jac=True,
            bounds=[(-np.inf, np.inf)] * linear.n_linear + [bound] * (2 * codes.shape[1]),
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-15, "maxls": 50},
        )
        # Status 1 is the iteration limit; 2 is a line search that rounding stopped, near a minimum.
        if found.status == 1:
            warn_not_converged(
                self, "raise max_iter or tol, or penalise more with a smaller C", stacklevel=4
            )
        self.loss_, self.n_iter_ = float(found.fun), int(found.nit)
        parameters, t = objective.unpacked(found.x)
        coef, intercept = linear.linear_model(parameters)
        self.coef_, self.intercept_ = coef[np.newaxis], np.array([intercept])
        return t

    def _margins(self, X: Any) -> Floats:
        return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds that the true class is ``classes_[1]``, from the features alone."""
        check_is_fitted(self)
        return self._margins(self._check_X(X))
