import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import approx_fprime, check_grad

from rboost.linear.objective import NoisyLogisticObjective

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
            return problem.value_and_gradient(parameters)[0]

        def gradient(parameters):
            return problem.value_and_gradient(parameters)[1]

        assert check_grad(value, gradient, at) < 1e-5 * max(1, np.abs(gradient(at)).max())


def test_sparse_and_dense_agree():
    dense, scattered = objective(), objective(to_sparse=True)
    at = np.random.RandomState(3).standard_normal(7)
    for one, other in zip(
        dense.value_and_gradient(at), scattered.value_and_gradient(at), strict=True
    ):
        assert_allclose(one, other, rtol=1e-6)


def test_rates_always_satisfy_the_constraint():
    problem = objective()
    for extreme in [(-700.0, 5.0), (30.0, 30.0), (-40.0, -40.0)]:
        _, _, noise = problem.unpack(np.concatenate([np.zeros(5), extreme]))
        assert_allclose(noise.sum(axis=1), 1)
        assert noise[0, 1] + noise[1, 0] <= 1
        assert np.all(noise >= 0)


def test_penalty_acts_on_the_coefficients_in_the_units_of_x():
    free, penalised = objective(C=None), objective(C=0.5)
    at = np.random.RandomState(4).standard_normal(7)
    coef, _, _ = penalised.unpack(at)
    expected = coef @ coef / (2 * 0.5 * penalised.weight_sum)
    difference = penalised.value_and_gradient(at)[0] - free.value_and_gradient(at)[0]
    assert_allclose(difference, expected, rtol=1e-9)


def test_margin_is_what_unpack_says():
    problem = objective()
    at = np.random.RandomState(5).standard_normal(7)
    coef, intercept, _ = problem.unpack(at)
    assert_allclose(problem.margin(at), problem.X @ coef + intercept)
    slope = approx_fprime(at, lambda p: problem.margin(p)[0])
    assert_allclose(slope[-2:], 0, atol=1e-6)  # the rates do not move the margin
