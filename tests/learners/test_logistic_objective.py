from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import check_grad
from scipy.special import expit

from rboost.learners.logistic_objective import NoisyLogisticObjective

FIXED = np.array([[0.8, 0.2], [0.3, 0.7]])


def objective(seed=0, *, to_sparse=False, C=0.7, fit_intercept=True, fixed_noise=None):
    random = np.random.RandomState(seed)
    # Columns of very different location and scale: the parameters must cope, not the user.
    X = random.standard_normal((30, 4)) * [1, 100, 0.01, 5] + [0, 2000, 0, -3]
    observed = (random.uniform(size=30) < 0.5).astype(float)
    X = sparse.csr_array(X) if to_sparse else X
    weight = random.gamma(1.0, size=30)
    return NoisyLogisticObjective(X, observed, weight, C, fit_intercept, fixed_noise)


@pytest.mark.parametrize("fixed_noise", [None, FIXED, np.eye(2)], ids=["free", "fixed", "none"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [None, 0.7])
def test_gradient_matches_numerical_derivative(fixed_noise, fit_intercept, C):
    problem = objective(C=C, fit_intercept=fit_intercept, fixed_noise=fixed_noise)
    n_parameters = 4 + fit_intercept + 2 * (fixed_noise is None)
    for seed in range(20):
        # Without an intercept a column far from 0 makes huge margins; stay where they are moderate.
        at = (1.0 if fit_intercept else 0.05) * np.random.RandomState(seed).standard_normal(
            n_parameters
        )

        def value(parameters):
            return problem.at(parameters).value

        def gradient(parameters):
            return problem.at(parameters).gradient

        assert check_grad(value, gradient, at) < 1e-5 * max(1, np.abs(gradient(at)).max())


def test_sparse_and_dense_agree():
    dense, scattered = objective(), objective(to_sparse=True)
    at = np.random.RandomState(3).standard_normal(7)
    assert_allclose(dense.at(at).value, scattered.at(at).value, rtol=1e-6)
    assert_allclose(dense.at(at).gradient, scattered.at(at).gradient, rtol=1e-6)


def test_rates_always_satisfy_the_constraint():
    problem = objective()
    for extreme in [(-700.0, 5.0), (30.0, 30.0), (-40.0, -40.0)]:
        noise = problem.noise_matrix(np.concatenate([np.zeros(5), extreme]))
        assert_allclose(noise.sum(axis=1), 1)
        assert noise[0, 1] + noise[1, 0] <= 1
        assert np.all(noise >= 0)


def test_penalty_acts_on_the_coefficients_in_the_units_of_x():
    free, penalised = objective(C=None), objective(C=0.5)
    at = np.random.RandomState(4).standard_normal(7)
    coef, _ = penalised.linear_model(at[:5])
    expected = coef @ coef / (2 * 0.5 * penalised.weight_sum)
    difference = penalised.at(at).value - free.at(at).value
    assert_allclose(difference, expected, rtol=1e-9)


def test_margins_are_those_of_the_linear_model():
    problem = objective()
    at = np.random.RandomState(5).standard_normal(7)
    coef, intercept = problem.linear_model(at[:5])
    assert_allclose(problem.at(at).margins, problem.X @ coef + intercept)


def test_curvature_is_the_second_derivative_at_expected_labels():
    """Fisher's curvature is exact where the targets are the model's own probabilities."""
    random = np.random.RandomState(6)
    at, direction = random.standard_normal(5), random.standard_normal(5)
    problem = objective(fixed_noise=FIXED)
    positive = expit(problem.margins(at))
    expected = FIXED[0, 1] * (1 - positive) + FIXED[1, 1] * positive
    problem = replace(problem, observed=expected)
    h = 1e-4
    slopes = [problem.at(at + step * direction).gradient @ direction for step in [-h, h]]
    assert_allclose(
        problem.at(at).curvature(direction), (slopes[1] - slopes[0]) / (2 * h), rtol=1e-5
    )
