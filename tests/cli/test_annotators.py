"""``rboost audit`` of labels by several annotators: columns of the table, or a list of labels."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rboost.audit.disk.folder import make_origin, read_audit, read_record, read_request
from rboost.cli import main
from tests.audit.disk.refits import refit
from tests.cli.tables import refused, run
from tests.model.test_annotators import crowd, with_names


@pytest.fixture
def crowded(tmp_path):
    """A table with three columns of labels, the same without, and the labels as a list."""
    X, _, said = crowd(200, share=0.8)
    table = pd.DataFrame(X.round(4)).add_prefix("c")
    table.insert(0, "key", [f"k{i}" for i in range(200)])
    wide = pd.DataFrame(with_names(said[:, :3]), columns=["ann", "bob", "carl"])
    table.join(wide).to_csv(tmp_path / "wide.csv", index=False)
    table.to_csv(tmp_path / "table.csv", index=False)
    long = wide.assign(key=table["key"]).melt("key", var_name="who", value_name="said").dropna()
    long.sample(frac=1, random_state=0).to_csv(tmp_path / "long.csv", index=False)
    return tmp_path


def arguments(folder, form, out="out"):
    name, *labels = {
        "wide": ["wide.csv", "--label", "ann", "bob", "carl"],
        "long": ["table.csv", "--annotations", str(folder / "long.csv"), "--annotator", "who",
                 "--label", "said"],
    }[form]  # fmt: skip
    common = ["--id", "key", "--model", "linear", "--no-column-check", "--quiet"]
    return ["audit", str(folder / name), *labels, *common, "--out", str(folder / out)]


def test_columns_and_a_list_are_the_same_audit(crowded, capsys):
    for form in ("wide", "long"):
        assert main(arguments(crowded, form, form)) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "Labels of “carl”: " in said
        assert "consensus.csv" in said
    wide, long = (read_audit(crowded / form) for form in ("wide", "long"))
    assert_allclose(wide.inference.posterior, long.inference.posterior, atol=1e-9)
    consensus = [pd.read_csv(crowded / form / "consensus.csv") for form in ("wide", "long")]
    pd.testing.assert_frame_equal(*consensus)
    assert consensus[0].columns[0] == "key"
    assert np.all(np.diff(consensus[0]["probability"]) >= 0)
    for form, option in (("wide", "--label ann bob carl"), ("long", "--annotator who --label")):
        folder = crowded / form
        origin = make_origin(folder, read_request(folder), read_record(folder), has_model=True)
        assert option in origin.commands["again"]


@pytest.mark.parametrize("form", ["wide", "long"])
def test_folder_is_read_back_reviewed_cleaned_and_predicted_with(crowded, form, capsys):
    assert main(arguments(crowded, form)) == 0
    record = json.loads((crowded / "out" / "audit.json").read_text())
    assert [one["n_labels"] for one in record["summary"]["annotators"]] != []
    before = read_audit(crowded / "out")
    assert before.summary().as_dict()["annotators"] == record["summary"]["annotators"]
    again = refit(crowded / "out", {0: 1, 1: 0})
    assert again.summary().n_checked == 2
    assert read_audit(crowded / "out").summary().n_checked == 2
    out = crowded / "clean.csv"
    assert main(["clean", str(crowded / "out"), "--out", str(out)]) == 0
    cleaned = pd.read_csv(out)
    assert set(cleaned["majority label"].dropna()) == {"eggs", "ham"}
    table = crowded / "table.csv"
    if form == "long":
        (crowded / "long.csv").unlink()  # a copy is kept
        assert len(read_audit(crowded / "out")) == 200
    capsys.readouterr()
    assert main(["predict", str(crowded / "out"), str(table)]) == 0
    assert "predicted majority label" in capsys.readouterr().out


def test_two_columns_of_one_name_are_refused(crowded, capsys):
    path, common = crowded / "wide.csv", ["--id", "key", "--quiet", "--out", crowded / "out"]
    said = refused(capsys, "audit", path, "--label", "ann", "ann", *common)
    assert "--label names 'ann' twice; name each column of labels once" in said
    path.write_text(path.read_text().replace("bob", "ann", 1))
    code, said = run(capsys, "audit", path, "--label", "ann", "carl", *common)
    assert code == 2
    assert "two columns 'ann', of which the second is read as 'ann (2)'; rename it" in said


def test_what_is_refused(crowded, capsys):
    table, long = crowded / "table.csv", crowded / "long.csv"
    common = ["--id", "key", "--quiet", "--out", crowded / "out"]
    assert "with --label, or a file with --annotations" in refused(capsys, "audit", table, *common)
    said = refused(capsys, "audit", table, "--label", "c0", "--annotator", "who", *common)
    assert "--annotator is a column of --annotations" in said
    said = refused(capsys, "audit", table, "--annotations", long, *common)
    assert "annotator" in said
    said = refused(capsys, *arguments(crowded, "wide"), "--context", "c0")
    assert "context is for one label a row" in said
    said = refused(capsys, *arguments(crowded, "wide"), "--drop", "bob")
    assert "'bob' is the label" in said
    lines = pd.read_csv(long)
    lines.loc[3, "key"] = "k999"
    lines.to_csv(long, index=False)
    said = refused(capsys, *arguments(crowded, "long"))
    assert "'k999', which is none of rows" in said
