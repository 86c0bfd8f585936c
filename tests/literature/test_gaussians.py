import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from rboost.literature.gaussians import (
    STRUCTURES,
    Gaussians,
    expectation,
    fit_gaussians,
    run_em,
    scaling_of,
    standardized,
)

structures = pytest.mark.parametrize("structure", STRUCTURES)


def random_rows(seed, n_rows=40, n_features=3, n_components=2):
    random = np.random.RandomState(seed)
    X = random.standard_normal((n_rows, n_features)) @ random.standard_normal((3, n_features))
    responsibility = random.dirichlet(np.ones(n_components), size=n_rows)
    return X, responsibility * random.gamma(1.0, size=(n_rows, 1))


def test_log_joint_is_the_density_of_scipy():
    X, responsibility = random_rows(0)
    gaussians = fit_gaussians(X, responsibility, 1.0, "separate")
    for c in range(2):
        peer = multivariate_normal(gaussians.means[c], gaussians.covariances[c])
        expected = peer.logpdf(X) + np.log(gaussians.shares[c])
        assert_allclose(gaussians.log_joint(X)[:, c], expected)


def test_without_prior_it_is_the_weighted_covariance():
    X, responsibility = random_rows(1)
    gaussians = fit_gaussians(X, responsibility, 0.0, "separate")
    for c in range(2):
        assert_allclose(gaussians.means[c], np.average(X, axis=0, weights=responsibility[:, c]))
        expected = np.cov(X.T, aweights=responsibility[:, c], ddof=0)
        assert_allclose(gaussians.covariances[c], expected)


@structures
@given(seed=st.integers(0, 2**31 - 1), prior_rows=st.sampled_from([0.5, 3.0, 50.0]))
def test_the_m_step_is_a_maximum(structure, seed, prior_rows):
    """Any small change of the covariances lowers the penalised expected log-likelihood."""
    X, responsibility = random_rows(seed)
    random = np.random.RandomState(seed)
    best = fit_gaussians(X, responsibility, prior_rows, structure)

    def objective(gaussians):
        log_likelihood = np.sum(responsibility * gaussians.log_joint(X))
        return log_likelihood + gaussians.log_prior(prior_rows, structure)

    change = 0.05 * random.standard_normal(best.covariances.shape)
    change = np.eye(3) + (change + change.transpose(0, 2, 1)) / 2
    if structure == "shared":
        change = change[:1]
    if structure == "diagonal":
        change = change * np.eye(3)
    moved = Gaussians(
        best.shares,
        best.means + 0.01 * random.standard_normal(best.means.shape),
        change @ best.covariances @ change.transpose(0, 2, 1),
    )
    assert objective(moved) < objective(best)


@structures
def test_a_weight_is_a_repetition(structure):
    X, responsibility = random_rows(2)
    repeated = fit_gaussians(
        np.repeat(X, 3, axis=0), np.repeat(responsibility, 3, axis=0), 2.0, structure
    )
    weighted = fit_gaussians(X, 3 * responsibility, 2.0, structure)
    assert_allclose(weighted.covariances, repeated.covariances)
    assert_allclose(weighted.means, repeated.means)


def test_a_component_without_rows_stays_finite():
    X, responsibility = random_rows(3)
    responsibility[:, 1] = 0
    gaussians = fit_gaussians(X, responsibility, 1.0, "separate")
    assert np.all(np.isfinite(gaussians.log_joint(X)))
    assert_allclose(expectation(gaussians.log_joint(X))[0][:, 0], 1)


def test_singular_covariances_are_named():
    X, responsibility = random_rows(4)
    X[:, 1] = X[:, 0]
    gaussians = fit_gaussians(X, responsibility, 0.0, "shared")
    with pytest.raises(ValueError, match=r"A covariance matrix is singular.*raise shrinkage\.$"):
        gaussians.log_joint(X)


def test_scaling_knows_constant_columns_and_weights():
    X = np.array([[1.0, 7.1], [2.0, 7.1], [4.0, 7.1]])
    scaling = scaling_of(X, np.array([1.0, 2.0, 1.0]))
    repeated = X[[0, 1, 1, 2]]
    assert_allclose(scaling.mean, repeated.mean(axis=0))
    assert_allclose(scaling.scale, [repeated[:, 0].std(), 1.0])
    assert np.all(np.isfinite(standardized(np.full((1, 2), 1e300), scaling)))


def test_values_too_large_to_square_are_named():
    with pytest.raises(ValueError, match="Column 1 of X holds values too large to square"):
        scaling_of(np.array([[1.0, 1e200], [2.0, -1e200]]), np.ones(2))


def test_a_climb_ends_where_the_objective_stands_still():
    halves = run_em(8.0, lambda x: (x / 2, -x), 100, 0.3)
    assert halves.objectives == [-8.0, -4.0, -2.0, -1.0, -0.5, -0.25]
    assert (halves.state, halves.converged) == (0.25, True)
    assert not run_em(8.0, lambda x: (x / 2, -x), 3, 0.3).converged


def test_variances_answer_as_the_matrices_that_they_stand_for():
    X, responsibility = random_rows(0)
    variances = fit_gaussians(X, responsibility, 2.0, "diagonal")
    matrices = Gaussians(variances.shares, variances.means, variances.covariances)
    assert variances.spread.shape == (2, 3)
    assert_allclose(variances.log_joint(X), matrices.log_joint(X))
    assert_allclose(variances.log_prior(2.0, "diagonal"), matrices.log_prior(2.0, "separate"))


def test_variances_are_the_diagonals_of_the_covariances():
    X, responsibility = random_rows(1)
    variances = fit_gaussians(X, responsibility, 3.0, "diagonal")
    full = fit_gaussians(X, responsibility, 3.0, "separate").covariances
    assert_allclose(variances.spread, np.diagonal(full, axis1=1, axis2=2))
    assert_array_equal(variances.covariances[:, ~np.eye(3, dtype=bool)], 0)


def test_tiny_spreads_far_from_the_mean_of_all_rows_are_exact():
    """x² − m² would lose all digits of such a variance."""
    gaps = 1e-9 * np.array([[-1.0], [0.0], [1.0]])
    variances = fit_gaussians(5 + gaps, np.ones((3, 1)), 0.0, "diagonal")
    assert_allclose(variances.spread, 2e-18 / 3, rtol=1e-6)
    distances = variances.distances(5 + gaps)
    assert_allclose(distances[:, 0], [1.5, 0, 1.5], rtol=1e-6)


def test_many_columns_without_correlations_need_no_matrices():
    """Four matrices of 1000 columns would be 32 MB."""
    random = np.random.RandomState(0)
    X, responsibility = random.standard_normal((20, 1000)), random.dirichlet(np.ones(4), size=20)
    tracemalloc.start()
    gaussians = fit_gaussians(X, responsibility, 1.0, "diagonal")
    gaussians.log_joint(X)
    gaussians.log_prior(1.0, "diagonal")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6
    assert gaussians.covariances.shape == (4, 1000, 1000)


def test_a_component_in_which_a_column_does_not_vary_is_named():
    X, responsibility = random_rows(2)
    component = responsibility.argmax(axis=1)
    responsibility = np.eye(responsibility.shape[1])[component]
    X[:, 1] = component
    gaussians = fit_gaussians(X, responsibility, 0.0, "diagonal")
    with pytest.raises(ValueError, match=r"A covariance matrix is singular.*raise shrinkage\.$"):
        gaussians.log_joint(X)
