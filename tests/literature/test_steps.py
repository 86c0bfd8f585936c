"""Steps and responses in closed form, against the losses that they are to minimise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from rboost.literature.costs import cost_step
from rboost.literature.losses import GRID, LogitBoostClassifier, eta_step
from rboost.literature.robust_boost import Potential, find_move
from tests.strategies import boosting_states

POTENTIALS = st.builds(Potential, st.floats(0.02, 0.45), st.floats(0.0, 2.0), st.floats(0.05, 2.0))


@given(boosting_states(), st.floats(0, 0.99))
def test_the_step_of_eta_boost_minimises_its_loss(state, eta):
    labels, scores, weight, votes = state
    margins, agreement = labels * scores, labels * votes

    def loss(step):
        z = -(margins + step * agreement)
        return weight @ ((1 - eta) * np.exp(z) + eta * z)

    exponential = (1 - eta) * weight * np.exp(-margins)
    right = agreement > 0
    edge = eta * (weight @ agreement)
    step = eta_step(exponential[right].sum(), exponential[~right].sum(), edge)
    if abs(step) < 15:  # else no votes are wrong, and there is no minimum
        slope = (loss(step + 1e-5) - loss(step - 1e-5)) / 2e-5
        assert abs(slope) < 1e-4 * (exponential.sum() + weight.sum())
        assert loss(step) <= min(loss(step - 0.1), loss(step + 0.1))


def test_eta_boost_flips_most_labels_on_the_boundary():
    """Its minimum is that of a logistic model with p(flip) = η / ((1 − η)(e^F + e^−F) + 2η)."""
    eta, scores = 0.6, np.linspace(-4, 4, 81)
    slope = (1 - eta) * np.exp(scores) + eta
    mirrored = (1 - eta) * np.exp(-scores) + eta
    observed = slope / (slope + mirrored)  # where the expected loss is smallest
    flip = eta / ((1 - eta) * (np.exp(scores) + np.exp(-scores)) + 2 * eta)
    true = 1 / (1 + np.exp(-2 * scores))
    assert_allclose((1 - flip) * true + flip * (1 - true), observed)
    assert flip.argmax() == 40
    assert_allclose(flip[40], eta / 2)


@given(boosting_states(), st.floats(0.05, 1.95))
def test_the_cost_sensitive_step_minimises_its_loss(state, cost):
    labels, scores, weight, votes = state
    costs = np.where(labels > 0, cost, 2 - cost)
    row_weights = costs * weight * np.exp(-costs * labels * scores)

    def loss(step):
        return weight @ np.exp(-costs * labels * (scores + step * votes))

    step = cost_step(row_weights, costs, labels * votes)
    assert step >= 0
    if 0 < step < 15:
        found = minimize_scalar(loss, bounds=(0, 18), method="bounded", options={"xatol": 1e-9})
        assert loss(step) <= found.fun * (1 + 1e-9)
    elif step == 0:
        assert loss(0) <= loss(1e-4) * (1 + 1e-9)


@given(st.floats(0.05, 0.95), st.floats(0.05, 1.95))
def test_the_cost_sensitive_minimiser_is_the_decision_of_least_cost(probability, cost):
    other = 2 - cost
    expected = np.log(cost * probability / (other * (1 - probability))) / 2

    def risk(score):
        return probability * np.exp(-cost * score) + (1 - probability) * np.exp(other * score)

    slope = (risk(expected + 1e-6) - risk(expected - 1e-6)) / 2e-6
    assert abs(slope) < 1e-6 * max(1, risk(expected))


@given(st.floats(-5, 5), st.sampled_from([-1.0, 1.0]))
def test_logitboost_takes_newton_steps_on_the_logistic_loss(score, label):
    def loss(score):
        return np.logaddexp(0, -2 * label * score)

    width = 1e-4
    slope = (loss(score + width) - loss(score - width)) / (2 * width)
    curvature = (loss(score + width) - 2 * loss(score) + loss(score - width)) / width**2
    model = LogitBoostClassifier(max_response=np.inf)
    (response,), (weight,) = model._working_response(np.array([label]), np.array([score]))
    # In units of the log-odds 2F the slope is half, the curvature a quarter.
    assert_allclose(weight, curvature / 4, atol=1e-6)
    assert_allclose(response * weight, -slope / 2, atol=weight / GRID)


@given(POTENTIALS, st.floats(0, 1), st.floats(-4, 4))
def test_the_weights_of_robust_boost_are_the_slope_of_its_potential(potential, time, margin):
    margins = np.array([margin, margin + 1e-5])
    slope = -np.diff(potential(margins, time))[0] / 1e-5
    expected = np.exp(-(potential.distance(margins[:1], time)[0] ** 2))
    assert_allclose(slope * np.sqrt(np.pi) * potential.width(time), expected, atol=1e-3)


@given(POTENTIALS)
def test_the_potential_starts_at_the_goal_and_ends_as_a_step(potential):
    assert_allclose(potential(np.zeros(1), 0.0), potential.error_goal)
    assert_allclose(potential.centre(1.0), potential.margin_goal, atol=1e-12)
    assert_allclose(potential.width(1.0), potential.margin_width)


@given(POTENTIALS, st.floats(0.05, 0.9), st.floats(-2, 2))
def test_the_potential_is_what_a_random_margin_is_worth_at_the_end(potential, time, margin):
    """m moves as dm = −(m − 2ρ)dt + dW·√(…): Φ(m, t) is the mean of Φ(m', t') over m'."""
    later = min(1.0, time + 0.1)
    shrink = np.exp(time - later)
    mean = (margin - 2 * potential.drift) * shrink + 2 * potential.drift
    spread = np.sqrt((1 - shrink**2) / 2)

    def integrand(z):
        value = potential(np.array([mean + spread * z]), later)[0]
        return value * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

    expected = quad(integrand, -8, 8, limit=200)[0]
    assert_allclose(potential(np.array([margin]), time)[0], expected, atol=1e-6)


@given(boosting_states(), POTENTIALS, st.floats(0, 0.9))
def test_a_move_does_not_raise_the_mean_potential_and_leaves_no_edge(state, potential, time):
    labels, scores, weight, votes = state
    margins, agreement = labels * np.clip(scores, -3, 3), labels * votes
    move = find_move(potential, margins, agreement, weight, time)
    if move is None:
        return
    later, step = move
    assert time < later <= 1
    assert step >= 0
    moved = np.exp(time - later) * margins + step * agreement
    before, after = weight @ potential(margins, time), weight @ potential(moved, later)
    assert after <= before * (1 + 1e-5)
    if later < 1 and np.ptp(margins) == 0:  # else the best step may jump, and the potential with it
        assert_allclose(after, before, rtol=1e-5)
    if (agreement > 0).any() and (agreement < 0).any() and step < 50 * potential.width(later):
        slope = weight * potential.slope(moved, later)
        assert abs(slope @ agreement) < 1e-4 * slope.sum()


def test_votes_without_an_edge_do_not_move():
    margins, agreement = np.zeros(4), np.array([1.0, 1.0, -1.0, -1.0])
    assert find_move(Potential(0.2, 0.0, 0.1), margins, agreement, np.ones(4), 0.0) is None


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_better_votes_take_more_time(share):
    margins, n_right = np.zeros(100), int(100 * share)
    agreement = np.where(np.arange(100) < n_right, 1.0, -1.0)
    later, step = find_move(Potential(0.1, 0.0, 0.1), margins, agreement, np.ones(100), 0.0)
    worse, shorter = find_move(
        Potential(0.1, 0.0, 0.1),
        margins,
        np.where(np.arange(100) < 55, 1.0, -1.0),
        np.ones(100),
        0.0,
    )
    assert later > worse
    assert step > shorter
