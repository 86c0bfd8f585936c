import pytest

from rboost.table.delimited import SAMPLE_CHARACTERS, find_layout
from rboost.table.reading import read_table


def table_of(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb c, d\n1\t2\n", "\t"),
        ("a|b|c\n1|2|3", "|"),
        ('"last, first";b\n"x, y";2\n', ";"),
        ('"a;b;c",d\n1,2\n', ","),
        ('a,b\n"x\n;;;",2\n', ","),
        ("a;b, in €, net\n1;2\n3;4\n", ";"),
    ],
)
def test_the_delimiter_is_found(text, delimiter):
    assert find_layout(text.encode()).delimiter == delimiter


def test_a_header_longer_than_the_sample(tmp_path):
    names = [f"{'a rather long name of a column ' * 10}{number}" for number in range(500)]
    assert len(",".join(names)) > SAMPLE_CHARACTERS
    table = table_of(tmp_path, ",".join(names) + "\n" + ",".join("1" * 500) + "\n")
    assert list(table.columns) == names


def test_excel_says_its_delimiter(tmp_path):
    assert table_of(tmp_path, "sep=;\r\na;b\r\n1;2\r\n").to_dict("list") == {"a": [1], "b": [2]}


def test_quotes_newlines_and_blank_lines(tmp_path):
    table = table_of(tmp_path, '\n\na,"b ""c"""\r\n"x\ny","5"" pipe"\r\n\r\nz,w\r\n')
    assert table.to_dict("list") == {"a": ["x\ny", "z"], 'b "c"': ['5" pipe', "w"]}
    assert table_of(tmp_path, "a,b\r1,2\r3,4").shape == (2, 2)


def test_names_that_are_empty_or_repeated(tmp_path):
    with pytest.warns(UserWarning, match="columns") as caught:
        table = table_of(tmp_path, "a,,a, b ,a (2),a,\n1,2,3,4,5,6,7\n")
    assert list(table.columns) == ["a", "column 2", "a (3)", "b", "a (2)", "a (4)", "column 7"]
    assert [str(warning.message).partition(".csv ")[2] for warning in caught] == [
        "has columns without a name; they are called by their position: 'column 2', 'column 7'.",
        "has several columns called 'a', 'a'; later ones are numbered, as in 'a (2)'.",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n3\n", "Line 3 of .* has 1 cell but the header has 2; correct that line"),
        ("a,b\n1,2\n\n1,2,3\n", "Line 4 of .* has 3 cells but the header has 2"),
        ('a,b\n"x\ny",2\n1,2,3\n', "Line 4 of .* has 3 cells but the header has 2"),
        ("a,b\n1,2\n" * 50 + "1,2,3\n", "Line 101 of .* has 3 cells"),
        ('a,b\n1,2\n"3,4\n5,6\n', "Line 3 of .* has 1 cell .*, where perhaps a quote is not"),
        ('a,b\n1,"2\n3,4\n5,6\n', "ends within a quoted cell, which begins '2.n3,4"),
        ("a,b\n", "has a header but no rows"),
        ("a,b", "has a header but no rows"),
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("a\n1\n2\n", "has one column only, but a table has two or more: add the labels or"),
        (b"\xef\xbb\xbf", "is empty"),
    ],
)
def test_what_is_no_table(tmp_path, text, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        table_of(tmp_path, text)
    assert "\n" not in str(caught.value)
