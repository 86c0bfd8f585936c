import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rboost.datasets import make_banana, make_long_servedio, make_twonorm, make_waveform


@pytest.mark.parametrize(
    ("make", "n_features", "share"),
    [(make_banana, 2, 0.45), (make_twonorm, 20, 0.5), (make_waveform, 21, 1 / 3)],
)
def test_shape_share_and_seed(make, n_features, share):
    X, y = make(6000, random_state=0)
    assert X.shape == (6000, n_features)
    assert abs(y.mean() - share) < 0.03
    np.testing.assert_array_equal(make(6000, random_state=0)[0], X)
    assert np.any(make(6000, random_state=1)[0] != X)


def test_twonorm_has_the_error_its_author_gives():
    X, y = make_twonorm(50_000, random_state=0)
    error = np.mean((X.sum(axis=1) > 0) != y)
    assert abs(error - 0.0228) < 0.003  # Φ(−2)


def test_waveform_and_banana_are_learnable_to_the_right_degree():
    X, y = make_waveform(6000, random_state=0)
    linear = LogisticRegression(max_iter=1000).fit(X[:3000], y[:3000])
    assert 0.86 < linear.score(X[3000:], y[3000:]) < 0.93
    X, y = make_banana(6000, random_state=0)
    assert LogisticRegression().fit(X, y).score(X, y) < 0.85  # a curved rule has .90


def test_long_servedio_has_three_kinds_of_rows_and_a_majority_that_is_right():
    X, y = make_long_servedio(20000, random_state=0)
    agrees = X * (2 * y - 1)[:, np.newaxis] > 0
    first, last = agrees[:, :11].sum(axis=1), agrees[:, 11:].sum(axis=1)
    kinds = {"large margin": (11, 10), "puller": (11, 0), "penaliser": (5, 6)}
    shares = [np.mean((first == a) & (last == b)) for a, b in kinds.values()]
    np.testing.assert_allclose(shares, [0.25, 0.25, 0.5], atol=0.02)
    assert sum(shares) == 1
    assert np.array_equal(X.sum(axis=1) > 0, y == 1)
    penalisers = agrees[(first == 5) & (last == 6)]
    np.testing.assert_allclose(penalisers[:, :11].mean(axis=0), 5 / 11, atol=0.03)
    np.testing.assert_allclose(penalisers[:, 11:].mean(axis=0), 0.6, atol=0.03)
