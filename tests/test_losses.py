import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar

from rboost.losses import (
    MAX_STEP,
    LossTerms,
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


@given(boosting_states(soft=True), noise_matrices(), mixings, st.floats(-3, 3))
def test_votes_between_the_classes_cost_at_most_what_the_split_says(state, noise, mixing, step):
    labels, scores, sample_weight, votes = state
    coefficients = mixing_coefficients(noise, mixing)
    terms = loss_terms(labels, scores, coefficients, sample_weight)
    falling, rising = terms.split((1 + labels * votes) / 2)
    assert_allclose(falling + rising, terms.right.sum() + terms.wrong.sum())
    bound = np.exp(terms.log_scale) * (falling * np.exp(-step) + rising * np.exp(step))
    moved = loss_terms(labels, scores + step * votes, coefficients, sample_weight)
    assert moved.loss <= bound * (1 + 1e-12)


@given(boosting_states(), noise_matrices(), mixings, st.floats(-3, 3))
def test_votes_for_a_class_cost_exactly_what_the_split_says(state, noise, mixing, step):
    labels, scores, sample_weight, votes = state
    coefficients = mixing_coefficients(noise, mixing)
    terms = loss_terms(labels, scores, coefficients, sample_weight)
    falling, rising = terms.split((1 + labels * votes) / 2)
    assert (falling, rising) == terms.split(votes == labels)
    cost = np.exp(terms.log_scale) * (falling * np.exp(-step) + rising * np.exp(step))
    moved = loss_terms(labels, scores + step * votes, coefficients, sample_weight)
    assert_allclose(moved.loss, cost)


@given(boosting_states(soft=True), noise_matrices(), mixings, st.floats(0.01, 1))
def test_the_loss_never_increases_along_the_step_of_unsure_votes(
    state, noise, mixing, learning_rate
):
    labels, scores, sample_weight, votes = state
    coefficients = mixing_coefficients(noise, mixing)
    terms = loss_terms(labels, scores, coefficients, sample_weight)
    step = learning_rate * step_size(*terms.split((1 + labels * votes) / 2))
    moved = loss_terms(labels, scores + step * votes, coefficients, sample_weight)
    assert moved.loss <= terms.loss * (1 + 1e-12)


@given(boosting_states(soft=True), noise_matrices(), mixings, st.integers(0, 1000))
def test_a_split_of_some_rows_is_the_split_of_a_table_of_them(state, noise, mixing, seed):
    labels, scores, sample_weight, votes = state
    rows = np.random.RandomState(seed).uniform(size=len(labels)) < 0.5
    terms = loss_terms(labels, scores, mixing_coefficients(noise, mixing), sample_weight)
    agreement = (1 + labels * votes) / 2
    some, others = terms.split(agreement, rows=rows), terms.split(agreement, rows=~rows)
    table = LossTerms(terms.right[rows], terms.wrong[rows], terms.log_scale)
    assert some == table.split(agreement[rows])
    assert_allclose(np.add(some, others), terms.split(agreement))
    assert terms.split(agreement, rows=np.zeros_like(rows)) == (0.0, 0.0)
    assert terms.split(agreement, rows=np.ones_like(rows)) == terms.split(agreement)


@given(boosting_states(), noise_matrices(), mixings, st.integers(0, 1000))
def test_a_trusted_row_has_the_loss_of_a_right_label(state, noise, mixing, seed):
    labels, scores, sample_weight, _ = state
    trusted = np.random.RandomState(seed).uniform(size=len(labels)) < 0.5
    coefficients = mixing_coefficients(noise, mixing)
    terms = loss_terms(labels, scores, coefficients, sample_weight, trusted)
    plain = loss_terms(labels, scores, coefficients, sample_weight)
    scale = np.exp(terms.log_scale)
    right = sample_weight * np.exp(-labels * scores)
    assert_allclose(scale * terms.right[trusted], right[trusted])  # eq. (9)
    np.testing.assert_array_equal(terms.wrong[trusted], 0)
    for mine, theirs in [(terms.right, plain.right), (terms.wrong, plain.wrong)]:
        assert_allclose(scale * mine[~trusted], np.exp(plain.log_scale) * theirs[~trusted])
    assert np.all(terms.row_weights[trusted] >= 0)


@given(boosting_states(), noise_matrices(), mixings)
def test_trusting_none_is_the_loss_with_noise_and_trusting_all_that_without(state, noise, mixing):
    labels, scores, sample_weight, _ = state
    coefficients = mixing_coefficients(noise, mixing)
    none, every = np.zeros(len(labels), dtype=bool), np.ones(len(labels), dtype=bool)
    terms = loss_terms(labels, scores, coefficients, sample_weight)
    untrusted = loss_terms(labels, scores, coefficients, sample_weight, none)
    np.testing.assert_array_equal(untrusted.row_weights, terms.row_weights)
    assert untrusted.log_scale == terms.log_scale
    clean = loss_terms(labels, scores, np.eye(2), sample_weight)
    trusted = loss_terms(labels, scores, coefficients, sample_weight, every)
    np.testing.assert_array_equal(trusted.row_weights, clean.row_weights)
    assert trusted.log_scale == clean.log_scale


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
