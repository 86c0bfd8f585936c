"""Rows that repeat others, label and all, count once; before, a wrong label confirmed itself."""

import warnings

import numpy as np
import pandas as pd
import pytest

from rboost.audit import audit_labels
from rboost.audit.labels import encode_labels, first_copies
from rboost.table.features import find_copies
from tests.audit.conftest import make_table


@pytest.fixture(scope="module")
def tables():
    """A table of two classes, 15 % of its labels wrong, and the same with every row thrice."""
    X, true, given = make_table(200, 2)
    repeated = np.tile(np.arange(200), 3)
    return X, true, given, repeated


def audited(X, y, **options):
    return audit_labels(X, y, model="linear", check_columns=False, **options)


def test_copies_change_neither_noise_nor_doubts(tables):
    X, _, given, repeated = tables
    with pytest.warns(UserWarning, match="400 rows repeat others, label and all"):
        thrice = audited(X[repeated], given[repeated])
    once = audited(X, given)
    np.testing.assert_allclose(thrice.noise_matrix, once.noise_matrix)
    np.testing.assert_allclose(thrice.issue_probability, once.issue_probability[repeated])
    np.testing.assert_array_equal(thrice.copy_of, repeated)


def test_a_wrong_label_is_found_although_it_was_copied(tables):
    X, true, given, repeated = tables
    with pytest.warns(UserWarning, match="repeat others"):
        audit = audited(X[repeated], given[repeated])
    is_wrong = (true != given)[repeated]
    found = np.isin(np.arange(len(repeated)), audit.suspects().rows)
    assert found[is_wrong].mean() > 0.6


def test_rows_that_are_alike_by_chance_are_rows_of_their_own(tables):
    _, true, given, _ = tables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = audited(pd.DataFrame({"a": true, "b": np.arange(200) % 3}), given)
    assert audit.copy_of is None


def test_further_trusted_rows_and_one_without_a_label_change_nothing(tables):
    X, true, given, repeated = tables
    y = given[repeated].astype(object)
    y[-1] = None
    with pytest.warns(UserWarning, match="399 rows repeat others"):
        audit = audited(X[repeated], y, X_trusted=X[:3], y_trusted=true[:3])
    assert audit.copy_of[-4:].tolist() == [599, 600, 601, 602]


def test_groups_count_copies_once(tables):
    X, _, given, repeated = tables
    who = np.array(["ann", "bob"], dtype=object)[np.arange(200) % 2]
    with pytest.warns(UserWarning, match="repeat others"):
        thrice = audited(X[repeated], given[repeated], context=who[repeated])
    once = audited(X, given, context=who)
    for one, other in zip(thrice.summary().groups, once.summary().groups, strict=True):
        assert one.wrong_share == pytest.approx(other.wrong_share)
        assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_rows_of_which_only_the_sum_is_alike_are_no_copies():
    """Beside a huge number small ones vanish in a sum."""
    X = np.column_stack([np.full(100, 1e17), np.arange(100) % 50, np.arange(100) // 50])
    assert find_copies(X, np.zeros(100)) is None
    X[1:11] = X[0]  # ten copies are few
    assert find_copies(X, np.zeros(100)) is None
    X[1:41] = X[0]
    first = np.where(np.arange(100) < 41, 0, np.arange(100))
    np.testing.assert_array_equal(find_copies(X, np.zeros(100)), first)


def test_a_checked_copy_speaks_for_itself_only(tables):
    labels = encode_labels(["a", "b"] * 10, [None] * 18 + ["b", "a"])
    copy_of = np.arange(20) % 2
    first = first_copies(labels, copy_of)
    assert first.tolist() == [0, 1] * 9 + [18, 19]
    assert first_copies(labels, None).tolist() == list(range(20))
