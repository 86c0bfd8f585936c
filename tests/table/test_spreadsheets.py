import csv
import errno
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rboost.table.reading import read_table
from rboost.table.writing import guarded, unguarded, write_csv

nasty = st.lists(
    st.sampled_from(
        ["=", "+", "-", "@", "＝", "'", '"', ";", ",", "\t", "\r", "\n", " ", "1", "a"]
    ),
    max_size=8,
).map("".join)
texts = st.one_of(st.text(), nasty)


@given(texts)
@example("'")
@example("'\t=")
@example("\t")
@example("''=1")
def test_guarding_is_undone_exactly(text):
    assert unguarded(guarded(text)) == text


@given(nasty)
def test_no_part_of_a_guarded_cell_is_a_formula(text):
    cut = guarded(text).replace("\t", ";").replace("\r", ";").replace("\n", ";")
    for part in cut.split(";"):
        if part.strip()[:1] in tuple("=+-@＝＋－＠"):
            float(part.strip().replace(",", "."))  # a plain number


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1", "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", " =1",
        "\u00a0=1", "\ufeff=1", "\x01=1",
        "＝1", "＋1", "－1", "＠a", "-", "-inf", "--1", "-1-1", "+a", "=", "'=1", "'", "-１",
    ],
)  # fmt: skip
def test_formulas_are_guarded(cell):
    assert guarded(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell",
    ["", "a", "1", "-1.5", "+3e4", "-12%", "-1,5", "+.5", " -2", "a=b", "a-b", "1=1", "a 'b'"],
)
def test_numbers_and_text_are_not(cell):
    assert guarded(cell) == cell


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("\t=1", "'\t'=1"), ("\r=1", "'\r'=1"), ("\n\n-a", "'\n\n'-a"),
        ("\tharmless", "'\tharmless"),
        ("x;=1", "x;'=1"), ("ok\n=1", "ok\n'=1"), ("x; -1", "x; -1"), ("it;'s", "it;''s"),
    ],
)  # fmt: skip
def test_parts_that_another_spreadsheet_would_cut_out(cell, expected):
    assert guarded(cell) == expected


@given(st.lists(st.tuples(texts, nasty), min_size=1, max_size=4))
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    write_csv(pd.DataFrame(rows, columns=["a", "b"], dtype=object), path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        read = list(csv.reader(file))
    expected = [["a", "b"], *([c.encode(errors="replace").decode() for c in row] for row in rows)]
    assert [[unguarded(cell) for cell in row] for row in read] == expected


def test_a_frame_with_everything(tmp_path):
    frame = pd.DataFrame(
        {
            "=name": ["=1", "x\ny", None],
            "whole": pd.array([1, None, -3], dtype="Int64"),
            "number": [-1.5, np.nan, 0.1],
            "day": pd.to_datetime(["2024-01-01", None, "2024-01-03"]),
            "yes": [True, False, True],
        },
        index=[7, 8, 9],
    )
    write_csv(frame, tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_bytes() == (
        b"'=name,whole,number,day,yes\n"
        b"'=1,1,-1.5,2024-01-01 00:00:00,True\n"
        b'"x\ny",,,,False\n'
        b",-3,0.1,2024-01-03 00:00:00,True\n"
    )
    again = read_table(tmp_path / "sheet.csv")
    assert again["whole"].tolist()[0] == 1
    assert unguarded(again.columns[0]) == "=name"


def test_a_byte_order_mark_only_where_it_is_needed(tmp_path):
    path = tmp_path / "sheet.csv"
    write_csv(pd.DataFrame([{"a": "plain", "b": 1}]), path)
    assert path.read_bytes() == b"a,b\nplain,1\n"
    for row in ({"a": "é", "b": 1}, {"é": "a", "b": 1}):
        write_csv(pd.DataFrame([row]), path)
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        assert list(read_table(path).columns) == list(pd.read_csv(path).columns) == list(row)


def test_a_line_that_begins_with_a_number(tmp_path):
    """To a spreadsheet that cuts at semicolons the second line is one cell, a formula."""
    rows = [{"a": -1, "b": "5+cmd|' /C calc'!A0"}, {"a": 2, "b": -1}]
    write_csv(pd.DataFrame(rows), tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_text() == "a,b\n'-1,5+cmd|' /C calc'!A0\n2,-1\n"


def test_long_cells_are_cut(tmp_path):
    frame = pd.DataFrame({"a": ["x" * 40_000], "b": ["=" + "y" * 31_999]})
    write_csv(frame, tmp_path / "sheet.csv")
    table = read_table(tmp_path / "sheet.csv")
    assert table["a"][0] == "x" * 32_000 + "… (40000 characters)"
    assert len(table["b"][0]) == 32_001
    assert (tmp_path / "sheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_no_rows(tmp_path):
    write_csv(pd.DataFrame({"a": [], "b": []}), tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_text() == "a,b\n"


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"The disk is full, so .*sheet\.csv was not written"):
        write_csv(pd.DataFrame({"a": [1]}), tmp_path / "sheet.csv")
    assert os.listdir(tmp_path) == []
