import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from rboost.literature.gaussian_process import (
    Marginals,
    Sites,
    UnknownRate,
    cavities,
    posterior,
    propagate,
    tilt,
)
from rboost.noise import symmetric
from tests.strategies import noise_matrices

LIMITS = {"max_iter": 500, "tol": 1e-8}


def likelihood(f, label, noise_matrix):
    observed = int(label > 0)
    return noise_matrix[0, observed] * ndtr(-f) + noise_matrix[1, observed] * ndtr(f)


def tilted_row(mean, variance, label, noise_matrix):
    cavity = Marginals(np.array([mean]), np.array([variance]))
    return cavity, tilt(cavity, np.array([label]), noise_matrix)


def moments(cavity, tilted):
    """Mean and variance of cavity times likelihood, from the derivatives of log Z."""
    mean, variance = cavity
    return Marginals(mean + variance * tilted.slope, variance + variance**2 * tilted.curvature)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    mean=st.floats(-4, 4),
    variance=st.floats(0.01, 20),
    label=st.sampled_from([-1.0, 1.0]),
    noise_matrix=noise_matrices(),
)
def test_tilted_moments_are_those_of_quadrature(mean, variance, label, noise_matrix):
    cavity, tilted = tilted_row(mean, variance, label, noise_matrix)
    spread = np.sqrt(variance)

    def integral(of_f):
        ends = mean - 12 * spread, mean + 12 * spread
        return quad(
            lambda f: of_f(f) * norm.pdf(f, mean, spread), *ends, points=[mean, 0.0], limit=500,
            epsabs=1e-14,
        )[0]  # fmt: skip

    evidence = integral(lambda f: likelihood(f, label, noise_matrix))
    first = integral(lambda f: f * likelihood(f, label, noise_matrix)) / evidence
    second = integral(lambda f: (f - first) ** 2 * likelihood(f, label, noise_matrix)) / evidence
    wrong = noise_matrix[int(label < 0), int(label > 0)]
    assert_allclose(np.exp(tilted.log_evidence[0]), evidence, rtol=1e-6)
    assert_allclose(moments(cavity, tilted).mean[0], first, rtol=1e-5, atol=1e-6)
    assert_allclose(moments(cavity, tilted).variance[0], second, rtol=1e-5)
    issue = integral(lambda f: wrong * ndtr(-label * f))
    assert_allclose(tilted.issue_probability[0], issue / evidence, rtol=1e-5, atol=1e-9)


@settings(deadline=None)
@given(
    mean=st.floats(-30, 30),
    variance=st.floats(0.01, 100),
    label=st.sampled_from([-1.0, 1.0]),
    noise_matrix=noise_matrices(),
)
def test_sites_match_the_mean_always_and_the_variance_unless_it_grew(
    mean, variance, label, noise_matrix
):
    cavity, tilted = tilted_row(mean, variance, label, noise_matrix)
    precision, shift = (value[0] for value in tilted.sites)
    assert 0 < precision <= 1 + 1e-9
    with_site = 1 / (1 / variance + precision)
    assert_allclose(
        with_site * (mean / variance + shift), moments(cavity, tilted).mean[0], atol=1e-8
    )
    if moments(cavity, tilted).variance[0] < variance:
        assert_allclose(with_site, moments(cavity, tilted).variance[0], rtol=1e-5)
    else:
        assert_allclose(with_site, variance, rtol=1e-5)


def test_far_outliers_stay_finite():
    for mean in (-1e8, -50.0, 50.0, 1e8):
        for noise_matrix in (np.eye(2), symmetric(0.1)):
            cavity, tilted = tilted_row(mean, 3.0, 1.0, noise_matrix)
            for value in (*tilted.sites, tilted.log_evidence, tilted.issue_probability):
                assert np.all(np.isfinite(value))
            assert moments(cavity, tilted).variance[0] > 0


def random_problem(n_rows, seed=0):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, 2))
    covariance = 4 * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return covariance, np.where(random.uniform(size=n_rows) < 0.5, -1.0, 1.0), random


def test_posterior_and_cavities_are_those_of_plain_matrices():
    covariance, _, random = random_problem(6)
    sites = Sites(random.uniform(0.1, 1, 6), random.standard_normal(6))
    weight = np.array([1.0, 2.0, 3.0, 0.5, 1.0, 1.0])
    full = np.linalg.inv(np.linalg.inv(covariance) + np.diag(weight * sites.precision))
    marginals = posterior(covariance, sites, weight)
    assert_allclose(marginals.variance, np.diag(full), rtol=1e-6)
    assert_allclose(marginals.mean, full @ (weight * sites.shift), rtol=1e-6)
    cavity = cavities(marginals, sites, weight)
    for row in range(6):
        less = weight.copy()
        less[row] = max(weight[row] - 1, 0)
        without = posterior(covariance, sites, less)
        assert_allclose(cavity.mean[row], without.mean[row], rtol=1e-6)
        assert_allclose(cavity.variance[row], without.variance[row], rtol=1e-6)


@pytest.mark.parametrize("noise_matrix", [np.eye(2), np.array([[0.8, 0.2], [0.05, 0.95]])])
def test_the_posterior_is_near_that_of_many_draws(noise_matrix):
    """Importance sampling from the prior knows nothing of sites."""
    covariance, labels, random = random_problem(3)
    draws = random.multivariate_normal(np.zeros(3), covariance, size=400_000)
    weights = np.prod([likelihood(draws[:, i], labels[i], noise_matrix) for i in range(3)], axis=0)
    weights /= weights.sum()
    found = propagate(covariance, labels, np.ones(3), noise_matrix, **LIMITS)
    assert found.converged
    marginals = posterior(covariance, found.sites, np.ones(3))
    exact = weights @ draws
    assert_allclose(marginals.mean, exact, atol=0.05)
    assert_allclose(marginals.variance, weights @ (draws - exact) ** 2, rtol=0.06)


def test_at_the_end_posterior_and_tilted_moments_agree():
    covariance, labels, _ = random_problem(40)
    found = propagate(covariance, labels, np.ones(40), np.eye(2), **LIMITS)
    marginals = posterior(covariance, found.sites, np.ones(40))
    cavity = cavities(marginals, found.sites, np.ones(40))
    assert_allclose(marginals.mean, moments(cavity, found.tilted).mean, atol=1e-6)
    assert_allclose(marginals.variance, moments(cavity, found.tilted).variance, atol=1e-6)


def test_the_rate_is_the_mean_of_its_posterior():
    covariance, labels, _ = random_problem(60)
    weight = np.ones(60)
    found = propagate(covariance, labels, weight, UnknownRate(2.0, 7.0), **LIMITS)
    assert found.converged
    rho = (2 + found.tilted.random_probability.sum()) / (9 + 60)
    assert_allclose(found.tilted.noise_matrix, symmetric(rho / 2), atol=1e-7)
    # Only labels drawn at random can be wrong, and not all of those are.
    assert np.all(found.tilted.issue_probability < found.tilted.random_probability)


def test_whole_weights_are_repetitions():
    covariance, labels, random = random_problem(30)
    weight = random.randint(1, 4, size=30)
    again = np.repeat(np.arange(30), weight)
    for noise in (UnknownRate(1.0, 9.0), symmetric(0.1)):
        weighted = propagate(covariance, labels, weight.astype(float), noise, **LIMITS)
        repeated = propagate(
            covariance[np.ix_(again, again)], labels[again], np.ones(len(again)), noise, **LIMITS
        )
        assert_allclose(weighted.sites.precision[again], repeated.sites.precision, atol=1e-9)
        assert_allclose(weighted.sites.shift[again], repeated.sites.shift, atol=1e-8)
        assert weighted.n_iter == repeated.n_iter
