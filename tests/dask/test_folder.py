"""``rboost audit --cluster``: what it writes, and what a kill costs."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rboost.progress
from rboost.audit.disk.model import load_model
from rboost.cli import main
from rboost.dask.folder import CHECKPOINT
from tests.dask.audits import N_ROWS, TABLE, arguments, run

COMMAND = "import sys; from tests.dask.audits import run; sys.exit(run(sys.argv[1:]))"
FILES = {"audit.json", "issues", "model.rboost", "suspects.csv"}


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
    model = load_model(audited / "model.rboost")[0]
    expected = model.predict_proba(later[model.encoder.names])
    np.testing.assert_allclose(found[["p(no)", "p(yes)"]], expected, atol=1e-6)


@pytest.mark.slow
def test_a_killed_audit_goes_on_and_finds_the_same(
    client, audited, data, tmp_path, capsys, monkeypatch
):
    """On another number of workers at that; the worker of a killed one ends by itself."""
    out = tmp_path / "out"
    command = arguments(client, data, out, "--budget", "7")
    command.remove("--quiet")
    local = [sys.executable, "-c", COMMAND, *command, "--cluster", "local", "--workers", "1"]
    with subprocess.Popen(local, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        while not (out / CHECKPOINT).exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
        assert not (out / "audit.json").exists()
        wait_until(lambda: not session(process.pid))
    monkeypatch.setattr(rboost.progress, "DELAY", -1.0)  # a bar of every step
    assert run(command) == 0
    again = capsys.readouterr()
    steps = ["Reading ", "Drawing a sample ", "Encoding ", "Going on with the trees that are kept",
             "Growing trees", "Judging labels ", "Reading suspects ",
             "Writing issues "]  # fmt: skip
    lines = again.err.splitlines()
    assert [line[: len(step)] for line, step in zip(lines, steps, strict=True)] == steps
    assert f"trees that are kept in {out / CHECKPOINT}." in again.err
    assert {path.name for path in out.iterdir()} == FILES
    for path in sorted((out / "issues").iterdir()):
        assert path.read_bytes() == (audited / path.relative_to(out)).read_bytes()
    suspects, others = (pd.read_csv(one / "suspects.csv") for one in (out, audited))
    pd.testing.assert_frame_equal(suspects, others[:7])
    said = " ".join(again.out.split())
    assert "labels are wrong" in said
    assert "Of true “no”" in said
    assert suspects["key"][0] in said
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


def wait_until(is_true, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
