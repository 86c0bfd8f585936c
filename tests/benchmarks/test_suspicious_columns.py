"""What is planted is what the page says, and outcomes are counted as they are called."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.planted_columns import CLEAN, KINDS, PLANTED, load
from benchmarks.suspicious_columns import Named


@pytest.mark.parametrize("kind", ["new category", "own category", "one way"])
def test_labels_are_wrong_in_one_category_alone(kind):
    X, y = load("mixed 3")
    table, given, column = KINDS[kind](X, y, np.random.RandomState(0))
    assert table[column][given != y].nunique() == 1
    assert 0.02 < np.mean(given != y) < 0.3


@pytest.mark.parametrize("kind", ["copy", "copy, no errors"])
def test_copies_say_what_is_given(kind):
    X, y = load("mixed 3")
    table, given, column = KINDS[kind](X, y, np.random.RandomState(0))
    assert (pd.crosstab(table[column], given) > 0).sum(axis=1).eq(1).all()
    assert (kind == "copy") == np.any(given != y)


def test_no_table_is_in_both_halves():
    for names in (PLANTED, CLEAN):
        assert not set(names["choice"]) & set(names["report"])
    assert not set(PLANTED["choice"]) & set(CLEAN["report"])
    assert not set(PLANTED["report"]) & set(CLEAN["choice"])


@pytest.mark.parametrize(
    ("named", "outcome"),
    [((), "missed"), (("b",), "wrong"), (("a",), "right"), (("b", "a"), "and others")],
)
def test_outcomes(named, outcome):
    assert Named("report", "table", "copy", "a", named).outcome == outcome
