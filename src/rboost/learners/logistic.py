"""Robust logistic regression (rLR), section 2 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import Number, OneOf, Requirements, check_parameters, warn_not_converged
from rboost.fitting import Rows, RowsClassifier, Savable, ScoreClassifier
from rboost.learners.logistic_objective import (
    SOLVERS,
    NoisyLogisticObjective,
    Solution,
    solve_natively,
)
from rboost.noise.matrix import check_noise_parameter, rates_of, with_rates

# The flip rate of each class at the first start.
FIRST_RATE = 0.1


@dataclass(eq=False, repr=False, kw_only=True)
class RobustLogisticRegression(Savable, ScoreClassifier, RowsClassifier):
    """Logistic regression that models label flips.

    The true class follows a logistic model, p(y = 1 | x) = σ(βᵀx), or softmaxⱼ(βⱼᵀx) for more than
    two classes; the observed label is a flipped copy of it, p(ỹ = k | x) = Σⱼ p(y = j | x)·
    noise_matrix[j, k]. Coefficients and noise matrix are found together by maximum likelihood of
    the observed labels, eq. (2)–(3) of the paper.

    The engine "linear" of :class:`rboost.RBoostClassifier` boosts it with ``n_init=1``,
    ``max_rows=1024`` and ``tol=1e-2``: there many quick fits do nearly what exact ones do, a
    hundred times faster.

    Parameters
    ----------
    noise_matrix : "estimate" or array-like of shape (n_classes, n_classes), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it;
        the identity gives ordinary logistic regression.
    C : float or None, default=1.0
        Inverse strength of the L2 penalty on the coefficients, as in scikit-learn; None for none.
    fit_intercept : bool, default=True
        Whether to add an intercept, which is not penalised.
    solver : {"lbfgs", "alternating"}, default="lbfgs"
        "lbfgs" minimises over coefficients and noise matrix together. "alternating" is the paper's
        way: a few conjugate-gradient steps, then one multiplicative update of the noise matrix.
    n_init : int, default=5
        Number of starts, of which the best is kept, because the likelihood has local maxima. With
        "lbfgs" the first start is zero and the others are random; with "alternating" every start is
        random, which is what makes rLR a diverse base learner.
    max_iter : int, default=500
        Largest number of iterations of each start.
    max_rows : int or None, default=None
        As a base learner of :class:`rboost.RBoostClassifier`: the number of rows beyond which more
        are of no use to it, so that no more are drawn. A fit by itself uses all rows.
    tol : float, default=1e-7
        Stop when no component of the gradient of the mean loss exceeds this.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients β; the one row of two classes is positive for ``classes_[1]``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        The fixed or estimated noise matrix. An estimated one has its true classes in the order that
        makes its diagonal largest, since the likelihood does not depend on their order.
    n_iter_ : int
        Iterations of the start that was kept.
    loss_ : float
        The minimised objective: mean negative log-likelihood of the observed labels plus penalty.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rboost import RobustLogisticRegression
    >>> from rboost.noise import asymmetric, flip_labels
    >>> X, y = make_classification(5000, class_sep=2, random_state=0)
    >>> noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    >>> model = RobustLogisticRegression(random_state=0).fit(X, noisy)
    >>> model.noise_matrix_.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """

    noise_matrix: Any = "estimate"
    C: float | None = 1.0
    fit_intercept: bool = True
    solver: str = "lbfgs"
    n_init: int = 5
    max_iter: int = 500
    max_rows: int | None = None
    tol: float = 1e-7
    random_state: int | np.random.RandomState | None = None

    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr", "dtype": (np.float64, np.float32)
    }  # fmt: skip
    _requirements: ClassVar[Requirements] = {
        "C": Number(0, finite=False, optional=True),
        "fit_intercept": OneOf((True, False)),
        "solver": OneOf(tuple(SOLVERS)),
        "n_init": Number(1, integer=True, closed=True),
        "max_iter": Number(1, integer=True, closed=True),
        "max_rows": Number(2, integer=True, closed=True, optional=True),
        "tol": Number(0),
    }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = np.shape(self.noise_matrix) != (2, 2)
        return tags

    def _fit(self, rows: Rows) -> None:
        rows = rows.used()
        n_scores = 1 if rows.n_classes == 2 else rows.n_classes
        objective = NoisyLogisticObjective(
            rows.X,
            rows.observed.astype(np.float64),
            rows.sample_weight,
            self.C,
            self.fit_intercept,
            check_noise_parameter(self.noise_matrix, rows.n_classes),
            n_scores,
        )
        self._set_solution(objective, self._solve(objective))

    def _set_solution(self, objective: NoisyLogisticObjective, solution: Solution) -> None:
        coef, intercept = objective.linear_model(objective.linear(solution.parameters))
        self.coef_, self.intercept_ = np.atleast_2d(coef.T), np.atleast_1d(intercept)
        self.noise_matrix_ = objective.noise_matrix(solution.parameters)
        self.loss_, self.n_iter_ = solution.loss, solution.n_iter
        if objective.fixed_noise is None and objective.n_scores > 1:
            # The likelihood is the same in any order of the true classes; labels name them.
            _, named = linear_sum_assignment(self.noise_matrix_, maximize=True)
            order = np.argsort(named)
            self.coef_, self.intercept_ = self.coef_[order], self.intercept_[order]
            self.noise_matrix_ = self.noise_matrix_[order]

    def set_fitted(
        self,
        coef: Floats,
        intercept: float,
        into_1: float,
        into_0: float,
        loss: float,
        n_iter: float,
    ) -> None:
        """Become what a fit on classes 0 and 1 has found, as a base learner."""
        self.classes_, self.n_features_in_ = np.arange(2), len(coef)
        self.coef_, self.intercept_ = coef[np.newaxis], np.array([intercept])
        self.noise_matrix_ = with_rates(into_1, into_0)
        self.loss_, self.n_iter_ = loss, int(n_iter)

    def native_options(self) -> dict[str, Any] | None:
        """How the native core is to fit this estimator; None when it cannot."""
        check_parameters(self, self._requirements)
        for_two_classes = np.shape(self.noise_matrix) in ((), (2, 2))
        is_known = self.solver == "lbfgs" and type(self) is RobustLogisticRegression
        if not (for_two_classes and is_known):
            return None
        fixed = check_noise_parameter(self.noise_matrix)
        into_1, into_0 = (FIRST_RATE, FIRST_RATE) if fixed is None else rates_of(fixed)
        return {
            "C": self.C,
            "fit_intercept": bool(self.fit_intercept),
            "estimate_noise": fixed is None,
            "into_1": into_1,
            "into_0": into_0,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }

    def starts(self, n_features: int, random_state: Any, n_classes: int = 2) -> Floats:
        """The packed parameters at which the fits start: (n_starts, n_parameters)."""
        n_scores = 1 if n_classes == 2 else n_classes
        fixed = check_noise_parameter(self.noise_matrix, n_classes)
        is_clean = fixed is not None and np.array_equal(fixed, np.eye(n_classes))
        # Ordinary logistic regression has one minimum, whatever the start.
        n_starts = 1 if is_clean else self.n_init
        linear = np.zeros((n_starts, n_features + bool(self.fit_intercept), n_scores))
        rates = np.full((n_starts, n_classes), FIRST_RATE)
        drawn = slice(int(self.solver == "lbfgs"), None)
        if linear[drawn].size:
            random = check_random_state(random_state)
            linear[drawn] = random.standard_normal(linear[drawn].shape)
            rates[drawn] = random.uniform(0.05, 0.4, rates[drawn].shape)
        if n_scores > 1:  # what all scores have in common changes nothing, and steps keep it 0
            linear -= linear.mean(axis=2, keepdims=True)
        flat: Floats = linear.reshape(n_starts, -1)
        if fixed is not None:
            return flat
        if n_scores == 1:
            logits = np.log(rates) - np.log(1 - rates.sum(axis=1, keepdims=True))
        else:
            each = rates / (n_classes - 1)
            logits = np.repeat(np.log(each) - np.log(1 - rates), n_classes - 1, axis=1)
        return np.concatenate([flat, logits], axis=1)

    def _solve(self, objective: NoisyLogisticObjective) -> Solution:
        """Keep the best of several starts."""
        n_scores = objective.n_scores
        starts = self.starts(objective.X.shape[1], self.random_state, max(2, n_scores))
        # A coefficient of a constant column would stay where it starts.
        starts[:, np.flatnonzero(np.repeat(objective.columns.constant, n_scores))] = 0
        options = self.native_options() if n_scores == 1 else None
        best = None if options is None else solve_natively(objective, starts, options)
        if best is None:
            solve = SOLVERS[self.solver]
            solutions = [solve(objective, start, self.max_iter, self.tol) for start in starts]
            best = min(solutions, key=lambda solution: np.nan_to_num(solution.loss, nan=np.inf))
        if not best.converged:
            warn_not_converged(
                self, "raise max_iter or tol, or penalise more with a smaller C", stacklevel=5
            )
        return best

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]`` as the true class; of more classes one score for each."""
        check_is_fitted(self)
        X = self._check_X(X)
        if len(self.coef_) == 1:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0], dtype=np.float64)
        return np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
