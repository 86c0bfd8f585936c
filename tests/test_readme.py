"""README.md alone leads a first-time user to the ten worst labels of a table of their own."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rboost.cli import main
from tests.pages import ROOT, blocks
from tests.review.clients import key

N_ROWS, N_WORST = 300, 10


@pytest.fixture
def true(tmp_path, monkeypatch):
    """The true labels of table.csv, where every eleventh is wrong: flowers and their leaves."""
    monkeypatch.chdir(tmp_path)
    random = np.random.RandomState(0)
    true = np.array(["iris", "rose", "tulip"])[np.arange(N_ROWS) % 3]
    leaves = random.normal(size=(N_ROWS, 2)) + 4 * np.eye(3)[np.arange(N_ROWS) % 3, :2]
    names = [f"plant {k}" for k in range(N_ROWS)]
    table = pd.DataFrame(leaves.round(2), columns=["length", "width"], index=names)
    wrong = np.arange(N_ROWS) % 11 == 3
    table["label"] = np.where(wrong, np.roll(true, 1), true)
    table.to_csv("table.csv", index_label="id")
    return pd.Series(true, index=names)


def test_the_readme_leads_to_the_ten_worst_labels_and_a_better_table(true, monkeypatch, capsys):
    ((_, block),) = blocks(ROOT / "README.md", "sh")
    steps = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert [step[:2] for step in steps] == [
        ["rboost", "audit"], ["rboost", "review"], ["rboost", "review"], ["rboost", "clean"],
    ]  # fmt: skip

    def mark(review, **_):
        """What a person does on the page: says what is right, in the order that README names."""
        for _ in range(N_WORST):
            (row,) = review.next_rows("suspicious")
            audit = review.snapshot.fitted
            label = audit.classes.tolist().index(true[audit.ids[row]])
            kind = "keep" if label == audit.labels.given[row] else "change"
            review.answer(key(), row, kind, label)
        review.finish()

    assert 'option value="suspicious">most suspicious first' in (
        ROOT / "src/rboost/review/web/page.html"
    ).read_text(encoding="utf-8")
    monkeypatch.setattr("rboost.review.serve", mark)
    given = pd.read_csv("table.csv", index_col="id")["label"]
    for step in steps:
        assert main(step[1:]) == 0, capsys.readouterr().err
    worst = pd.read_csv("audit/suspects.csv", index_col="id")
    assert len(worst) == N_WORST
    assert (worst["given_label"] != true[worst.index]).mean() >= 0.8
    assert worst["probability_wrong"].is_monotonic_decreasing
    report = Path("audit/report.html").read_text(encoding="utf-8")
    assert worst.index[0] in report
    checked = pd.read_csv("audit/checked.csv", index_col="id")["checked_label"]
    assert set(checked.index) == set(worst.index)
    assert (checked == true[checked.index]).all()
    clean = pd.read_csv("clean.csv", index_col="id")
    assert (clean["label"][checked.index] == checked).all()
    assert (clean["label"] != true[clean.index]).sum() < (given != true[given.index]).sum() / 2
