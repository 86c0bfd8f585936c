"""Mistakes, kills and full disks: one sentence, and nothing that was there is lost."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rboost.files import file_digest
from tests.cli.tables import COMMAND, make_table, refused, run


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t.assign(churn="yes"), "two classes are needed"),
        (lambda t: t.assign(churn=t["key"]), "like an id"),
        (lambda t: t.assign(churn=t["amount"]), "like an id"),
        (lambda t: t.assign(churn=np.nan), "is empty in every row"),
        (lambda t: t[["key", "churn"]], "no column left besides the label"),
        (lambda t: t[["key", "empty", "churn"]], "No column says anything"),
        (lambda t: t.rename(columns={"churn": "Churned"}), "did you mean 'Churned'"),
        (lambda t: t.groupby("churn").head(8), "at least 20 are needed"),
        (lambda t: t.iloc[:0], "no rows"),
        (lambda t: t.assign(key="same"), "in more than one row"),
    ],
)
def test_a_table_that_cannot_be_audited_is_refused(change, says, tmp_path, capsys):
    path, out = tmp_path / "table.csv", tmp_path / "out"
    change(make_table()).to_csv(path, index=False)
    assert says in refused(capsys, "audit", path, "--label", "churn", "--id", "key", "--out", out)
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--budget", "0"], "--budget must be at least 1"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--model", "magic"], "There is no model 'magic'"),
        (["--drop", "nothing"], "There is no column 'nothing'"),
        (["--id", "nothing"], "There is no column 'nothing'"),
        (["--trusted", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_options_are_refused(arguments, says, data, tmp_path, capsys):
    options = ["--label", "churn", "--out", tmp_path / "out", "--quiet"]
    assert says in refused(capsys, "audit", data, *options, *arguments)


def test_label_as_context_fails(data, tmp_path, capsys):
    code, said = run(
        capsys, "audit", data, "--label", "churn", "--context", "churn", "--out", tmp_path / "x"
    )
    assert code != 0
    assert "is the label" in said


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("key,checked_label\nk9999,yes\n", "names a row 'k9999'"),
        ("key,checked_label\nk0001,maybe\n", "has the label 'maybe'"),
        ("name,checked_label\nk0001,yes\n", "neither the column 'key'"),
        ("key,other\nk0001,yes\n", "There is no column 'churn'"),
        ("key,checked_label\nk0001,yes\nk0001,no\n", "twice, with different labels"),
        ("key,checked_label\nk0001,\n", "has no label in any row"),
    ],
)
def test_a_file_of_trusted_rows_must_fit(content, says, data, tmp_path, capsys):
    trusted = tmp_path / "checked.csv"
    trusted.write_text(content)
    options = ["--label", "churn", "--id", "key", "--out", tmp_path / "out", "--quiet"]
    assert says in refused(capsys, "audit", data, *options, "--trusted", trusted)
    assert not (tmp_path / "out").exists()


def test_a_place_that_is_no_folder_is_refused_before_the_work(data, tmp_path, capsys):
    place = tmp_path / "file"
    place.write_text("here already")
    said = refused(capsys, "audit", data, "--label", "churn", "--out", place)
    assert "choose another folder" in said
    assert place.read_text() == "here already"


def test_nothing_that_was_there_before_is_overwritten(audited, data, tmp_path, capsys):
    model = audited / "model.rboost"
    for out in (model, data):
        assert "would be overwritten" in refused(capsys, "predict", model, data, "--out", out)
    folder = tmp_path / "foreign"
    folder.mkdir()
    table = folder / "suspects.csv"
    table.write_bytes(data.read_bytes())
    options = ["--label", "churn", "--out", folder, "--quiet"]
    assert "would be overwritten" in refused(capsys, "audit", table, *options)
    assert "is not of an audit" in refused(capsys, "audit", data, *options)
    assert table.read_bytes() == data.read_bytes()


def test_a_full_disk_leaves_the_earlier_audit(folder, data, capsys, monkeypatch):
    options = ["--label", "churn", "--id", "key", "--out", folder, "--model", "linear", "--quiet"]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rboost.files._flush", full)
    assert "disk is full" in refused(capsys, "audit", data, *options, "--seed", "1")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
def test_a_killed_run_leaves_nothing_behind(sent, tmp_path):
    data, out = tmp_path / "table.csv", tmp_path / "out"
    make_table(3000).to_csv(data, index=False)
    options = ["audit", str(data), "--label", "churn", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *options], stderr=subprocess.PIPE, text=True
    )
    while not out.exists():  # the folder is made before the work
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(sent)
    _, said = process.communicate()
    assert process.returncode != 0
    if sent == signal.SIGTERM:
        assert process.returncode == 130
        assert "nothing was written" in said
    assert not out.exists() or not list(out.iterdir())


def test_files_that_do_not_belong_together_are_refused(folder, tmp_path, capsys):
    (folder / "rows.npz").write_bytes((folder / "rows.npz").read_bytes() + b"more")
    assert "does not belong to" in refused(capsys, "review", folder)
    (folder / "audit.json").write_text("{}")
    assert "is damaged" in refused(capsys, "review", folder)
    assert "holds no audit" in refused(capsys, "review", tmp_path)


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: content[:-100]])
def test_damaged_rows_are_refused(damage, folder, capsys):
    path = folder / "rows.npz"
    path.write_bytes(damage(path.read_bytes()))
    record = json.loads((folder / "audit.json").read_text())
    record["files"]["rows.npz"] = file_digest(path)
    (folder / "audit.json").write_text(json.dumps(record))
    assert "rows.npz is damaged; run rboost audit again." in refused(capsys, "review", folder)


@pytest.mark.parametrize("option", ["data", "--trusted", "--probabilities", "--annotations"])
def test_a_file_that_is_not_there_is_named_before_packages_are_imported(option, tmp_path):
    table, absent = tmp_path / "table.csv", str(tmp_path / "absent.csv")
    table.write_text("a,y\n1,0\n2,1\n")
    files = [absent] if option == "data" else [str(table), option, absent]
    script = (
        "import sys; from rboost.cli import main; code = main(sys.argv[1:]);"
        "print(code, 'sklearn' in sys.modules, 'pandas' in sys.modules)"
    )
    command = [sys.executable, "-c", script, "audit", *files, "--label", "y"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == ["2", "False", "False"]
    assert "There is no file" in ended.stderr
    assert "absent.csv" in ended.stderr
