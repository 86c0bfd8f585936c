import io
import sys

import pandas as pd
import pytest

from rboost.table.reading import read_table
from rboost.table.sources import STANDARD_INPUT, expanded, with_standard_input


def test_patterns_and_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b.csv", "a.csv", "c[1].csv", "deep/er/d.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "folder.csv").mkdir()
    assert list(map(str, expanded(["[ab].csv", "-"]))) == ["a.csv", "b.csv", "-"]
    assert list(map(str, expanded(["c[1].csv"]))) == ["c[1].csv"]
    assert list(map(str, expanded(["**/*.csv"])))[-1] == "deep/er/d.csv"
    assert expanded(["missing.csv"])[0].name == "missing.csv"  # whoever reads it says so
    with pytest.raises(OSError, match=r"No file matches .*\*\.tsv; check the pattern"):
        expanded(["*.tsv"])
    with pytest.raises(ValueError, match=r"a\.csv is named twice"):
        expanded(["a.csv", "*.csv"])
    with pytest.raises(ValueError, match="- is named twice"):
        expanded(["-", "-"])


class Keyboard(io.StringIO):
    def isatty(self):
        return True


def test_standard_input(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    with with_standard_input([STANDARD_INPUT]) as (path,):
        assert read_table(path).to_dict("list") == {"a": [1], "b": [2]}
    assert not path.exists()
    monkeypatch.setattr(sys, "stdin", Keyboard())
    with (
        pytest.raises(ValueError, match="Standard input is the keyboard"),
        with_standard_input([STANDARD_INPUT]),
    ):
        pass


def test_messages_call_standard_input_by_that_name(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with (
        pytest.raises(ValueError, match=r"^standard input is empty; name a file"),
        with_standard_input([STANDARD_INPUT]) as (path,),
    ):
        read_table(path)


def files(tmp_path, *contents):
    paths = []
    for number, content in enumerate(contents):
        paths.append(tmp_path / f"part{number}.csv")
        if isinstance(content, pd.DataFrame):
            content.to_parquet(paths[-1], index=False)
        else:
            paths[-1].write_text(content, encoding="utf-8")
    return paths


def cells(table):
    """The columns as lists, None where a cell is missing: pandas 2 and 3 mark it differently."""
    return table.astype(object).where(table.notna(), None).to_dict("list")


def test_several_files_are_one_table(tmp_path):
    paths = files(tmp_path, "a,b,y\n1,x,1\n", "y;b;a\n0;7;2\n", "b\ty\ta\n\t1\t3\n")
    table = read_table(paths, label="y")
    assert cells(table) == {"a": [1, 2, 3], "b": ["x", "7", None], "y": ["1", "0", "1"]}
    whole = read_table(files(tmp_path, "a,b,y\n1,x,1\n2,7,0\n3,,1\n"), label="y")
    pd.testing.assert_frame_equal(table, whole)


def test_a_column_is_typed_as_a_whole(tmp_path):
    paths = files(tmp_path, 'a,b\n"1,234",1\n', 'a,b\n"1,234.5",0.5\n')
    assert read_table(paths).to_dict("list") == {"a": ["1,234", "1,234.5"], "b": [1.0, 0.5]}


def test_parquet_and_text_together(tmp_path):
    one = pd.DataFrame({"a": [1, 2], "b": ["x", None], "t": pd.to_datetime(["2024-01-01"] * 2)})
    paths = files(tmp_path, one, one.assign(a=[0.5, 1.5]))
    table = read_table(paths)
    assert table["a"].tolist() == [1.0, 2.0, 0.5, 1.5]
    assert table["t"].dtype.kind == "M"
    paths = files(tmp_path, one[["a", "b"]], "b,a\nz,3\n")
    assert cells(read_table(paths)) == {"a": [1, 2, 3], "b": ["x", None, "z"]}


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("a,c\n1,2\n", r"part1\.csv has no column 'b', which .*part0\.csv has; give all files the"),
        ("a,b,c\n1,2,3\n", r"part0\.csv has no column 'c', which .*part1\.csv has"),
        ("", r"part1\.csv is empty"),
    ],
)
def test_files_that_do_not_fit(tmp_path, other, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_table(files(tmp_path, "a,b\n1,2\n", other))
