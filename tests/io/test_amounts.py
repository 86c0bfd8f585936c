import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.io.reading import read_table

UNITS = ["", "$", "€", "£", "R$", "USD ", "CHF ", "¥ "]
BEHIND = ["", "€", " €", " EUR", " kr", "%", " %", "\u00a0€"]
GROUPS = {".": [",", " ", "'", "’", "\u00a0", "\u202f", ""], ",": [".", " ", "'", "\u202f", ""]}


def read(tmp_path, *cells, name="table.csv"):
    """The column as it is read of a file in which all cells are quoted."""
    lines = [f'"{cell}",{number}' for number, cell in enumerate(cells)]
    (tmp_path / name).write_text("\n".join(["amount,n", *lines]) + "\n", encoding="utf-8")
    return read_table(tmp_path / name)["amount"].tolist()


def formatted(cents, decimal, group, before, behind, brackets):
    """A number of cents as people write it."""
    number = f"{abs(cents) // 100:,}".replace(",", group) + f"{decimal}{abs(cents) % 100:02}"
    text = f"{before}{number}{behind}"
    return text if cents >= 0 else f"({text})" if brackets else f"-{text}"


@given(st.data(), st.lists(st.integers(-(10**11), 10**11), min_size=2, max_size=6))
def test_a_number_that_is_formatted_is_read_back(tmp_path_factory, data, cents):
    decimal = data.draw(st.sampled_from([".", ","]))
    group = data.draw(st.sampled_from(GROUPS[decimal]))
    before = data.draw(st.sampled_from(UNITS))
    behind = "" if before else data.draw(st.sampled_from(BEHIND))
    brackets = data.draw(st.booleans())
    cells = [formatted(one, decimal, group, before, behind, brackets) for one in cents]
    found = read(tmp_path_factory.mktemp("t"), *cells)
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
def test_amounts(tmp_path, cells, expected):
    np.testing.assert_array_equal(read(tmp_path, *cells), expected)


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
def test_what_stays_text(tmp_path, cells):
    assert read(tmp_path, *cells) == cells


def test_large_amounts_among_plain_numbers_are_no_exceptions(tmp_path):
    assert read(tmp_path, *["12.50"] * 99, "1,234.50")[-1] == 1234.5


def test_a_few_words_among_amounts_count_as_missing(tmp_path):
    with pytest.warns(UserWarning, match="1 cells in the column 'amount' .* such as 'on request'"):
        found = read(tmp_path, *["$1,234.50"] * 99, "on request")
    assert found[0] == 1234.5
    assert np.isnan(found[-1])


def test_columns_that_were_text_stay_text(tmp_path):
    read(tmp_path, "$1.50", "$2.50")
    table = read_table(tmp_path / "table.csv", text=["amount"])
    assert table["amount"].tolist() == ["$1.50", "$2.50"]
    table = read_table(tmp_path / "table.csv", label="amount")
    assert table["amount"].tolist() == ["$1.50", "$2.50"]
