"""Tables without a header: noticed where two signs say so, and read without losing a row."""

import io
import re
import warnings

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets

from rboost.table.reading import read_table

REFUSED = "looks like a row and not like names of columns"
NAMES = ["load_iris", "load_wine", "load_breast_cancer", "load_digits"]


def bundled(name):
    data = getattr(datasets, name)(as_frame=True)
    words = np.array([str(one) for one in data.target_names])
    label = words[data.target] if name != "load_digits" else data.target
    frame = data.frame.assign(target=label)
    return frame.sample(frac=1, random_state=0, ignore_index=True)


def messages(n_rows=40):
    random = np.random.default_rng(0)
    some = [f"please send word {number} to our office today" for number in range(n_rows)]
    return pd.DataFrame({"text": some, "kind": random.choice(["spam", "ham"], n_rows)})


def read(folder, text, **options):
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return read_table(path, **options)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_in_the_place_of_the_header_is_refused(tmp_path, name):
    frame = bundled(name)
    text = frame.to_csv(index=False, header=False)
    with pytest.raises(ValueError, match=f"{REFUSED}.* say --no-header if it is a row"):
        read(tmp_path, text)
    table = read(tmp_path, text, header=False)
    assert list(table.columns) == [f"column {k}" for k in range(1, frame.shape[1] + 1)]
    np.testing.assert_array_equal(table.to_numpy(), frame.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that are alike
        assert len(read(tmp_path, text, header=True)) == len(frame) - 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", [0, 1, 1990, 400.5])
def test_numbers_may_be_names(tmp_path, name, first):
    frame = bundled(name)
    names = [str(first + k) for k in range(frame.shape[1] - 1)]
    for header in (names, names[::-1]):
        text = frame.set_axis([*header, "kind"], axis=1).to_csv(index=False)
        assert list(read(tmp_path, text).columns) == [*header, "kind"]


def test_odd_names_are_names(tmp_path):
    frame = messages()
    random = np.random.default_rng(0)
    for header in (
        ["text", "spam"],
        ["Will you send us a word one day?", "spam"],
        ["message", "2020-01-01"],
    ):
        assert len(read(tmp_path, frame.set_axis(header, axis=1).to_csv(index=False))) == 40
    counts = pd.DataFrame(random.integers(0, 9000, (40, 3)), columns=["2019", "2021", "2020"])
    assert len(read(tmp_path, counts.to_csv(index=False))) == 40
    people = pd.DataFrame({"id": [f"p{k}" for k in range(40)], "yes": ["yes", "no"] * 20})
    assert len(read(tmp_path, people.to_csv(index=False))) == 40
    twice = frame.to_csv(index=False)
    assert len(read(tmp_path, twice * 2)) == 81  # files that were joined, with their headers


@pytest.mark.parametrize(
    "frame",
    [
        messages(),
        pd.DataFrame({"day": pd.date_range("2020-01-01", periods=30).astype(str), "n": 1}),
        pd.DataFrame({"price": ["$5.10", "$3.25"] * 10, "kind": ["a", "b"] * 10}),
        pd.DataFrame({"a": ["x", "y"] * 10, "b": ["u", "u", "v", "w"] * 5}),
    ],
)
def test_words_dates_and_amounts_in_the_first_row(tmp_path, frame):
    text = frame.to_csv(index=False, header=False, sep=";")
    with pytest.raises(ValueError, match=REFUSED):
        read(tmp_path, text)
    assert len(read(tmp_path, frame.to_csv(index=False, sep=";"))) == len(frame)


def test_few_rows_say_too_little(tmp_path):
    assert len(read(tmp_path, "a,x\n" * 9)) == 8


def test_excel_files_without_a_header(tmp_path):
    book = openpyxl.Workbook()
    for row in bundled("load_iris").itertuples(index=False):
        book.active.append(list(row))
    book.save(tmp_path / "table.xlsx")
    with pytest.raises(ValueError, match=REFUSED):
        read_table(tmp_path / "table.xlsx")
    table = read_table(tmp_path / "table.xlsx", header=False)
    assert table.shape == (150, 5)
    assert list(table.columns)[-1] == "column 5"


def test_parquet_files_have_names(tmp_path):
    messages().to_parquet(tmp_path / "table.parquet")
    assert len(read_table(tmp_path / "table.parquet", header=True)) == 40
    with pytest.raises(ValueError, match=r"leave --no-header out"):
        read_table(tmp_path / "table.parquet", header=False)


def test_comments_before_the_first_row(tmp_path):
    with pytest.warns(UserWarning, match="1 line was skipped"):
        table = read(tmp_path, "# by hand\n#1,2\n3,4\n", header=False)
    assert table["column 1"].tolist() == ["#1", "3"]


def test_a_ragged_row_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"Line 2 of .* has 3 cells but others have 2"):
        read(tmp_path, "1,2\n1,2,3\n1,2\n", header=False)


CELLS = st.sampled_from(["", "1", "2.5", "x", "a word", "2020-01-01", "0", "NA"])


@given(st.integers(2, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1)))
def test_no_row_is_lost(tmp_path_factory, rows):
    text = "".join("k," + ",".join(row) + "\n" for row in rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read(tmp_path_factory.getbasetemp(), text, header=False, as_written=True)
    assert list(table.itertuples(index=False, name=None)) == [("k", *row) for row in rows]


@given(
    st.integers(10, 40),
    st.lists(st.sampled_from(["normal", "whole", "words", "names", "days"]), min_size=2),
    st.integers(0, 1000),
)
def test_names_are_not_taken_for_a_row(tmp_path_factory, n_rows, kinds, seed):
    random = np.random.default_rng(seed)
    made = {
        "normal": lambda: random.standard_normal(n_rows),
        "whole": lambda: random.integers(0, 5, n_rows),
        "words": lambda: random.choice(["a", "b", "c"], n_rows),
        "names": lambda: [f"n{k}" for k in range(n_rows)],
        "days": lambda: pd.date_range("2020-01-01", periods=n_rows).astype(str),
    }
    frame = pd.DataFrame({f"{kind} {k}": made[kind]() for k, kind in enumerate(kinds)})
    text = frame.to_csv(index=False)
    folder = tmp_path_factory.getbasetemp()
    assert list(read(folder, text).columns) == list(frame.columns)
    by_number = frame.set_axis(range(len(kinds)), axis=1).to_csv(index=False)
    assert len(read(folder, by_number)) == n_rows
    assert len(read(folder, text, header=False)) == len(re.findall("\n", text))
    assert len(pd.read_csv(io.StringIO(text))) == n_rows
