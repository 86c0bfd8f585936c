import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.noise.classes import kinds

EVERY_KIND = [
    kinds.no_noise(4),
    kinds.symmetric_noise(4),
    kinds.out_of(4, 2),
    kinds.into(4, 1),
    kinds.one_other(4, [1, 2, 3, 0]),
    kinds.single_pairs(4, [(0, 1), (2, 1)]),
    kinds.single_pairs(4, [(0, 1), (1, 3)], any_pair=True),
]


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.name)
def test_rates_move_labels_and_lose_none(kind):
    rates = np.full(kind.n_rates, 0.1)
    matrix = kind.origin + np.tensordot(rates, kind.directions, 1)
    assert_allclose(matrix.sum(axis=1), 1)
    assert matrix.min() >= 0
    assert np.all(np.diag(kind.directions.sum(axis=0)) <= 0)


def test_the_prior_is_spread_over_all_there_is():
    assert sum(kinds.PRIOR.values()) == pytest.approx(1)
    single = [np.exp(kinds.out_of(4, j).log_prior) for j in range(4)]
    assert sum(single) == pytest.approx(kinds.PRIOR["out of"])
    pair = np.exp(kinds.single_pairs(3, [(0, 1)]).log_prior)
    assert 6 * pair == pytest.approx(kinds.PRIOR["pairs"] * (1 - kinds.PER_PAIR))
    target = np.exp(kinds.one_other(3, [1, 2, 0]).log_prior)
    assert 8 * target == pytest.approx(kinds.PRIOR["one other"])


def test_known_noise_is_left_alone():
    matrix = np.array([[0.9, 0.1, 0], [0, 1, 0], [0.2, 0, 0.8]])
    kind = kinds.known_noise(matrix)
    assert kind.n_rates == 0
    assert_allclose(kind.origin, matrix)
