"""The command: small runs, resumed runs, mistakes."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier

from benchmarks.accuracy import Options, jobs, main, parse, run
from benchmarks.measure import ESTIMATORS
from benchmarks.methods import LEADERBOARD, METHODS, MIXED_ALONE, N_TRUSTED, Method
from benchmarks.mixed import WithPlainColumns
from benchmarks.pages import read_origin
from benchmarks.suites import SETTINGS, SUITES, Source

NATIVE = next(iter(MIXED_ALONE))


@pytest.fixture
def forest_only(small_methods):
    return Options("paper", ("Titanic", "Heart"), ("random forest",), repeats=1, seed=0)


def arguments(out, *methods, datasets=("Titanic",)):
    given = ["--datasets", *datasets, "--methods", *methods]
    return [*given, "--repeats", "1", "--out", str(out)]


def test_a_run_writes_the_leaderboard(tmp_path, small_methods, small_forest, capsys):
    methods = (*small_methods, "robust logistic regression", ESTIMATORS)
    main(arguments(tmp_path, *methods))
    printed = capsys.readouterr().out.split()
    assert printed == [str(tmp_path / "leaderboard.md")]
    text = (tmp_path / "leaderboard.md").read_text()
    assert text.startswith("# Accuracy beside peers\n")
    assert "1 repeats of 1 tables (suite paper), seed 0" in text
    for row in ("| **rBoost** |", "| random forest |", "| noise-aware (forest) |"):
        assert row in text
    for row in (
        "| cleanlab adjusted (forest) |",
        f"| counting on {N_TRUSTED} trusted rows (forest",
    ):
        assert row in text
    assert "nan" not in text
    assert read_origin(text).is_current
    assert "## rBoost, table by table" in text
    assert (tmp_path / "leaderboard.png").read_bytes().startswith(b"\x89PNG")
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len(lines) == len(methods) * len(SETTINGS)


def test_a_run_on_frames_writes_its_own_page(tmp_path, small_methods, monkeypatch):
    small = WithPlainColumns(CatBoostClassifier(4, verbose=0, allow_writing_files=False))
    monkeypatch.setitem(METHODS, NATIVE, Method(lambda noise, seed: small, "catboost", None))
    given = arguments(tmp_path, "rBoost", NATIVE, datasets=["orders", "tickets"])
    main(["--suite", "mixed", *given])
    text = (tmp_path / "mixed.md").read_text()
    assert text.startswith("# Tables of words, dates and numbers\n")
    assert text.count(f"| {NATIVE} |") == text.count("| **rBoost** |") == 3
    assert "\ntickets\n" in text
    assert (tmp_path / "mixed.png").exists()


def made_up_texts(folder, n_rows=300):
    random = np.random.RandomState(0)
    true = random.choice(["negative", "positive"], n_rows)
    own = {"negative": ["dull", "weak", "poor"], "positive": ["lovely", "great", "fine"]}
    texts = [
        " ".join(["film", *random.choice(own[label], 3), str(row)])
        for row, label in enumerate(true)
    ]
    frame = pd.DataFrame({"text": texts, "true": true})
    (folder / "crowd").mkdir(parents=True)
    frame[:200].to_csv(folder / "crowd" / "sentiment.csv.gz", index=False)
    frame[200:].to_csv(folder / "crowd" / "sentiment_test.csv.gz", index=False)
    return folder


def test_a_run_on_texts_reads_them_from_a_folder(tmp_path, small_methods, monkeypatch, capsys):
    monkeypatch.setitem(SUITES["texts"].tables, "film sentences", Source(150))
    given = arguments(tmp_path, "rBoost", "TF-IDF + LR", datasets=["film sentences"])
    main(["--suite", "texts", "--data", str(made_up_texts(tmp_path / "data")), *given])
    text = (tmp_path / "texts.md").read_text()
    assert text.startswith("# Texts\n")
    assert text.count("| TF-IDF + LR |") == 4  # errors and average precision, of all and by table
    assert "nan" not in text
    with pytest.raises(SystemExit):
        main(["--suite", "texts", *given])
    assert "--suite texts needs --data DIR" in capsys.readouterr().err
    with pytest.raises(SystemExit, match=r"does not hold crowd/sentiment\.csv\.gz; --data is"):
        main(["--suite", "texts", "--data", str(tmp_path), *given, "--seed", "1"])


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
    options, given = parse([])
    assert options == Options("paper", SUITES["paper"].names, (*LEADERBOARD, ESTIMATORS), 10, 0)
    assert given.out == Path("build/accuracy")
    assert given.jobs == 1
    wanted = list(jobs(options))
    n_settings = [len(method.settings or SETTINGS) for method in LEADERBOARD.values()]
    assert len(wanted) == len(set(wanted)) == 10 * 7 * (sum(n_settings) + len(SETTINGS))
    assert len({job.key(0) for job in wanted}) == len(wanted)
