"""Losses at scores, rates and steps of extreme size."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.engines.rounds import MAX_STEP, step_size
from rboost.noise import symmetric
from tests.engines.test_losses import LIKELIHOOD, terms_of


@pytest.mark.parametrize("size", [1e3, 1e8])
@pytest.mark.parametrize("loss", ["posterior", "paper", LIKELIHOOD])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_any_size_stay_finite(size, loss, n_classes):
    scores = size * (n_classes * np.eye(n_classes) - 1)
    probability = np.eye(n_classes)
    for observed in (np.arange(n_classes), np.roll(np.arange(n_classes), 1)):
        for noise in [np.eye(n_classes), symmetric(0.3, n_classes)]:
            terms = terms_of(loss, observed, scores, noise)
            assert np.all(np.isfinite(terms.class_weights))
            assert 0 <= terms.judge(probability).step <= step_size(1.0, 0.0, n_classes)


def test_tiny_rates_do_not_drown_the_weights():
    scores = np.array([[-300.0, 300.0], [301.0, -301.0]])
    noise = np.array([[1 - 1e-300, 1e-300], [1e-300, 1 - 1e-300]])
    terms = terms_of("posterior", np.array([1, 0]), scores, noise)
    assert_allclose(terms.class_weights.max(), 1)


def test_steps_are_clamped():
    assert step_size(1.0, 0.0) == MAX_STEP
    assert step_size(1.0, 1e-300) == MAX_STEP
    assert step_size(0.4, 0.6) == 0
    assert step_size(0.5, 0.5) == 0
    assert step_size(0.5 + 1e-15, 0.5 - 1e-15) == 0
    assert step_size(0.0, 0.0) == 0
    assert step_size(0.25, 0.75, 4) == 0
    assert step_size(0.26, 0.74, 4) > 0
