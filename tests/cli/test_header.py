"""``--no-header``: from the audit to the review, the mended table and predictions."""

import json

import pandas as pd

from rboost.audit.disk.folder import read_audit
from rboost.cli import main
from tests.cli.tables import make_table, refused

CLUSTER = ["--cluster", "local"]


def test_a_table_without_a_header(tmp_path, capsys):
    table = make_table().drop(columns="empty")
    path, folder, out = tmp_path / "table.csv", tmp_path / "audit", tmp_path / "out.csv"
    table.to_csv(path, index=False, header=False)
    label = ["--label", "column 6", "--id", "column 1", "--out", folder, "--quiet"]
    audit = ["audit", path, *label, "--no-column-check"]
    assert "say --no-header if it is a row" in refused(capsys, *audit)
    assert "leave it out" in refused(capsys, "audit", path, *label, "--no-header", *CLUSTER)
    assert main([str(one) for one in (*audit, "--no-header")]) == 0
    assert read_audit(folder).ids.tolist() == table["key"].tolist()
    assert json.loads((folder / "audit.json").read_text())["request"]["header"] is False
    assert "NEW.csv</span> <span>--no-header" in (folder / "report.html").read_text()
    assert main(["clean", str(folder), "--out", str(out)]) == 0
    assert pd.read_csv(out)["column 1"].tolist() == table["key"].tolist()
    capsys.readouterr()
    predict = ["predict", str(folder), str(path), "--out", str(out)]
    assert "--no-header" in refused(capsys, *predict)
    assert main([*predict, "--no-header"]) == 0
    assert pd.read_csv(out)["column 1"].tolist() == table["key"].tolist()
