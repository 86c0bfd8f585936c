"""What is made of a private table is private."""

import io
import os
import shutil
import sys

import pytest

from rboost.cli import main
from tests.cli.tables import make_table, run
from tests.review.clients import key


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    make_table().to_csv(path, index=False)
    path.chmod(0o600)
    before = os.umask(0o022)
    yield path
    assert os.umask(before) == 0o022


def modes(folder):
    """Each file and folder below, with who may read it."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.rglob("*")}


def test_no_file_of_a_private_table_is_for_others(table, tmp_path, capsys):
    place = tmp_path / "place"
    folder = place / "audit"
    options = ["--label", "churn", "--id", "key", "--model", "linear", "--quiet"]
    assert main(["audit", str(table), *options, "--out", str(folder)]) == 0
    for command in (
        ["predict", folder, table, "--out", place / "deep" / "predicted.csv"],
        ["clean", folder, "--out", place / "cleaned.csv"],
        ["clean", folder, "--out", place / "cleaned.parquet"],
        ["clean", folder, "--out", place / "cleaned.xlsx"],
    ):
        code, said = run(capsys, *command)
        assert code == 0, said
    found = modes(place)
    assert {found.pop("audit"), found.pop("deep")} == {0o700}
    assert {"report.html", "suspects.csv", "model.rboost", "predicted.csv"} < set(found)
    assert set(found.values()) == {0o600}, found


def test_answers_to_a_private_table_and_their_export_are_private(table, tmp_path, monkeypatch):
    place = tmp_path / "place"
    options = ["--label", "churn", "--id", "key", "--model", "linear", "--quiet"]
    assert main(["audit", str(table), *options, "--out", str(place)]) == 0
    seen = {}

    def answer(review, **_):
        review.answer(key(), 1, "keep", None)
        review.finish()
        seen.update(modes(place))

    monkeypatch.setattr("rboost.review.serve", answer)
    assert main(["review", str(place)]) == 0
    assert {seen["review.sqlite"], seen["checked.csv"]} == {0o600}
    assert main(["review", str(place), "--export", str(tmp_path / "mine.csv")]) == 0
    assert modes(tmp_path)["mine.csv"] == 0o600


def test_predictions_of_a_private_model_are_private(audited, table, tmp_path, capsys):
    table.chmod(0o644)
    model = tmp_path / "model.rboost"
    model.write_bytes((audited / "model.rboost").read_bytes())
    for rights in (0o644, 0o600):
        model.chmod(rights)
        assert main(["predict", str(model), str(table), "--out", str(tmp_path / "p.csv")]) == 0
        assert modes(tmp_path)["p.csv"] == rights


def test_what_is_made_of_a_private_folder_is_private(audited, data, tmp_path):
    """Its answers, too: what people said may be more private than the table."""
    os.umask(0o022)
    assert data.stat().st_mode & 0o777 == 0o644
    answers, out = tmp_path / "answers.csv", tmp_path / "out"
    answers.write_text("key,label\nk0001,yes\n")
    for name in ("audit.json", "rows.npz", "model.rboost", "review.sqlite"):
        folder = shutil.copytree(audited, tmp_path / f"of {name}")
        for path in folder.iterdir():
            path.chmod(0o644)
        assert main(["review", str(folder), "--import", str(answers)]) == 0
        (folder / "checked.csv").unlink()
        (folder / name).chmod(0o600)
        out.mkdir()
        for command in (
            ["review", str(folder), "--export", str(out / "mine.csv")],
            ["review", str(folder), "--tasks", str(out / "tasks.json")],
            ["clean", str(folder), "--out", str(out / "clean.csv")],
        ):
            assert main(command) == 0
        names = {"mine.csv", "tasks.json", "tasks.xml", "clean.csv"}
        assert modes(out) == dict.fromkeys(names, 0o600)
        shutil.rmtree(out)


def test_answers_of_a_private_file_are_private(audited, tmp_path):
    os.umask(0o022)
    folder, answers = shutil.copytree(audited, tmp_path / "audit"), tmp_path / "answers.csv"
    answers.write_text("key,label\nk0001,yes\n")
    answers.chmod(0o600)
    assert main(["review", str(folder), "--import", str(answers)]) == 0
    found = modes(folder)
    assert {found["review.sqlite"], found["checked.csv"]} == {0o600}


def test_a_check_of_private_standard_input_is_private(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))
    before = os.dup(0)
    with table.open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        options = ["--label", "churn", "--id", "key", "--skip", "wrong-labels"]
        assert main(["check", "-", *options, "--json", "c.json", "--quiet"]) == 0
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert modes(tmp_path)["c.json"] == 0o600
