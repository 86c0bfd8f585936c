"""Gaussian process classification that models wrong labels."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rboost._typing import Floats
from rboost._validation import Number, OneOf, Requirements, all_or_nothing, check_parameters
from rboost.noise.matrix import check_noise_parameter
from rboost.robust.expectation_propagation import Propagation, UnknownRate, propagate
from rboost.tables import Table, training_table, weights_as_counts

# How often the kernel is adapted to the sites and the sites to the kernel, and when they agree: the
# logarithms of the parameters of the kernel then change by no more than this.
MAX_ADAPTATIONS = 10
ADAPTED = 1e-2


class RobustGaussianProcessClassifier(ClassifierMixin, BaseEstimator):
    def __init__(
        self,
        *,
        kernel: Kernel | None = None,
        noise_matrix: Any = "estimate",
        random_rows: float = 1.0,
        kept_rows: float = 9.0,
        optimize: bool = False,
        standardize: bool = True,
        max_iter: int = 200,
        max_rows: int | None = 400,
        tol: float = 1e-4,
    ) -> None:
        self.kernel = kernel
        self.noise_matrix = noise_matrix
        self.random_rows = random_rows
        self.kept_rows = kept_rows
        self.optimize = optimize
        self.standardize = standardize
        self.max_iter = max_iter
        self.max_rows = max_rows
        self.tol = tol

    _requirements: ClassVar[Requirements] = {
        "random_rows": Number(0),
        "kept_rows": Number(0),
        "optimize": OneOf((True, False)),
        "standardize": OneOf((True, False)),
        "max_iter": Number(1, integer=True, closed=True),
        "max_rows": Number(2, integer=True, closed=True, optional=True),
        "tol": Number(0),
    }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        with all_or_nothing(self):
            check_parameters(self, self._requirements)
            noise = check_noise_parameter(self.noise_matrix)
            if noise is None:
                noise = UnknownRate(self.random_rows, self.kept_rows)
            train, self.classes_ = training_table(self._check_X(X, reset=True), y, sample_weight)
            train = weights_as_counts(train)
            self._scale = StandardScaler(with_mean=self.standardize, with_std=self.standardize)
            rows = self._scale.fit_transform(train.X, sample_weight=train.sample_weight)
            kernel = default_kernel(self.n_features_in_) if self.kernel is None else self.kernel
            found, self.regression_ = self._adapt(rows, train, clone(kernel), noise)
            self.kernel_ = self.regression_.kernel_
            self.noise_matrix_ = found.noise_matrix
            self.label_issue_probability_ = found.tilted.issue_probability
            self.n_iter_ = found.n_iter
        return self

    def _adapt(self, rows, train, kernel, noise):
        optimizer = "fmin_l_bfgs_b" if self.optimize else None
        found = None
        for _ in range(MAX_ADAPTATIONS):
            found = propagate(
                kernel(rows),
                train.labels,
                train.sample_weight,
                noise,
                start=found,
                max_iter=self.max_iter,
                tol=self.tol,
            )
            regression = GaussianProcessRegressor(
                kernel, alpha=1 / (train.sample_weight * found.sites.precision), optimizer=optimizer
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                regression.fit(rows, found.sites.mean)
            if np.allclose(kernel.theta, regression.kernel_.theta, rtol=0, atol=ADAPTED):
                break
            kernel = regression.kernel_
        if not found.converged:
            warnings.warn("X", ConvergenceWarning, stacklevel=3)
        return found, regression

    def _check_X(self, X: Any, reset: bool = False) -> Any:
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def decision_function(self, X: Any) -> Floats:
        """z"""
        check_is_fitted(self)
        mean, deviation = self.regression_.predict(
            self._scale.transform(self._check_X(X)), return_std=True
        )
        return mean / np.sqrt(1 + deviation**2)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the true class, whatever the observed label may be."""
        return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]

    def predict_proba(self, X: Any) -> Floats:
        """Probability of the *true* class, not of the observed label; shape (n_samples, 2)."""
        probit = self.decision_function(X)
        return np.column_stack([ndtr(-probit), ndtr(probit)])

AMP, LS, BIAS = 10.0, 1.0, 1.0
def default_kernel(d):
    return ConstantKernel(BIAS) + ConstantKernel(AMP) * RBF(LS * np.sqrt(d), (0.05, 100))
