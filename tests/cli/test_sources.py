"""Tables in several files, and from standard input."""

import io
import sys

import pandas as pd
import pytest

from rboost.audit.disk.folder import read_audit, read_record
from rboost.cli import main
from tests.audit.disk.refits import refit
from tests.cli.tables import N_ROWS, refused, run


@pytest.mark.slow
def test_several_files_are_audited_as_one_table(audited, data, tmp_path, capsys):
    table, out = pd.read_csv(data, float_precision="round_trip"), tmp_path / "out"
    for number, rows in enumerate((slice(0, 50), slice(50, None))):
        part = table[rows][table.columns[:: 1 - 2 * number]]  # the second in reverse
        part.to_csv(tmp_path / f"part{number}.csv", index=False)
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", tmp_path / "part*.csv", *options)[0] == 0
    assert (out / "suspects.csv").read_text() == (audited / "suspects.csv").read_text()
    assert "part0.csv (and 1 more)" in (out / "report.html").read_text()
    again = read_audit(out)
    assert list(again.ids) == table["key"].tolist()
    assert refit(out, {60: 1}).labels.checked[60] == 1
    new = tmp_path / "new.parquet"
    parts = [tmp_path / "part1.csv", tmp_path / "part0.csv"]
    assert run(capsys, "predict", out / "model.rboost", *parts, "--out", new)[0] == 0
    assert pd.read_parquet(new)["key"].tolist() == [*table["key"][50:], *table["key"][:50]]
    assert "named twice" in refused(capsys, "audit", parts[0], parts[0], "--label", "churn")
    table.drop(columns="kind").to_csv(parts[0], index=False)
    assert "has no column 'kind', which" in refused(capsys, "audit", *parts, "--label", "churn")
    assert "changed since it was audited" in refused(capsys, "review", out)


@pytest.mark.slow
def test_standard_input_is_kept_for_the_review(audited, data, tmp_path, capsys, monkeypatch):
    def pipe():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.read_bytes())))

    out = tmp_path / "out"
    options = ["--label", "churn", "--id", "key", "--out", out, "--model", "linear", "--quiet"]
    pipe()
    assert run(capsys, "audit", "-", *options)[0] == 0
    assert (out / "suspects.csv").read_text() == (audited / "suspects.csv").read_text()
    assert (out / "stdin_table").read_bytes() == data.read_bytes()
    assert "Label audit of standard input" in (out / "report.html").read_text()
    assert read_record(out)["request"]["data"] == ["-"]
    assert len(read_audit(out).ids) == N_ROWS
    assert refit(out, {3: 1}).labels.checked[3] == 1
    assert len(read_audit(out).ids) == N_ROWS
    pipe()
    assert main(["predict", str(out / "model.rboost"), "-"]) == 0
    assert capsys.readouterr().out.count("\n") == N_ROWS + 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "standard input is empty" in refused(capsys, "audit", "-", *options)
    assert (out / "stdin_table").read_bytes() == data.read_bytes()
