import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.noise import multiplicative_update, observed_probability
from tests.strategies import noise_matrices, stochastic_matrices


def log_likelihood(matrix, probability, observed, weight):
    mixture = observed_probability(probability, matrix)
    return weight @ np.log(mixture[np.arange(len(observed)), observed])


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_the_likelihood_never_decreases(matrix, seed):
    random = np.random.RandomState(seed)
    probability = random.dirichlet(np.ones(len(matrix)), size=50)
    observed = random.randint(len(matrix), size=50)
    weight = random.gamma(1.0, size=50)
    updated = multiplicative_update(matrix, probability, observed, weight)
    assert_allclose(updated.sum(axis=1), 1)
    before = log_likelihood(matrix, probability, observed, weight)
    assert log_likelihood(updated, probability, observed, weight) >= before - 1e-9


@given(noise_matrices(smallest=0.01))
def test_certain_probabilities_count_the_flips(matrix):
    true = np.repeat([0, 1], 50)
    observed = np.random.RandomState(0).randint(2, size=100)
    counted = multiplicative_update(matrix, np.eye(2)[true], observed)
    for j in range(2):
        assert_allclose(counted[j], np.bincount(observed[true == j], minlength=2) / 50)


def test_the_binary_formulas_of_the_paper():
    gamma = np.array([[0.8, 0.2], [0.1, 0.9]])
    P = np.array([0.2, 0.6, 0.9, 0.4])
    y = np.array([0, 1, 1, 0])
    g11 = gamma[1, 1] * np.sum((y == 1) * P / (gamma[1, 1] * P + gamma[0, 1] * (1 - P)))
    g10 = gamma[1, 0] * np.sum((y == 0) * P / (gamma[1, 0] * P + gamma[0, 0] * (1 - P)))
    g01 = gamma[0, 1] * np.sum((y == 1) * (1 - P) / (gamma[1, 1] * P + gamma[0, 1] * (1 - P)))
    g00 = gamma[0, 0] * np.sum((y == 0) * (1 - P) / (gamma[1, 0] * P + gamma[0, 0] * (1 - P)))
    expected = [
        [g00 / (g00 + g01), g01 / (g00 + g01)],
        [g10 / (g10 + g11), g11 / (g10 + g11)],
    ]
    assert_allclose(multiplicative_update(gamma, np.column_stack([1 - P, P]), y), expected)


def test_zero_rates_and_impossible_rows_stay_finite():
    result = multiplicative_update(np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, 0]))
    assert np.all(np.isfinite(result))
    assert_allclose(result, np.eye(2))
