"""MultiAnnotatorLogisticRegression: labels by several annotators of unknown quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import (
    Number,
    OneOf,
    Requirements,
    all_or_nothing,
    as_counts,
    check_parameters,
    warn_not_converged,
)
from rboost.fitting import ScoreClassifier, TwoClassClassifier
from rboost.learners.logistic_objective import NoisyLogisticObjective
from rboost.literature.classifiers.annotator_objective import AnnotatorObjective, Labels
from rboost.literature.classifiers.label_matrix import check_label_matrix, check_row_weight, votes


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
        Each annotator is taken to have labelled so many more rows of each class, 80 % of them
        rightly (a Beta prior on each rate), so that few labels do not make an annotator perfect.
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
    >>> from rboost.literature.classifiers import MultiAnnotatorLogisticRegression
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
            if X.shape[0] != len(codes):
                raise ValueError(
                    f"X has {X.shape[0]} rows but y has {len(codes)}; pass one row of labels a row."
                )
            weight = check_row_weight(sample_weight, codes)
            rows = weight > 0
            t = self._solve(X if rows.all() else X[rows], codes[rows], as_counts(weight[rows]))
            self.annotator_noise_ = np.stack([expit(-t), expit(t)], axis=2)
            evidence = Labels.of(codes).log_likelihood(t)
            self.true_probability_ = expit(self._margins(X) + evidence[:, 1] - evidence[:, 0])
        return self

    def _solve(self, X: Any, codes: Integers, weight: Floats) -> Floats:
        """Descend from the majority vote, by L-BFGS, and return the annotators' log-odds t."""
        linear = NoisyLogisticObjective(
            X, votes(codes), weight, self.C, self.fit_intercept, np.eye(2)
        )
        objective = AnnotatorObjective(linear, Labels.of(codes), self.prior_strength)
        found = minimize(
            objective.value_and_gradient,
            objective.start(linear.observed),
            jac=True,
            bounds=objective.bounds(),
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
