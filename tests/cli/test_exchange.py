"""``rboost review`` with label tools and spreadsheets: tasks out, answers in."""

import json
import os
import shutil
from contextlib import closing
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit
from rboost.cli import main
from rboost.review.folder import open_store, with_saved_answers
from rboost.table.reading import read_table
from tests.cli.tables import refused


def answers(folder):
    """By person, what is said of each row."""
    audit = read_audit(folder)
    with closing(open_store(audit, folder)) as store:
        log = store.log()
    return {
        who: {str(audit.ids[row]): str(audit.classes[one.label]) for row, one in own.items()}
        for who, own in log.by_reviewer.items()
    }


def exchange(folder, *arguments):
    return main(["review", str(folder), *map(str, arguments)])


def annotated(task, label, who):
    """A task as Label Studio exports it once a person has chosen a label."""
    (predicted,) = task["predictions"]
    (result,) = predicted["result"]
    return {
        "id": 17, **task, "predictions": [],
        "annotations": [{"completed_by": who, "was_cancelled": False,
                         "result": [result | {"value": {"choices": [label]}}]}],
    }  # fmt: skip


def test_tasks_of_label_studio_go_out_and_their_answers_come_in(folder, tmp_path, capsys):
    out = tmp_path / "tasks.json"
    assert exchange(folder, "--tasks", out) == 0
    tasks = json.loads(out.read_text())
    listed = pd.read_csv(folder / "suspects.csv")
    assert [one["data"]["key"] for one in tasks] == listed["key"].tolist()
    config = ElementTree.parse(tmp_path / "tasks.xml")
    choices = config.find("Choices")
    names = [one.get("value") for one in choices]
    for task in tasks:
        (result,) = task["predictions"][0]["result"]
        assert result["from_name"] == choices.get("name") == "churn"
        assert result["to_name"] == choices.get("toName") == config.find("Table").get("name")
        assert result["value"]["choices"][0] in names
        assert config.find("Table").get("value") == "$" + result["to_name"]
    said = {task["data"]["key"]: names[k % 2] for k, task in enumerate(tasks[:6])}
    done = [annotated(task, said[task["data"]["key"]], 5) for task in tasks[:6]]
    out.write_text(json.dumps(done + tasks[6:]))
    assert exchange(folder, "--import", out) == 0
    assert "6 answers, of which 6 are new" in capsys.readouterr().out
    assert answers(folder) == {"5": said}
    assert exchange(folder, "--import", out) == 0
    assert "6 answers, of which 0 are new" in capsys.readouterr().out
    checked = pd.read_csv(folder / "checked.csv").set_index("key")
    assert checked["checked_label"].to_dict() == said
    assert exchange(folder, "--tasks", out) == 0
    open_rows = [one["data"]["key"] for one in json.loads(out.read_text())]
    assert not {*said} & {*open_rows}


def test_records_of_argilla_go_out_and_their_answers_come_in(folder, tmp_path):
    out = tmp_path / "records.json"
    assert exchange(folder, "--tasks", out, "--tool", "argilla") == 0
    records = json.loads(out.read_text())[:4]
    audit = read_audit(folder)
    for record in records:
        row = audit.ids.tolist().index(record["id"])
        assert f"amount: {audit.table['amount'][row]}" in record["fields"]["text"]
        assert record["metadata"]["given_label"] == audit.labels.written[row]
        assert record["suggestions"]["label"]["value"] in ("no", "yes")
        record["responses"] = {
            "label": [{"value": "yes", "user_id": "u1"}, {"value": "no", "user_id": "u2"}]
        }
    out.write_text("\n".join(map(json.dumps, records)))
    assert exchange(folder, "--import", out) == 0
    ids = [record["id"] for record in records]
    assert answers(folder) == {"u1": dict.fromkeys(ids, "yes"), "u2": dict.fromkeys(ids, "no")}


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".jsonl"])
def test_answers_come_from_a_spreadsheet(folder, tmp_path, ending):
    path = tmp_path / f"answers{ending}"
    frame = pd.DataFrame({"id": ["k0003", "k0001", "k0002"], "label": ["Yes", None, " no"]})
    write = {".csv": frame.to_csv, ".xlsx": frame.to_excel}.get(ending)
    if write:
        write(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    assert exchange(folder, "--import", path) == 0
    assert answers(folder) == {"": {"k0003": "yes", "k0002": "no"}}
    audit = with_saved_answers(read_audit(folder), folder)
    assert set(np.flatnonzero(audit.labels.is_checked)) == {2, 3}


def test_a_later_file_replaces_what_the_same_person_said(folder, tmp_path, capsys):
    path = tmp_path / "answers.csv"
    for labels in (["yes", "no"], ["yes", "yes"]):
        pd.DataFrame({"key": ["k0001", "k0002"], "churn": labels, "reviewer": "Ann"}).to_csv(
            path, index=False
        )
        assert exchange(folder, "--import", path) == 0
    assert "2 answers, of which 1 are new" in capsys.readouterr().out
    assert answers(folder) == {"Ann": {"k0001": "yes", "k0002": "yes"}}


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"key": ["nobody"], "label": ["yes"]}, "names a row 'nobody'"),
        ({"key": ["k0001"], "label": ["maybe"]}, "has the label 'maybe'"),
        ({"name": ["k0001"], "label": ["yes"]}, "no column 'key'"),
        ({"key": ["k0001"], "note": ["yes"]}, "no column 'churn'"),
        ({"key": ["k0001", "k0001"], "label": ["yes", "no"]}, "twice, with different labels"),
    ],
)
def test_answers_that_do_not_fit_are_refused_whole(folder, tmp_path, capsys, columns, sentence):
    path = tmp_path / "answers.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    assert sentence in refused(capsys, "review", folder, "--import", path)
    assert not (folder / "review.sqlite").exists()


def test_tasks_overwrite_nothing_of_the_audit(folder, data, capsys):
    for path in (data, folder / "tasks.json"):
        assert "belongs to the audit" in refused(capsys, "review", folder, "--tasks", path)


def test_tasks_overwrite_nothing_of_another_audit_before_answers_are_taken(
    audited, folder, tmp_path, capsys
):
    path, other = tmp_path / "answers.csv", tmp_path / "other"
    pd.DataFrame({"key": ["k0001"], "label": ["yes"]}).to_csv(path, index=False)
    shutil.copytree(audited, other)
    (other / "issues").mkdir()
    for tasks in (other / "audit.json", other / "model.rboost", other / "issues" / "tasks.json"):
        said = refused(capsys, "review", folder, "--import", path, "--tasks", tasks)
        assert "belongs to the audit" in said
    os.mkfifo(tmp_path / "tasks.xml")  # what is written beside tasks.json
    tasks = tmp_path / "tasks.json"
    said = refused(capsys, "review", folder, "--import", path, "--tasks", tasks)
    assert "is a device or a pipe, not a file" in said
    assert not tasks.exists()
    assert not (folder / "review.sqlite").exists()


def test_an_export_is_trusted_rows_and_annotations_too(data, folder, tmp_path):
    """What label tools export is a table wherever one is read."""
    out = tmp_path / "tasks.json"
    assert exchange(folder, "--tasks", out) == 0
    tasks = json.loads(out.read_text())[:30]
    out.write_text(json.dumps([annotated(task, "yes", k % 2) for k, task in enumerate(tasks)]))
    arguments = ["--id", "key", "--model", "linear", "--quiet", "--no-column-check"]
    again = tmp_path / "again"
    audit = ["audit", str(data), "--label", "churn", "--out", str(again), *arguments]
    assert main([*audit, "--trusted", str(out)]) == 0
    found = read_audit(again)
    assert found.labels.is_checked.sum() == len(tasks)
    assert found.n_extra == 0
    lines = read_table(out, text=["key"])
    assert (lines["churn"] == "yes").all()
    assert set(lines["annotator"]) == {0, 1}
