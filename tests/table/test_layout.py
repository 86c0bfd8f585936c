import io
import warnings

import pandas as pd
import pytest

from rboost.table.reading import read_table

FRAME = pd.DataFrame({"a": [3, 5, 4], "b": ["x", "y, z", "w"], "c": [1.5, 2.5, 0.5]})
INDEX = "has an index, a first column of row numbers without a name, which is left out"
NAMED = "has a first column without a name, which is called 'index'"


def table_of(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    return read_table(path)


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("label", [None, False])
@pytest.mark.parametrize("index", [[0, 1, 2], [7, 2, 30]])
def test_an_index_of_numbers_is_left_out(tmp_path, separator, label, index):
    text = FRAME.set_axis(index).to_csv(sep=separator, index_label=label)
    with pytest.warns(UserWarning, match=INDEX):
        table = table_of(tmp_path, text)
    pd.testing.assert_frame_equal(table, FRAME)


@pytest.mark.parametrize("label", [None, False])
@pytest.mark.parametrize("index", [["r1", "r2", "r3"], [1, 1, 2]])
def test_another_index_gets_a_name(tmp_path, label, index):
    text = FRAME.set_axis(index).to_csv(sep="\t", index_label=label)
    with pytest.warns(UserWarning, match=NAMED):
        table = table_of(tmp_path, text)
    assert list(table.columns) == ["index", "a", "b", "c"]
    assert table["index"].tolist() == index


def test_as_r_writes_tables(tmp_path):
    with pytest.warns(UserWarning, match=INDEX):
        table = table_of(tmp_path, '"a"\t"b"\t"c"\n"1"\t3\t"x"\t1.5\n"2"\t5\t"y"\t2.5\n')
    assert table.to_dict("list") == {"a": [3, 5], "b": ["x", "y"], "c": [1.5, 2.5]}


def test_rows_that_end_with_a_delimiter(tmp_path):
    for header in ("a,b", "a,b,"):
        table = table_of(tmp_path, f"{header}\n1,2,\n3,4,\n")
        assert table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize(
    ("preamble", "number"),
    [
        ("# made by hand\n", "1 line"),
        ("# one\n# two, with, commas\n\n#three\n", "3 lines"),
        ("Sales of 2024\n", "1 line"),
        ("\nSales of 2024\r\n\r\nfor all, shops\n\n", "2 lines"),
        ('"A title\nof two lines"\n', "1 line"),
        ("Sales of 2024,,\n,,\n", "2 lines"),
        ("Sales; by 2024\n", "1 line"),
        ("# a,b,c\n", "1 line"),
        ("".join(f"# {number}\n" for number in range(60)), "60 lines"),
        ("generated 2024, by X\n", "1 line"),
    ],
)
def test_lines_before_the_header(tmp_path, preamble, number):
    text = preamble + FRAME.to_csv(index=False)
    with pytest.warns(UserWarning, match=rf"table; {number} (was|were) skipped"):
        table = table_of(tmp_path, text)
    pd.testing.assert_frame_equal(table, FRAME)


def test_lines_before_a_header_without_a_name_for_the_index(tmp_path):
    with pytest.warns(UserWarning, match=r"not begin with its table|has an index"):
        table = table_of(tmp_path, "# a comment\n" + FRAME.to_csv(index_label=False))
    pd.testing.assert_frame_equal(table, FRAME)


@pytest.mark.parametrize(
    "text", ["#id,b\n1,x\n2,y\n", "#id,b\n#1,x\n#2,y\n", "a,b\n#1,x\n2,y\n", "\n \n\na,b\n1,x\n"]
)
def test_what_is_no_comment(tmp_path, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = table_of(tmp_path, text)
    expected = pd.read_csv(io.StringIO(text.lstrip()))
    assert list(table.columns) == list(expected.columns)
    assert len(table) == len(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# x\n\na,b\n1,2\n3,4\n5,6\n7\n", "Line 7 of .* has 1 cell but the header has 2"),
        ("a,b\n1,2,3\n" * 1 + "4,5,6\n" * 30 + "1,2\n", "has 2 cells but others have 3"),
        ("a,b\n" + "4,5,6\n" * 9 + "1,2,3,4\n", "Line 11 of .* 4 cells but others have 3"),
        ("a,b,c\n1,2\n3,4\n5,6\n", "Line 2 of .* has 2 cells but the header has 3"),
        ("3,x\n1,2,3,4\n5,6,7,8\n1,2,4,5\n", "Line 2 of .* has 4 cells but the header has 2"),
        ("title\n", "one column only"),
        ("# only\n# comments\n", "one column only"),
        (",y\n0,1\n1,2\n", "one column only"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*table.csv (has|does)")
def test_what_is_no_table(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence):
        table_of(tmp_path, text)
