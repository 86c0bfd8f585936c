"""The suite of more than two classes: what is measured, and its page."""

import json
from pathlib import Path

import numpy as np
import pytest
from cleanlab.classification import CleanLearning
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

from benchmarks.accuracy import Options, jobs, main, parse
from benchmarks.measure import ESTIMATORS, Job, run_job
from benchmarks.methods import JUDGES, METHODS, SEVERAL, Method
from benchmarks.report import render
from benchmarks.suites import SUITES, UNTOUCHED, Source, draw_trial
from rboost import NoiseCalibratedClassifier

CLASSES = SUITES["classes"]
CALIBRATED, CLEANLAB = "noise-calibrated forest", "cleanlab around a forest"


@pytest.fixture
def small(monkeypatch, small_forest):
    """Two methods with small forests, and fewer rows."""

    def forest(seed):
        return RandomForestClassifier(10, min_samples_leaf=5, random_state=seed)

    def calibrated(noise_matrix, seed):
        return NoiseCalibratedClassifier(forest(seed), cv=2, random_state=seed)

    def cleaned(noise_matrix, seed):
        options = {"find_label_issues_kwargs": {"n_jobs": 1}}
        return CleanLearning(forest(seed), cv_n_folds=2, seed=seed, **options)

    monkeypatch.setitem(METHODS, CALIBRATED, Method(calibrated, "rboost", "told"))
    monkeypatch.setitem(METHODS, CLEANLAB, Method(cleaned, "cleanlab", None))
    monkeypatch.setitem(CLASSES.tables, "vehicle", Source(200, n_test=100))
    for name in ("contraceptive", "vehicle"):
        monkeypatch.setitem(CLASSES.untouched, name, Source(200, n_test=0))


def test_all_is_compared_by_default():
    options, _ = parse(["--suite", "classes"])
    assert options == Options("classes", CLASSES.names, (*SEVERAL, ESTIMATORS), 3, 0)
    wanted = list(jobs(options))
    assert len(wanted) == len({job.key(0) for job in wanted})
    assert len(wanted) == 3 * (5 * 4 * len(options.methods) + 5 * (len(JUDGES) + 1))
    assert {job.method for job in wanted if job.setting == UNTOUCHED} == {*JUDGES, ESTIMATORS}


def test_tables_of_the_same_name_have_results_of_their_own():
    two, several = (
        Job(suite, "satimage", "clean", 0, "rBoost") for suite in ("development", "classes")
    )
    assert two.key(0) != several.key(0)


def test_only_methods_for_several_classes_are_offered(capsys):
    with pytest.raises(SystemExit):
        parse(["--suite", "classes", "--methods", "paper: rBoost LR"])
    assert "there is no method 'paper: rBoost LR'; choose from: 'rBoost'" in capsys.readouterr().err


@pytest.mark.parametrize("method", [CALIBRATED, CLEANLAB])
def test_what_a_job_measures(small, method):
    record = run_job(Job("classes", "vehicle", "sym20", 0, method), 0)
    json.dumps(record)
    trial = draw_trial("classes", "vehicle", "sym20", 0, 0)
    matrix = np.array(record["noise_matrix"])
    assert_allclose(matrix.sum(axis=1), 1)  # rows are true classes, by cleanlab too
    off_diagonal = ~np.eye(4, dtype=bool)
    assert_allclose(record["noise error"], np.abs(matrix - trial.noise_matrix)[off_diagonal].mean())
    assert ("covered" in record) == (method == CALIBRATED)
    assert 0 < record["error"] < 75
    assert_allclose(record["true share"], np.mean(trial.observed != trial.true))
    assert 0 <= record["wrong share"] <= 1
    assert record["ROC-AUC"] > 0.5
    assert not {"oracle", "calibration"} & set(record)


def test_labels_as_they_came_have_neither_errors_nor_flips(small):
    record = run_job(Job("classes", "contraceptive", UNTOUCHED, 0, CALIBRATED), 0)
    assert {"wrong share", "seconds"} < set(record)
    assert not {"error", "average precision"} & set(record)
    assert record["true share"] == 0


def test_estimators_of_noise_are_compared(small):
    record = run_job(Job("classes", "vehicle", "sym20", 0, ESTIMATORS), 0)
    json.dumps(record)
    names = ["noise-aware", "confident learning (cleanlab)", "anchor points"]
    assert list(record["noise"]) == names
    for one in record["noise"].values():
        assert_allclose(np.sum(one["noise_matrix"], axis=1), 1)
        assert 0 <= one["wrong share"] <= 1
    aware = record["noise"]["noise-aware"]
    assert 0 <= aware["lowest share"] <= aware["wrong share"] <= aware["highest share"] <= 1
    assert {name: set(one) for name, one in record["rankings"].items()} == {
        name: {"average precision", "ROC-AUC"}
        for name in (
            "posterior", "self-confidence", "cleanlab normalised margin", "cleanlab adjusted"
        )
    }  # fmt: skip


def test_a_run_writes_the_page(tmp_path, small, capsys):
    given = ["--suite", "classes", "--datasets", "vehicle", "contraceptive", "--repeats", "1"]
    folders = ["--out", str(tmp_path / "out"), "--page", str(tmp_path / "page")]
    main([*given, "--methods", CALIBRATED, ESTIMATORS, *folders])
    page = Path(capsys.readouterr().out.strip())
    assert page == tmp_path / "page" / "classes.md"
    assert page.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2 * 6
    text = page.read_text()
    rows = {line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")}
    assert {"| **noise-calibrated forest**", "| vehicle, next30", "| contraceptive"} < rows
    assert "posterior (forest) less the better of cleanlab's two:" in text
    assert "nan" not in text


def test_the_page_names_the_better_of_cleanlabs_two_in_each_case(tmp_path):
    precision = {("vowel", "sym20"): (0.9, 0.5, 0.6), ("vowel", "pairs"): (0.5, 0.7, 0.4)}
    names = ("posterior", "cleanlab normalised margin", "cleanlab adjusted")
    results = {
        Job("classes", name, setting, 0, ESTIMATORS): {
            "noise": {"noise-aware": {"noise error": 0.02, "covered": 0.75}},
            "rankings": {
                one: {"average precision": value}
                for one, value in zip(names, precision.get((name, setting), ()), strict=False)
            },
        }
        for name in ("vowel",)
        for setting in CLASSES.settings
    }
    shares = dict(
        zip(("wrong share", "lowest share", "highest share"), (0.04, 0, 0.1), strict=True)
    )
    results[Job("classes", "german", UNTOUCHED, 0, ESTIMATORS)] = {
        "noise": {"noise-aware": {"noise error": 0.9, "covered": 0.0, **shares}},
        "rankings": {},
    }
    results[Job("classes", "german", UNTOUCHED, 0, "rBoost")] = {"seconds": 9, "wrong share": 0.02}
    text = render(results, CLASSES, "one table")[0]
    assert "| vowel, sym20 | – | 0.900 | 0.500 | 0.600 | 0.600 |" in text
    assert "| vowel, pairs | – | 0.500 | 0.700 | 0.400 | 0.700 |" in text
    assert "+0.050 on average, -0.200 at the least (vowel, pairs)" in text
    # Tables as they came have no part in what is said of the noise.
    assert "| noise-aware (forest) |" + " 0.020 |" * 5 + " 75% |" in text
    assert "| german | 2.0 | – | – | 4.0 | 0.0 | 10.0 | – |" in text
    assert "nan" not in text
