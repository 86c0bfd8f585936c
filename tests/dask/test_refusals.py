"""Mistakes end in one sentence and change nothing."""

import json
import re
import shutil
import subprocess
import sys

import distributed
import pytest

import rboost.dask.audit
import rboost.dask.cluster
from rboost.cli import main
from tests.dask.audits import TABLE, arguments, write_parts


def refused(capsys, *command):
    """The sentence in which a command ends; else only what is being opened may be said."""
    assert main([str(one) for one in command]) == 2
    said = re.sub(r"^rboost: Opening .*\n", "", capsys.readouterr().err)
    assert said.startswith("rboost: ")
    assert said.count("\n") == 1
    return said


def test_review_and_clean_say_what_the_folder_is(audited, capsys):
    for command in (["review", audited], ["clean", audited, "--out", audited.parent / "c.csv"]):
        said = refused(capsys, *command)
        assert "holds an audit on a cluster" in said
        assert "--cleaned FOLDER" in said


def test_folders_of_others_are_left_alone(client, audited, data, tmp_path, capsys):
    out = tmp_path / "out"
    shutil.copytree(audited, out)
    (tmp_path / "t.csv").write_text(TABLE[:300].to_csv(index=False))
    in_memory = ["audit", tmp_path / "t.csv", "--label", "churn", "--model", "linear", "--quiet"]
    in_memory += ["--drop", "truth", "--no-column-check", "--out", out]
    assert main(list(map(str, in_memory))) == 0  # another audit takes the place of one
    assert not (out / "issues").exists()
    (out / "issues").mkdir()
    (out / "issues" / "mine.txt").write_text("mine")
    assert "issues is not of an audit" in refused(capsys, *in_memory)
    assert "issues is not of an audit" in refused(capsys, *arguments(client, data, out))
    shutil.rmtree(out / "issues")
    (out / "audit.json").unlink()
    assert "not of an audit" in refused(capsys, *arguments(client, data, out))
    said = refused(capsys, *arguments(client, data, out / "new", "--cleaned", str(out)))
    assert "folder of its own" in said
    said = refused(capsys, *arguments(client, data, tmp_path / "new", "--cleaned", str(data)))
    assert "choose another folder" in said
    said = refused(capsys, *arguments(client, audited / "issues", audited))
    assert "would be overwritten" in said
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ([TABLE[:50], TABLE[50:].drop(columns="amount")], "1.parquet has no column 'amount'"),
        ([TABLE[:50], TABLE[50:].assign(amount="much")], "numbers in .*0.parquet but words in"),
        ([TABLE.rename(columns={"churn": "churned"})], "did you mean 'churned'?"),
        ([TABLE[:0], TABLE[:0]], "no rows in any"),
        ([TABLE.assign(churn="no")], "'churn' holds only one class, 'no'"),
        ([TABLE.assign(churn=None)], "'churn' is missing in every row"),
    ],
)
def test_tables_that_are_none_end_in_one_sentence(client, tables, problem, tmp_path, capsys):
    data = write_parts(tmp_path / "data", *tables)
    said = refused(capsys, *arguments(client, data, tmp_path / "out"))
    assert re.search(problem, said)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--trusted", "t.csv"], "--trusted does not go with --cluster"),
        (["--probabilities", "p.csv"], "--probabilities does not go"),
        (["--context", "kind"], "--context does not go"),
        (["--model", "linear"], "--model does not go"),
        (["--no-column-check"], "--no-column-check does not go"),
        (["--workers", "2"], "--workers is for --cluster local"),
        (["--drop", "churn"], "'churn' is the label"),
        (["--id", "keys"], "did you mean 'key'?"),
        (["--cluster", "nowhere"], "no address of a Dask scheduler"),
        (["--cluster", "tcp://127.0.0.1:9"], "No Dask scheduler answers"),
        (["--cluster", "local", "--workers", "0"], "--workers must be at least 1"),
        (["--device", "cuda"], "device='cuda' needs"),
    ],
)
def test_options_that_do_not_fit_end_in_one_sentence(
    client, data, options, problem, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(rboost.dask.cluster, "CONNECT_SECONDS", 1)
    said = refused(capsys, *arguments(client, data, tmp_path / "out"), *options)
    assert problem in said
    assert not (tmp_path / "out").exists()


def test_other_files_than_parquet_end_in_one_sentence(client, data, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("amount,churn\n1,no\n")
    for name in (tmp_path / "t.csv", "-"):
        said = refused(capsys, *arguments(client, name, tmp_path / "out"))
        assert f"Parquet alone, which {name} is not; convert it" in said
    shutil.copy(data / "0.parquet", tmp_path / "t.dat")  # whatever it is called
    said = refused(capsys, *arguments(client, tmp_path / "t.dat", tmp_path / "out"))
    assert "only one class" in said


# Each line of standard input is a package that is taken away and what a command of its own is told;
# the answers are the exit code and what was said.
WITHOUT = """
import contextlib, io, json, os, sys
import rboost.audit  # so that not every child imports what it needs
from rboost.cli import main

for absent, arguments in map(json.loads, sys.stdin):
    child = os.fork()
    if child == 0:
        sys.modules[absent] = None
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = main(arguments)
        print(json.dumps([code, said.getvalue()]), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_without_a_package_the_sentence_names_the_extra(data, tmp_path):
    cases = [
        ("dask", ["--cluster", "local"], "rboost[dask]"),
        ("distributed", ["--cluster", "local"], "rboost[dask]"),
        ("xgboost", ["--cluster", "local"], "rboost[dask]"),
        ("xgboost", ["--device", "cuda"], "rboost[gpu]"),
    ]
    audit = ["audit", str(data / "3.parquet"), "--label", "churn", "--out", str(tmp_path / "out")]
    asked = "".join(json.dumps([absent, audit + options]) + "\n" for absent, options, _ in cases)
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT],  # of threads that a fork leaves behind
        input=asked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    for line, (absent, _, extra) in zip(found.stdout.splitlines(), cases, strict=True):
        code, said = json.loads(line)
        assert code == 2
        assert said.count("\n") == 1
        assert f"{absent}, which is not installed; run: pip install '{extra}'" in said.lower()
    assert not (tmp_path / "out").exists()


def test_a_lost_cluster_ends_in_one_sentence(client, data, tmp_path, capsys, monkeypatch):
    def lost(*_, **__):
        raise distributed.KilledWorker("task", None, 3)

    monkeypatch.setattr(rboost.dask.audit, "summarize", lost)
    said = refused(capsys, *arguments(client, data, tmp_path / "out"))
    assert "run out of memory" in said
    assert not (tmp_path / "out").exists()


def test_options_of_a_cluster_need_one(data, tmp_path, capsys):
    for options in (["--workers", "2"], ["--cleaned", tmp_path]):
        said = refused(capsys, "audit", data / "0.parquet", "--label", "churn", *options)
        assert f"{options[0]} needs a cluster" in said
