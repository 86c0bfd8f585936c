import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rboost.engines.learners import NEGATIVE_WEIGHTS, Copies, Randomness, draw_uniformly


def test_uniform_takes_each_row_at_most_once(rng):
    counts = np.zeros(5)
    for _ in range(2000):
        rows = draw_uniformly(5, 0.6, Randomness(rng))
        assert len(rows) == len(np.unique(rows)) == 3
        counts[rows] += 1
    assert_allclose(counts / 2000, 0.6, atol=0.05)
    assert len(draw_uniformly(5, 1e-9, Randomness(rng))) == 1


@pytest.mark.parametrize("max_rows", [None, 600, 1000])
def test_a_learner_that_wants_more_rows_than_there_are_changes_nothing(max_rows):
    old = np.random.RandomState(0).permutation(1000)[:600]
    rows = draw_uniformly(1000, 0.6, Randomness(np.random.RandomState(0)), max_rows)
    np.testing.assert_array_equal(rows, old)


def test_no_more_rows_are_drawn_than_the_learner_wants(rng):
    random, counts = Randomness(rng), np.zeros(1000)
    for _ in range(2000):
        rows = draw_uniformly(1000, 0.6, random, 100)
        assert len(np.unique(rows)) == 100
        counts[rows] += 1
    assert_allclose(counts / 2000, 0.1, atol=0.04)


def test_capped_draws_follow_the_seed():
    draws = [
        draw_uniformly(1000, 0.5, Randomness(np.random.RandomState(seed)), 50) for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert np.any(draws[0] != draws[2])


def test_rows_are_dealt_until_the_deck_is_used_up(rng):
    for n_rows in (10, 13):
        random = Randomness(rng)
        first, second = (draw_uniformly(n_rows, 0.5, random) for _ in range(2))
        assert not set(first) & set(second)
        assert len(first) == len(second) == n_rows // 2


def test_weights_draws_in_proportion(rng):
    weights = np.array([0.0, 1.0, 2.0, 5.0, 1e-300])
    drawn = Copies(np.arange(5), np.arange(5), weights).drawn(20_000, Randomness(rng))
    assert drawn.weights is None
    np.testing.assert_array_equal(drawn.rows, drawn.targets)
    assert_allclose(np.bincount(drawn.rows, minlength=5) / 20_000, weights / 8, atol=0.02)
    named = Copies(np.array([7, 7, 8]), np.array([0, 1, 0]), np.zeros(3)).drawn(50, Randomness(rng))
    assert set(zip(named.rows, named.targets, strict=True)) == {(7, 0), (7, 1), (8, 0)}


def test_negative_weights_flip_the_label_or_keep_it():
    """The paper's weight of a row is what its label is worth less the other's worth."""
    observed, w = np.array([1, 0, 1]), np.array([0.5, -0.2, -0.3])
    worth = np.zeros((3, 2))
    worth[np.arange(3), observed] = w
    flipped = NEGATIVE_WEIGHTS["flip"](worth, observed)
    np.testing.assert_array_equal(flipped.targets, [1, 1, 0])
    assert_allclose(flipped.weights, [0.5, 0.2, 0.3])
    kept = NEGATIVE_WEIGHTS["keep"](worth, observed)
    np.testing.assert_array_equal(kept.targets, observed)
    assert_allclose(kept.weights / kept.weights.max(), [1.0, 0.4, 0.6])


@given(st.integers(0, 2**31 - 1), st.integers(2, 5), st.integers(1, 20))
def test_copies_cost_a_learner_what_the_class_weights_do(seed, n_classes, n_rows):
    """Σ w·1(h ≠ j) of all classes and of the copies differ by a constant, whatever is named."""
    random = np.random.RandomState(seed)
    worth = random.standard_normal((n_rows, n_classes))
    observed = random.randint(n_classes, size=n_rows)
    copies = NEGATIVE_WEIGHTS["flip"](worth, observed)
    rows = np.arange(n_rows)[copies.rows]

    def difference(named):
        cost = worth.sum() - worth[np.arange(n_rows), named].sum()
        return cost - copies.weights @ (named[rows] != copies.targets)

    assert np.all(copies.weights >= 0)
    named = random.randint(n_classes, size=(2, n_rows))
    assert_allclose(difference(named[0]), difference(named[1]), atol=1e-4)
    if n_classes == 2:
        assert_allclose(copies.weights, np.abs(worth[:, 1] - worth[:, 0]))
