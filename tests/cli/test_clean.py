"""``rboost clean``: all columns as they were written, better labels, and the input untouched."""

import csv
import runpy
from functools import partial

import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit, read_record, write_refitted
from rboost.cli import main
from rboost.review.session import Review
from tests.cli.tables import make_table
from tests.review.clients import key


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "table.csv"
    table = make_table()
    table.insert(1, "price", [f"${k}.00" for k in range(len(table))])
    table["remark"] = "NA"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def audited(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("work") / "audit"
    arguments = ["--label", "churn", "--id", "key", "--drop", "note", "--out", str(folder)]
    assert main(["audit", str(data), "--model", "linear", "--quiet", *arguments]) == 0
    return folder


def cleaned(folder, out, *options):
    assert main(["clean", str(folder), "--out", str(out), *options]) == 0
    read = pd.read_parquet if out.suffix == ".parquet" else pd.read_csv
    if out.suffix == ".xlsx":
        return pd.read_excel(out, dtype=str, keep_default_na=False)
    return read(out) if out.suffix == ".parquet" else read(out, dtype=str, keep_default_na=False)


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_every_column_stays_and_labels_are_better(data, audited, tmp_path, ending, capsys):
    before = data.read_bytes()
    frame = cleaned(audited, tmp_path / f"clean.{ending}", "--threshold", "0.5")
    said = capsys.readouterr()
    assert data.read_bytes() == before
    raw = pd.read_csv(data, dtype=str, keep_default_na=False)
    for column in ("key", "price", "kind", "remark"):
        assert frame[column].tolist() == raw[column].tolist()
    if ending == "parquet":  # numbers are numbers
        assert frame["amount"].tolist() == pd.read_csv(data)["amount"].tolist()
    assert frame["given_label"].tolist() == raw["churn"].tolist()
    likes = raw["amount"].astype(float) > 0
    right_before = (raw["churn"] == np.where(likes, "yes", "no")).mean()
    assert (frame["churn"] == np.where(likes, "yes", "no")).mean() > right_before
    changed = frame["churn"] != frame["given_label"]
    assert set(frame["label_source"][changed]) == {"suggested"}
    assert f"{changed.sum()} suggested" in said.out
    assert "do not measure a model on this table" in said.err


@pytest.mark.slow
@pytest.mark.parametrize("is_fitted_again", [False, True])
def test_answers_come_first_and_are_told_from_given_labels(
    is_fitted_again, data, folder, tmp_path, capsys
):
    save = partial(write_refitted, folder, read_record(folder))
    review = Review(read_audit(folder), folder, save)
    changed, kept = np.flatnonzero(review.snapshot.fitted.labels.given == 0)[:2].tolist()
    review.answer(key(), changed, "change", 1)
    review.answer(key(), kept, "keep", None)
    if is_fitted_again:
        review.refit()
    review.finish()
    assert review.refit_job.status == ("done" if is_fitted_again else "idle")
    for how in ("relabel", "drop", "weigh"):
        frame = cleaned(folder, tmp_path / f"{how}.csv", "--how", how)
        assert "2 by answers" in capsys.readouterr().out
        answered = frame[frame["label_source"] == "answer"]
        assert answered["key"].tolist() == [f"k{row:04}" for row in (changed, kept)]
        assert answered["given_label"].tolist() == ["no", "no"]
        assert answered["churn"].tolist() == ["yes", "no"]
        assert answered["probability_wrong"].astype(float).tolist() == [1, 0]
        assert how != "weigh" or answered["weight"].astype(float).tolist() == [1, 1]
        assert how == "drop" or len(frame) == len(pd.read_csv(data))


def test_who_measures_is_warned_only_where_labels_were_suggested(audited, tmp_path, capsys):
    for how, threshold in (("drop", "0.9"), ("weigh", "0.9"), ("relabel", "1.0")):
        cleaned(audited, tmp_path / "out.csv", "--how", how, "--threshold", threshold)
        said = capsys.readouterr()
        assert " 0 suggested" in said.out
        assert "People disagree" not in said.out
        assert "measure a model" not in said.err


@pytest.mark.slow
def test_it_says_on_how_many_rows_people_disagree(folder, tmp_path, capsys):
    labels = read_audit(folder).labels
    pd.DataFrame({
        "key": np.repeat([f"k{row:04}" for row in (3, 4, 5)], 2),
        "reviewer": ["ann", "bob"] * 3,
        "label": [labels.class_names[k] for k in (0, 1, 0, 1, 1, 1)],
    }).to_csv(tmp_path / "answers.csv", index=False)  # fmt: skip
    assert main(["review", str(folder), "--import", str(tmp_path / "answers.csv")]) == 0
    capsys.readouterr()
    frame = cleaned(folder, tmp_path / "out.csv")
    assert "People disagree on 2 rows: what most of them say counts" in capsys.readouterr().out
    wrong = frame["probability_wrong"].astype(float).to_numpy()[[3, 4, 5]]
    chosen = (frame["churn"] != frame["given_label"]).to_numpy()[[3, 4, 5]]
    assert ((wrong > 0.5) == chosen).all()


def test_the_input_is_never_overwritten(data, audited, tmp_path, capsys):
    before = data.read_bytes()
    for out in (data, audited / "suspects.csv", data.parent / ".." / data.parent.name / data.name):
        assert main(["clean", str(audited), "--out", str(out)]) == 2
        assert "belongs to the audit; choose another file" in capsys.readouterr().err
    assert data.read_bytes() == before
    assert main(["clean", str(audited), "--out", str(tmp_path / "x.docx")]) == 2
    assert "docx" in capsys.readouterr().err
    assert main(["clean", str(audited), "--out", str(tmp_path / "x.csv"), "--threshold", "2"]) == 2
    assert "threshold must be" in capsys.readouterr().err
    assert main(["clean", str(tmp_path), "--out", str(tmp_path / "x.csv")]) == 2
    assert "holds no audit" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_no_cell_of_a_cleaned_text_file_is_a_formula(tmp_path, capsys):
    table = make_table().drop(columns=["key", "note"])
    table.insert(0, "amount first", table.pop("amount"))
    table["=name"] = np.resize(["=1+1", "+a", "-b", "@c", "\t=1", "\r=2", "plain"], len(table))
    table.to_csv(tmp_path / "table.csv", index=False, quoting=csv.QUOTE_ALL)
    folder, options = tmp_path / "audit", ["--label", "churn", "--model", "linear", "--quiet"]
    assert main(["audit", str(tmp_path / "table.csv"), "--out", str(folder), *options]) == 0
    exact = cleaned(folder, tmp_path / "clean.parquet")
    assert exact["=name"].tolist() == table["=name"].tolist()
    capsys.readouterr()
    found = cleaned(folder, tmp_path / "clean.csv")
    assert "104 cells of" in (said := capsys.readouterr().err)
    assert "begin with an apostrophe; write .parquet" in said
    assert "'=name" in found.columns
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in found["'=name"])
    assert found["amount first"].astype(float).tolist() == table["amount first"].tolist()
    assert (table["amount first"] < 0).any()


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("rboost 0.")


def test_the_package_can_be_run_as_the_command(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["rboost", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("rboost", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("rboost 0.")


def test_answers_are_exported_nowhere_over_other_files(data, audited, capsys):
    for out in (data, audited / "review.sqlite", audited / "model.rboost"):
        before = out.read_bytes() if out.exists() else None
        assert main(["review", str(audited), "--export", str(out)]) == 2
        assert "belongs to the audit" in capsys.readouterr().err or out.suffix != ".csv"
        assert (out.read_bytes() if out.exists() else None) == before
