"""The suites of large tables and of sizes: what is measured, and what their pages say of it."""

import numpy as np
import pytest

from benchmarks.accuracy import Options, jobs, main, parse
from benchmarks.generators import GENERATORS
from benchmarks.large import PEERS, WRAPPERS
from benchmarks.measure import Job, run_job
from benchmarks.methods import ENGINES, LARGE, LEADERBOARD, METHODS
from benchmarks.report import render
from benchmarks.suites import SIZES, SUITES, draw_trial, load_table

SETTINGS = ("clean", "sym20", "asym30")
CALIBRATED = "noise-calibrated LightGBM"


@pytest.mark.parametrize(
    ("suite", "name"),
    [(suite, name) for suite in ("large", "large development") for name in SUITES[suite].names],
)
def test_every_table_is_large(suite, name):
    X, y = load_table(suite, name)
    assert len(X) == len(y) >= 5000
    assert np.all(np.isfinite(X))
    assert 0.1 < y.mean() < 0.6
    trial = draw_trial(suite, name, "asym30", 0, seed=0)
    n_train = len(trial.true)
    assert 4000 < n_train == SUITES[suite].tables[name].n_train <= 40_000
    assert 1000 < len(trial.y_test) <= 5000
    assert name in GENERATORS or n_train == int(0.8 * len(y))
    rates = [np.mean(trial.observed[trial.true == k] != k) for k in (0, 1)]
    assert abs(rates[0] - 0.3) < 0.05
    assert rates[1] == 0


@pytest.mark.parametrize("name", GENERATORS)
def test_generated_tables_are_of_their_seed(name):
    first, again, other = (GENERATORS[name](300, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[0], other[0])
    np.testing.assert_array_equal(np.unique(first[1]), [0, 1])


def test_the_sizes_are_those_of_development_tables():
    suite = SUITES["sizes"]
    development = SUITES["large development"].names
    assert suite.names == tuple(f"{name} {size}" for size in SIZES for name in development)
    X, _ = load_table("sizes", "phoneme 400")
    np.testing.assert_array_equal(X, load_table("large development", "phoneme")[0])
    assert len(draw_trial("sizes", "phoneme 400", "clean", 0, seed=0).true) == 400


def test_what_is_compared_by_default():
    options, _ = parse(["--suite", "large"])
    assert options == Options("large", SUITES["large"].names, LARGE, 1, 0)
    assert len(list(jobs(options))) == len(options.datasets) * len(LARGE) * 3
    assert parse(["--suite", "sizes"])[0].methods == ("rBoost", *ENGINES)
    assert set(LARGE) == {"rBoost", "rBoost xgboost", *ENGINES, *WRAPPERS, *PEERS}
    assert "cleanlab around LightGBM" in PEERS
    assert not {*ENGINES, *WRAPPERS} & set(LEADERBOARD)


@pytest.mark.parametrize("name", LARGE)
def test_every_method_can_be_built(name):
    assert hasattr(METHODS[name].build(None, 0), "fit")


def test_references_that_are_told_the_noise_are_left_out():
    record = run_job(Job("sizes", "phoneme 400", "sym20", 0, CALIBRATED), 0)
    assert "oracle" not in record
    assert {"error", "seconds", "noise error", "average precision"} < set(record)


def test_a_run_writes_the_page(tmp_path, capsys):
    given = ["--suite", "large", "--datasets", "banana", "--methods", "LightGBM"]
    main([*given, "--out", str(tmp_path)])
    assert capsys.readouterr().out.split() == [str(tmp_path / "large.md")]
    text = (tmp_path / "large.md").read_text()
    assert "| LightGBM |" in text
    assert "Not measured." in text
    assert "| nan" not in text


def made(suite, tables, errors):
    """Results with these errors by method and setting, the same on all tables."""
    return {
        Job(suite, name, setting, 0, method): {"error": error, "seconds": 1.0, "noise error": 0.02}
        for method, by_setting in errors.items()
        for name in tables
        for setting, error in zip(SETTINGS, by_setting, strict=True)
    }


def test_targets_of_large_tables(tmp_path):
    errors = {
        "rBoost": (10.06, 12.0, 12.0),
        "CatBoost": (10.0, 13.0, 17.0),
        "cleanlab around LightGBM": (11.0, 13.0, 14.0),
        CALIBRATED: (10.5, 12.5, 11.5),
    }
    results = made("large", ("banana", "hastie"), errors)
    text = render(results, SUITES["large"], "two tables")[0]
    assert "| **rBoost** | 10.1 | 12.0 | 12.0 | 11.4 | 1.00 |" in text
    assert (
        "other packages: +0.06 above the best in the worst setting (clean, CatBoost), ≤ 0.1 asked: "
        "yes. In the mean +1.31 below the best single one (cleanlab around LightGBM), ≥ 1.0 asked: "
        "yes."
    ) in text
    assert f"+0.50 above the best in the worst setting (asym30, {CALIBRATED})" in text
    assert f"+0.15 below the best single one ({CALIBRATED}), ≥ 1.0 asked: **no**" in text
    assert "Flip rates are off by 0.020, ≤ 0.015 asked: **no**" in text
    assert f"| hastie, asym30 | 12.0 | – | – | 11.5 ({CALIBRATED}) | 14.0 (cleanlab" in text
    assert "| nan" not in text


def test_the_stack_is_beside_the_better_engine_at_every_size(tmp_path):
    of_size = {400: 20.0, 1500: 15.0, 4000: 12.25}
    results = {}
    for size, error in of_size.items():
        errors = {
            "rBoost": (error, 20, 20),
            "rBoost pool": (20, 21, 20),
            "rBoost trees": (12, 20, 21),
        }
        results |= made("sizes", (f"magic {size}",), errors)
    text, figure = render(results, SUITES["sizes"], "one table")
    assert figure.startswith(b"\x89PNG")
    for behind in ("+8.00", "+3.00", "+0.25"):
        assert f"At most {behind} above the better engine (clean), ≤ 0.1 asked: **no**" in text
    results = made("sizes", ("magic 400",), {"rBoost": (20, 20, 20)})
    assert "better engine (" not in render(results, SUITES["sizes"], "")[0]
