"""Hard tables and weights of any size: the default version stays finite and says what is wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rboost import RBoostClassifier
from rboost.datasets import make_banana
from rboost.noise import asymmetric, flip_labels
from tests.model.test_defaults import NO_LEARNER, ONE_CLASS, assert_finite


@pytest.mark.parametrize("engines", ["auto", "pool", "linear"])
def test_features_that_say_nothing_are_reported(engines):
    X, y = np.random.RandomState(1).standard_normal((400, 5)), np.arange(400) % 20 == 0
    with pytest.warns(UserWarning, match="Every training row is predicted as False"):
        model = RBoostClassifier(engines=engines, max_iter=30, random_state=0).fit(X, y)
    assert_finite(model, X)
    assert model.predict(X).mean() < 0.1


def test_no_learner_at_all_is_reported():
    X, y = np.ones((40, 2)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="Every training row is predicted as"):
        model = RBoostClassifier(max_iter=10, random_state=0).fit(X, y)
    assert_finite(model, X)
    assert len(set(model.predict(X))) == 1


def flipped_banana(rate):
    X, y = make_banana(400, random_state=0)
    return X, flip_labels(y, asymmetric(rate, from_class=0), random_state=0)[0]


def imbalanced_banana():
    X, y = make_banana(1000, random_state=0)
    rows = np.r_[np.flatnonzero(y == 0)[:190], np.flatnonzero(y == 1)[:10]]
    return X[rows], y[rows]


def duplicated_banana(n_copies=8):
    X, noisy = flipped_banana(0.3)
    return np.repeat(X[:50], n_copies, axis=0), np.repeat(noisy[:50], n_copies)


EDGE_CASES = {
    "60 rows": lambda: tuple(part[:60] for part in flipped_banana(0.3)),
    "10 rows": lambda: tuple(part[:10] for part in flipped_banana(0.3)),
    "4 rows": lambda: (np.array([[0.0], [1.0], [0.1], [0.9]]), np.array([0, 1, 0, 1])),
    "2 rows": lambda: (np.array([[0.0], [1.0]]), np.array([0, 1])),
    "95 to 5": imbalanced_banana,
    "duplicated rows": duplicated_banana,
    "duplicated rows of both classes": lambda: (np.repeat(np.eye(2), 20, 0), np.arange(40) % 2),
    "most of a class flipped": lambda: flipped_banana(0.6),
    "constant features": lambda: (np.ones((40, 2)), np.arange(40) % 4 == 0),
    "one constant feature": lambda: (
        np.column_stack([flipped_banana(0.3)[0], np.ones(400)]),
        flipped_banana(0.3)[1],
    ),
    "more columns than rows": lambda: (
        np.random.RandomState(0).standard_normal((30, 200)),
        np.arange(30) % 2,
    ),
    "large numbers": lambda: (1e30 * flipped_banana(0.3)[0], flipped_banana(0.3)[1]),
    "small numbers": lambda: (1e-30 * flipped_banana(0.3)[0], flipped_banana(0.3)[1]),
}


def test_copied_rows_are_warned_of():
    with pytest.warns(UserWarning, match="rows of X repeat others"):
        RBoostClassifier(max_iter=5, random_state=0).fit(*duplicated_banana())


@pytest.mark.slow
@pytest.mark.filterwarnings(ONE_CLASS, NO_LEARNER, "ignore:.*rows of X repeat others")
@pytest.mark.parametrize("engines", ["auto", "trees", "linear"])
@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases_stay_finite(case, engines):
    X, y = EDGE_CASES[case]()
    model = RBoostClassifier(engines=engines, max_iter=30, random_state=0).fit(X, y)
    assert_finite(model, X)
    assert model.label_issue_probability_.shape == (len(y),)


def test_most_labels_of_a_class_may_be_wrong():
    X, noisy = flipped_banana(0.6)
    model = RBoostClassifier(max_iter=60, random_state=0).fit(X, noisy)
    assert_allclose(model.noise_matrix_, asymmetric(0.6, from_class=0), atol=0.15)
    assert model.score(*make_banana(400, random_state=0)) > np.mean(
        noisy == make_banana(400, random_state=0)[1]
    )


@pytest.mark.slow
@pytest.mark.filterwarnings(ONE_CLASS)
@pytest.mark.parametrize("engines", ["auto", "pool", "linear"])
@pytest.mark.parametrize("exponents", [(-300, 0), (-150, 150), (0, 300)], ids=str)
def test_sample_weights_over_300_orders_of_magnitude(engines, exponents, noisy_banana, rng):
    X, _, noisy, _ = noisy_banana
    weight = rng.permutation(10.0 ** np.linspace(*exponents, len(X)))
    model = RBoostClassifier(engines=engines, max_iter=30, random_state=0)
    assert_finite(model.fit(X, noisy, sample_weight=weight), X)
