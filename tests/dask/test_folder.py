"""``rboost audit --cluster``: what it writes, what a kill costs, and what mistakes end in."""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest

import rboost.dask.audit
import rboost.dask.cluster
import rboost.progress
from rboost.audit.disk.model_file import load_model
from rboost.cli import main
from rboost.dask.folder import CHECKPOINT

COMMAND = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"
N_ROWS = 2000
FILES = {"audit.json", "issues", "model.skops", "suspects.csv"}


def make_table(n_rows=N_ROWS):
    """Two classes that are easy to tell apart, a tenth of the labels wrong."""
    random = np.random.RandomState(0)
    likes = random.uniform(size=n_rows) < 0.5
    wrong = random.uniform(size=n_rows) < 0.1
    return pd.DataFrame({
        "key": [f"k{i:04}" for i in range(n_rows)],
        "amount": random.standard_normal(n_rows) + 4 * likes,
        "kind": np.where(random.uniform(size=n_rows) < 0.9, np.where(likes, "a", "b"), None),
        "label": random.choice(["=HYPERLINK(1)", "plain"], n_rows),
        "churn": np.where(likes ^ wrong, "yes", "no"),
        "truth": np.where(likes, "yes", "no"),
    })  # fmt: skip


TABLE = make_table()


def write_parts(folder, *tables):
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables):
        table.to_parquet(folder / f"{number}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file without rows and one of a single class are as good as any."""
    first, rest = TABLE[TABLE["churn"] == "yes"][:300], TABLE
    rest = rest.drop(first.index)
    return write_parts(tmp_path_factory.mktemp("data"), first, rest[:0], rest[:900], rest[900:])


@pytest.fixture(scope="module")
def audited(client, data, tmp_path_factory):
    """The folder of an audit by two workers, with the cleaned table inside."""
    out = tmp_path_factory.mktemp("audits") / "out"
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert main(arguments(client, data, out, "--cleaned", str(out / "cleaned"))) == 0
    assert not said.getvalue()  # as it was told to be quiet
    return out


def arguments(client, data, out, *more):
    cluster = ["--cluster", client.scheduler.address, "--out", str(out), "--quiet"]
    return ["audit", str(data), "--label", "churn", "--id", "key", "--drop", "truth", *cluster,
            *more]  # fmt: skip


def test_the_record_says_what_was_found(audited, data):
    assert {path.name for path in audited.iterdir()} == {*FILES, "cleaned"}
    record = json.loads((audited / "audit.json").read_text())
    wrong = (TABLE["churn"] != TABLE["truth"]).mean()
    assert record["classes"] == ["no", "yes"]
    assert record["n_rows"] == record["summary"]["n_rows"] == N_ROWS
    np.testing.assert_allclose(np.sum(record["noise_matrix"], axis=1), 1)
    for noise in (record["noise_matrix"], *record["noise_interval"]):
        assert np.shape(noise) == (2, 2)
    share, low, high = record["wrong_share"]
    assert low <= share <= high
    assert share == pytest.approx(wrong, abs=0.02)
    assert share * N_ROWS == pytest.approx(record["expected_wrong"])
    assert record["summary"]["expected_wrong"] == pytest.approx(record["expected_wrong"])
    assert record["request"]["label"] == "churn"
    assert len(record["request"]["data"]) == 4


def test_suspects_are_the_likeliest_of_all_rows(audited, data):
    suspects = pd.read_csv(audited / "suspects.csv")
    table = pd.concat([pd.read_parquet(path) for path in sorted(data.iterdir())])
    issues = pd.read_parquet(audited / "issues")
    assert list(suspects.columns) == [
        "key", "row", "label", "suggested", "probability", "amount", "kind", "table_label", "truth",
    ]  # fmt: skip
    assert issues["row"].tolist() == list(range(1, N_ROWS + 1))
    assert issues["label"].tolist() == table["churn"].tolist()
    assert len(suspects) == round(issues["probability"].sum())
    first = issues.sort_values("probability", ascending=False, kind="stable")[: len(suspects)]
    assert suspects["row"].tolist() == first["row"].tolist()
    rows = table.iloc[suspects["row"] - 1]
    assert suspects["key"].tolist() == rows["key"].tolist()
    np.testing.assert_allclose(suspects["amount"], rows["amount"])
    assert set(suspects["table_label"]) == {"'=HYPERLINK(1)", "plain"}
    assert (suspects["label"] != suspects["truth"]).mean() > 0.8
    assert (suspects["label"] != suspects["suggested"]).all()


def test_the_cleaned_table_is_better(audited):
    cleaned = pd.read_parquet(audited / "cleaned")
    assert len(cleaned) == N_ROWS
    assert (cleaned["churn"] != cleaned["truth"]).mean() < 0.05


def test_the_model_predicts_later_rows(audited, tmp_path):
    later = TABLE[:50]
    later.to_csv(tmp_path / "later.csv", index=False)
    command = ["predict", str(audited), str(tmp_path / "later.csv"), "--out"]
    assert main([*command, str(tmp_path / "p.csv")]) == 0
    found = pd.read_csv(tmp_path / "p.csv")
    assert found["key"].tolist() == later["key"].tolist()
    assert (found["predicted churn"] == later["truth"]).mean() > 0.95
    model, about = load_model(audited / "model.skops")
    expected = model.predict_proba(later[about["columns"]])
    np.testing.assert_allclose(found[["p(no)", "p(yes)"]], expected, atol=1e-6)


def test_a_killed_audit_goes_on_and_finds_the_same(audited, data, tmp_path):
    """On another number of workers at that; the workers of a killed one end by themselves."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", COMMAND, "audit", str(data), "--label", "churn", "--id", "key"]
    command += ["--drop", "truth", "--cluster", "local", "--out", str(out)]
    settings = {"env": {**os.environ, "OMP_NUM_THREADS": "1"}, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, start_new_session=True, **settings) as process:
        while not (out / CHECKPOINT).exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        assert not (out / "audit.json").exists()
        wait_until(lambda: not session(process.pid))
    again = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, **settings)
    assert again.stderr.count(f"trees that are kept in {out / CHECKPOINT}.\n") == 1
    assert {path.name for path in out.iterdir()} == FILES
    for path in [*sorted((out / "issues").iterdir()), out / "suspects.csv"]:
        assert path.read_bytes() == (audited / path.relative_to(out)).read_bytes()
    said = " ".join(again.stdout.split())
    assert "are expected to be wrong" in said
    assert "Of rows that are truly “no”" in said
    assert pd.read_csv(out / "suspects.csv")["key"][0] in said
    assert str(out / "issues") in said


def session(number):
    """Processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            state, *_, own = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == number and state != "Z":
            found.append(entry.name)
    return found


def wait_until(is_true, seconds=20):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_bars_show_each_step(client, data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(rboost.progress, "DELAY", -1.0)
    command = arguments(client, data, tmp_path / "out", "--budget", "7")
    command.remove("--quiet")
    assert main(command) == 0
    assert len(pd.read_csv(tmp_path / "out" / "suspects.csv")) == 7
    said = capsys.readouterr().err
    steps = ["Reading ", "Drawing a sample ", "Encoding ", "Growing trees", "Judging labels ",
             "Reading suspects ", "Writing issues "]  # fmt: skip
    assert [line[: len(step)] for line, step in zip(said.splitlines(), steps, strict=True)] == steps


def refused(capsys, *command):
    """The sentence in which a command ends; nothing else may be said."""
    assert main([str(one) for one in command]) == 2
    said = capsys.readouterr().err
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
        (["--workers", "2"], "--workers is said of --cluster local"),
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


def test_options_of_a_cluster_need_one(data, tmp_path, capsys):
    for options in (["--workers", "2"], ["--cleaned", tmp_path]):
        said = refused(capsys, "audit", data / "0.parquet", "--label", "churn", *options)
        assert f"{options[0]} is said of a cluster" in said


@pytest.mark.parametrize(
    ("absent", "options", "remedy"),
    [
        ("dask", ["--cluster", "local"], "pip install 'rboost[dask]'"),
        ("distributed", ["--cluster", "local"], "pip install 'rboost[dask]'"),
        ("xgboost", ["--cluster", "local"], "pip install 'rboost[dask]'"),
        ("xgboost", ["--device", "cuda"], "pip install 'rboost[gpu]'"),
    ],
)
def test_without_a_package_the_sentence_names_the_extra(absent, options, remedy, data, tmp_path):
    blocked = f"import sys; sys.modules[{absent!r}] = None; {COMMAND}"
    command = [sys.executable, "-c", blocked, "audit", data / "3.parquet", "--label", "churn"]
    command += ["--out", tmp_path / "out", *options]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert remedy in found.stderr
    assert not (tmp_path / "out").exists()


def test_a_lost_cluster_ends_in_one_sentence(client, data, tmp_path, capsys, monkeypatch):
    def lost(*_, **__):
        raise distributed.KilledWorker("task", None, 3)

    monkeypatch.setattr(rboost.dask.audit, "gather_facts", lost)
    said = refused(capsys, *arguments(client, data, tmp_path / "out"))
    assert "run out of memory" in said
    assert not (tmp_path / "out").exists()
