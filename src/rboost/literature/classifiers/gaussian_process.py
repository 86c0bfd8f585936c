"""Gaussian process classification that models wrong labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import Number, OneOf, Requirements, warn_not_converged
from rboost.fitting import Rows, ScoreClassifier, TwoClassClassifier
from rboost.literature.classifiers.expectation_propagation import (
    Marginals,
    Propagation,
    Tilted,
    UnknownRate,
    propagate,
)
from rboost.noise.inference import infer_noise
from rboost.noise.matrix import check_noise_parameter

# The default kernel: variance of a constant, variance and, in units of √n_features, length of a
# smooth function of standardised columns.
LEVEL, HEIGHT, LENGTH = 1.0, 10.0, 1.0
# Beyond this a fit takes more than a minute.
MANY_ROWS = 3000


@dataclass(eq=False, repr=False, kw_only=True)
class RobustGaussianProcessClassifier(ScoreClassifier, TwoClassClassifier):
    """Gaussian process classification that models label flips.

    A function f with a Gaussian process prior says the true class, p(y = 1 | x) = Φ(f(x)), and the
    observed label is a flipped copy of it, p(ỹ = k | x) = Σⱼ p(y = j | x)·noise_matrix[j, k]. With
    symmetric flips this is the model of Hernández-Lobato, Hernández-Lobato and Dupont (2011),
    "Robust multi-class Gaussian process classification", for two classes: a share ρ of the labels
    is drawn at random, ρ/2 of them are wrong, and how far a wrong label lies from the boundary does
    not matter. The posterior is found by expectation propagation, which puts a noisy observation
    of f in the place of each label. Prediction is Gaussian process regression on these.

    A fit takes some tens of times n_samples³ operations: below a second for 400 rows, several
    seconds for 1300, more than a minute for 3500.

    Parameters
    ----------
    kernel : kernel of sklearn.gaussian_process, default=None
        Covariance of f; its parameters are not changed. None means a constant of variance 1 plus
        10·RBF with a length scale of √n_features.
    noise_matrix : "estimate" or array-like of shape (2, 2), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it;
        the identity gives ordinary Gaussian process classification.
    noise_estimator : {"noise-aware", "paper"}, default="noise-aware"
        How the noise is estimated. "paper": symmetric flips, with a Beta(random_rows, kept_rows)
        prior of ρ. "noise-aware": so first, then noise-aware Platt scaling of what the other rows
        say of each row, which finds flips of one class alone too.
    random_rows : float, default=1.0
        Rows with a label drawn at random that the prior is worth.
    kept_rows : float, default=9.0
        Rows with a label that was kept that the prior is worth.
    standardize : bool, default=True
        Whether to scale the columns to mean 0 and variance 1 first.
    max_iter : int, default=200
        Largest number of sweeps of expectation propagation.
    max_rows : int or None, default=400
        As a base learner of :class:`rboost.RBoostClassifier`: the number of rows beyond which more
        are of no use to it, so that no more are drawn. A fit by itself uses all rows.
    tol : float, default=1e-4
        Stop when neither a parameter of an observation of f nor a flip rate changes by more.

    Attributes
    ----------
    noise_matrix_ : ndarray of shape (2, 2)
        The fixed or estimated noise matrix.
    label_issue_probability_ : ndarray of shape (n_samples,)
        Probability that the label of each training row is wrong, given what the other rows say.
    regression_ : GaussianProcessRegressor
        The posterior of f, a regression on the observations that stand for the labels.
    n_iter_ : int
        Sweeps of expectation propagation.

    Examples
    --------
    >>> from rboost.datasets import make_banana
    >>> from rboost.noise import flip_labels, symmetric
    >>> from rboost.literature.classifiers import RobustGaussianProcessClassifier
    >>> X, y = make_banana(400, spread=0.2, random_state=0)
    >>> noisy, flipped = flip_labels(y, symmetric(0.2), random_state=0)
    >>> model = RobustGaussianProcessClassifier().fit(X, noisy)
    >>> model.noise_matrix_.round(1)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> bool(model.label_issue_probability_[flipped].mean() > 0.6)
    True
    """

    kernel: Kernel | None = None
    noise_matrix: Any = "estimate"
    noise_estimator: str = "noise-aware"
    random_rows: float = 1.0
    kept_rows: float = 9.0
    standardize: bool = True
    max_iter: int = 200
    max_rows: int | None = 400
    tol: float = 1e-4

    _requirements: ClassVar[Requirements] = {
        "noise_estimator": OneOf(("noise-aware", "paper")),
        "random_rows": Number(0),
        "kept_rows": Number(0),
        "standardize": OneOf((True, False)),
        "max_iter": Number(1, integer=True, closed=True),
        "max_rows": Number(2, integer=True, closed=True, optional=True),
        "tol": Number(0),
    }

    # The decision is a probit.
    _distribution, _log_distribution = ndtr, log_ndtr

    def _fit(self, rows: Rows) -> None:
        kernel = _check_kernel(self.kernel) or default_kernel(self.n_features_in_)
        train = rows.used().counted()
        self._scale = StandardScaler(with_mean=self.standardize, with_std=self.standardize)
        X = self._scale.fit_transform(train.X, sample_weight=train.sample_weight)
        _warn_of_many_rows(len(X))
        found = self._propagate(kernel(X), train)
        alpha = 1 / (train.sample_weight * found.sites.precision)
        self.regression_ = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
        self.regression_.fit(X, found.sites.mean)
        self.noise_matrix_ = found.tilted.noise_matrix
        self.n_iter_ = found.n_iter
        self.label_issue_probability_ = np.empty(len(rows.observed))
        self.label_issue_probability_[rows.sample_weight > 0] = found.tilted.issue_probability
        self._judge_rows_left_out(rows)

    def _propagate(self, covariance: Floats, train: Rows) -> Propagation:
        """Find the sites, and the noise matrix where it is not known."""
        noise_matrix = check_noise_parameter(self.noise_matrix)
        noise: Any = noise_matrix
        if noise_matrix is None:
            noise = UnknownRate(self.random_rows, self.kept_rows)
        data = covariance, train.labels, train.sample_weight
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        found = propagate(*data, noise, **limits)
        if noise_matrix is None and self.noise_estimator == "noise-aware":
            inferred = infer_noise(
                found.tilted.score, train.observed, sample_weight=train.sample_weight
            )
            found = propagate(*data, inferred.noise_matrix, start=found.sites, **limits)
        if not found.converged:
            warn_not_converged(
                self, "raise max_iter or tol, or take a smoother kernel", stacklevel=5
            )
        return found

    def _judge_rows_left_out(self, rows: Rows) -> None:
        """Judge the labels of rows of weight 0 by the posterior, which knows nothing of them."""
        left_out = rows.sample_weight == 0
        if left_out.any():
            judged = rows.take(left_out)
            tilted = Tilted(self._latent(judged.X), judged.labels, self.noise_matrix_)
            self.label_issue_probability_[left_out] = tilted.issue_probability

    def _latent(self, X: Floats) -> Marginals:
        """The posterior of f at each row."""
        mean, deviation = self.regression_.predict(self._scale.transform(X), return_std=True)
        return Marginals(mean, deviation**2)

    def decision_function(self, X: Any) -> Floats:
        """Probit s of the true class: it is ``classes_[1]`` with probability Φ(s)."""
        check_is_fitted(self)
        mean, variance = self._latent(self._check_X(X))
        return mean / np.sqrt(1 + variance)


def default_kernel(n_features: int) -> Kernel:
    """A constant plus a smooth function, for standardised columns."""
    return ConstantKernel(LEVEL) + ConstantKernel(HEIGHT) * RBF(LENGTH * np.sqrt(n_features))


def _warn_of_many_rows(n_rows: int) -> None:
    """Say so before a fit that takes minutes and gigabytes."""
    if n_rows > MANY_ROWS:
        warnings.warn(
            f"A Gaussian process of {n_rows} rows takes minutes or more, as time grows with the "
            f"cube of the rows, and some {4 * 8 * n_rows**2 / 2**30:.1f} GiB; "
            "RobustKernelLogisticRegression is similar and quick.",
            stacklevel=4,
        )


def _check_kernel(kernel: Any) -> Kernel | None:
    if kernel is None or isinstance(kernel, Kernel):
        return kernel
    raise ValueError(
        "kernel must be a kernel of sklearn.gaussian_process such as RBF(1.0), or None, "
        f"not {kernel!r}."
    )
