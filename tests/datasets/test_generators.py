import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from rboost.datasets import make_banana, make_twonorm, make_waveform


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
