import numpy as np
import pytest
from numpy.testing import assert_allclose
from rboost.tables import (
    arranged,
    as_counts,
    checked_rows,
    training_rows,
    trusted_rows,
    warn_of_copies,
    weighed_classes,
)
from scipy import sparse

X = np.arange(12.0).reshape(6, 2)
Y = np.array(["a", "b", "a", "b", "b", "a"])


def as_array(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def test_training_rows_leave_out_rows_without_weight_and_trust_none():
    rows, classes = training_rows(X, Y, [1, 2, 0, 1, 1, 3])
    np.testing.assert_array_equal(classes, ["a", "b"])
    np.testing.assert_array_equal(rows.X, X[[0, 1, 3, 4, 5]])
    np.testing.assert_array_equal(rows.observed, [0, 1, 1, 1, 0])
    np.testing.assert_array_equal(rows.labels, [-1, 1, 1, 1, -1])
    np.testing.assert_array_equal(rows.sample_weight, [1, 2, 1, 1, 3])
    assert_allclose(rows.prevalence, [0.5, 0.5])
    assert rows.trusted.dtype == bool
    assert not rows.trusted.any()


def test_a_class_without_weight_is_refused_or_left_out():
    three = np.array(["a", "b", "c", "b", "b", "a"])
    with pytest.raises(ValueError, match="zero on all rows of class 'a'"):
        training_rows(X, three, [0, 1, 1, 1, 1, 0])
    rows, classes = weighed_classes(*checked_rows(X, three, [0, 1, 1, 1, 1, 0]))
    np.testing.assert_array_equal(classes, ["b", "c"])
    np.testing.assert_array_equal(rows.observed, [0, 1, 0, 0])
    assert rows.n_classes == 2


def test_trusted_rows_are_all_trusted():
    classes = np.array(["a", "b"])
    rows = trusted_rows(X, Y, classes, lambda X: X)
    assert rows.trusted.all()
    np.testing.assert_array_equal(rows.observed, [0, 1, 0, 1, 1, 0])
    np.testing.assert_array_equal(rows.sample_weight, 1)
    assert trusted_rows(None, None, classes, lambda X: X) is None


def test_trusted_rows_that_are_calibrated_on_are_of_every_class():
    classes = np.array(["a", "b"])
    rows, _ = training_rows(X, Y, None)
    both = trusted_rows(X, Y, classes, lambda X: X)
    assert arranged(rows, None, out_of_bag=False) == (rows, None)
    assert arranged(rows, both, out_of_bag=False) == (rows, both)
    with pytest.raises(ValueError, match="holds only one class"):
        arranged(rows, trusted_rows(X[:1], Y[:1], classes, lambda X: X), out_of_bag=False)


@pytest.mark.parametrize(
    ("container", "trusted_container"),
    [
        (np.asarray, np.asarray),
        (sparse.csr_array, sparse.csr_array),
        (sparse.csr_matrix, sparse.csr_matrix),
        (sparse.csr_array, np.asarray),
        (np.asarray, sparse.csr_array),
    ],
    ids=["dense", "sparse", "sparse matrices", "trusted rows dense", "trusted rows sparse"],
)
def test_joined_rows_are_those_of_both(container, trusted_container):
    train, classes = training_rows(container(X), Y, [1, 2, 0, 1, 1, 3])
    trusted = trusted_rows(trusted_container(X[:2] + 100), Y[:2], classes, lambda X: X)
    rows, others = arranged(train, trusted, out_of_bag=True)
    assert others is None
    if container is trusted_container:
        assert sparse.issparse(rows.X) == sparse.issparse(train.X)
    np.testing.assert_array_equal(as_array(rows.X), np.vstack([X[[0, 1, 3, 4, 5]], X[:2] + 100]))
    np.testing.assert_array_equal(rows.observed, [0, 1, 1, 1, 0, 0, 1])
    np.testing.assert_array_equal(rows.sample_weight, [1, 2, 1, 1, 3, 1.6, 1.6])
    np.testing.assert_array_equal(rows.trusted, [False] * 5 + [True] * 2)
    drawn = np.array([6, 0, 0])
    np.testing.assert_array_equal(as_array(rows.take(drawn).X), as_array(rows.X)[drawn])


def test_joining_nothing_changes_nothing():
    rows, _ = training_rows(X, Y, None)
    assert arranged(rows, None, out_of_bag=True) == (rows, None)


@pytest.mark.parametrize("mean", [1e-300, 0.5, 1e7, 1e300])
def test_weights_that_cannot_be_counts_get_a_mean_of_one(mean):
    weight = np.array([1, 2, 3, 1, 2, 3]) * mean / 2
    assert_allclose(as_counts(weight), [0.5, 1, 1.5, 0.5, 1, 1.5])


def test_weights_that_may_be_counts_are_left_alone():
    for weight in [np.ones(6), np.arange(1.0, 7.0)]:
        np.testing.assert_array_equal(as_counts(weight), weight)


def test_copies_are_told_from_rows_that_happen_to_be_alike(rng):
    few_kinds = rng.randint(3, size=(200, 2)).astype(float)
    warn_of_copies(few_kinds, rng.randint(2, size=200))  # labels differ within a kind: no warning
    warn_of_copies(rng.standard_normal((200, 2)), np.ones(200))
    warn_of_copies(np.array([["a"], ["b"]] * 100), np.ones(200))
    warn_of_copies(np.array([[10**400], [1]] * 100), np.ones(200))  # no number of a table
    with pytest.warns(UserWarning, match="100 rows of X repeat others"):
        warn_of_copies(np.tile(rng.standard_normal((100, 2)), (2, 1)), np.tile([0, 1], 100))
