import codecs
import errno
import gzip
import os
from datetime import date, datetime

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rboost.table.reading import read_table
from rboost.table.writing import ENDINGS, check_ending, write_table

# "x" in front keeps text from being numbers or missing; what XML lacks is replaced in Excel files.
texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"))).map(
    "x{}".format
)
rows = st.lists(
    st.tuples(texts, st.integers(-(10**17), 10**17), st.floats(-1e300, 1e300)),
    min_size=2,
    max_size=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=30)
@given(rows)
def test_what_is_written_is_read(tmp_path_factory, ending, rows):
    path = tmp_path_factory.mktemp("table") / f"table{ending}"
    frame = pd.DataFrame(rows, columns=["text", "whole", "number"])
    frame["number"] += 0.0  # −0 is 0 to Excel
    write_table(frame, path)
    assert os.listdir(path.parent) == [path.name]
    again = read_table(path)
    assert list(again.columns) == list(frame.columns)
    for name in frame.columns:
        expected = frame[name].tolist()
        if name == "number":  # Excel files have 16 digits
            expected = pytest.approx(expected, rel=1e-15 if ending == ".xlsx" else 0, abs=0)
        assert again[name].tolist() == expected


def test_text_files_for_programs_and_for_people(tmp_path):
    frame = pd.DataFrame({"a": [-1, 2], "b": ["=1+1", "x\ry"], "c": [None, "+"]}, index=[3, 4])
    write_table(frame, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == b'a\tb\tc\n-1\t=1+1\t\n2\t"x\ry"\t+\n'
    write_table(frame, tmp_path / "a.csv", guarded=True)
    assert (tmp_path / "a.csv").read_bytes() == b"a,b,c\n'-1,'=1+1,\n2,\"x\ry\",'+\n"
    write_table(frame[["b", "c"]], tmp_path / "a.tsv", guarded=True)
    assert (tmp_path / "a.tsv").read_bytes() == b"b\tc\n'=1+1\t\n\"x\ry\"\t'+\n"
    write_table(frame[:0], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_bytes() == b"a,b,c\n"
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(frame, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".tsv.gz"])
def test_every_text_file_for_people_has_a_byte_order_mark_where_it_is_needed(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    unpacked = gzip.open if ending.endswith(".gz") else open
    for text, mark in (("ab", b""), ("é", codecs.BOM_UTF8), ("x" * 40_000, codecs.BOM_UTF8)):
        write_table(pd.DataFrame({"t": [text, "c"], "n": [1, 2]}), path, guarded=True)
        with unpacked(path, "rb") as file:
            assert file.readline().rstrip() == mark + (b"t\tn" if "tsv" in ending else b"t,n")
        assert read_table(path)["t"].tolist()[1:] == ["c"]
        assert list(read_table(path).columns) == ["t", "n"]


@pytest.mark.parametrize("attack", ["=1+1", "=cmd|' /C calc'!A0", "+1", "-1+2", "@SUM(A1)", "#N/A"])
def test_no_text_of_an_excel_file_is_a_formula(tmp_path, attack):
    write_table(pd.DataFrame({attack: [attack, "b"], "n": [1, 2]}), tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    for cell in (sheet["A1"], sheet["A2"]):
        assert (cell.value, cell.data_type) == (attack, "s")


def test_values_of_an_excel_file(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 10**17], dtype="Int64"),
            "number": [1.5, np.nan, np.inf],
            "day": pd.to_datetime(["2024-01-31", None, "1850-01-01"]),
            "zone": pd.to_datetime(["2024-01-31 10:00", None, None], utc=True),
            "yes": [True, False, True],
            "any": [date(2024, 1, 31), "\x01a", 3],
        }
    )
    write_table(frame, tmp_path / "a.xlsx")
    values = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.iter_rows(values_only=True))
    day = datetime(2024, 1, 31)
    assert values == [
        ("whole", "number", "day", "zone", "yes", "any"),
        (1, 1.5, day, "2024-01-31 10:00:00+00:00", True, day),
        (None, None, None, None, False, "\ufffda"),
        (str(10**17), "inf", "1850-01-01 00:00:00", None, True, 3),
    ]


@pytest.mark.parametrize(
    ("frame", "name", "sentence"),
    [
        (pd.DataFrame({"a": [1]}), "a.txt", r"a\.txt must end with \.csv, .* or \.xlsx\.$"),
        (pd.DataFrame({"a": [1]}), "a.parquet.gz", "must end with"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "a.csv", "several columns called 'a'; rename"),
        (pd.DataFrame(index=[1]), "a.csv", "has no columns"),
        (pd.DataFrame({"a": [1, "b"]}), "a.parquet", r"several types of values.*write \.csv"),
        (pd.DataFrame({"a": ["x" * 40_000]}), "a.xlsx", "a cell of 40000 characters, more than Ex"),
        (pd.DataFrame({"a": np.zeros(2**20)}), "a.xlsx", "1048577 rows and 1 columns, more than E"),
    ],
)
def test_what_cannot_be_written(tmp_path, frame, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        write_table(frame, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_endings_are_checked_beforehand():
    check_ending("A.CSV")
    with pytest.raises(ValueError, match="must end with"):
        check_ending("a")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch, ending):
    path = tmp_path / f"a{ending}"
    path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="The disk is full"):
        write_table(pd.DataFrame({"a": [1]}), path)
    assert path.read_text() == "old"
    assert len(os.listdir(tmp_path)) == 1
