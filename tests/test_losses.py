import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar

from rboost.losses import (
    MAX_STEP,
    loss_terms,
    mixing_coefficients,
    population_minimiser,
    step_size,
)
from rboost.noise import symmetric, threshold
from tests.strategies import boosting_states, noise_matrices

mixings = st.sampled_from(["posterior", "paper"])


def paper_loss(labels, scores, gamma, sample_weight):
    """Eq. (10), written out as in the paper."""
    positive = gamma[0, 0] * np.exp(-scores) + gamma[0, 1] * np.exp(scores)
    negative = gamma[1, 1] * np.exp(scores) + gamma[1, 0] * np.exp(-scores)
    return np.sum(sample_weight * np.where(labels > 0, positive, negative))


@given(boosting_states(), noise_matrices())
def test_paper_mixing_is_eq_10(state, gamma):
    labels, scores, sample_weight, _ = state
    terms = loss_terms(labels, scores, mixing_coefficients(gamma, "paper"), sample_weight)
    assert_allclose(terms.loss, paper_loss(labels, scores, gamma, sample_weight))


@given(boosting_states())
def test_no_noise_is_the_exponential_loss(state):
    labels, scores, sample_weight, _ = state
    for mixing in ["posterior", "paper"]:
        terms = loss_terms(labels, scores, mixing_coefficients(np.eye(2), mixing), sample_weight)
        assert_allclose(terms.loss, sample_weight @ np.exp(-labels * scores))  # eq. (9)


@given(st.floats(0, 0.49))
def test_both_mixings_agree_for_symmetric_noise(rate):
    noise = symmetric(rate)
    ours, paper = (mixing_coefficients(noise, name) for name in ["posterior", "paper"])
    assert_allclose(ours, paper, atol=1e-15)


@given(boosting_states(), noise_matrices(), mixings)
def test_row_weights_are_minus_the_derivative_by_the_margin(state, noise, mixing):
    labels, scores, sample_weight, _ = state
    coefficients = mixing_coefficients(noise, mixing)
    h = 1e-6

    def loss_of_rows(scores):
        terms = loss_terms(labels, scores, coefficients, sample_weight)
        return (terms.right + terms.wrong) * np.exp(terms.log_scale)

    terms = loss_terms(labels, scores, coefficients, sample_weight)
    slope = (loss_of_rows(scores + h * labels) - loss_of_rows(scores - h * labels)) / (2 * h)
    scale = np.exp(terms.log_scale)
    assert_allclose(terms.row_weights * scale, -slope, rtol=1e-5, atol=1e-7 * scale)


@given(boosting_states(), noise_matrices(), mixings)
def test_a_negative_weight_is_a_flipped_target(state, noise, mixing):
    labels, scores, sample_weight, votes = state
    weights = loss_terms(
        labels, scores, mixing_coefficients(noise, mixing), sample_weight
    ).row_weights
    targets = np.where(weights < 0, -labels, labels)

    def excess(votes):
        return weights @ (votes != labels) - np.abs(weights) @ (votes != targets)

    assert_allclose(excess(votes), excess(labels), atol=1e-12)  # the same constant for all votes


@given(boosting_states(), noise_matrices(), mixings)
def test_closed_form_step_is_the_root_of_eq_14(state, noise, mixing):
    labels, scores, sample_weight, votes = state
    terms = loss_terms(labels, scores, mixing_coefficients(noise, mixing), sample_weight)
    epsilon = terms.row_weights @ (votes != labels)
    A, B = terms.right.sum(), terms.wrong.sum()

    def eq_14(alpha):
        return 2 * np.cosh(alpha) * epsilon - np.exp(-alpha) * A + np.exp(alpha) * B

    falling, rising = terms.split(votes == labels)
    assert_allclose([falling, rising], [A - epsilon, B + epsilon], atol=1e-12 * (A + B))
    assume(falling > rising * (1 + 1e-9) and rising > 1e-9 * falling)
    root = brentq(eq_14, 0, MAX_STEP, xtol=1e-14, rtol=8.9e-16)
    assert abs(step_size(falling, rising) - root) < 1e-10


@given(boosting_states(), noise_matrices(), mixings, st.floats(0.01, 1))
def test_the_loss_never_increases_along_the_step(state, noise, mixing, learning_rate):
    labels, scores, sample_weight, votes = state
    coefficients = mixing_coefficients(noise, mixing)
    terms = loss_terms(labels, scores, coefficients, sample_weight)
    step = learning_rate * step_size(*terms.split(votes == labels))
    moved = loss_terms(labels, scores + step * votes, coefficients, sample_weight)
    assert moved.loss <= terms.loss * (1 + 1e-12)


@given(noise_matrices(), st.floats(-0.3, 0.3))
def test_posterior_mixing_changes_sign_at_the_bayes_threshold(noise, offset):
    at = threshold(noise)
    assert_allclose(at, (1 - noise[1, 0] + noise[0, 1]) / 2)
    assert_allclose(population_minimiser(at, noise), 0, atol=1e-9)
    observed = at + offset
    if 0 < observed < 1 and abs(offset) > 1e-6:
        assert np.sign(population_minimiser(observed, noise)) == np.sign(offset)


def test_paper_mixing_does_not():
    """The example of the design notes: .714 against the Bayes threshold .65."""
    noise = np.array([[0.7, 0.3], [0.0, 1.0]])
    wrong = brentq(lambda p: population_minimiser(p, noise, "paper"), 0.01, 0.99)
    assert_allclose(threshold(noise), 0.65)
    assert_allclose(wrong, 1 / 1.4)


@given(noise_matrices(smallest=0.01), st.floats(0.05, 0.95), mixings)
def test_population_minimiser_minimises(noise, observed, mixing):
    c = mixing_coefficients(noise, mixing)

    def expected_loss(score):
        return observed * (c[1, 1] * np.exp(-score) + c[1, 0] * np.exp(score)) + (1 - observed) * (
            c[0, 0] * np.exp(score) + c[0, 1] * np.exp(-score)
        )

    found = minimize_scalar(expected_loss, bounds=(-8, 8), method="bounded")
    best = float(population_minimiser(observed, noise, mixing))
    assert expected_loss(best) <= expected_loss(found.x) + 1e-9


@pytest.mark.parametrize("size", [1e3, 1e8])
def test_scores_of_any_size_stay_finite(size):
    labels = np.array([1.0, -1.0, 1.0])
    scores = np.array([size, size, -size])
    for noise in [np.eye(2), np.array([[0.7, 0.3], [0.1, 0.9]])]:
        terms = loss_terms(labels, scores, mixing_coefficients(noise), np.ones(3))
        assert np.all(np.isfinite(terms.row_weights))
        assert np.abs(terms.row_weights).max() > 0
        assert step_size(*terms.split(np.array([True, False, True]))) <= MAX_STEP


def test_tiny_rates_do_not_drown_the_weights():
    labels, scores = np.array([1.0, -1.0]), np.array([300.0, -301.0])
    noise = np.array([[1 - 1e-300, 1e-300], [1e-300, 1 - 1e-300]])
    terms = loss_terms(labels, scores, mixing_coefficients(noise), np.ones(2))
    assert_allclose(max(terms.right.max(), terms.wrong.max()), 1)


def test_steps_are_clamped():
    assert step_size(1.0, 0.0) == MAX_STEP
    assert step_size(1.0, 1e-300) == MAX_STEP
    assert step_size(0.4, 0.6) == 0
    assert step_size(0.5, 0.5) == 0
    assert step_size(0.5 + 1e-15, 0.5 - 1e-15) == 0
    assert step_size(0.0, 0.0) == 0
