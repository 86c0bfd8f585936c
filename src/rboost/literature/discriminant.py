"""Classifiers whose classes are Gaussians, or clusters of Gaussians, and whose labels are noisy.

RobustDiscriminantClassifier: Lawrence & Schölkopf 2001. With classes j and labels ỹ = k,

    p(y = j) = π_j,   x | y = j ~ N(m_j, Σ_j),   p(ỹ = k | y = j) = noise_matrix[j, k]

RobustMixtureDiscriminantClassifier, RMDA: Bouveyron & Girard 2009. With components c,

    ψ_c(x) = p(component c | x)         membership, of a Gaussian mixture fitted without labels
    r[c, j] = p(y = j | component c)    shares, shape (n_components, 2)
    p(y = j | x) = Σ_c r[c, j]·ψ_c(x),    p(ỹ = k | x) = Σ_j γ[j, k]·p(y = j | x)

Labels play no part in finding the components, so that wrong ones can only change r, where each is
one of many. Labels are positions 0 and 1 among the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Either, Number, OneOf, Requirements
from rboost.fitting import Rows, ScoreClassifier, TwoClassClassifier
from rboost.learners.logistic import FIRST_RATE
from rboost.literature.gaussians import (
    STRUCTURES,
    EMResult,
    GaussianClassifier,
    GaussianProblem,
    Gaussians,
    expectation,
    run_em,
    scaling_of,
    standardized,
)
from rboost.noise.likelihood import joint_probability, log_joint_probability
from rboost.noise.matrix import (
    check_noise_matrix,
    check_noise_parameter,
    keep_informative,
    posterior,
    rates_of,
    symmetric,
    with_rates,
)

# The numbers of components that BIC chooses from.
CANDIDATES = (2, 3, 4, 6, 8, 12, 20)
# The steps and precision of the class shares.
SHARE_STEPS, SHARE_TOL = 1000, 1e-9
# Components of fewer rows than this on average are of no use.
ROWS_PER_COMPONENT = 5


class Model(NamedTuple):
    """The normal classes and the noise matrix of their labels."""

    gaussians: Gaussians
    noise_matrix: Floats

    def log_joint(self, X: Floats, observed: Integers) -> Floats:
        """log p(x, y = j, ỹ = observed), shape (n, 2)."""
        return log_joint_probability(self.gaussians.log_joint(X), observed, self.noise_matrix)


@dataclass(frozen=True)
class NoisyDiscriminant(GaussianProblem):
    """EM for two Gaussian classes whose true labels y are missing values.

    It maximises Σᵢ wᵢ·log Σ_j π_j·N(xᵢ; m_j, Σ_j)·γ[j, ỹᵢ] plus the log-density of the prior on
    the covariances. ``fixed_noise`` is the noise matrix γ where it is known.
    """

    observed: Integers
    fixed_noise: Floats | None

    def start(self) -> Model:
        """The classes as the observed labels have them, blurred by the flip rates."""
        noise_matrix = symmetric(FIRST_RATE) if self.fixed_noise is None else self.fixed_noise
        shares = np.bincount(self.observed, self.sample_weight, minlength=2)
        blurred = posterior(noise_matrix, shares / shares.sum())[self.observed]
        return Model(self.components(blurred), noise_matrix)

    def step(self, model: Model) -> tuple[Model, float]:
        """One EM step, and the mean objective of the model before it."""
        # p(y = j | x, ỹ) and log p(x, ỹ)
        responsibility, log_density = expectation(model.log_joint(self.X, self.observed))
        following = Model(
            self.components(responsibility), self._noise_matrix(model.noise_matrix, responsibility)
        )
        return following, self.objective(model.gaussians, log_density)

    def _noise_matrix(self, current: Floats, responsibility: Floats) -> Floats:
        """γ[j, k] = the share of label k in true class j, as far as γ01 + γ10 stays below 1.

        The expected log-likelihood is concave in both rates. Hence it grows all the way from the
        current rates to its maximum, and stopping on that way keeps the objective from falling.
        """
        if self.fixed_noise is not None:
            return self.fixed_noise
        is_one = self.sample_weight * (self.observed == 1)
        total = self.sample_weight @ responsibility
        share_of_ones = np.where(total > 0, is_one @ responsibility, current[:, 1])
        share_of_ones = share_of_ones / np.where(total > 0, total, 1)
        rates, best = rates_of(current), np.array([share_of_ones[0], 1 - share_of_ones[1]])
        largest_sum = rates_of(keep_informative(with_rates(*best))).sum()
        if best.sum() > largest_sum:
            best = rates + (best - rates) * (largest_sum - rates.sum()) / (best - rates).sum()
        return with_rates(*np.clip(best, 0, 1))


@dataclass(eq=False, repr=False, kw_only=True)
class RobustDiscriminantClassifier(GaussianClassifier, ScoreClassifier, TwoClassClassifier):
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
    >>> from rboost.robust import RobustDiscriminantClassifier
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
            standardized(train.X, self._scaling),
            train.sample_weight,
            self.shrinkage * train.X.shape[1],
            self.covariance,
            train.observed,
            check_noise_parameter(self.noise_matrix),
        )
        result = run_em(problem.start(), problem.step, self.max_iter, self.tol)
        model, self.log_likelihood_ = result.state, result.objectives[-1]
        self._keep(model.gaussians, result)
        self.priors_, self.noise_matrix_ = model.gaussians.shares, model.noise_matrix
        true, _ = expectation(model.log_joint(standardized(rows.X, self._scaling), rows.observed))
        self.label_issue_probability_ = true[np.arange(len(true)), 1 - rows.observed]

    def decision_function(self, X: Any) -> Floats:
        """Log-odds that the true class is ``classes_[1]``."""
        check_is_fitted(self)
        log_joint = self._log_joint(self._check_X(X))
        return log_joint[:, 1] - log_joint[:, 0]


@dataclass(frozen=True)
class MixtureProblem(GaussianProblem):
    """EM for a mixture of Gaussians of weighted rows, without labels, from several seeded starts.

    scikit-learn's GaussianMixture takes no weights. Rows are to be in order, so that neither their
    order nor a weight of 2 in the place of two rows changes what a seed draws.
    """

    n_init: int
    max_iter: int
    tol: float

    def step(self, gaussians: Gaussians) -> tuple[Gaussians, float]:
        """One EM step, and the mean objective of the mixture before it."""
        responsibility, log_density = expectation(gaussians.log_joint(self.X))
        return self.components(responsibility), self.objective(gaussians, log_density)

    def start(self, n_components: int, random: np.random.RandomState) -> Gaussians:
        """Components around centres that k-means++ draws, each of the rows nearest to its own."""
        centres, _ = kmeans_plusplus(
            self.X, n_components, sample_weight=self.sample_weight, random_state=random
        )
        # ‖x − c‖² without ‖x‖², which is the same for all centres.
        distances = np.square(centres).sum(axis=1) - 2 * self.X @ centres.T
        return self.components(np.eye(n_components)[distances.argmin(axis=1)])

    def fit(self, n_components: int, random: np.random.RandomState) -> EMResult[Gaussians]:
        """The best of several runs of EM."""
        results = [
            run_em(self.start(n_components, random), self.step, self.max_iter, self.tol)
            for _ in range(self.n_init)
        ]
        return max(results, key=lambda result: result.objectives[-1])

    def bic(self, gaussians: Gaussians) -> float:
        """Schwarz's criterion, −2·log-likelihood + number of parameters·log(number of rows)."""
        n_components, n_features = gaussians.means.shape
        variances = (
            n_features if self.structure == "diagonal" else n_features * (n_features + 1) / 2
        )
        matrices = 1 if self.structure == "shared" else n_components
        n_parameters = n_components - 1 + n_components * n_features + matrices * variances
        log_likelihood = self.sample_weight @ expectation(gaussians.log_joint(self.X))[1]
        return float(n_parameters * np.log(self.sample_weight.sum()) - 2 * log_likelihood)


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
        return run_em(equal, self.step, SHARE_STEPS, SHARE_TOL).state


@dataclass(eq=False, repr=False, kw_only=True)
class RobustMixtureDiscriminantClassifier(GaussianClassifier, TwoClassClassifier):
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
    >>> from rboost.robust import RobustMixtureDiscriminantClassifier
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
        result = self._fit_mixture(train)
        self._keep(result.state, result)
        self.weights_ = result.state.shares
        self.n_components_ = len(self.weights_)
        membership = softmax(self._log_joint(train.X), axis=1)
        labelled = LabelledComponents(membership, train.observed, train.sample_weight, noise_matrix)
        self.class_shares_ = labelled.fit()

    def _fit_mixture(self, rows: Rows) -> EMResult[Gaussians]:
        """Fit the mixture, with the number of components that was asked for or that is best."""
        # Sorted, so that a seed draws the same whatever the order and for repeated rows.
        order = np.lexsort(rows.X.T)
        problem = MixtureProblem(
            standardized(rows.X[order], self._scaling),
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

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, shape (n_samples, 2); see Notes for what it means."""
        check_is_fitted(self)
        return softmax(self._log_joint(self._check_X(X)), axis=1) @ self.class_shares_
