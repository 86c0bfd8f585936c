import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.table.cells import NumberStyle
from rboost.table.columns import read_column
from rboost.table.features import kind_of, learn_encoder

UNITS = ["", "$", "€", "£", "R$", "USD ", "CHF ", "¥ "]
BEHIND = ["", "€", " €", " EUR", " kr", "%", " %", "\u00a0€"]
GROUPS = {".": [",", " ", "'", "’", "\u00a0", "\u202f", ""], ",": [".", " ", "'", "\u202f", ""]}


def read(*cells):
    """The column in numbers, or its words where it holds none."""
    column = read_column(list(cells), "amount")
    if kind_of(column).kind != "number":
        return [None if code < 0 else column.words[code] for code in column.codes]
    return learn_encoder([column]).features_of([column]).values[:, 0].tolist()


def formatted(cents, decimal, group, before, behind, brackets):
    """A number of cents as people write it."""
    number = f"{abs(cents) // 100:,}".replace(",", group) + f"{decimal}{abs(cents) % 100:02}"
    text = f"{before}{number}{behind}"
    return text if cents >= 0 else f"({text})" if brackets else f"-{text}"


@given(st.data(), st.lists(st.integers(-(10**11), 10**11), min_size=2, max_size=6))
def test_a_number_that_is_formatted_is_read_back(data, cents):
    decimal = data.draw(st.sampled_from([".", ","]))
    group = data.draw(st.sampled_from(GROUPS[decimal]))
    before = data.draw(st.sampled_from(UNITS))
    behind = "" if before else data.draw(st.sampled_from(BEHIND))
    brackets = data.draw(st.booleans())
    cells = [formatted(one, decimal, group, before, behind, brackets) for one in cents]
    found = read(*cells)
    np.testing.assert_array_equal(found, np.array(cents) / 100)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,234.56", "$12", "-$3", "$-4.50", "n/a"], [1234.56, 12, -3, -4.5, np.nan]),
        (["1.234,56 €", "12 €", ""], [1234.56, 12, np.nan]),
        (["12 %", "13.5%", "0 %"], [12, 13.5, 0]),
        (["USD 12", "USD 1,200.50"], [12, 1200.5]),
        (["(1,234.50)", "7"], [-1234.5, 7]),
        (["1,234,567", "1,234", "5"], [1234567, 1234, 5]),
        (["12,34,567.5", "1"], [1234567.5, 1]),
        (["−5 kr", "+7 kr"], [-5, 7]),
        (["$12", "13"], [12, 13]),
        (["1,5", "2,75"], [1.5, 2.75]),
        (["$52,000", "$48,500", "$950", "n/a"], [52000, 48500, 950, np.nan]),
        (["1.234 €", "2.345", "(45 €)"], [1234, 2345, -45]),  # thousands, as of all money
        (["$0.125", "$1.234"], [0.125, 1.234]),  # unless others can only be decimals
    ],
)
def test_amounts(cells, expected):
    np.testing.assert_array_equal(read(*cells), expected)


@pytest.mark.parametrize(
    "cells",
    [
        ["1,234", "5,678"],  # thousands, or three decimals
        ["1.234 %", "2.345 %"],
        ["$1,234", "$1.234"],
        ["$1,234,567", "$1,5"],
        ["$5", "€6"],  # what cannot be compared
        ["12 %", "0.12"],
        ["007 €", "008 €"],  # names
        ["12.05.2024", "13.05.2024"],
        ["10:30", "11:30"],
        ["192.168.0.1", "10.0.0.1"],
        ["5)", "(6"],
        ["$-", "€"],
        ["ABC 12", "ABC 13"],
        ["1,2,3", "4,5,6"],
        ["- -5 €", "-(6) €"],
    ],
)
def test_what_stays_text(cells):
    assert read(*cells) == cells


def test_large_amounts_among_plain_numbers_are_no_exceptions():
    assert read(*["12.50"] * 99, "1,234.50")[-1] == 1234.5


@pytest.mark.parametrize("cell", ["1e300", "-4" + 40 * "0"])
def test_numbers_too_large_for_learners_count_as_missing(cell):
    assert np.isnan(NumberStyle().read(["3.4e38", cell])).tolist() == [False, True]


def test_a_few_words_among_amounts_count_as_missing():
    with pytest.warns(UserWarning, match="1 cells of the column 'amount' .*such as 'on request'"):
        found = read(*["$1,234.50"] * 99, "on request")
    assert found[0] == 1234.5
    assert np.isnan(found[-1])
