"""Expectation propagation for a latent Gaussian process with flipped labels: arrays in, arrays out.

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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import log_ndtr

from rboost._typing import Floats
from rboost.noise import symmetric

# The likelihood is not log-concave: of a label that is probably wrong the exact site would have a
# negative precision. It gets this one instead, and still the mean of the exact one.
SMALLEST_PRECISION = 1e-8
# How far the sites move towards their new values in a sweep, and the number of sweeps after which
# it is half as far, a third and so on, so that sites which jump to and fro come to rest.
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


@dataclass(frozen=True)
class Tilted:
    """The cavity of each row times the likelihood of its label; all moments in closed form."""

    cavity: Marginals
    labels: Floats
    noise_matrix: Floats

    @cached_property
    def _kept(self) -> Floats:
        return np.where(self.labels > 0, self.noise_matrix[1, 1], self.noise_matrix[0, 0])

    @cached_property
    def _flipped(self) -> Floats:
        return np.where(self.labels > 0, self.noise_matrix[0, 1], self.noise_matrix[1, 0])

    @cached_property
    def _log_flipped(self) -> Floats:
        with np.errstate(divide="ignore"):  # −∞ without flips
            return np.log(self._flipped)

    @cached_property
    def _spread(self) -> Floats:
        """Standard deviation of f plus the unit noise that Φ stands for."""
        return np.sqrt(1 + self.cavity.variance)

    @cached_property
    def _margin(self) -> Floats:
        """z = ỹμ/√(1 + v): the label is right with probability Φ(z) before it is seen."""
        return self.labels * self.cavity.mean / self._spread

    @cached_property
    def log_evidence(self) -> Floats:
        """log Z, Z = ∫ p(ỹ | f)·N(f | μ, v) df = flipped + (kept − flipped)·Φ(z)."""
        log_informative = np.log(self._kept - self._flipped)
        return np.logaddexp(self._log_flipped, log_informative + log_ndtr(self._margin))

    @cached_property
    def _ratio(self) -> Floats:
        """r = (kept − flipped)·φ(z)/Z, the derivative of log Z by z."""
        log_density = -0.5 * self._margin**2 - 0.5 * np.log(2 * np.pi)
        return (self._kept - self._flipped) * np.exp(log_density - self.log_evidence)

    @property
    def slope(self) -> Floats:
        """∂ log Z / ∂μ = ỹ·r/√(1 + v)."""
        return self.labels * self._ratio / self._spread

    @property
    def curvature(self) -> Floats:
        """∂² log Z / ∂μ² = −r·(z + r)/(1 + v), above −1/(1 + v) but for rounding."""
        return -np.minimum(self._ratio * (self._margin + self._ratio), 1) / self._spread**2

    @property
    def sites(self) -> Sites:
        """The sites that turn the cavities into Gaussians of the same mean and variance.

        These are μ + v·slope and v + v²·curvature. Where the variance would have to grow only the
        mean is matched. As curvature > −1/(1 + v) no precision is above 1: the step function in the
        place of Φ would know no such bound.
        """
        variance, curvature = self.cavity.variance, self.curvature
        precision = np.maximum(-curvature / (1 + variance * curvature), SMALLEST_PRECISION)
        shift = precision * self.cavity.mean + self.slope * (1 + variance * precision)
        return Sites(precision, shift)

    @property
    def score(self) -> Floats:
        """μ/√(1 + v), what the other rows say: they expect class +1 with probability Φ(score)."""
        return self.labels * self._margin

    @property
    def issue_probability(self) -> Floats:
        """p(y ≠ ỹ) = flipped·Φ(−z)/Z."""
        return np.exp(self._log_flipped + log_ndtr(-self._margin) - self.log_evidence)

    @property
    def random_probability(self) -> Floats:
        """Probability that the label was drawn at random, under symmetric noise: ρ/2/Z."""
        return np.exp(self._log_flipped - self.log_evidence)


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

    def update(self, tilted: Tilted, weight: Floats) -> Floats:
        """``symmetric(ρ/2)`` after some steps of EM that hold the cavities.

        ρ becomes the mean of its posterior given the probability of each label to be a random one.
        """
        n_rows = self.random_rows + self.kept_rows + weight.sum()
        for _ in range(RATE_STEPS):
            random_rows = self.random_rows + weight @ tilted.random_probability
            tilted = replace(tilted, noise_matrix=symmetric(random_rows / n_rows / 2))
        return tilted.noise_matrix


@dataclass(frozen=True)
class Propagation:
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
        tilted = Tilted(cavity, labels, noise_matrix)
        target = tilted.sites
        change = np.abs(np.subtract(target, sites)).max()
        if isinstance(noise, UnknownRate):
            noise_matrix = noise.update(tilted, weight)
            change = max(change, np.abs(noise_matrix - tilted.noise_matrix).max())
        found = Propagation(sites, tilted, n_iter, bool(change <= tol))
        if found.converged:
            break
        step = STEP / (1 + n_iter // SWEEPS_A_STEP)
        sites = Sites(*(np.array(sites) + step * np.subtract(target, sites)))
    return found
