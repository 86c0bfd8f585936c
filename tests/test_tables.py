import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from rboost.tables import (
    Table,
    join,
    training_table,
    trusted_table,
    warn_of_copies,
    weights_as_counts,
)

X = np.arange(12.0).reshape(6, 2)
Y = np.array(["a", "b", "a", "b", "b", "a"])


def as_array(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def two_tables(container, trusted_container):
    train, classes = training_table(container(X), Y, [1, 2, 0, 1, 1, 3])
    trusted = trusted_table(trusted_container(X[:2] + 100), Y[:2], classes, lambda X: X)
    return train, trusted


def test_a_training_table_leaves_out_rows_without_weight_and_trusts_none():
    table, classes = training_table(X, Y, [1, 2, 0, 1, 1, 3])
    np.testing.assert_array_equal(classes, ["a", "b"])
    np.testing.assert_array_equal(table.X, X[[0, 1, 3, 4, 5]])
    np.testing.assert_array_equal(table.labels, [-1, 1, 1, 1, -1])
    np.testing.assert_array_equal(table.classes, [0, 1, 1, 1, 0])
    np.testing.assert_array_equal(table.sample_weight, [1, 2, 1, 1, 3])
    assert table.trusted.dtype == bool
    assert not table.trusted.any()


def test_a_trusted_table_trusts_all():
    table = trusted_table(X, Y, np.array(["a", "b"]), lambda X: X)
    assert table.trusted.all()
    np.testing.assert_array_equal(table.labels, [-1, 1, -1, 1, 1, -1])
    np.testing.assert_array_equal(table.sample_weight, 1)
    assert trusted_table(None, None, np.array(["a", "b"]), lambda X: X) is None


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
def test_joined_tables_hold_the_rows_of_both(container, trusted_container):
    train, trusted = two_tables(container, trusted_container)
    table = join(train, trusted)
    if container is trusted_container:
        assert sparse.issparse(table.X) == sparse.issparse(train.X)
    np.testing.assert_array_equal(as_array(table.X), np.vstack([X[[0, 1, 3, 4, 5]], X[:2] + 100]))
    np.testing.assert_array_equal(table.labels, [-1, 1, 1, 1, -1, -1, 1])
    np.testing.assert_array_equal(
        table.sample_weight, [1, 2, 1, 1, 3, 1.6, 1.6]
    )  # as much as others
    np.testing.assert_array_equal(table.trusted, [False] * 5 + [True] * 2)
    rows = np.array([6, 0, 0])
    np.testing.assert_array_equal(as_array(table.X[rows]), as_array(table.X)[rows])  # draws work


def test_joining_nothing_changes_nothing():
    table, _ = training_table(X, Y, None)
    assert join(table, None) is table


@pytest.mark.parametrize("mean", [1e-300, 0.5, 1e7, 1e300])
def test_weights_that_cannot_be_counts_get_a_mean_of_one(mean):
    table = Table(X, np.ones(6), np.array([1, 2, 3, 1, 2, 3]) * mean / 2, np.zeros(6, dtype=bool))
    assert_allclose(weights_as_counts(table).sample_weight, [0.5, 1, 1.5, 0.5, 1, 1.5])


def test_weights_that_may_be_counts_are_left_alone():
    for weight in [np.ones(6), np.arange(1.0, 7.0)]:
        table = Table(X, np.ones(6), weight, np.zeros(6, dtype=bool))
        np.testing.assert_array_equal(weights_as_counts(table).sample_weight, weight)


def test_copies_are_told_from_rows_that_happen_to_be_alike(rng):
    few_kinds = rng.randint(3, size=(200, 2)).astype(float)
    warn_of_copies(few_kinds, rng.randint(2, size=200))  # labels differ within a kind: no warning
    warn_of_copies(rng.standard_normal((200, 2)), np.ones(200))
    warn_of_copies(np.array([["a"], ["b"]] * 100), np.ones(200))
    with pytest.warns(UserWarning, match="100 rows of X repeat others"):
        warn_of_copies(np.tile(rng.standard_normal((100, 2)), (2, 1)), np.tile([0, 1], 100))
