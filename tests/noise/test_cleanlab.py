"""Confident learning is that of its authors' package."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.wrappers.estimation import confident_learning
from tests.noise.test_counting import FOUR, draw, draw_classes

count = pytest.importorskip("cleanlab.count")
pytestmark = pytest.mark.peers


def assert_agreement(probability, labels, atol):
    joint = count.compute_confident_joint(labels, probability)
    _, theirs, _ = count.estimate_latent(joint, labels)
    # Theirs is indexed [observed, true], and its confident joint is rounded to whole rows.
    assert_allclose(confident_learning(probability, labels), np.asarray(theirs).T, atol=atol)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", FOUR)
def test_four_classes(noise, seed):
    probability, labels, _ = draw_classes(4000, FOUR[noise], seed)
    assert_agreement(probability, labels, atol=3e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "rates", [(0, 0), (0.1, 0.1), (0.3, 0), (0, 0.3), (0.2, 0.35), (0.6, 0.1)], ids=str
)
def test_two_classes(rates, seed):
    probability, labels, _ = draw(3000, rates, seed)
    assert_agreement(probability, labels, atol=2e-3)
