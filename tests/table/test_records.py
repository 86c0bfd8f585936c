"""Tables in JSON: lines and lists of objects, tasks of Label Studio, records of Argilla."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from rboost.table.reading import label_column, read_table
from rboost.table.writing import write_table

WORDS = st.one_of(st.none(), st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))))
CELLS = st.tuples(st.one_of(st.none(), st.integers(-99, 99)), st.booleans(), WORDS, st.floats(0, 1))


def read(folder, content, **options):
    path = folder / "table.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_table(path, **options)


@given(st.lists(CELLS, min_size=2, max_size=6))
def test_a_table_is_the_same_in_json_and_in_csv(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(rows, columns=["n", "t", "w", "x"]).astype({"n": "Int64"})
    frame["w"] = "x" + frame["w"]  # no cell is white space alone, or looks like a number
    for name in ("table.jsonl", "table.csv"):
        write_table(frame, folder / name)
    (folder / "list.json").write_text(
        "[" + ",\n ".join((folder / "table.jsonl").read_text().split("\n")[:-1]) + "]"
    )
    found = read_table(folder / "table.jsonl")
    assert_frame_equal(found, read_table(folder / "table.csv"))
    assert_frame_equal(found, read_table(folder / "list.json"))


def test_lines_are_objects_with_values_of_any_kind(tmp_path):
    path = tmp_path / "table.jsonl"
    frame = pd.DataFrame(
        {"a": [1.5, None], "b": ["=1+1\n", "é"], "c": [True, False], "d": [2**60, 1],
         "e": [pd.Timestamp("2024-01-02"), pd.NaT], "f": [float("inf"), 0.0]}
    )  # fmt: skip
    write_table(frame, path, guarded=True)
    lines = path.read_text().splitlines()
    assert json.loads(lines[0]) == {
        "a": 1.5, "b": "=1+1\n", "c": True, "d": 2**60, "e": "2024-01-02 00:00:00", "f": "inf",
    }  # fmt: skip
    assert '"é"' in lines[1]


def test_rows_may_lack_names(tmp_path):
    found = read(tmp_path, '{"a": 1, "b": "x"}\n\n{"b": "y", "c": 2.5}\n{"a": null, "b": "z"}\n')
    assert list(found.columns) == ["a", "b", "c"]
    assert found["b"].tolist() == ["x", "y", "z"]
    assert found["a"].isna().tolist() == [False, True, True]
    assert found["c"].isna().tolist() == [True, False, True]


def test_a_number_is_read_as_it_is_written(tmp_path):
    found = read(tmp_path, '{"a": 1.0, "b": "01"}\n{"a": 2, "b": "02"}\n', text=["a"])
    assert found["a"].tolist() == ["1.0", "2"]
    assert found["b"].tolist() == ["01", "02"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"a": 1, "b": 2}\n{"a": 3, "b"', "Line 2 of .* is no JSON object"),
        ('{"a": 1, "b": 2}\n[3]', "Line 2 of .* is no JSON object"),
        ('{\n "a": 1,\n "b": 2}', "Line 1 of .* is no JSON object"),
        ('[{"a": 1, "b": 2}, 3]', "is no list of JSON objects"),
        ('[{"a": ' + "[" * 100_000, "is no list of JSON objects"),
        ('{"a": 1, "b": [2]}', r"row 1 has a list in 'b'"),
        ('{"a": 1, "b": {"c": 2}}', r"row 1 has an object in 'b'"),
        ('{"data": {"a": 1}, "annotations": [{"result": [3]}]}', "row 1 is damaged"),
        (
            '{"data": {"a": 1}, "annotations": [{"result": [{"from_name": "c", "value": '
            '{"choices": ["x", "y"]}}]}]}',
            "row 1 has several choices for 'c'",
        ),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_json_has_names(tmp_path):
    with pytest.raises(ValueError, match="is a JSON file, which has names"):
        read(tmp_path, '{"a": 1, "b": 2}', header=False)


def choice(label, **more):
    result = {"from_name": "mood", "to_name": "text", "type": "choices"}
    return {"result": [result | {"value": {"choices": [label]}}], **more}


def test_tasks_of_label_studio_are_a_row_for_each_annotation(tmp_path):
    tasks = [
        {"id": 7, "data": {"id": "a", "text": "fine"}, "predictions": [],
         "annotations": [choice("good", completed_by=1), choice("bad", completed_by=2)]},
        {"id": 8, "data": {"id": "b", "text": "no", "item": {"size": 3}},
         "annotations": [choice("bad", completed_by={"email": "ann@x"}),
                         choice("good", completed_by=2, was_cancelled=True)]},
        {"id": 9, "data": {"id": "c", "text": "?"}, "annotations": []},
    ]  # fmt: skip
    found = read(tmp_path, tasks)
    assert found["id"].tolist() == ["a", "a", "b", "c"]
    assert found["annotator"].tolist()[:3] == ["1", "2", "ann@x"]
    assert found["size"].tolist()[2] == 3
    labels = label_column(found, "mood")
    assert labels.tolist()[:3] == ["good", "bad", "bad"]
    assert labels.isna().tolist() == [False, False, False, True]


def test_records_of_argilla_are_a_row_for_each_person(tmp_path):
    records = [
        {"id": "a", "fields": {"text": "fine"}, "metadata": {"size": 3}, "suggestions": {},
         "responses": {"mood": [{"value": "good", "user_id": "u1"},
                                {"value": "bad", "user_id": "u2"}],
                       "sure": [{"value": "no", "user_id": "u2"}]}, "vectors": {}},
        {"id": "b", "fields": {"text": "no"}, "metadata": {}, "responses": {}, "suggestions": {}},
    ]  # fmt: skip
    for content in (records, "\n".join(map(json.dumps, records))):
        found = read(tmp_path, content)
        assert found["id"].tolist() == ["a", "a", "b"]
        assert found["mood"].tolist()[:2] == ["good", "bad"]
        assert found["sure"].tolist()[1] == "no"
        assert found["annotator"].tolist()[:2] == ["u1", "u2"]
        assert found["size"].isna().tolist() == [False, False, True]
