"""Data sets larger than memory: what is made, what is measured, how it is judged."""

import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score

from benchmarks.scale import data
from benchmarks.scale.__main__ import main
from benchmarks.scale.judge import BINS, FIRST_ROW, average_precision, judge
from benchmarks.scale.processes import run_measured
from benchmarks.scale.report import verdicts


@pytest.fixture
def small_files(monkeypatch):
    monkeypatch.setattr(data, "ROWS_IN_FILE", 2000)
    monkeypatch.setattr(data, "ROWS_IN_GROUP", 500)


def test_a_larger_data_set_begins_with_the_rows_of_a_smaller_one(tmp_path, small_files):
    main(["--make", "2000", str(tmp_path / "small")])
    data.make(tmp_path / "large", 5000, 20)
    first, *others = sorted((tmp_path / "large" / "data").iterdir())
    assert len(others) == 2
    assert pq.ParquetFile(first).num_row_groups == 4
    small = pd.read_parquet(tmp_path / "small" / "data")
    assert small.equals(pd.read_parquet(first))
    assert small.shape == (2000, 21)
    truth = data.truth_of(tmp_path / "large")
    assert truth.shape == (2, 5000)
    label = pd.read_parquet(tmp_path / "large" / "data")["label"]
    assert_array_equal(label == "yes", truth[0] ^ truth[1])
    flipped = [truth[1][truth[0] == true].mean() for true in (False, True)]
    assert_allclose(flipped, data.FLIPPED, atol=0.03)


def test_a_killed_making_goes_on(tmp_path, small_files):
    data.make(tmp_path, 5000, 12)
    kept, lost, _ = sorted((tmp_path / "data").iterdir())
    before, content = kept.stat().st_mtime_ns, lost.read_bytes()
    lost.unlink()
    data.make(tmp_path, 5000, 12)
    assert lost.read_bytes() == content
    assert kept.stat().st_mtime_ns == before


def test_average_precision_is_that_of_scikit_learn(rng):
    bins, wrong = rng.randint(0, BINS, 3000), rng.uniform(size=3000) < 0.3
    counts = np.zeros((BINS, 2), dtype=np.int64)
    np.add.at(counts, (bins, wrong.astype(int)), 1)
    assert_allclose(average_precision(counts), average_precision_score(wrong, bins))


def test_an_audit_is_judged_part_by_part_in_any_order(tmp_path, small_files, rng):
    data.make(tmp_path, 5000, 9)
    wrong = data.truth_of(tmp_path)[1]
    issue = np.clip(0.5 * wrong + rng.uniform(0, 0.6, 5000), 0, 1)
    audit = tmp_path / "audit"
    (audit / "issues").mkdir(parents=True)
    for number, rows in enumerate(np.array_split(rng.permutation(5000), 3)):
        table = pa.table({"row": rows + FIRST_ROW, "probability": issue[rows]})
        pq.write_table(table, audit / "issues" / f"part.{number}.parquet")
    most = np.argsort(-issue)[:50]
    pd.DataFrame({"row": most + FIRST_ROW}).to_csv(audit / "suspects.csv")
    noise = [[0.79, 0.21], [0.12, 0.88]]
    (audit / "audit.json").write_text(json.dumps({"noise_matrix": noise}))
    found = judge(tmp_path, audit)
    assert found["rates"] == [0.21, 0.12]
    assert_allclose(found["rates off"], 0.02)
    assert_allclose(found["precision"], wrong[most].mean())
    exact = average_precision_score(wrong, issue)
    assert_allclose(found["average precision"], exact, atol=1e-3)


def test_memory_of_children_counts():
    child = "import time; held = bytearray(50 * 2**20); time.sleep(1.2)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    cost = run_measured([sys.executable, "-c", code])
    assert cost.seconds > 1.2
    assert cost.peak > 50 * 2**20


def test_a_command_that_fails_is_said():
    with pytest.raises(RuntimeError, match="exit code 3"):
        run_measured([sys.executable, "-c", "raise SystemExit(3)"])


def test_verdicts():
    small, large = {"rows": 10**6, "seconds": 50, "peak": 2e9}, {"rows": 10**7, "peak": 7e9}
    linear, memory = verdicts([small, large | {"seconds": 450}])
    assert "yes" in linear
    assert "0.90" in linear
    assert "no, 7.00 GB" in memory
    assert "no" in verdicts([small, large | {"seconds": 550}])[0]


def test_a_data_set_is_not_made_over_another(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    with pytest.raises(SystemExit):
        main(["--make", "10", str(tmp_path)])
    assert "name another folder" in capsys.readouterr().err
