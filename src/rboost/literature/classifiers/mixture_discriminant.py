"""Robust mixture discriminant analysis (RMDA), Bouveyron & Girard 2009.

    ψ_c(x) = p(component c | x)         membership, of a Gaussian mixture fitted without labels
    r[c, j] = p(y = j | component c)    shares, shape (n_components, 2)
    p(y = j | x) = Σ_c r[c, j]·ψ_c(x),    p(ỹ = k | x) = Σ_j γ[j, k]·p(y = j | x)

Labels play no part in finding the components, so that wrong ones can only change r, where each is
one of many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Either, Number, OneOf, Requirements, warn_not_converged
from rboost.fitting import Rows, TwoClassClassifier
from rboost.literature.classifiers.gaussian_mixture import MixtureProblem
from rboost.literature.classifiers.gaussians import STRUCTURES, Climb, Gaussians, climb, scaling_of
from rboost.noise.likelihood import joint_probability
from rboost.noise.matrix import check_noise_matrix

# The numbers of components that BIC chooses from.
CANDIDATES = (2, 3, 4, 6, 8, 12, 20)
# The steps and precision of the class shares.
SHARE_STEPS, SHARE_TOL = 1000, 1e-9
# Components of fewer rows than this on average are of no use.
ROWS_PER_COMPONENT = 5


@dataclass(frozen=True)
class LabelledComponents:
    """What the class shares are fitted to: memberships ψ_c(xᵢ), observed classes and weights."""

    membership: Floats
    observed: Integers
    sample_weight: Floats
    noise_matrix: Floats

    def step(self, shares: Floats) -> tuple[Floats, float]:
        """One EM step of r, and the mean log-likelihood of the labels before it.

        r[c, j] ← r[c, j]·Σᵢ wᵢ·ψ_c(xᵢ)·γ[j, ỹᵢ] / p(ỹᵢ | xᵢ), each row divided by its sum.
        """
        joint = joint_probability(self.membership @ shares, self.observed, self.noise_matrix)
        likelihood = np.maximum(joint.sum(axis=1), 1e-200)
        weighted = self.membership * (self.sample_weight / likelihood)[:, np.newaxis]
        following = shares * (weighted.T @ self.noise_matrix.T[self.observed])
        total = following.sum(axis=1, keepdims=True)
        # A component without rows teaches nothing: its shares stay as they are.
        following = np.where(total > 0, following / np.where(total > 0, total, 1), shares)
        objective = self.sample_weight @ np.log(likelihood) / self.sample_weight.sum()
        return following, float(objective)

    def fit(self) -> Floats:
        """The shares r of maximum likelihood, a concave problem, from equal ones."""
        equal = np.full((self.membership.shape[1], 2), 0.5)
        return climb(equal, self.step, SHARE_STEPS, SHARE_TOL).state


@dataclass(eq=False, repr=False, kw_only=True)
class RobustMixtureDiscriminantClassifier(TwoClassClassifier):
    """Clusters found without labels, and the class of each cluster learned from noisy ones.

    A Gaussian mixture is fitted to X alone. Then p(class | component) is found by maximum
    likelihood of the observed labels. A wrong label hence moves no cluster, and as long as most
    labels of a cluster are right, so is its class.

    Parameters
    ----------
    n_components : int or "bic", default=20
        Number of components of the mixture, but at most one for every five rows and one for every
        distinct row. "bic" takes the one of 2, 3, 4, 6, 8, 12 and 20 with the smallest value of
        Schwarz's criterion. That is right for the density of X, but often too few to tell the
        classes apart.
    covariance : {"diagonal", "separate", "shared"}, default="diagonal"
        One covariance matrix for each component without correlations, one for each with them, or
        one for all components.
    noise_matrix : array-like of shape (2, 2) or None, default=None
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order. None stands for
        the identity, as in the paper. It is not estimated: labels alone do not tell a cluster of
        both classes from one with flips.
    shrinkage : float, default=1.0
        Strength of the prior on the covariances: it counts as ``shrinkage * n_features`` rows that
        have the variances of the columns of X and no correlations. 0 is maximum likelihood.
    n_init : int, default=1
        Number of random starts of each mixture, of which the best is kept.
    max_iter : int, default=500
        Largest number of EM steps of each start.
    tol : float, default=1e-4
        Stop when a step raises the mean log-likelihood of a row by no more than this.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts.

    Attributes
    ----------
    n_components_ : int
        The given or chosen number of components.
    weights_ : ndarray of shape (`n_components_`,)
        Share of each component.
    means_ : ndarray of shape (`n_components_`, n_features)
        Mean of each component.
    covariances_ : ndarray of shape (`n_components_`, n_features, n_features)
        Covariance of each component.
    class_shares_ : ndarray of shape (`n_components_`, 2)
        p(class j | component c); each row sums to 1.
    n_iter_ : int
        EM steps of the start that was kept.

    Notes
    -----
    Without a ``noise_matrix`` the probabilities are those of the *observed* label. Flips at the
    same rate ρ < ½ in both classes draw them towards ½, p → ρ + (1 − 2ρ)·p, which leaves the more
    probable class the same. Flips at different rates move the boundary; give the ``noise_matrix``
    then, and the probabilities are those of the true class.

    References
    ----------
    C. Bouveyron & S. Girard, "Robust supervised classification with mixture models: learning from
    data with uncertain labels", Pattern Recognition 42, 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from rboost.noise import flip_labels, symmetric
    >>> from rboost.literature.classifiers import RobustMixtureDiscriminantClassifier
    >>> X, blob = make_blobs(1000, centers=[[-4, 0], [0, 0], [4, 0]], random_state=0)
    >>> y = (blob == 1).astype(int)
    >>> noisy, _ = flip_labels(y, symmetric(0.3), random_state=0)
    >>> model = RobustMixtureDiscriminantClassifier(n_components="bic", random_state=0)
    >>> model = model.fit(X, noisy)
    >>> model.n_components_, model.score(X, y) > 0.95
    (3, True)
    """

    n_components: int | str = 20
    covariance: str = "diagonal"
    noise_matrix: Any = None
    shrinkage: float = 1.0
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-4
    random_state: int | np.random.RandomState | None = None

    _requirements: ClassVar[Requirements] = {
        "n_components": Either((Number(1, integer=True, closed=True), OneOf(("bic",)))),
        "covariance": OneOf(STRUCTURES),
        "shrinkage": Number(0, closed=True),
        "n_init": Number(1, integer=True, closed=True),
        "max_iter": Number(1, integer=True, closed=True),
        "tol": Number(0),
    }

    def _fit(self, rows: Rows) -> None:
        given = np.eye(2) if self.noise_matrix is None else self.noise_matrix
        noise_matrix = check_noise_matrix(given, n_classes=2)
        train = rows.used().counted()
        self._scaling = scaling_of(train.X, train.sample_weight)
        self._set_mixture(self._fit_mixture(train))
        labelled = LabelledComponents(
            self._membership(train.X), train.observed, train.sample_weight, noise_matrix
        )
        self.class_shares_ = labelled.fit()

    def _fit_mixture(self, rows: Rows) -> Climb[Gaussians]:
        """Fit the mixture, with the number of components that was asked for or that is best."""
        # Sorted, so that a seed draws the same whatever the order and for repeated rows.
        order = np.lexsort(rows.X.T)
        problem = MixtureProblem(
            self._scaling.apply(rows.X[order]),
            rows.sample_weight[order],
            self.shrinkage * rows.X.shape[1],
            self.covariance,
            self.n_init,
            self.max_iter,
            self.tol,
        )
        random = check_random_state(self.random_state)
        most = min(
            max(1, int(rows.sample_weight.sum() / ROWS_PER_COMPONENT)),
            len(np.unique(rows.X, axis=0)),
        )
        candidates = CANDIDATES if self.n_components == "bic" else (int(self.n_components),)
        sizes = sorted({min(size, most) for size in candidates})
        mixtures = [problem.fit(size, random) for size in sizes]
        return min(mixtures, key=lambda mixture: problem.bic(mixture.state))

    def _set_mixture(self, ascent: Climb[Gaussians]) -> None:
        self._gaussians = ascent.state
        mean, scale = self._scaling
        self.weights_ = self._gaussians.shares
        self.means_ = mean + scale * self._gaussians.means
        self.covariances_ = self._gaussians.covariances * np.outer(scale, scale)
        self.n_components_, self.n_iter_ = len(self.weights_), len(ascent.objectives)
        if not ascent.converged:
            warn_not_converged(self, "raise max_iter or tol", stacklevel=5)

    def _membership(self, X: Floats) -> Floats:
        return softmax(self._gaussians.log_joint(self._scaling.apply(X)), axis=1)

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, shape (n_samples, 2); see Notes for what it means."""
        check_is_fitted(self)
        return self._membership(self._check_X(X)) @ self.class_shares_
