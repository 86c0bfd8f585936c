"""The estimators of the literature that benchmarks compare with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from benchmarks.counting import anchor_points, trusted_counting
from rboost.noise.matrix import rates_of
from tests.strategies import noise_matrices


def by_anchors(observed, labels):
    return anchor_points(observed)


def draw(n_rows, rates, seed=0, slope=5.0):
    """p(ỹ = k | x) as a perfect model has it, observed labels, true labels."""
    random = np.random.RandomState(seed)
    positive = expit(slope * random.standard_normal(n_rows))
    true = random.uniform(size=n_rows) < positive
    observed = random.uniform(size=n_rows) < np.where(true, 1 - rates[1], rates[0])
    probability = rates[0] + (1 - rates[0] - rates[1]) * positive
    return both(probability), observed.astype(int), true.astype(int)


def both(positive):
    return np.column_stack([1 - positive, positive])


def draw_classes(n_rows, matrix, seed=0):
    """The same for several classes, with class frequencies that differ."""
    random = np.random.RandomState(seed)
    true_probability = random.dirichlet(0.1 * np.arange(1, len(matrix) + 1), n_rows)
    true = (random.uniform(size=(n_rows, 1)) > true_probability.cumsum(axis=1)).sum(axis=1)
    observed = (random.uniform(size=(n_rows, 1)) > matrix[true].cumsum(axis=1)).sum(axis=1)
    return true_probability @ matrix, observed, true


FOUR = {
    "none": np.eye(4),
    "symmetric": np.full((4, 4), 0.1) + 0.6 * np.eye(4),
    "next class": 0.7 * np.eye(4) + 0.3 * np.roll(np.eye(4), 1, axis=1),
    "pairs": np.array([[0.7, 0, 0.3, 0], [0, 1, 0, 0], [0.2, 0, 0.8, 0], [0, 0.4, 0, 0.6]]),
}


@pytest.mark.parametrize("noise", FOUR)
def test_the_noise_of_four_classes_whose_rows_are_certain(noise):
    true = np.arange(400) % 4
    observed = FOUR[noise][true]
    assert_allclose(anchor_points(observed), FOUR[noise])
    assert_allclose(trusted_counting(observed, true), FOUR[noise])


@pytest.mark.parametrize("method", [by_anchors, trusted_counting])
def test_renaming_the_classes_renames_the_rates(method):
    observed, labels, _ = draw_classes(1000, FOUR["pairs"])
    turn = np.array([2, 0, 3, 1])  # class turn[k] becomes class k
    one, other = method(observed, labels), method(observed[:, turn], turn.argsort()[labels])
    assert_allclose(other, one[np.ix_(turn, turn)], atol=1e-9)


@given(st.floats(0, 0.9), st.floats(0, 1))
def test_anchor_points_are_exact_where_the_probabilities_are(into_1, share):
    into_0 = share * (0.95 - into_1)
    positive = np.arange(2000) % 2  # rows that are certainly of one class
    observed = both(into_1 + (1 - into_1 - into_0) * positive)
    matrix = anchor_points(observed)
    assert_allclose(rates_of(matrix), [into_1, into_0], atol=1e-12)


@pytest.mark.parametrize("rates", [(0, 0), (0.1, 0.1), (0.3, 0.0), (0.6, 0.1)], ids=str)
def test_anchor_points_find_the_rates_of_well_separated_classes(rates):
    observed, _, _ = draw(5000, rates, slope=20.0)
    assert_allclose(rates_of(anchor_points(observed)), rates, atol=1e-3)


def test_trusted_counting_averages_over_each_class():
    observed = both(np.array([0.1, 0.3, 0.8, 0.9, 1.0]))
    matrix = trusted_counting(observed, np.array([0, 0, 1, 1, 1]))
    assert_allclose(matrix, [[0.8, 0.2], [0.1, 0.9]])


@pytest.mark.parametrize("rates", [(0, 0), (0.1, 0.2), (0.3, 0.0), (0.6, 0.1)], ids=str)
def test_trusted_counting_finds_the_rates_of_well_separated_classes(rates):
    observed, _, true = draw(5000, rates, slope=100.0)
    assert_allclose(rates_of(trusted_counting(observed, true)), rates, atol=0.02)


@given(
    st.sampled_from([by_anchors, trusted_counting]),
    noise_matrices(),
    st.integers(0, 999),
    st.integers(4, 100),
)
def test_every_method_gives_a_noise_matrix(method, matrix, seed, n_rows):
    observed, _, _ = draw(n_rows, rates_of(matrix), seed)
    found = method(observed, np.arange(n_rows) % 2)
    assert np.all((found >= 0) & (found <= 1))
    assert_allclose(found.sum(axis=1), 1)
    assert rates_of(found).sum() < 1
