import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from rboost.noise.matrix import with_rates
from rboost.noise.platt import fit_noise_aware_platt
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
