"""Robust logistic regression with a kernel.

The log-odds of the true class are f(x) = Σᵢ aᵢ·k(xᵢ, x) + b, the labels flipped copies of it, and
the penalty is ‖f − b‖²/(2C) in the space of the kernel. Features Z with Z·Zᵀ = K turn that into
:class:`rboost.RobustLogisticRegression` on Z: f − b = Zβ has the norm ‖β‖. Nyström features of all
distinct rows are such features; those of some rows, the landmarks, are an approximation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import Either, Number, OneOf, Requirements, as_counts
from rboost.fitting import Rows, ScoreClassifier, TwoClassClassifier
from rboost.learners import RobustLogisticRegression
from rboost.noise.inference import infer_noise
from rboost.noise.matrix import check_noise_parameter

# Features with Z·Zᵀ = K exist for kernels that are positive semi-definite. The polynomial one is so
# when degree is whole and coef0 is not negative.
KERNELS = ("rbf", "laplacian", "polynomial", "linear")


@dataclass(eq=False, repr=False, kw_only=True)
class RobustKernelLogisticRegression(ScoreClassifier, TwoClassClassifier):
    """Kernel logistic regression that models label flips.

    The log-odds of the true class are a function f(x) = Σᵢ aᵢ·k(xᵢ, x) + b; the observed label is a
    flipped copy of it, p(ỹ = k | x) = Σⱼ p(y = j | x)·noise_matrix[j, k]. It minimises the negative
    log-likelihood of the observed labels, eq. (2)–(3) of the paper, plus ‖f − b‖²/(2C), the norm
    being that of the kernel. This is :class:`rboost.RobustLogisticRegression` on Nyström features.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "polynomial", "linear"}, default="rbf"
        The kernel, by its name in :func:`sklearn.metrics.pairwise.pairwise_kernels`.
    gamma : "scale" or float, default="scale"
        Factor of the kernel, as in :class:`sklearn.svm.SVC`: exp(−gamma·‖x − x'‖²) for "rbf".
        "scale" is 1/(n_features·variance), the variance being that of all values of X.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        What the polynomial kernel adds to gamma·xᵀx'.
    n_components : int, default=500
        Largest number of landmarks. With as many as there are distinct rows the fit is exact.
    noise_matrix : "estimate" or array-like of shape (2, 2), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it;
        the identity gives ordinary kernel logistic regression.
    noise_estimator : {"noise-aware", "likelihood"}, default="noise-aware"
        How the noise is estimated. "likelihood": together with f, as in
        :class:`rboost.RobustLogisticRegression`; a flexible f mostly explains wrong labels itself,
        so that the rates come out near 0. "noise-aware": by noise-aware Platt scaling of what
        ordinary kernel logistic regression says of each row without that row.
    C : float, default=10.0
        Inverse strength of the penalty.
    standardize : bool, default=True
        Whether to scale the columns to mean 0 and variance 1 first.
    n_init : int, default=5
        Number of starts, of which the best is kept; the first is zero and the others are random.
    max_iter : int, default=500
        Largest number of iterations of each start.
    max_rows : int or None, default=500
        As a base learner of :class:`rboost.RBoostClassifier`: the number of rows beyond which more
        are of no use to it, so that no more are drawn. A fit by itself uses all rows.
    tol : float, default=1e-6
        Stop when no component of the gradient of the mean loss exceeds this.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks and of the random starts.

    Attributes
    ----------
    noise_matrix_ : ndarray of shape (2, 2)
        The fixed or estimated noise matrix.
    gamma_ : float
        The factor of the kernel.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        The rows that stand for all, in the units of the kernel: standardised if the columns are.
    loss_ : float
        The minimised objective: mean negative log-likelihood of the observed labels plus penalty.
    n_iter_ : int
        Iterations of the start that was kept.

    Examples
    --------
    >>> from rboost.datasets import make_banana
    >>> from rboost.noise import flip_labels, symmetric
    >>> from rboost.robust import RobustKernelLogisticRegression
    >>> X, y = make_banana(400, spread=0.2, random_state=0)
    >>> noisy, _ = flip_labels(y, symmetric(0.2), random_state=0)
    >>> model = RobustKernelLogisticRegression(random_state=0).fit(X, noisy)
    >>> model.noise_matrix_.round(1)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    kernel: str = "rbf"
    gamma: str | float = "scale"
    degree: float = 3
    coef0: float = 1.0
    n_components: int = 500
    noise_matrix: Any = "estimate"
    noise_estimator: str = "noise-aware"
    C: float = 10.0
    standardize: bool = True
    n_init: int = 5
    max_iter: int = 500
    max_rows: int | None = 500
    tol: float = 1e-6
    random_state: int | np.random.RandomState | None = None

    _requirements: ClassVar[Requirements] = {
        "kernel": OneOf(KERNELS),
        "gamma": Either((OneOf(("scale",)), Number(0))),
        "degree": Number(0),
        "coef0": Number(-np.inf),
        "n_components": Number(1, integer=True, closed=True),
        "noise_estimator": OneOf(("noise-aware", "likelihood")),
        "C": Number(0),
        "standardize": OneOf((True, False)),
        "n_init": Number(1, integer=True, closed=True),
        "max_iter": Number(1, integer=True, closed=True),
        "max_rows": Number(2, integer=True, closed=True, optional=True),
        "tol": Number(0),
    }

    def _fit(self, rows: Rows) -> None:
        train, random = rows.used(), check_random_state(self.random_state)
        self._scale = StandardScaler(with_mean=self.standardize, with_std=self.standardize)
        X = self._scale.fit_transform(train.X, sample_weight=train.sample_weight)
        self.gamma_ = self.gamma
        if self.gamma == "scale":
            self.gamma_ = scale_of_kernel(X, train.sample_weight)
        self._features = self._nystroem(X, random)
        self._model = self._fit_linear(replace(train, X=self._features.transform(X)), random)
        self.landmarks_ = self._features.components_
        self.noise_matrix_ = self._model.noise_matrix_
        self.loss_, self.n_iter_ = self._model.loss_, self._model.n_iter_

    def _fit_linear(self, train: Rows, random: np.random.RandomState) -> RobustLogisticRegression:
        """Fit the linear model on features, and the noise before it where that is asked for."""
        model = RobustLogisticRegression(
            noise_matrix=self.noise_matrix,
            C=self.C,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=random,
        )
        estimated = check_noise_parameter(self.noise_matrix) is None
        if estimated and self.noise_estimator == "noise-aware":
            first = clone(model).set_params(noise_matrix=np.eye(2))
            first.fit(train.X, train.observed, train.sample_weight)
            scores = leave_one_out(first.decision_function(train.X), train, self.C)
            inferred = infer_noise(
                scores, train.observed, sample_weight=as_counts(train.sample_weight)
            )
            model.set_params(noise_matrix=inferred.noise_matrix)
        return model.fit(train.X, train.observed, train.sample_weight)

    def _nystroem(self, rows: Floats, random: np.random.RandomState) -> Nystroem:
        """The map to features; landmarks are distinct rows, so that it is the same for weights."""
        distinct = np.unique(rows, axis=0)
        return Nystroem(
            self.kernel,
            gamma=self.gamma_,
            degree=self.degree,
            coef0=self.coef0,
            n_components=min(self.n_components, len(distinct)),
            random_state=random,
        ).fit(distinct)

    def decision_function(self, X: Any) -> Floats:
        """Log-odds that the true class is ``classes_[1]``."""
        check_is_fitted(self)
        rows = self._scale.transform(self._check_X(X))
        return self._model.decision_function(self._features.transform(rows))


def scale_of_kernel(rows: Floats, sample_weight: Floats) -> float:
    """1/(n_features·variance), the variance being that of all values of the weighted rows."""
    share = sample_weight / sample_weight.sum()
    mean = (share @ rows).mean()
    variance = (share @ (rows - mean) ** 2).mean()
    return float(1 / (rows.shape[1] * variance)) if variance > 0 else 1.0


def leave_one_out(log_odds: Floats, train: Rows, C: float) -> Floats:
    """What logistic regression would say of each row without it, by one Newton step.

    From log-odds f with σ = σ(f), f + (σ − t)·h/(1 − σ(1 − σ)h), where h = xᵀH⁻¹x and H is the
    second derivative of the objective (Rahnama Rad & Maleki, 2020). Of a row of weight w one copy
    is left out, or all there is of it if that is less.
    """
    X = np.column_stack([train.X, np.ones(len(log_odds))])
    probability = expit(log_odds)
    curvature = probability * (1 - probability)
    hessian = (X.T * (train.sample_weight * curvature)) @ X
    # The intercept is not penalised; a little keeps the matrix invertible on separable rows.
    hessian[np.diag_indices_from(hessian)] += np.append(np.full(train.X.shape[1], 1 / C), 1e-10)
    leverage = np.einsum("ij,ji->i", X, np.linalg.solve(hessian, X.T))
    removed = np.minimum(train.sample_weight, 1) * leverage
    return log_odds + removed * (probability - train.observed) / (1 - removed * curvature)
