"""``rboost check``: exit codes, and what it writes."""

import json
import os
from xml.etree import ElementTree

import pandas as pd
import pytest

from rboost.cli import main
from tests.cli.tables import make_table, refused

QUICK = ["--label", "churn", "--id", "key", "--skip", "wrong-labels"]


@pytest.fixture
def tables(tmp_path):
    train, test = make_table(), make_table(40, seed=1)
    train.to_csv(tmp_path / "train.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    return tmp_path / "train.csv", tmp_path / "test.csv"


def run(*arguments):
    return main(["check", *map(str, arguments)])


def test_the_exit_code_says_whether_a_check_failed(tables, tmp_path, capsys):
    train, test = tables
    assert run(train, *QUICK, "--test", test) == 0
    assert f"{train}: none of 5 checks failed." in capsys.readouterr().out
    both = pd.concat([pd.read_csv(test), pd.read_csv(train)[:3]])
    both.to_csv(test, index=False)
    out = tmp_path / "out"
    assert (
        run(train, *QUICK, "--test", test, "--json", out / "c.json", "--junit", out / "c.xml") == 1
    )
    assert "3 of 43 test rows are in the table" in capsys.readouterr().out
    record = json.loads((out / "c.json").read_text())
    failed = [one["name"] for one in record["checks"] if one["status"] == "fail"]
    assert failed == ["shared-rows"]
    assert record["source"] == str(train)
    assert len(ElementTree.parse(out / "c.xml").findall("testcase/failure")) == 1
    assert run(train, *QUICK, "shared-rows", "--test", test) == 0


def test_a_test_table_needs_no_labels(tables, capsys):
    train, test = tables
    pd.read_csv(test).drop(columns="churn").to_csv(test, index=False)
    assert run(train, *QUICK, "--test", test) == 0
    assert "classes" not in capsys.readouterr().out


@pytest.mark.slow
def test_the_same_tables_give_the_same_words(tables, tmp_path, capsys):
    train, _ = tables
    arguments = [train, "--label", "churn", "--id", "key", "--model", "linear", "--json"]
    codes = [run(*arguments, tmp_path / f"{k}.json", "--fail-above", "1%") for k in range(2)]
    assert codes[0] == codes[1]
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()
    assert run(*arguments, tmp_path / "2.json", "--fail-above", "1%", "--strict") == 1
    assert run(*arguments, tmp_path / "2.json", "--fail-above", "0.9", "--strict") == 0
    assert run(*arguments, tmp_path / "2.json", "--trusted", train, "--fail-above", "1") == 0


def test_nothing_of_an_audit_and_no_pipe_is_overwritten(tables, folder, tmp_path, capsys):
    train, _ = tables
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for option in ("--json", "--junit"):
        for name in ("audit.json", "model.rboost", "checked.csv"):
            said = refused(capsys, "check", train, *QUICK, option, folder / name)
            assert "belongs to the audit; choose another file" in said
        said = refused(capsys, "check", train, *QUICK, option, pipe)
        assert "is a device or a pipe, not a file; name a file" in said
    assert pipe.is_fifo()


def test_what_cannot_be_read_ends_in_one_sentence(tables, tmp_path, capsys):
    train, test = tables
    assert "no file" in refused(capsys, "check", tmp_path / "no.csv", *QUICK)
    assert "no check" in refused(capsys, "check", train, *QUICK, "typos")
    assert "overwritten" in refused(capsys, "check", train, *QUICK, "--json", train)
    pd.read_csv(test).drop(columns="amount").to_csv(test, index=False)
    said = refused(capsys, "check", train, *QUICK, "--test", test)
    assert "no column 'amount'" in said
    assert str(test) in said
    for share in ("2", "101%", "a"):
        with pytest.raises(SystemExit) as end:
            run(train, *QUICK, "--fail-above", share)
        assert end.value.code == 2
        assert "write 2% or 0.02" in capsys.readouterr().err


def test_a_test_file_that_is_the_table_fails(tmp_path, capsys):
    table = make_table()[["amount", "churn"]]
    table.to_csv(tmp_path / "train.csv", index=False)
    options = ["--label", "churn", "--skip", "wrong-labels"]
    assert run(tmp_path / "train.csv", *options, "--test", tmp_path / "train.csv") == 1
    assert "120 of 120 test rows are in the table" in " ".join(capsys.readouterr().out.split())


def test_a_file_of_which_people_checked_every_label_passes(tables, tmp_path, capsys):
    train, _ = tables
    table = pd.read_csv(train).rename(columns={"churn": "checked_label"})
    answers = table[["key", "checked_label"]].assign(drawn_at_random=table.index % 2 == 0)
    answers.to_csv(tmp_path / "checked.csv", index=False)
    options = [train, "--label", "churn", "--id", "key", "--trusted", tmp_path / "checked.csv"]
    assert run(*options, "--strict") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "0 % of the labels are wrong, as people checked all of them; the limit is 5 %." in said
    answers.assign(drawn_at_random="perhaps").to_csv(tmp_path / "checked.csv", index=False)
    assert "write yes or no" in refused(capsys, "check", *options)
