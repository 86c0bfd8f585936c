import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.noise import asymmetric, flip_labels, symmetric
from tests.strategies import stochastic_matrices


@given(stochastic_matrices(), st.integers(0, 2**31 - 1))
def test_flips_follow_the_matrix(matrix, seed):
    n_rows = 20_000
    y = np.random.RandomState(seed).randint(len(matrix), size=n_rows)
    noisy, flipped = flip_labels(y, matrix, seed, classes=np.arange(len(matrix)))
    np.testing.assert_array_equal(flipped, noisy != y)
    for true in range(len(matrix)):
        n_true = (y == true).sum()
        share = np.bincount(noisy[y == true], minlength=len(matrix)) / n_true
        deviation = np.sqrt(matrix[true] * (1 - matrix[true]) / n_true)
        assert np.all(np.abs(share - matrix[true]) <= 5 * deviation + 1e-12)


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], ["a", "a much longer name"], [False, True], [-1, 1], [0.5, 2.5]],
    ids=str,
)
def test_any_label_type(labels):
    y = np.array(labels * 50)
    noisy, flipped = flip_labels(y, asymmetric(1.0, from_class=0), random_state=0)
    assert noisy.dtype == y.dtype
    assert np.all(noisy == labels[1])
    np.testing.assert_array_equal(flipped, y == labels[0])


def test_no_noise_and_same_seed():
    y = np.array(list("abcabc") * 10)
    noisy, flipped = flip_labels(y, np.eye(3), random_state=0)
    np.testing.assert_array_equal(noisy, y)
    assert not flipped.any()
    first, second = (flip_labels(y, symmetric(0.4, 3), random_state=7)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_flips_do_not_depend_on_data_made_with_the_same_seed():
    for seed in range(5):
        uniform = np.random.RandomState(seed).uniform(size=5000)
        noisy, flipped = flip_labels(uniform < 0.5, symmetric(0.3), random_state=seed)
        assert abs(np.corrcoef(uniform, flipped)[0, 1]) < 0.06
        assert abs(flipped[uniform < 0.5].mean() - 0.3) < 0.05
        assert noisy.dtype == bool


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        ([0, 1, 2], [0, 1], "not in classes"),
        ([0, 1, 2], None, r"for 2 classes but there are 3"),
        ([1, 1], None, r"there are 1; where a class does not occur.*classes="),
        ([], None, r"there are 0"),
        ([0, 1], [0, 0], "there are 1"),
        ([[0, 1]], None, "one-dimensional"),
        (["a", None], None, "NaN or None in row 1"),
        ([0.0, np.nan], None, "y contains NaN"),
    ],
    ids=str,
)
def test_labels_that_do_not_fit_are_refused(y, classes, message):
    with pytest.raises(ValueError, match=message):
        flip_labels(y, np.eye(2), classes=classes)
