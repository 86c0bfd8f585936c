"""Gaussian process classification that models wrong labels, by expectation propagation.

The latent f ~ N(0, covariance) says the true class, p(y = +1 | f) = Φ(f), and the label ỹ = ±1 is a
flipped copy of it:

    p(ỹ | f) = kept·Φ(ỹf) + flipped·Φ(−ỹf),    kept = p(ỹ | y = ỹ), flipped = p(ỹ | y = −ỹ)

With ``symmetric(ρ/2)`` this is (1 − ρ)·Φ(ỹf) + ρ/2, the model of Hernández-Lobato, Hernández-Lobato
and Dupont (2011) for two classes: how far on the wrong side a label lies does not count.

Each label is replaced by a site exp(shift·f − ½·precision·f²), a Gaussian pseudo-observation of f
with mean shift/precision and variance 1/precision. A row of weight w stands for w copies, each with
a label and a site of its own; all of them are alike. The cavity is the posterior without one copy.
All arrays have one entry per row, ``covariance`` has the shape (n_rows, n_rows).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr, ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats
from rboost._validation import Number, OneOf, Requirements, warn_not_converged
from rboost.fitting import Rows, ScoreClassifier, TwoClassClassifier
from rboost.noise.inference import infer_noise
from rboost.noise.matrix import check_noise_parameter, symmetric

# The default kernel: variance of a constant, variance and, in units of √n_features, length of a
# smooth function of standardised columns.
LEVEL, HEIGHT, LENGTH = 1.0, 10.0, 1.0
# Beyond this a fit takes more than a minute.
MANY_ROWS = 3000
# The likelihood is not log-concave: of a label that is probably wrong the exact site would have a
# negative precision. It gets this one instead, and still the mean of the exact one.
SMALLEST_PRECISION = 1e-8
# Damping of the sites: the share of the way to their new values that they move in a sweep. It is
# divided by 2, 3, … after each ``SWEEPS_A_STEP`` sweeps, so that oscillating sites converge.
STEP = 0.8
SWEEPS_A_STEP = 50
# Steps of EM for an unknown rate in each sweep; they are cheap beside a sweep.
RATE_STEPS = 10


class Marginals(NamedTuple):
    """A normal distribution of f for each row."""

    mean: Floats
    variance: Floats


class Sites(NamedTuple):
    """One site per row, of one copy of it, in natural parameters."""

    precision: Floats
    shift: Floats

    @property
    def mean(self) -> Floats:
        """The pseudo-observations of f."""
        return self.shift / self.precision


class Tilted(NamedTuple):
    """The cavity of each row times the likelihood of its label; all moments in closed form.

    Z = ∫ p(ỹ | f)·N(f | μ, v) df = flipped + (kept − flipped)·Φ(z) with the margin z = ỹμ/√(1 + v):
    the label is right with probability Φ(z) before it is seen.
    """

    noise_matrix: Floats
    log_evidence: Floats  # log Z
    slope: Floats  # ∂ log Z / ∂μ
    curvature: Floats  # ∂² log Z / ∂μ²
    score: Floats  # μ/√(1 + v): other rows expect class +1 with probability Φ(score)
    issue_probability: Floats  # p(y ≠ ỹ)
    random_probability: Floats  # of a label drawn at random, under symmetric noise
    sites: Sites


def tilt(cavity: Marginals, labels: Floats, noise_matrix: Floats) -> Tilted:
    """Multiply cavities by the likelihood of labels.

    The sites turn the cavities into Gaussians of the same mean and variance, μ + v·slope and
    v + v²·curvature. Where the variance would have to grow only the mean is matched. As the
    curvature exceeds −1/(1 + v) no precision is above 1: the step function in the place of Φ would
    know no such bound.
    """
    own = (labels > 0).astype(np.intp)
    kept, flipped = noise_matrix[own, own], noise_matrix[1 - own, own]
    spread = np.sqrt(1 + cavity.variance)  # of f plus the unit noise that Φ stands for
    score = cavity.mean / spread
    margin = labels * score
    with np.errstate(divide="ignore"):  # −∞ without flips
        log_flipped = np.log(flipped)
    log_evidence = np.logaddexp(log_flipped, np.log(kept - flipped) + log_ndtr(margin))
    # r = (kept − flipped)·φ(z)/Z, the derivative of log Z by z
    log_density = -0.5 * margin**2 - 0.5 * np.log(2 * np.pi)
    ratio = (kept - flipped) * np.exp(log_density - log_evidence)
    slope = labels * ratio / spread
    # −r·(z + r)/(1 + v), above −1/(1 + v) but for rounding
    curvature = -np.minimum(ratio * (margin + ratio), 1) / spread**2
    variance = cavity.variance
    precision = np.maximum(-curvature / (1 + variance * curvature), SMALLEST_PRECISION)
    shift = precision * cavity.mean + slope * (1 + variance * precision)
    return Tilted(
        noise_matrix,
        log_evidence,
        slope,
        curvature,
        score,
        issue_probability=np.exp(log_flipped + log_ndtr(-margin) - log_evidence),
        random_probability=np.exp(log_flipped - log_evidence),
        sites=Sites(precision, shift),
    )


def posterior(covariance: Floats, sites: Sites, weight: Floats) -> Marginals:
    """The marginals of N(0, covariance) times all sites (Rasmussen & Williams, 2006, eq. 3.68)."""
    root = np.sqrt(weight * sites.precision)
    inner = root[:, np.newaxis] * covariance * root
    inner[np.diag_indices_from(inner)] += 1
    half = solve_triangular(
        cholesky(inner, lower=True, overwrite_a=True, check_finite=False),
        root[:, np.newaxis] * covariance,
        lower=True,
        overwrite_b=True,
        check_finite=False,
    )
    shift = weight * sites.shift
    variance = np.diag(covariance) - np.einsum("ij,ij->j", half, half)
    return Marginals(covariance @ shift - half.T @ (half @ shift), variance)


def cavities(marginals: Marginals, sites: Sites, weight: Floats) -> Marginals:
    """The marginals without one copy of each row, or without all there is of it if that is less."""
    removed = np.minimum(weight, 1)
    share = 1 - removed * sites.precision * marginals.variance  # above 0 but for rounding
    share = np.maximum(share, np.finfo(np.float64).eps)
    shift = removed * sites.shift * marginals.variance
    return Marginals((marginals.mean - shift) / share, marginals.variance / share)


@dataclass(frozen=True)
class UnknownRate:
    """A share ρ of labels that were drawn at random, with a Beta(random_rows, kept_rows) prior."""

    random_rows: float
    kept_rows: float

    @property
    def first_guess(self) -> Floats:
        """The noise before any label is seen."""
        return symmetric(self.random_rows / (self.random_rows + self.kept_rows) / 2)

    def update(
        self, noise_matrix: Floats, cavity: Marginals, labels: Floats, weight: Floats
    ) -> Floats:
        """``symmetric(ρ/2)`` after some steps of EM that hold the cavities.

        ρ becomes the mean of its posterior given the probability of each label to be a random one.
        """
        n_rows = self.random_rows + self.kept_rows + weight.sum()
        for _ in range(RATE_STEPS):
            tilted = tilt(cavity, labels, noise_matrix)
            random_rows = self.random_rows + weight @ tilted.random_probability
            noise_matrix = symmetric(random_rows / n_rows / 2)
        return noise_matrix


class Propagation(NamedTuple):
    """Sites, cavities times likelihood, which hold the noise matrix, and how the sweeps ended."""

    sites: Sites
    tilted: Tilted
    n_iter: int
    converged: bool


def propagate(
    covariance: Floats,
    labels: Floats,
    weight: Floats,
    noise: Floats | UnknownRate,
    *,
    start: Sites | None = None,
    max_iter: int,
    tol: float,
) -> Propagation:
    """Update all sites at once, damped, until nothing is to change by more than ``tol``.

    What changes are the parameters of the sites and the flip rate. A rate that is not known moves
    with the sites, as a variational EM; the paper approximates its posterior by sites as well.
    """
    noise_matrix = noise.first_guess if isinstance(noise, UnknownRate) else noise
    sites = start or Sites(np.full(len(labels), SMALLEST_PRECISION), np.zeros(len(labels)))
    for n_iter in range(1, max_iter + 1):
        cavity = cavities(posterior(covariance, sites, weight), sites, weight)
        tilted = tilt(cavity, labels, noise_matrix)
        towards = np.subtract(tilted.sites, sites)
        change = np.abs(towards).max()
        if isinstance(noise, UnknownRate):
            noise_matrix = noise.update(noise_matrix, cavity, labels, weight)
            change = max(change, np.abs(noise_matrix - tilted.noise_matrix).max())
        found = Propagation(sites, tilted, n_iter, bool(change <= tol))
        if found.converged:
            break
        step = STEP / (1 + n_iter // SWEEPS_A_STEP)
        sites = Sites(*(np.array(sites) + step * towards))
    return found


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
    >>> from rboost.robust import RobustGaussianProcessClassifier
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
        kernel = self._chosen_kernel()
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

    def _chosen_kernel(self) -> Kernel:
        if self.kernel is None:
            length = LENGTH * np.sqrt(self.n_features_in_)
            return ConstantKernel(LEVEL) + ConstantKernel(HEIGHT) * RBF(length)
        if isinstance(self.kernel, Kernel):
            return self.kernel
        raise ValueError(
            "kernel must be a kernel of sklearn.gaussian_process such as RBF(1.0), or None, "
            f"not {self.kernel!r}."
        )

    def _propagate(self, covariance: Floats, train: Rows) -> Propagation:
        """Find the sites, and the noise matrix where it is not known."""
        noise_matrix = check_noise_parameter(self.noise_matrix)
        is_known = noise_matrix is not None
        noise: Any = noise_matrix if is_known else UnknownRate(self.random_rows, self.kept_rows)
        data = covariance, train.labels, train.sample_weight
        limits: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        found = propagate(*data, noise, **limits)
        if not is_known and self.noise_estimator == "noise-aware":
            weight = train.sample_weight
            inferred = infer_noise(found.tilted.score, train.observed, sample_weight=weight)
            found = propagate(*data, inferred.noise_matrix, start=found.sites, **limits)
        if not found.converged:
            remedy = "raise max_iter or tol, or take a smoother kernel"
            warn_not_converged(self, remedy, stacklevel=5)
        return found

    def _judge_rows_left_out(self, rows: Rows) -> None:
        """Judge the labels of rows of weight 0 by the posterior, which knows nothing of them."""
        left_out = rows.sample_weight == 0
        if left_out.any():
            judged = rows.take(left_out)
            tilted = tilt(self._latent(judged.X), judged.labels, self.noise_matrix_)
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


def _warn_of_many_rows(n_rows: int) -> None:
    """Say so before a fit that takes minutes and gigabytes."""
    if n_rows > MANY_ROWS:
        warnings.warn(
            f"A Gaussian process of {n_rows} rows takes minutes or more, as time grows with the "
            f"cube of the rows, and some {4 * 8 * n_rows**2 / 2**30:.1f} GiB; "
            "RobustKernelLogisticRegression is similar and quick.",
            stacklevel=4,
        )
