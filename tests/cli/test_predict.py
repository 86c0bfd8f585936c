"""``rboost predict``: what it writes, and what models and tables it takes."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from rboost.cli import main
from tests.cli.tables import COMMAND, refused, run


def test_predictions_follow_the_rows(audited, data, tmp_path, capsys):
    out = tmp_path / "predictions.csv"
    assert main(["predict", str(audited / "model.rboost"), str(data), "--out", str(out)]) == 0
    predicted = pd.read_csv(out)
    assert predicted["key"].tolist() == pd.read_csv(data)["key"].tolist()
    np.testing.assert_allclose(predicted["p(no)"] + predicted["p(yes)"], 1, atol=1e-5)
    capsys.readouterr()
    assert main(["predict", str(audited / "model.rboost"), str(data)]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_predictions_in_an_excel_file(audited, data, tmp_path, capsys):
    out = tmp_path / "predictions.xlsx"
    assert run(capsys, "predict", audited / "model.rboost", data, "--out", out)[0] == 0
    assert pd.read_excel(out)["key"].tolist() == pd.read_csv(data)["key"].tolist()
    said = refused(capsys, "predict", audited / "model.rboost", data, "--out", tmp_path / "a.doc")
    assert "must end with .csv" in said


def test_predictions_need_the_columns_and_an_honest_model(audited, data, tmp_path, capsys):
    fewer, model = tmp_path / "fewer.csv", audited / "model.rboost"
    pd.read_csv(data).drop(columns="amount").to_csv(fewer, index=False)
    assert "lacks the column 'amount'" in refused(capsys, "predict", model, fewer)
    content, changed = model.read_bytes(), tmp_path / "changed.rboost"
    for place in range(0, len(content), len(content) // 20):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert "again" in refused(capsys, "predict", changed, data)
    assert refused(capsys, "predict", data, data)


@pytest.mark.slow
def test_a_reader_of_a_pipe_may_have_seen_enough(audited, data):
    command = [sys.executable, "-c", COMMAND, "predict", str(audited / "model.rboost"), str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.close(os.dup(process.stdout.fileno()))
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.slow
def test_columns_keep_their_type_from_audit_to_prediction(tmp_path, capsys):
    """A new file may lack the one value that made a column text."""
    random = np.random.RandomState(0)
    table = pd.DataFrame(
        {"answer": random.choice(["TRUE", "FALSE", "maybe"], 200, p=[0.5, 0.4, 0.1])}
    )
    table["size"] = random.standard_normal(200)
    wrong = random.uniform(size=200) < 0.1
    table["churn"] = np.where((table["answer"] == "TRUE") ^ wrong, "yes", "no")
    data, new, out = tmp_path / "data.csv", tmp_path / "new.csv", tmp_path / "out"
    table.to_csv(data, index=False)
    options = ["--label", "churn", "--out", out, "--model", "linear", "--quiet"]
    assert run(capsys, "audit", data, *options)[0] == 0
    rows = table[table["answer"] != "maybe"]
    rows.to_csv(new, index=False)
    predictions = tmp_path / "predictions.csv"
    assert run(capsys, "predict", out / "model.rboost", new, "--out", predictions)[0] == 0
    predicted = pd.read_csv(predictions)["predicted churn"].to_numpy()
    assert np.mean((predicted == "yes") == (rows["answer"] == "TRUE")) > 0.95
    rows.assign(size="large").to_csv(new, index=False)
    assert "now holds words such as 'large'" in refused(
        capsys, "predict", out / "model.rboost", new
    )
