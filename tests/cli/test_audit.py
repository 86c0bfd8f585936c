"""``rboost audit``: what it writes and says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit
from rboost.cli import main
from tests.audit.disk.refits import refit
from tests.cli.tables import N_ROWS, make_table, refused, run

FILES = {"audit.json", "model.rboost", "report.html", "rows.npz", "suspects.csv"}


def test_an_audit_writes_all_its_files(audited):
    assert {path.name for path in audited.iterdir()} == FILES
    record = json.loads((audited / "audit.json").read_text())
    assert record["summary"]["n_rows"] == N_ROWS
    assert record["classes"] == ["no", "yes"]


@pytest.mark.slow
def test_a_suspicious_column_is_named_on_screen_in_the_report_and_in_the_record(tmp_path, capsys):
    table = make_table(300)
    table.assign(left=table["churn"].map({"yes": 1, "no": 0})).to_csv(
        tmp_path / "t.csv", index=False
    )
    arguments = ["audit", str(tmp_path / "t.csv"), "--label", "churn", "--model", "linear"]
    arguments += ["--quiet", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert not said.err  # as it is said on standard output
    assert " ".join(said.out.split()).count("leave it out (--drop left)") == 1
    assert "leave it out (--drop left)" in (tmp_path / "out" / "report.html").read_text()
    (found,) = read_audit(tmp_path / "out").column_warnings
    assert (found.column, found.kind) == ("left", "copy")
    again = refit(tmp_path / "out", {0: 1})
    assert again.column_warnings == read_audit(tmp_path / "out").column_warnings == (found,)
    assert main([*arguments, "--no-column-check"]) == 0
    assert "--drop" not in capsys.readouterr().out


@pytest.mark.slow
def test_rows_drawn_at_random_say_how_many_labels_are_wrong(data, tmp_path, capsys):
    table = pd.read_csv(data).iloc[:40]
    table.loc[:1, "churn"] = table.loc[:1, "churn"].map({"yes": "no", "no": "yes"})
    table[["key", "churn"]].to_csv(tmp_path / "trusted.csv", index=False)
    arguments = ["audit", data, "--label", "churn", "--id", "key", "--model", "linear", "--quiet"]
    arguments += ["--out", tmp_path / "out", "--trusted-random"]
    assert "--trusted" in refused(capsys, *arguments)
    assert main([*map(str, arguments), "--trusted", str(tmp_path / "trusted.csv")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    found = read_audit(tmp_path / "out").summary()
    record = json.loads((tmp_path / "out" / "audit.json").read_text())["summary"]
    assert (found.random_checks.n_checked, found.random_checks.n_wrong) == (40, 2)
    assert record["random_checks"]["high"] == pytest.approx(found.random_checks.high)
    for text in (said, (tmp_path / "out" / "report.html").read_text()):
        assert "Of 40 labels drawn at random and checked, 2 were wrong" in text
    assert record["predictive_check"]["n_checked"] == 40


def test_suspects_name_rows_labels_and_reasons(audited, data):
    suspects = pd.read_csv(audited / "suspects.csv")
    table = pd.read_csv(data).set_index("key")
    values = [name for name in table.columns if name != "churn"]
    assert list(suspects.columns) == [
        "key", "given_label", "suggested_label", "probability_wrong", "band", "fit",
        "probability_suggested", "against_given_label", "nearest_agreeing_rows", *values,
    ]  # fmt: skip
    np.testing.assert_allclose(suspects["amount"], table.loc[suspects["key"], "amount"])
    assert len(suspects)
    assert (table.loc[suspects["key"], "churn"].to_numpy() == suspects["given_label"]).all()
    likely = suspects[suspects["band"] == "probably wrong"]
    assert likely["against_given_label"].str.contains("amount").mean() > 0.5
    for neighbours, label in zip(
        suspects["nearest_agreeing_rows"], suspects["suggested_label"], strict=True
    ):
        assert (table.loc[neighbours.split(", "), "churn"] == label).all()


def test_an_audit_that_is_read_back_is_the_same(audited, data):
    again = read_audit(audited)
    suspects = pd.read_csv(audited / "suspects.csv")
    found = again.to_frame()
    assert found["key"].tolist() == suspects["key"].tolist()
    np.testing.assert_allclose(found["probability_wrong"], suspects["probability_wrong"])


@pytest.mark.slow
def test_a_row_that_a_person_confirmed_is_never_flagged(audited, data, tmp_path):
    suspect = pd.read_csv(audited / "suspects.csv").iloc[0]
    checked = tmp_path / "checked.csv"
    checked.write_text(f"key,checked_label\n{suspect['key']},{suspect['given_label']}\n")
    folder = tmp_path / "again"
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    arguments += ["--trusted", str(checked), "--budget", "100", "--model", "linear"]
    assert main(["audit", str(data), *arguments]) == 0
    assert suspect["key"] not in set(pd.read_csv(folder / "suspects.csv")["key"])
    again = read_audit(folder)
    assert again.labels.is_checked.sum() == 1
    assert again.summary().random_checks is None  # as nobody said that it was drawn
    assert "drawn at random and checked" not in (folder / "report.html").read_text()


@pytest.mark.slow
def test_further_trusted_rows_count_too(data, tmp_path):
    trusted = tmp_path / "trusted.csv"
    make_table(30, seed=9).drop(columns="key").to_csv(trusted, index=False)
    folder = tmp_path / "audit"
    arguments = ["--label", "churn", "--id", "key", "--out", str(folder), "--quiet"]
    arguments += ["--trusted", str(trusted), "--model", "linear"]
    assert main(["audit", str(data), *arguments]) == 0
    again = read_audit(folder)
    assert len(again) == N_ROWS + 30
    assert again.labels.is_checked.sum() == 30


def test_hostile_cells_stay_text_everywhere(audited):
    page = (audited / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    cells = pd.read_csv(audited / "suspects.csv", dtype=str).fillna("").to_numpy().ravel()
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


@pytest.mark.slow
def test_a_huge_cell_and_odd_columns_are_no_obstacle(tmp_path, capsys):
    table = make_table()
    table.loc[0, "note"] = "x" * 10_000_000
    path = tmp_path / "table.csv"
    table.columns = ["key", "amount", "amount", "", "since", "empty", "churn"]
    path.write_bytes(b"\xef\xbb\xbf" + table.to_csv(index=False).encode())
    out = tmp_path / "out"
    options = ["--label", "churn", "--out", out, "--model", "linear", "--quiet"]
    code, said = run(capsys, "audit", path, *options)
    assert code == 0, said
    assert Path(out / "report.html").stat().st_size < 3_000_000


@pytest.mark.slow
def test_a_few_words_among_numbers_are_missing_numbers(tmp_path, capsys):
    table = make_table()
    table["amount"] = table["amount"].astype(object)
    table.loc[3, "amount"] = "unknown"
    path, out = tmp_path / "table.csv", tmp_path / "out"
    table.to_csv(path, index=False)
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    code, said = run(capsys, "audit", path, *options)
    assert code == 0
    assert "1 cells of the column 'amount' are no numbers, such as 'unknown'" in said
    assert "amount" in pd.read_csv(out / "suspects.csv")["against_given_label"].str.cat()


def test_columns_that_say_nothing_are_named(audited):
    assert json.loads((audited / "audit.json").read_text())["summary"]["unused_columns"] == [
        "empty"
    ]


@pytest.mark.slow
def test_context_columns_are_kept(data, tmp_path, capsys):
    folder = tmp_path / "audit"
    arguments = ["--label", "churn", "--out", str(folder), "--quiet", "--model", "linear"]
    context = ["--context", "kind", "--context", "since", "--drop", "key"]
    assert main(["audit", str(data), *arguments, *context]) == 0
    assert "Labels by kind, since" in capsys.readouterr().out
    record = json.loads((folder / "audit.json").read_text())
    assert record["request"]["context"] == ["kind", "since"]
    groups = record["summary"]["groups"]
    assert sum(group["n_rows"] for group in groups) == N_ROWS
    audit = read_audit(folder)
    assert [one["name"] for one in groups] == list(audit.groups.names)
    assert audit.summary().as_dict()["groups"] == groups
    assert not {"kind", "since", "key"} & set(audit.table.columns)
