"""The leaderboard: small runs, resumed runs, and the numbers in them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

import rboost
from benchmarks import measure
from benchmarks.accuracy import Options, jobs, main, parse, run
from benchmarks.measure import (
    ESTIMATORS,
    Job,
    calibration_error,
    code_fingerprint,
    run_job,
    trusted_rows,
)
from benchmarks.methods import METHODS, N_TRUSTED, Method
from benchmarks.report import write_report
from benchmarks.suites import FIVE, SETTINGS, SUITES, draw_trial, load_table
from rboost import RBoostClassifier

TABLES = [name for names in SUITES.values() for name in names]


@pytest.fixture
def small_methods(monkeypatch):
    """Two methods of the leaderboard with fewer trees and rounds, under their own names."""

    def forest(noise_matrix, seed):
        return RandomForestClassifier(5, min_samples_leaf=5, random_state=seed)

    def boosted(noise_matrix, seed):
        told = {} if noise_matrix is None else {"noise_matrix": noise_matrix}
        return RBoostClassifier(n_estimators=4, random_state=seed, **told)

    monkeypatch.setitem(METHODS, "random forest", Method(forest, "scikit-learn"))
    monkeypatch.setitem(METHODS, "rBoost", Method(boosted, "rboost", "told"))
    return ("random forest", "rBoost")


def small_forest(seed):
    return RandomForestClassifier(10, min_samples_leaf=5, random_state=seed)


@pytest.fixture
def forest_only(small_methods):
    return Options("paper", ("Titanic", "Heart"), ("random forest",), repeats=1, seed=0)


def arguments(out, *methods, datasets=("Titanic",)):
    given = ["--datasets", *datasets, "--methods", *methods]
    return [*given, "--repeats", "1", "--out", str(out)]


def test_a_run_writes_the_leaderboard(tmp_path, small_methods, capsys, monkeypatch):
    monkeypatch.setattr(measure, "forest", small_forest)
    methods = (*small_methods, "robust logistic regression", ESTIMATORS)
    main(arguments(tmp_path, *methods))
    printed = capsys.readouterr().out.split()
    assert printed == [str(tmp_path / "leaderboard.md"), str(tmp_path / "leaderboard.png")]
    text = (tmp_path / "leaderboard.md").read_text()
    assert text.startswith("# Accuracy beside peers\n")
    assert "1 repeats of 1 tables (suite paper), seed 0" in text
    for row in ("| **rBoost** |", "| random forest |", "| noise-aware Platt (forest) |"):
        assert row in text
    for row in (
        "| cleanlab adjusted (forest) |",
        f"| counting on {N_TRUSTED} trusted rows (forest",
    ):
        assert row in text
    assert "nan" not in text
    assert "## rBoost, table by table" in text
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(methods) * len(SETTINGS)


def test_nothing_finished_is_measured_again(tmp_path, forest_only, monkeypatch):
    first = run(forest_only, tmp_path, n_jobs=1)
    before = (tmp_path / "results.jsonl").read_bytes()
    monkeypatch.setattr("benchmarks.accuracy.run_job", None)  # would fail if it were called
    assert run(forest_only, tmp_path, n_jobs=1) == first
    assert (tmp_path / "results.jsonl").read_bytes() == before
    assert len(first) == 2 * len(SETTINGS)


def test_a_run_that_was_killed_goes_on(tmp_path, forest_only):
    whole = run(forest_only, tmp_path, n_jobs=1)
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]) + lines[5][:30])  # killed while it wrote the sixth
    resumed = run(forest_only, tmp_path, n_jobs=1)
    assert {job: record["error"] for job, record in resumed.items()} == {
        job: record["error"] for job, record in whole.items()
    }
    again = path.read_text().splitlines(keepends=True)
    assert again[:5] == lines[:5]
    assert [json.loads(line)["key"] for line in again] == [json.loads(x)["key"] for x in lines]


def test_more_methods_can_be_added_to_a_run(tmp_path, forest_only):
    run(forest_only, tmp_path, n_jobs=1)
    before = (tmp_path / "results.jsonl").read_bytes()
    more = Options("paper", ("Titanic",), ("random forest", "logistic regression"), 1, 0)
    found = run(more, tmp_path, n_jobs=1)
    after = (tmp_path / "results.jsonl").read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + len(SETTINGS)
    assert {job.dataset for job in found} == {"Titanic"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--datasets", "Iris"], "there is no table 'Iris'; choose from: 'Banana'"),
        (["--suite", "development", "--datasets", "Banana"], "there is no table 'Banana'"),
        (["--methods", "guess"], "there is no method 'guess'; choose from: 'rBoost'"),
        (["--repeats", "0"], "--repeats and --jobs must be at least 1"),
        (["--suite", "other"], "invalid choice: 'other'"),
    ],
    ids=str,
)
def test_mistakes_end_in_one_sentence(given, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*given, "--out", str(tmp_path / "none")])
    assert caught.value.code == 2
    error = capsys.readouterr().err.splitlines()
    assert message in error[-1]
    assert error[0].startswith("usage:")
    assert not (tmp_path / "none").exists()


def test_without_arguments_all_is_compared():
    options, out, n_jobs = parse([])
    assert options == Options("paper", SUITES["paper"], (*METHODS, ESTIMATORS), 10, 0)
    assert out == Path("build/accuracy")
    assert n_jobs == 1
    wanted = list(jobs(options))
    n_settings = [len(method.settings or SETTINGS) for method in METHODS.values()]
    assert len(wanted) == len(set(wanted)) == 10 * 7 * (sum(n_settings) + len(SETTINGS))
    assert len({job.key(0) for job in wanted}) == len(wanted)


def test_the_key_is_what_a_result_depends_on(monkeypatch):
    peer = Job("Titanic", "clean", 0, "random forest")
    ours, estimators = (Job("Titanic", "clean", 0, name) for name in ("rBoost", ESTIMATORS))
    assert peer.key(0) != peer.key(1)
    before = [job.key(0) for job in (peer, ours, estimators)]
    monkeypatch.setattr(measure, "code_fingerprint", lambda: "other")
    after = [job.key(0) for job in (peer, ours, estimators)]
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, False]
    monkeypatch.setattr(measure, "package_version", lambda package: "other")
    assert peer.key(0) != before[0]


def test_the_fingerprint_knows_code_from_docs(tmp_path, monkeypatch):
    copy = tmp_path / "rboost"
    source = Path(rboost.__file__).parent
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(measure, "PACKAGE", copy)
    fingerprint = code_fingerprint.__wrapped__
    assert fingerprint() == code_fingerprint()

    def change(name, old, new):
        path = copy / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return fingerprint()

    before = fingerprint()
    assert change("noise/platt/scaling.py", '"""', '"""Another opening. ') == before
    assert change("noise/matrix.py", '    """The flip rates', '    """Both flip rates') == before
    assert change("noise/platt/sigmoid.py", "# ", "# Another comment: ") == before
    assert change("paper/run.py", "import ", "import  ") == before
    (copy / "cli" / "more.py").write_text("x = 1\n")
    assert fingerprint() == before
    assert change("noise/matrix.py", "0.99", "0.98") != before


@pytest.mark.parametrize(
    ("probability", "true", "expected"),
    [
        ([0.0, 1.0], [0, 1], 0.0),
        ([1.0, 0.0], [0, 1], 1.0),
        ([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1], 0.0),
        ([0.25, 0.25, 0.25, 0.25], [0, 0, 0, 1], 0.0),
        ([0.2, 0.2, 0.8, 0.8], [0, 1, 1, 1], (0.6 + 0.4) / 4),
        ([0.11, 0.19], [0, 1], 0.35),  # one bin: |0.3 − 1| / 2
        ([0.05, 0.95], [1, 0], 0.95),
    ],
    ids=str,
)
def test_calibration_error_of_numbers_made_by_hand(probability, true, expected):
    assert_allclose(calibration_error(np.array(probability), np.array(true)), expected)


def test_calibration_error_of_honest_probabilities_is_small():
    random = np.random.RandomState(0)
    probability = random.uniform(size=20_000)
    true = random.uniform(size=20_000) < probability
    assert calibration_error(probability, true) < 0.02
    assert calibration_error(np.clip(2 * probability - 0.5, 0, 1), true) > 0.1


@pytest.mark.parametrize("name", TABLES)
def test_every_table_loads(name):
    X, y, (n_train, n_test) = load_table(name)
    assert X.dtype == np.float64
    assert np.all(np.isfinite(X))
    assert len(X) == len(y)
    np.testing.assert_array_equal(np.unique(y), [0, 1])
    assert 0.2 < y.mean() < 0.8
    assert n_train + n_test <= len(y)
    assert n_train >= 100
    assert n_test >= 80
    trial = draw_trial(name, "sym30", 0, seed=0)
    assert trial.X.shape == (n_train, X.shape[1])
    assert trial.X_test.shape == (n_test, X.shape[1])
    assert len(trial.observed) == len(trial.true) == n_train
    for labels in (trial.observed, trial.true, trial.y_test):
        np.testing.assert_array_equal(np.unique(labels), [0, 1])


def test_no_table_is_in_both_suites():
    assert len(TABLES) == len(set(TABLES))
    assert set(FIVE) < set(SETTINGS)


def test_the_split_does_not_depend_on_the_setting():
    trials = {setting: draw_trial("Heart", setting, 0, seed=0) for setting in SETTINGS}
    clean = trials["clean"]
    np.testing.assert_array_equal(clean.observed, clean.true)
    for trial in trials.values():
        for name in ("X", "true", "X_test", "y_test"):
            np.testing.assert_array_equal(getattr(trial, name), getattr(clean, name))
    assert len({trial.seed for trial in trials.values()}) == len(SETTINGS)
    other = draw_trial("Heart", "clean", 1, seed=0)
    assert not np.array_equal(other.X, clean.X)
    assert not np.array_equal(draw_trial("Heart", "clean", 0, seed=1).X, clean.X)


def test_rows_are_trained_on_or_tested_on():
    trial = draw_trial("Waveform", "clean", 0, seed=0)
    rows = {tuple(row) for row in trial.X}
    assert len(rows) == len(trial.X)
    assert not rows & {tuple(row) for row in trial.X_test}


@pytest.mark.parametrize("setting", SETTINGS)
def test_flips_are_at_the_stated_rates(setting):
    trials = [draw_trial("Banana", setting, repeat, seed=0) for repeat in range(20)]
    for true, rate in enumerate(SETTINGS[setting]):
        flipped = np.concatenate([t.observed[t.true == true] != true for t in trials])
        assert abs(flipped.mean() - rate) <= 4 * np.sqrt(rate * (1 - rate) / len(flipped))
        assert_allclose(trials[0].noise_matrix[true, 1 - true], rate)


@pytest.mark.parametrize("dataset", ["Titanic", "Heart", "Twonorm"])
def test_trusted_rows_are_of_both_classes(dataset):
    for repeat in range(5):
        trial = draw_trial(dataset, "asym30", repeat, seed=0)
        rows = trusted_rows(trial, N_TRUSTED)
        assert len(np.unique(rows)) == len(rows) >= N_TRUSTED
        assert np.bincount(trial.true[rows], minlength=2).min() >= 2
        np.testing.assert_array_equal(rows, trusted_rows(trial, N_TRUSTED))
        assert len(trusted_rows(trial, 1)) < 30


def test_what_a_job_measures(small_methods):
    for method in small_methods:
        job = Job("Heart", "asym30", 0, method)
        record, again = run_job(job, 0), run_job(job, 0)
        assert record.pop("seconds") > 0
        assert again.pop("seconds") > 0
        assert record == again
        assert 0 < record["error"] < 60
        assert 0 < record["oracle"] < 60
        assert 0 <= record["calibration"] <= 1
        assert ("rates" in record) == (method == "rBoost")
        json.dumps(record)
    assert record["ROC-AUC"] > 0.5
    assert 0 < record["average precision"] <= 1


def test_a_method_with_trusted_rows_is_fitted_to_the_rest(monkeypatch):
    seen = {}

    class Spy:
        def fit(self, X, y, X_trusted, y_trusted):
            seen.update(X=X, y=y, X_trusted=X_trusted, y_trusted=y_trusted)
            return self

    trial = draw_trial("Heart", "sym30", 0, seed=0)
    measure.fit(Method(lambda noise, seed: Spy(), "rboost", None, N_TRUSTED), trial, None)
    trusted = trusted_rows(trial, N_TRUSTED)
    np.testing.assert_array_equal(seen["y_trusted"], trial.true[trusted])
    np.testing.assert_array_equal(seen["X_trusted"], trial.X[trusted])
    assert len(seen["y"]) == len(trial.true) - len(trusted)
    rest = np.setdiff1d(np.arange(len(trial.true)), trusted)
    np.testing.assert_array_equal(seen["y"], trial.observed[rest])


def test_estimators_of_noise_are_compared_on_the_same_scores(monkeypatch):
    monkeypatch.setattr(measure, "forest", small_forest)
    job = Job("Twonorm", "sym30", 0, ESTIMATORS)
    record = run_job(job, 0)
    json.dumps(record)
    assert {len(rates) for rates in record["rates"].values()} == {2}
    assert all(0 <= rate <= 1 for rates in record["rates"].values() for rate in rates)
    assert_allclose(record["rates"]["noise-aware Platt"], 0.3, atol=0.15)
    ours, theirs = (record["rates"][f"confident learning{x}"] for x in ("", " (cleanlab)"))
    assert_allclose(ours, theirs, atol=0.02)
    for ranking in record["rankings"].values():
        assert ranking["ROC-AUC"] > 0.7
    clean = run_job(Job("Twonorm", "clean", 0, ESTIMATORS), 0)
    assert set(clean["rankings"]) == set(record["rankings"])
    assert not any(clean["rankings"].values())  # there is nothing to rank


def test_the_report_holds_means_of_what_was_measured(tmp_path):
    errors = {"random forest": (10.0, 20.0), "rBoost": (4.0, 6.0), "SVC": (30.0, 30.0)}
    results = {
        Job(dataset, setting, 0, method): {"error": error, "seconds": 0.5, "calibration": 0.1}
        for method, pair in errors.items()
        for dataset, error in zip(("Titanic", "Heart"), pair, strict=True)
        for setting in SETTINGS
    }
    for job, record in results.items():
        if job.method == "rBoost":
            into_1, into_0 = SETTINGS[job.setting]
            record["rates"] = [into_1 + 0.02, into_0]
            record["intervals"] = [[into_1 - 0.1, 0.5], [into_1 + 0.1, 1.0]]
    paths = write_report(results, tmp_path, "two tables")
    assert [path.name for path in paths] == ["leaderboard.md", "leaderboard.png"]
    text = paths[0].read_text()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    table = [row for row in rows if row.endswith("| 0.50 |")]
    assert [row.split(" | ")[0] for row in table] == ["| **rBoost**", "| random forest", "| SVC"]
    assert table[0] == "| **rBoost** |" + " 5.0 |" * 7 + " 0.50 |"
    assert table[1] == "| random forest |" + " 15.0 |" * 7 + " 0.50 |"
    assert "| rBoost |" + " 0.010 |" * 7 + " 50% |" in rows  # one of the two rates is covered
    assert "| Heart |" + " 6.0 |" * 6 in rows
    assert "| Titanic |" + " 4.0 |" * 6 in rows
    assert text.count("two tables") == 1
    assert "nan" not in text


def test_one_method_alone_is_reported(tmp_path):
    results = {
        Job("Heart", setting, 0, "SVC"): {"error": 12.0, "seconds": 0.1} for setting in SETTINGS
    }
    text = write_report(results, tmp_path, "one table")[0].read_text()
    assert text.count("| SVC |") == 1
    assert "table by table" not in text


def test_estimators_of_noise_alone_are_reported(tmp_path):
    ranking = {"average precision": 0.5, "ROC-AUC": 0.75}
    results = {
        Job("Heart", setting, 0, ESTIMATORS): {
            "rates": {"anchor points": [rates[0], rates[1] + 0.1]},
            "intervals": [[0.0, 0.0], [1.0, 1.0]],
            "rankings": {"self-confidence": {} if setting == "clean" else ranking},
        }
        for setting, rates in SETTINGS.items()
    }
    text = write_report(results, tmp_path, "one table")[0].read_text()
    assert "| anchor points (forest) |" + " 0.050 |" * 7 + " – |" in text
    assert "| self-confidence (forest) |" + " 0.750 |" * 6 in text
