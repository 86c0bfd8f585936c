"""Whole tables: what is written is what is read."""

import io
import uuid
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.files import file_digest
from rboost.table.reading import label_column, read_table


def table_of(tmp_path, text, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


# "x" in front keeps text from being numbers or truth values, which would be typed as such.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
columns = st.one_of(
    st.tuples(st.just("text"), st.lists(texts.map(lambda t: f"x{t}"), min_size=4, max_size=4)),
    st.tuples(st.just("int"), st.lists(st.integers(-(10**17), 10**17), min_size=4, max_size=4)),
    st.tuples(
        st.just("float"),
        st.lists(
            st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
            min_size=4,
            max_size=4,
        ),
    ),
)


@given(
    st.lists(columns, min_size=2, max_size=5),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read(tmp_path_factory, parts, delimiter, encoding, newline):
    frame = pd.DataFrame({f"name {k}": values for k, (_, values) in enumerate(parts)})
    buffer = io.StringIO(newline="")
    frame.to_csv(buffer, index=False, sep=delimiter, lineterminator=newline, quoting=1)
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_bytes(buffer.getvalue().encode(encoding))
    read = read_table(path)
    assert list(read.columns) == list(frame.columns)
    for name, (kind, values) in zip(frame.columns, parts, strict=True):
        found = read[name].tolist()
        if kind == "text":
            assert found == values
        else:
            np.testing.assert_array_equal(np.array(found, dtype=object), values)


def test_types(tmp_path):
    table = table_of(
        tmp_path,
        "whole,some,number,big,zip,yes,maybe,date,thousand,word\n"
        '1,1,1.5,12345678901234567890,00123,True,true,2024-01-31,"1,000",a\n'
        '-2,,+3e4,1,12345,False,NA,2024-02-01,"2,000",null\n'
        "0,3,-.5,2,00001,true,false,,12, b \n",
    )
    kinds = {name: str(kind) for name, kind in table.dtypes.items()}
    assert kinds["whole"] == "int64"
    assert kinds["some"] == "Int64"
    assert kinds["number"] == "float64"
    assert table["number"].tolist() == [1.5, 30000.0, -0.5]
    assert table["big"].tolist() == ["12345678901234567890", "1", "2"]
    assert kinds["zip"] in ("object", "str")  # pandas 2, pandas 3
    assert table["zip"].tolist() == ["00123", "12345", "00001"]
    assert kinds["yes"] == "bool"
    assert kinds["maybe"] == "boolean"
    assert table["date"][0] == "2024-01-31"
    assert table["date"].isna().tolist() == [False, False, True]
    assert table["thousand"].tolist() == ["1,000", "2,000", "12"]
    assert table["word"].fillna("missing").tolist() == ["a", "missing", " b "]


def test_decimal_commas(tmp_path):
    table = table_of(tmp_path, "a;b;c\n1,5;1.5;x,5\n-2;2;y\n;3;z\n")
    assert table["a"].tolist()[:2] == [1.5, -2.0]
    assert table["b"].tolist() == [1.5, 2.0, 3.0]
    assert table["c"].tolist() == ["x,5", "y", "z"]
    assert table_of(tmp_path, 'a,b\n"1,500",2\n')["a"].tolist() == ["1,500"]


def test_infinite_numbers_count_as_missing(tmp_path):
    with pytest.warns(UserWarning, match="infinite numbers in 'a'; they count as missing"):
        table = table_of(tmp_path, "a,b\n1,2\n-inf,3\nInfinity,4\n1e400,5\n")
    assert table["a"].isna().tolist() == [False, True, True, True]


def test_an_enormous_cell(tmp_path):
    large = "x" * 10_000_000
    table = table_of(tmp_path, f'a,b\n"{large}",2\n1,3\n')
    assert len(table["a"][0]) == len(large)
    assert table["b"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["1", "0", ""], [1, 0, None]),
        (["1.0", "0.0", "NaN"], ["1.0", "0.0", None]),
        (["01", "02", "null"], ["01", "02", None]),
        (["True", "False", "None"], ["True", "False", None]),
        (["yes ", " no", "n/a"], ["yes", "no", None]),
        (["None of these", "nan-like", "-"], ["None of these", "nan-like", "-"]),
    ],
)
def test_labels_look_as_they_were_written(tmp_path, written, expected):
    rows = "\n".join(f"{number},{label}" for number, label in enumerate(written))
    labels = label_column(table_of(tmp_path, f"a,churn\n{rows}\n", label="churn"), "churn")
    assert [None if pd.isna(label) else label for label in labels] == expected
    assert str(labels.dtype) == ("Int64" if isinstance(expected[0], int) else "string")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1.0, 0.0, np.nan], [1, 0, None]),
        ([0.5, 1.0, np.nan], ["0.5", "1.0", None]),
        ([True, False, None], ["True", "False", None]),
        (pd.array([1, 2, None], dtype="Int8"), [1, 2, None]),
        (pd.Categorical(["b", "a", None]), ["b", "a", None]),
    ],
)
def test_labels_of_other_frames(column, expected):
    labels = label_column(pd.DataFrame({"y": column}), "y")
    assert [None if pd.isna(label) else label for label in labels] == expected


def test_parquet_in_any_name(tmp_path):
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "text": ["a", None, "c"],
            "day": pd.to_datetime(["2024-01-01", None, "2024-03-01"]),
            "kind": pd.Categorical(["x", "y", "x"]),
            "float": [1.5, np.nan, np.nan],
        },
        index=[5, 6, 7],
    )
    frame["date"] = frame["day"].dt.date
    frame.to_parquet(tmp_path / "table.csv")
    table = read_table(tmp_path / "table.csv", label="kind")
    assert str(table["whole"].dtype) == "Int64"
    assert table["text"].fillna("missing").tolist() == ["a", "missing", "c"]
    assert table["day"].dtype.kind == table["date"].dtype.kind == "M"
    assert label_column(table, "kind").tolist() == ["x", "y", "x"]


def test_types_of_parquet_that_pandas_has_as_objects(tmp_path):
    path = tmp_path / "table.parquet"
    known = [uuid.UUID(int=1), None]
    ids = pa.array([one and one.bytes for one in known], pa.uuid())
    pq.write_table(pa.table({"id": ids, "b": [1, 2]}), path)
    assert read_table(path)["id"].fillna("missing").tolist() == [str(known[0]), "missing"]
    pd.DataFrame({"a": pd.interval_range(0, 2), "b": [1, 2]}).to_parquet(path)
    with pytest.raises(ValueError, match=r"Column 'a' of .* holds struct<.*>, not single values"):
        read_table(path)


def test_parquet_that_is_no_table(tmp_path):
    path = tmp_path / "table.parquet"
    frame = pd.DataFrame({"a": [[1], [2]], "b": [1, 2]})
    frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"Column 'a' of .* holds list<.*>, not single values"):
        read_table(path)
    frame[["b"]].to_parquet(path)
    with pytest.raises(ValueError, match="has one column only"):
        read_table(path)
    frame[:0].to_parquet(path)
    with pytest.raises(ValueError, match="has a header but no rows"):
        read_table(path)
    frame["a"] = [b"\xff", b"\xfe"]
    frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"Column 'a' of .* holds binary data"):
        read_table(path)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="is a Parquet file, but damaged or cut short"):
        read_table(path)


def test_a_column_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"no column 'chrun' in .* \(did you mean 'Churn'\?\); the "
                                         r"columns are 'a', 'Churn'\.$"):  # fmt: skip
        table_of(tmp_path, "a,Churn\n1,2\n", label="chrun")
    header = ",".join(f"c{number}" for number in range(50))
    with pytest.raises(ValueError, match=r"no column 'label' in .*; the .* and 30 more\.$"):
        table_of(tmp_path, f"{header}\n{header}\n", label="label")
    with pytest.raises(ValueError, match="no column 'x'; the columns are 'a', 'b'"):
        label_column(pd.DataFrame({"a": [1], "b": [2]}), "x")


def test_the_digest_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    assert file_digest(tmp_path / "a").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_a_good_table_gives_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table_of(tmp_path, "a,b\n1,é\n").shape == (1, 2)
