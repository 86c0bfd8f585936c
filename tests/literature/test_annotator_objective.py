import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.special import expit

from rboost.learners.logistic_objective import NoisyLogisticObjective
from rboost.literature.annotators import Annotations, AnnotatorObjective, votes


def objective_of(seed, prior_strength, fit_intercept, C):
    """An objective of random rows, labels with gaps and weights."""
    random = np.random.RandomState(seed)
    codes = random.randint(-1, 2, size=(25, 3))
    linear = NoisyLogisticObjective(
        3 + 2 * random.standard_normal((25, 2)),
        votes(codes),
        random.gamma(1.0, size=25),
        C,
        fit_intercept,
        np.eye(2),
    )
    return AnnotatorObjective(linear, Annotations.of(codes), prior_strength), random


@given(
    st.integers(0, 2**31 - 1),
    st.sampled_from([0.0, 4.0]),
    st.booleans(),
    st.sampled_from([None, 0.5]),
)
def test_the_gradient_is_that_of_the_value(seed, prior_strength, fit_intercept, C):
    objective, random = objective_of(seed, prior_strength, fit_intercept, C)
    point = random.standard_normal(objective.linear.n_linear + 6)
    _, gradient = objective.value_and_gradient(point)
    numerical = approx_fprime(point, lambda x: objective.value_and_gradient(x)[0], 1e-7)
    assert_allclose(gradient, numerical, atol=1e-5)


def test_the_start_is_halfway_between_prior_and_vote():
    codes = np.array([[1, 1, 0, -1], [1, 1, 0, -1], [0, 0, 1, -1], [0, 0, 1, -1]])
    codes = np.column_stack([codes, codes[:, 0]])
    linear = NoisyLogisticObjective(np.eye(4), votes(codes), np.ones(4), 1.0, True, np.eye(2))
    objective = AnnotatorObjective(linear, Annotations.of(codes), 0.0)
    beta, t = objective.unpacked(objective.start(np.array([1.0, 1.0, 0.0, 0.0])))
    assert not beta.any()
    right, wrong = [0.1, 0.9], [0.6, 0.4]
    assert_allclose(expit(t), [right, right, wrong, [0.2, 0.8], right])


@pytest.mark.parametrize("size", [1.0, 1e3])
def test_finite_far_away(size):
    objective, random = objective_of(0, 4.0, True, 1.0)
    value, gradient = objective.value_and_gradient(size * random.standard_normal(9))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
