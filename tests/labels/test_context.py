"""Columns of any kind as groups of rows."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.labels import FEWEST_ROWS, MISSING, MOST_RANGES, OTHER, group_rows


def members(groups):
    """The rows of each group by its name."""
    return {
        name: np.flatnonzero(groups.position == number).tolist()
        for number, name in enumerate(groups.names)
    }


def test_words_and_missing_values():
    column = ["b"] * 20 + ["a"] * 20 + [None] * 20
    found = members(group_rows(column, 60))
    assert list(found) == ["a", "b", MISSING]
    assert found["b"] == list(range(20))
    for other in (np.array(column, dtype=object), pd.Series(column), {"who": column}):
        assert members(group_rows(other, 60)) == found


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=40, max_size=80))
def test_order_of_rows_does_not_matter(column):
    column = [*column, *["a"] * FEWEST_ROWS]
    groups, reverse = (group_rows(values, len(column)) for values in (column, column[::-1]))
    assert groups.names == reverse.names
    assert np.array_equal(groups.position, reverse.position[::-1])


def test_numbers_of_few_values_stay_and_many_are_cut():
    few = group_rows(np.repeat([1.0, 2.0, 10.0], 40), 120)
    assert few.names == ("1", "2", "10")
    many = group_rows(np.append(np.arange(600) / 7, [np.nan] * 10), 610)
    assert len(many) == MOST_RANGES + 1
    assert many.names[-1] == MISSING
    assert many.names[0] == "0 to 14.1429"
    assert set(np.bincount(many.position)[:-1]) == {100}


@pytest.mark.parametrize("as_words", [True, False])
def test_dates_are_cut(as_words):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(366)]
    column = [day.isoformat() for day in days] if as_words else pd.Series(pd.to_datetime(days))
    groups = group_rows(column, 366)
    assert len(groups) == MOST_RANGES
    assert groups.names[0] == "2024-01-01 to 2024-03-01"
    assert np.all(np.diff(groups.position) >= 0)


def test_combinations_and_rare_groups():
    frame = pd.DataFrame({"who": ["a", "b"] * 30 + ["c"] * 3, "year": [1, 1, 2] * 21})
    groups = group_rows(frame, 63)
    assert groups.column == "who, year"
    assert groups.names[-1] == OTHER
    assert set(groups.names[:-1]) == {"a, 1", "a, 2", "b, 1", "b, 2"}
    assert np.count_nonzero(groups.position == len(groups) - 1) == 3
    assert groups.followed_by(2).position[-2:].tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (["a"] * 5, "5 rows but X has 100"),
        ([f"row {k}" for k in range(100)], "many rows share"),
        ([[1]] * 50 + [[2]] * 49 + [[3, 4]], "kind list"),
        (np.zeros((100, 2, 2)), "one column, or rows and columns"),
        ({}, "rows and columns of which there is one"),
        (np.zeros((100, 0)), "rows and columns of which there is one"),
    ],
)
def test_errors_in_one_sentence(context, message):
    with pytest.raises(ValueError, match=message):
        group_rows(context, 100)
