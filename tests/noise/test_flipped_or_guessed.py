"""Labels that were guessed from what the columns show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit, softmax

from rboost.noise import asymmetric, flip_labels, infer_noise, symmetric
from rboost.noise.posterior import FlippedOrGuessed, seen_together


class Curve:
    """p(ỹ = k) is given as it is; scores are positions of rows."""

    def __init__(self, probability):
        self.p = probability

    def observed_probability(self, scores):
        return self.p[np.asarray(scores, dtype=int)].copy()


def drawn(probability, random):
    return (probability.cumsum(axis=1) > random.uniform(size=(len(probability), 1))).argmax(axis=1)


def guessed_labels(n_rows, n_classes, shares, seed):
    """p(y | x), true classes, and labels of which a share of each was guessed."""
    random = np.random.RandomState(seed)
    probability = softmax(2 * random.normal(size=(n_rows, n_classes)), axis=1)
    label = drawn(probability, random)
    is_guess = random.uniform(size=n_rows) < np.asarray(shares)[label]
    true = np.where(is_guess, drawn(probability, random), label)
    return probability, true, label


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_rates_and_shares_of_guesses_are_what_simulated_ones_are(seed, n_classes):
    shares = np.random.RandomState(seed).uniform(size=n_classes)
    probability, true, label = guessed_labels(40_000, n_classes, shares, seed)
    together = seen_together(probability)
    kept = together.sum(axis=1) * (1 - shares)
    joint = together * shares + np.diag(kept)
    counted = np.zeros((n_classes, n_classes))
    np.add.at(counted, (true, label), 1 / len(true))
    assert_allclose(joint, counted, atol=0.015)


def test_all_rates_that_guesses_may_have_lie_in_the_interval():
    probability, true, label = guessed_labels(3000, 2, (0.5, 0.5), 0)
    rows = np.arange(3000)
    only = FlippedOrGuessed(Curve(probability), Curve(probability), 1.0, seen_together(probability))
    only.flipped.rate_cells = only.flipped.wrong_share_cells = lambda *_: (np.zeros(1),) * 3
    low, high = only.interval(0.9)
    for share in (0.1, 0.5, 0.8):
        _, true, label = guessed_labels(3000, 2, (share, share), 0)
        for j in (0, 1):
            assert low[j, 1 - j] <= np.mean(label[true == j] != j) <= high[j, 1 - j]
    _, low, high = (0, *only.wrong_share_cells(rows, label)[:2])
    assert low.min() < 0.01
    assert high.max() > np.mean(true != label)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_that_follow_the_scores_may_be_guessed(n_classes):
    """No flips: suspicious is what the scores speak against, and nothing is corrected."""
    random = np.random.RandomState(1)
    logits = 1.5 * random.normal(size=(1500, n_classes))
    label = drawn(softmax(logits, axis=1), random)
    scores = logits[:, 1] - logits[:, 0] if n_classes == 2 else logits
    found = infer_noise(scores, label)
    assert found.guessed > 0.2
    assert_allclose(found.probability(scores), softmax(logits, axis=1), atol=0.1)
    doubt = 1 - softmax(logits, axis=1)[np.arange(1500), label]
    issues = found.issue_probability(scores, label)
    assert np.corrcoef(np.argsort(np.argsort(doubt)), np.argsort(np.argsort(issues)))[0, 1] > 0.9
    assert found.wrong_share_interval(scores, label)[1] == 0
    assert found.wrong_share_interval(scores, label)[2] > 0.15


@pytest.mark.parametrize("noise", [symmetric(0.2), asymmetric(0.3, from_class=0)])
def test_flips_that_show_are_no_guesses(noise):
    random = np.random.RandomState(0)
    scores = random.normal(scale=3, size=3000)
    true = (random.uniform(size=3000) < expit(2 * scores)).astype(int)
    found = infer_noise(scores, flip_labels(true, noise, random_state=0)[0])
    assert found.guessed < 0.01
    assert_allclose(found.noise_matrix, noise, atol=0.05)


def test_a_rare_class_that_is_never_sure_is_no_noise():
    random = np.random.RandomState(0)
    top = random.beta(1, 9, size=3000)
    label = (random.uniform(size=3000) < top).astype(int)
    found = infer_noise(np.log(top / (1 - top)), label)
    assert_allclose(found.noise_matrix, np.eye(2), atol=0.02)
    assert abs(found.probability(np.log(top / (1 - top)))[:, 1].mean() - label.mean()) < 0.03


@pytest.mark.slow
@given(seed=st.integers(0, 1000), n_classes=st.sampled_from([2, 3]))
@settings(max_examples=15)
def test_probabilities_sum_to_one_and_posteriors_average_to_them(seed, n_classes):
    random = np.random.RandomState(seed)
    scores = random.normal(size=(150, n_classes))
    scores = scores[:, 0] if n_classes == 2 else scores
    found = infer_noise(scores, random.randint(n_classes, size=150))
    assert_allclose(found.probability(scores).sum(axis=1), 1)
    assert_allclose(found.observed_probability(scores).sum(axis=1), 1)
    total = sum(
        found.observed_probability(scores)[:, [k]] * found.posterior(scores, np.full(150, k))
        for k in range(n_classes)
    )
    assert_allclose(total.sum(axis=1), 1)
