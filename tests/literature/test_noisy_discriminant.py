import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.literature.discriminant import NoisyDiscriminant
from rboost.noise.matrix import keep_informative, rates_of, symmetric
from tests.literature.test_discriminant import two_gaussians
from tests.strategies import noise_matrices

LARGEST_SUM = rates_of(keep_informative(symmetric(0.5))).sum()


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["shared", "separate"])
@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**31 - 1),
    noise=noise_matrices(),
    fixed=st.booleans(),
    prior_rows=st.sampled_from([0.5, 3.0, 30.0]),
)
def test_the_likelihood_never_decreases(covariance, seed, noise, fixed, prior_rows):
    X, _, noisy = two_gaussians(60, noise, seed=seed, gap=0.3)
    weight = np.random.RandomState(seed).gamma(1.0, size=60) + 1e-3
    noisy[:2] = [0, 1]
    problem = NoisyDiscriminant(X, weight, prior_rows, covariance, noisy, noise if fixed else None)
    model, objectives = problem.start(), []
    for _ in range(60):
        model, objective = problem.step(model)
        objectives.append(objective)
        assert model.noise_matrix[0, 1] + model.noise_matrix[1, 0] <= LARGEST_SUM + 1e-9 or fixed
    assert np.min(np.diff(objectives)) > -1e-10


@given(seed=st.integers(0, 2**31 - 1), noise=noise_matrices(smallest=0.01))
def test_flip_rates_stay_informative_and_get_better(seed, noise):
    """Responsibilities that contradict the labels ask for rates of more than 1 in sum."""
    random = np.random.RandomState(seed)
    observed = np.arange(50) % 2
    responsibility = random.dirichlet([1, 1], size=50)
    contradicting = responsibility.argmax(axis=1) == observed
    responsibility[contradicting] = responsibility[contradicting, ::-1]
    weight = random.gamma(1.0, size=50) + 0.01
    problem = NoisyDiscriminant(np.zeros((50, 1)), weight, 1.0, "shared", observed, None)
    updated = problem._noise_matrix(noise, responsibility)

    def expected_log_likelihood(matrix):
        return weight @ (responsibility * np.log(matrix.T[observed])).sum(axis=1)

    assert_allclose(updated[0, 1] + updated[1, 0], LARGEST_SUM)
    assert expected_log_likelihood(updated) >= expected_log_likelihood(noise) - 1e-9


def test_the_objective_is_the_likelihood_of_rows_and_labels():
    X, _, noisy = two_gaussians(50, [[0.7, 0.3], [0.1, 0.9]])
    weight = np.arange(1.0, 51.0)
    problem = NoisyDiscriminant(X, weight, 0.0, "separate", noisy, None)
    model = problem.start()
    expected = 0.0
    for x, label, w in zip(X, noisy, weight, strict=True):
        density = 0.0
        for j in range(2):
            gap, sigma = x - model.gaussians.means[j], model.gaussians.covariances[j]
            normal = np.exp(-gap @ np.linalg.solve(sigma, gap) / 2)
            normal /= np.sqrt(np.linalg.det(2 * np.pi * sigma))
            density += model.gaussians.shares[j] * normal * model.noise_matrix[j, label]
        expected += w * np.log(density)
    assert_allclose(problem.step(model)[1], expected / weight.sum())
