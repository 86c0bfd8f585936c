import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rboost.literature.classifiers.covariances import Covariances, Variances
from rboost.literature.classifiers.gaussians import fit_gaussians
from tests.literature.classifiers.test_gaussians import random_rows


def test_variances_answer_as_the_matrices_that_they_stand_for():
    X, responsibility = random_rows(0)
    means = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]])
    variances = Variances.fit(X, responsibility, means, 2.0)
    matrices = Covariances(variances.matrices)
    assert_allclose(variances.distances(X, means), matrices.distances(X, means))
    assert_allclose(variances.log_determinants, matrices.log_determinants)
    assert_allclose(variances.inverse_traces, matrices.inverse_traces)


def test_variances_are_the_diagonals_of_the_covariances():
    X, responsibility = random_rows(1)
    means = responsibility.T @ X / responsibility.sum(axis=0)[:, np.newaxis]
    variances = Variances.fit(X, responsibility, means, 3.0)
    full = Covariances.fit(X, responsibility, means, 3.0, shared=False).matrices
    assert_allclose(variances.diagonals, np.diagonal(full, axis1=1, axis2=2))
    assert_array_equal(variances.matrices[:, ~np.eye(3, dtype=bool)], 0)


def test_tiny_spreads_far_from_the_mean_of_all_rows_are_exact():
    """x² − m² would lose all digits of such a variance."""
    gaps = 1e-9 * np.array([[-1.0], [0.0], [1.0]])
    variances = Variances.fit(5 + gaps, np.ones((3, 1)), np.array([[5.0]]), 0.0)
    assert_allclose(variances.diagonals, 2e-18 / 3, rtol=1e-6)
    distances = variances.distances(5 + gaps, np.array([[5.0]]))
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
