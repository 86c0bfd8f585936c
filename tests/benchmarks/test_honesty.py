"""What audits claim beside the truth: how rows and answers are made, what is measured."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from benchmarks import honesty
from benchmarks.honesty import (
    BOUNDARY,
    CLEAN,
    FLIPS,
    LIST_STAGES,
    NETWORKS,
    STAGES,
    SYNTHETIC,
    Job,
    Rows,
    Stage,
    answers_of,
    first_of_each,
    main,
    mean,
    measure,
    page,
    peers,
)
from benchmarks.real_noise.tables import COLLECTIONS
from rboost.audit import audit_labels
from rboost.audit.labels import NO_LABEL


def rows_of(n_classes=2, n_rows=300, rate=0.2, seed=0):
    """Probabilities by a model that is nearly always right, of labels flipped at a rate."""
    random = np.random.RandomState(seed)
    true = random.randint(0, n_classes, n_rows)
    other = (true + random.randint(1, n_classes, n_rows)) % n_classes
    given = np.where(random.uniform(size=n_rows) < rate, other, true)
    scores = 4 * np.eye(n_classes)[true] + random.standard_normal((n_rows, n_classes))
    chances = np.exp(scores)
    return Rows(None, true, given, chances / chances.sum(axis=1, keepdims=True))


def made_up(n_classes, rate):
    return lambda: rows_of(n_classes, rate=rate)


@pytest.fixture
def data(tmp_path):
    """A folder with two small tables of real noise, and with networks' probabilities."""
    folder = tmp_path / "data"
    for name in ("real_noise", "probabilities"):
        (folder / name).mkdir(parents=True)
    rows = rows_of(n_rows=120)
    own = pd.DataFrame({"a": rows.true + 0.5 * np.random.RandomState(1).standard_normal(120)})
    own = own.assign(given=rows.given, true=rows.true)
    for name in COLLECTIONS:
        tables = pd.concat([own.assign(table=f"{name} {k}") for k in "AB"])
        tables.to_csv(folder / "real_noise" / f"{name}.csv.gz", index=False)
    for name in ("network", SYNTHETIC):
        found = rows_of(3)
        np.savez(
            folder / "probabilities" / f"{name}.npz", true=found.true, given=found.given,
            probabilities=found.probabilities.astype(np.float16),
        )  # fmt: skip
    return folder


def test_every_kind_of_table_is_there_once(data):
    found = list(honesty.jobs(data))
    assert len({(job.kind, job.name) for job in found}) == len(found) > 100
    by_name = {job.name: job for job in found}
    assert (by_name["network"].kind, by_name[SYNTHETIC].kind) == (NETWORKS, FLIPS)
    assert sum(job.kind.startswith("real: ") for job in found) == 5
    quick = first_of_each(found)
    assert {job.kind for job in quick} == {job.kind for job in found}
    assert len(quick) <= 2 * len({job.kind for job in found})
    network = next(job for job in quick if job.kind == NETWORKS)
    assert len(network.make().true) == 300


def test_real_tables_and_networks_are_read_as_they_are(data):
    by_name = {job.name: job for job in honesty.jobs(data)}
    rows = by_name["defects B"].make()
    assert list(rows.X) == ["a"]
    assert_array_equal(rows.given, rows_of(n_rows=120).given)
    rows = by_name["network"].make()
    assert_array_equal(rows.true, rows_of(3).true)
    assert rows.probabilities.dtype == np.float64


def test_classes_with_few_rows_are_left_out():
    true = np.repeat([0, 1, 2], [40, 3, 40])
    given = np.where(np.arange(83) == 0, 1, true)
    rows = Rows(pd.DataFrame({"a": np.arange(83)}), true, given).usable()
    assert len(rows.true) == len(rows.X) == 79
    assert set(rows.true) == set(rows.given) == {0, 1}
    whole = rows_of()
    assert whole.usable() is whole


def test_reviewers_err_as_often_as_they_should():
    true = np.random.RandomState(0).randint(0, 4, 20_000)
    checked = answers_of(true, Stage(10_000, 0.1), true[:0], 0)
    drawn = checked != NO_LABEL
    assert drawn.sum() == 10_000
    assert np.mean(checked[drawn] != true[drawn]) == pytest.approx(0.1, abs=0.01)
    assert set(checked[drawn]) == {0, 1, 2, 3}
    sure = answers_of(true, Stage(10_000, 0.0), true[:0], 0)
    assert_array_equal(sure != NO_LABEL, drawn)  # the same rows, whoever reviews
    assert_array_equal(sure[drawn], true[drawn])
    listed = np.arange(50, 90)
    of_list = answers_of(true, Stage(20, 0.0, of_list=True), listed, 0)
    assert np.isin(np.flatnonzero(of_list != NO_LABEL), listed).sum() == 20


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_table_is_compared_with_the_truth_at_every_stage(n_classes):
    found = measure(Job(FLIPS, "made up", made_up(n_classes, 0.2)))
    assert len(found) == len(STAGES) + len(LIST_STAGES)
    first, sure = found[0], found[STAGES.index(Stage(100, 0.0))]
    assert first["precision"] > 0.4
    assert 0.4 < first["promised"] <= 1
    assert sure["list held"]
    assert sure["list width"] < 0.5
    assert first["average precision"] > 0.8
    assert sure["share held"]
    assert sure["share width"] < 0.25
    assert not first["by random checks"]
    for stage in found:
        assert 0 <= stage["rates held"] <= 1
        assert 0 < stage["rates width"] < 1


def test_peers_rank_by_the_same_scores():
    rows = rows_of(2)
    audit = audit_labels(None, rows.given, probabilities=rows.probabilities)
    found = peers(audit, rows)
    assert found["self-confidence"] == pytest.approx(found["margin"])  # of two classes
    assert found["margin"] > 0.9


def test_where_no_label_is_wrong_nothing_is_ranked():
    found = measure(Job(CLEAN, "made up", made_up(2, 0.0)))
    assert np.isnan(found[0]["average precision"])
    assert found[0]["precision"] == 0


def record(**other):
    return {
        "share held": True, "share width": 0.1, "by random checks": False, "rates held": 0.5,
        "rates width": 0.2, "average precision": 0.6, "promised": 0.8, "precision": 0.7,
        "self-confidence": 0.7, "margin": 0.5, "list held": True, "list width": 0.2,
        "list known": True,
    } | other  # fmt: skip


def test_the_page_by_hand():
    nan = float("nan")
    bad = record(**{"share held": False, "list held": False, "precision": 0.3})
    unknown = record(**{"list known": False, "precision": 0.0})
    clean = record(**{"average precision": nan, "self-confidence": nan, "margin": nan})
    results = {
        Job(kind, "one", made_up): [one] * (len(STAGES) + len(LIST_STAGES))
        for kind, one in ((FLIPS, record()), (NETWORKS, bad), (CLEAN, clean), (BOUNDARY, unknown))
    }
    assert mean(results, "share held") == pytest.approx(3 / 4)
    text = page(results)
    assert "75% of the intervals hold the truth (asked: 90%), least of real: networks (0%)" in text
    assert f"| {FLIPS} (1) | 100% / 10.0 |" in text
    assert f"| {NETWORKS} (1) | 0% / 10.0 |" in text
    assert "0.600 by issue probability, 0.700 by self-confidence and 0.500 by margin" in text
    assert f"behind the better of the two on {FLIPS}, {NETWORKS}" in text
    assert "75% of the intervals of its share of wrong labels hold" in text
    assert f"| {NETWORKS} (1) | 0 of 1, +50 |" in text
    assert f"| {BOUNDARY} (1) | – |" in text
    assert "| **all** (4) | 2 of 3, +50 |" in text
    assert "within 15 on 50%" in text
    assert text.count("## ") == 4


def test_the_command_writes_the_page_and_goes_on_after_a_kill(data, tmp_path, monkeypatch, capsys):
    every = list(honesty.jobs(data))
    monkeypatch.setattr(
        honesty, "jobs", lambda data: [job for job in every if job.kind.startswith("real")]
    )
    arguments = ["--data", str(data), "--quick", "--jobs", "1", "--out", str(tmp_path / "out")]
    arguments += ["--page", str(tmp_path / "page")]
    main(arguments)
    path = tmp_path / "page" / "honesty.md"
    assert capsys.readouterr().out.strip() == str(path)
    text = path.read_text()
    assert "| real: networks (1) |" in text
    assert "`python -m benchmarks.honesty --data" in text
    monkeypatch.setattr(honesty, "measure", None)  # nothing is measured twice
    main(arguments)


def test_data_that_is_not_there_is_explained(data, tmp_path, capsys):
    for path in (data / "probabilities").glob("*.npz"):
        path.unlink()
    with pytest.raises(SystemExit) as ended:
        main(["--data", str(data), "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(data / "probabilities") in line
