import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost.noise.inference import infer_noise
from rboost.noise.matrix import with_rates
from rboost.noise.platt import fit_noise_aware_platt
from rboost.noise.posterior import Doubt
from tests.noise.test_platt import draw


@given(st.floats(0, 0.4), st.floats(0, 0.4), st.integers(0, 99))
def test_probabilities_of_both_classes_sum_to_1_and_follow_bayes(into_1, into_0, seed):
    scores, observed, _ = draw(200, (into_1, into_0), seed)
    matrix = with_rates(into_1, into_0)
    fitted = fit_noise_aware_platt(scores, observed, noise_matrix=matrix)
    prior = fitted.probability(scores)
    assert prior.shape == (200, 2)
    assert_allclose(prior[:, 1], fitted(scores))
    joint = prior * matrix[:, observed].T
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert_allclose(fitted.posterior(scores, observed), expected, atol=1e-6)
    wrong = fitted.posterior(scores, observed)[np.arange(200), 1 - observed]
    assert_allclose(wrong, fitted.issue_probability(scores, observed), atol=1e-12)


@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.0), (0.05, 0.25)], ids=str)
def test_the_share_of_wrong_labels_lies_in_its_interval_as_often_as_promised(rates):
    inside = []
    for seed in range(40):
        scores, observed, _ = draw(400, rates, seed)
        fitted = fit_noise_aware_platt(scores, observed)
        _, low, high = fitted.wrong_share_interval(scores, observed)
        margin = 3 * scores + 0.3  # as drawn
        joint = np.stack([expit(-margin), expit(margin)]) * with_rates(*rates)[:, observed]
        wrong = joint[1 - observed, np.arange(400)] / joint.sum(axis=0)
        inside.append(low <= wrong.mean() <= high)
    assert np.mean(inside) >= 0.75


def test_the_mean_share_is_that_of_the_rows_and_a_higher_level_is_wider():
    scores, observed, _ = draw(5000, (0.2, 0.1))
    fitted = fit_noise_aware_platt(scores, observed)
    mean, low, high = fitted.wrong_share_interval(scores, observed)
    assert_allclose(mean, fitted.issue_probability(scores, observed).mean())
    assert 0 < low < mean < high < 1
    _, lower, higher = fitted.wrong_share_interval(scores, observed, level=0.99)
    assert lower <= low
    assert high <= higher
    order = np.random.RandomState(0).permutation(len(scores))
    again = fitted.wrong_share_interval(scores[order], observed[order])
    assert_allclose(again, (mean, low, high), rtol=1e-9)


@pytest.mark.parametrize("slope", [1.0, 3.0, 8.0])
def test_labels_that_may_all_be_right_have_an_interval_from_0(slope):
    scores, observed, _ = draw(500, (0.0, 0.0), slope=slope)
    fitted = fit_noise_aware_platt(scores, observed)
    assert fitted.wrong_share_interval(scores, observed)[1] == 0


def test_known_noise_leaves_chance_open():
    scores, observed, _ = draw(500, (0.2, 0.1))
    fitted = fit_noise_aware_platt(scores, observed, noise_matrix=with_rates(0.2, 0.1))
    mean, low, high = fitted.wrong_share_interval(scores, observed)
    wrong = fitted.issue_probability(scores, observed)
    assert_allclose(high - low, 3.29 * np.sqrt(np.sum(wrong * (1 - wrong))) / 500, rtol=0.2)
    assert low < mean < high


@given(st.integers(0, 999), st.integers(1, 39))
def test_a_list_moves_with_all_rows_as_log_odds_move(seed, n_listed):
    """Beside chance and its own misfit: the ratio of the derivatives by a common shift."""
    random = np.random.RandomState(seed)
    log_odds, step = random.normal(-1, 1, size=40), 1e-5
    moved = (expit(log_odds + step) - expit(log_odds - step)) / (2 * step)
    wrong = expit(log_odds)
    rows, some = Doubt.of(wrong), Doubt.of(wrong[:n_listed])
    with_common, without = (rows.deviation(some, common, 0.5) ** 2 for common in (0.01, 0.0))
    expected = 0.01 * moved[:n_listed].mean() / moved.mean()
    assert_allclose(np.sqrt(with_common - without), expected, rtol=1e-4)
    chance = rows.deviation(some, 0.0, 0.0) ** 2
    assert chance >= np.sum(wrong[:n_listed] * (1 - wrong[:n_listed])) / n_listed**2 - 1e-12
    low, high = rows.interval(wrong[:n_listed], (0.1, 0.3))
    assert 0 <= low <= wrong[:n_listed].mean() <= high <= 1


def test_the_least_interval_of_a_list_by_hand():
    """A list of 50 of 1000 rows of which the model is sure: the least spread is .2 · .95."""
    sure = Doubt.of(np.ones(50))
    found = Doubt.of(np.ones(1000)).deviation(sure, 0.0)
    assert_allclose(found, np.sqrt(0.19 / 50 + (0.75 * 0.95 * 0.19) ** 2))


@pytest.mark.parametrize("kind", ["flips alone", "whatever", "answers"])
def test_a_list_of_all_rows_has_the_share_of_all_rows(kind):
    scores, observed, true = draw(300, (0.2, 0.1))
    checked = np.where(np.arange(300) % 9 == 0, true, -1) if kind == "answers" else None
    found = infer_noise(scores, observed, checked=checked)
    found = found.flips if kind == "flips alone" else found
    everything = np.arange(300)
    assert_allclose(
        found.wrong_share_interval(scores, observed, listed=everything),
        found.wrong_share_interval(scores, observed),
    )
    worst = np.argsort(-found.issue_probability(scores, observed))[:30]
    mean, low, high = found.wrong_share_interval(scores, observed, listed=worst)
    assert_allclose(mean, found.issue_probability(scores, observed)[worst].mean())
    assert low <= mean <= high


@pytest.mark.slow
@pytest.mark.parametrize("rates", [(0.2, 0.2), (0.3, 0.0), (0.05, 0.25)], ids=str)
def test_the_share_of_wrong_labels_in_a_list_lies_in_its_interval(rates):
    held, widths = [], []
    for seed in range(30):
        scores, observed, true = draw(600, rates, seed)
        found = infer_noise(scores, observed)
        wrong = found.issue_probability(scores, observed)
        worst = np.argsort(-wrong)[: max(50, round(wrong.sum()))]
        _, low, high = found.wrong_share_interval(scores, observed, listed=worst)
        held.append(low <= np.mean(true[worst] != observed[worst]) <= high)
        widths.append(high - low)
    assert np.mean(held) >= 0.85
    assert np.mean(widths) < 0.8


@pytest.mark.slow
def test_narrow_intervals_of_short_lists_hold_too():
    """Where the inference is too sure, its list is too: more than two in three hold (.42 without
    the least spread of a list).
    """
    held = []
    for seed in range(60):
        scores, observed, true = draw(300, (0.2, 0.2), seed)
        found = infer_noise(scores, observed)
        worst = np.argsort(-found.issue_probability(scores, observed))[:50]
        _, low, high = found.wrong_share_interval(scores, observed, listed=worst)
        if high - low <= 0.3:
            held.append(low <= np.mean(true[worst] != observed[worst]) <= high)
    assert len(held) >= 5
    assert np.mean(held) >= 0.65
