"""Normal discriminant analysis with flipped labels, Lawrence & Schölkopf 2001."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Number, OneOf, Requirements, warn_not_converged
from rboost.fitting import Rows, ScoreClassifier, TwoClassClassifier
from rboost.literature.classifiers.gaussians import Climb, climb, expectation, scaling_of
from rboost.literature.classifiers.noisy_discriminant import Model, NoisyDiscriminant
from rboost.noise.matrix import check_noise_parameter


@dataclass(eq=False, repr=False, kw_only=True)
class RobustDiscriminantClassifier(ScoreClassifier, TwoClassClassifier):
    """Linear or quadratic discriminant analysis that models label flips.

    Each true class is normal; the observed label is a flipped copy of the true one. Classes and
    flip rates are found together with EM, which starts from the observed labels. As the features
    are modelled too, the flip rates can be found even where the classes overlap, provided that they
    are roughly normal. Classes of another shape may be taken for flips; give the ``noise_matrix``
    then, or use :class:`rboost.RobustLogisticRegression`, which models labels only.

    Parameters
    ----------
    noise_matrix : "estimate" or array-like of shape (2, 2), default="estimate"
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. An array fixes it;
        the identity gives ordinary discriminant analysis.
    covariance : {"shared", "separate"}, default="shared"
        One covariance matrix for both classes (Fisher's linear discriminant) or one for each class
        (quadratic). Separate ones need classes that really are normal: otherwise EM finds two
        clusters that have little to do with the labels, and calls the difference noise.
    shrinkage : float, default=1.0
        Strength of the prior on the covariances: it counts as ``shrinkage * n_features`` rows that
        have the variances of the columns of X and no correlations. It hence matters when rows are
        few for the number of columns, and whatever their units. 0 is maximum likelihood.
    max_iter : int, default=1000
        Largest number of EM steps.
    tol : float, default=1e-6
        Stop when a step raises the mean log-likelihood of a row by no more than this.

    Attributes
    ----------
    means_ : ndarray of shape (2, n_features)
        Mean of each true class.
    covariances_ : ndarray of shape (2, n_features, n_features)
        Covariance of each true class; the same twice when shared.
    priors_ : ndarray of shape (2,)
        Share of each true class.
    noise_matrix_ : ndarray of shape (2, 2)
        The fixed or estimated noise matrix.
    label_issue_probability_ : ndarray of shape (n_samples,)
        p(y ≠ ỹ | x, ỹ) of each training row: the probability that its label is wrong.
    log_likelihood_ : float
        The maximised objective: mean of log p(x, ỹ), columns standardised, plus the prior.
    n_iter_ : int
        Number of EM steps.

    References
    ----------
    N. Lawrence & B. Schölkopf, "Estimating a kernel Fisher discriminant in the presence of label
    noise", ICML 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from rboost.noise import asymmetric, flip_labels
    >>> from rboost.literature.classifiers import RobustDiscriminantClassifier
    >>> X, y = make_blobs(2000, centers=[[-1, 0], [1, 0]], random_state=0)
    >>> noisy, _ = flip_labels(y, asymmetric(0.3, from_class=0), random_state=0)
    >>> RobustDiscriminantClassifier().fit(X, noisy).noise_matrix_.round(1)
    array([[0.7, 0.3],
           [0. , 1. ]])
    """

    noise_matrix: Any = "estimate"
    covariance: str = "shared"
    shrinkage: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-6

    _requirements: ClassVar[Requirements] = {
        "covariance": OneOf(("shared", "separate")),
        "shrinkage": Number(0, closed=True),
        "max_iter": Number(1, integer=True, closed=True),
        "tol": Number(0),
    }

    def _fit(self, rows: Rows) -> None:
        train = rows.used().counted()
        self._scaling = scaling_of(train.X, train.sample_weight)
        problem = NoisyDiscriminant(
            self._scaling.apply(train.X),
            train.observed,
            train.sample_weight,
            self.shrinkage * train.X.shape[1],
            self.covariance,
            check_noise_parameter(self.noise_matrix),
        )
        self._set_fit(climb(problem.start(), problem.step, self.max_iter, self.tol))
        self.label_issue_probability_ = self._issue_probability(rows.X, rows.observed)

    def _set_fit(self, ascent: Climb[Model]) -> None:
        self._gaussians, self.noise_matrix_ = ascent.state
        mean, scale = self._scaling
        self.priors_ = self._gaussians.shares
        self.means_ = mean + scale * self._gaussians.means
        self.covariances_ = self._gaussians.covariances * np.outer(scale, scale)
        self.n_iter_, self.log_likelihood_ = len(ascent.objectives), ascent.objectives[-1]
        if not ascent.converged:
            warn_not_converged(self, "raise max_iter or tol", stacklevel=5)

    def _issue_probability(self, X: Floats, observed: Integers) -> Floats:
        model = Model(self._gaussians, self.noise_matrix_)
        true, _ = expectation(model.log_joint(self._scaling.apply(X), observed))
        return true[np.arange(len(X)), 1 - observed]

    def decision_function(self, X: Any) -> Floats:
        """Log-odds that the true class is ``classes_[1]``."""
        check_is_fitted(self)
        log_joint = self._gaussians.log_joint(self._scaling.apply(self._check_X(X)))
        return log_joint[:, 1] - log_joint[:, 0]
