import numpy as np
from numpy.testing import assert_allclose

from rboost.boosting.sampling import SAMPLINGS

WEIGHTS = np.array([0.0, 1.0, 2.0, 5.0, 1e-300])


def test_none_takes_all_rows_as_they_are(rng):
    rows, weights = SAMPLINGS["none"](WEIGHTS, 0.5, rng)
    np.testing.assert_array_equal(weights, WEIGHTS)
    np.testing.assert_array_equal(WEIGHTS[rows], WEIGHTS)


def test_uniform_takes_each_row_at_most_once_whatever_its_weight(rng):
    counts = np.zeros(5)
    for _ in range(2000):
        rows, weights = SAMPLINGS["uniform"](WEIGHTS, 0.6, rng)
        assert len(rows) == len(np.unique(rows)) == 3
        np.testing.assert_array_equal(weights, WEIGHTS[rows])
        counts[rows] += 1
    assert_allclose(counts / 2000, 0.6, atol=0.05)


def test_weights_draws_in_proportion(rng):
    rows, weights = SAMPLINGS["weights"](WEIGHTS, 4000.0, rng)
    assert weights is None
    assert_allclose(np.bincount(rows, minlength=5) / 20_000, WEIGHTS / 8, atol=0.02)


def test_at_least_one_row_is_drawn(rng):
    for name in ["uniform", "weights"]:
        assert len(SAMPLINGS[name](WEIGHTS, 1e-9, rng)[0]) == 1
