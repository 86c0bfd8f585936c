"""Rows under each other, and rows that repeat others."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from rboost.table.columns import under_each_other
from rboost.table.features import warn_of_copies

X = np.arange(12.0).reshape(6, 2)


def as_array(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize(
    ("container", "other"),
    [
        (np.asarray, np.asarray),
        (sparse.csr_array, sparse.csr_array),
        (sparse.csr_matrix, sparse.csr_matrix),
        (sparse.csr_array, np.asarray),
        (np.asarray, sparse.csr_array),
        (pd.DataFrame, pd.DataFrame),
        (pl.DataFrame, pl.DataFrame),
    ],
    ids=["dense", "sparse", "matrices", "second dense", "second sparse", "pandas", "polars"],
)
def test_stacked_rows_are_those_of_both(container, other):
    found = under_each_other(container(X), other(X[:2] + 100))
    if container is other:
        assert sparse.issparse(found) == sparse.issparse(container(X))
        assert isinstance(container(X), pd.DataFrame) == isinstance(found, pd.DataFrame)
    assert_array_equal(as_array(found), np.vstack([X, X[:2] + 100]))


def test_stacked_rows_have_the_same_columns():
    with pytest.raises(ValueError, match="X_trusted must have the columns of X"):
        under_each_other(X, X[:, :1])
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.raises(ValueError, match="X_trusted must have the columns of X"):
        under_each_other(frame, pd.DataFrame(X, columns=["a", "c"]))
    turned = under_each_other(frame, frame[["b", "a"]])
    assert_array_equal(turned, np.vstack([X, X]))


def test_copies_are_told_from_rows_that_happen_to_be_alike(rng):
    few_kinds = rng.randint(3, size=(200, 2)).astype(float)
    warn_of_copies(few_kinds, rng.randint(2, size=200))  # labels differ within a kind: no warning
    warn_of_copies(rng.standard_normal((200, 2)), np.ones(200))
    warn_of_copies(np.array([["a"], ["b"]] * 100), np.ones(200))
    warn_of_copies(np.array([[10**400], [1]] * 100), np.ones(200))  # no number of a table
    copies = np.tile(rng.standard_normal((100, 2)), (2, 1))
    copies[[0, 100], 1] = np.nan
    for table in (copies, copies.astype(object), pd.DataFrame(copies).assign(flag=True)):
        with pytest.warns(UserWarning, match="100 rows of X repeat others"):
            warn_of_copies(table, np.tile([0, 1], 100))
