import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost.boosting.sampling import SAMPLINGS, Randomness, draw_uniformly

WEIGHTS = np.array([0.0, 1.0, 2.0, 5.0, 1e-300])


def test_none_takes_all_rows_as_they_are(rng):
    rows, weights = SAMPLINGS["none"](WEIGHTS, 0.5, Randomness(rng))
    np.testing.assert_array_equal(weights, WEIGHTS)
    np.testing.assert_array_equal(WEIGHTS[rows], WEIGHTS)


def test_uniform_takes_each_row_at_most_once_whatever_its_weight(rng):
    counts = np.zeros(5)
    for _ in range(2000):
        rows, weights = SAMPLINGS["uniform"](WEIGHTS, 0.6, Randomness(rng))
        assert len(rows) == len(np.unique(rows)) == 3
        np.testing.assert_array_equal(weights, WEIGHTS[rows])
        counts[rows] += 1
    assert_allclose(counts / 2000, 0.6, atol=0.05)


def test_weights_draws_in_proportion(rng):
    rows, weights = SAMPLINGS["weights"](WEIGHTS, 4000.0, Randomness(rng))
    assert weights is None
    assert_allclose(np.bincount(rows, minlength=5) / 20_000, WEIGHTS / 8, atol=0.02)


def test_at_least_one_row_is_drawn(rng):
    for name in ["uniform", "weights"]:
        assert len(SAMPLINGS[name](WEIGHTS, 1e-9, Randomness(rng))[0]) == 1


@pytest.mark.parametrize("max_rows", [None, 600, 1000])
def test_a_learner_that_wants_more_rows_than_there_are_changes_nothing(max_rows):
    weights = np.random.RandomState(1).gamma(1.0, size=1000)
    old = np.sort(np.random.RandomState(0).permutation(1000)[:600])  # the stream of seeds so far
    rows, drawn = SAMPLINGS["uniform"](weights, 0.6, Randomness(np.random.RandomState(0)), max_rows)
    np.testing.assert_array_equal(rows, old)
    np.testing.assert_array_equal(drawn, weights[old])
    old = np.random.RandomState(0).choice(1000, size=600, p=weights / weights.sum())
    rows, _ = SAMPLINGS["weights"](weights, 0.6, Randomness(np.random.RandomState(0)), max_rows)
    np.testing.assert_array_equal(rows, old)


def test_no_more_rows_are_drawn_than_the_learner_wants(rng):
    weights = rng.gamma(1.0, size=1000)
    random, counts = Randomness(rng), np.zeros(1000)
    for _ in range(2000):
        rows, drawn = SAMPLINGS["uniform"](weights, 0.6, random, 100)
        assert len(rows) == 100
        assert np.all(np.diff(rows) > 0)
        np.testing.assert_array_equal(drawn, weights[rows])
        counts[rows] += 1
    assert_allclose(counts / 2000, 0.1, atol=0.04)
    assert len(SAMPLINGS["weights"](weights, 0.6, random, 100)[0]) == 100
    assert SAMPLINGS["none"](weights, 0.6, random, 100)[0] == slice(None)


def test_capped_draws_follow_the_seed():
    draws = [
        SAMPLINGS["uniform"](np.ones(1000), 0.5, Randomness(np.random.RandomState(seed)), 50)[0]
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert np.any(draws[0] != draws[2])


def test_rows_are_dealt_until_the_deck_is_used_up(rng):
    random = Randomness(rng)
    for n_rows in (10, 13):
        first = draw_uniformly(n_rows, 0.5, random)
        second = draw_uniformly(n_rows, 0.5, random)
        assert not set(first) & set(second)
        assert len(first) == len(second) == n_rows // 2
        random = Randomness(rng)
