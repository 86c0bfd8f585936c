"""The speed benchmark: turns, results that are merged, readings, targets and the page."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.pages import HEADING
from benchmarks.speed import bandwidth, data, fits, memory, native, prediction, timing
from benchmarks.speed.__main__ import PARTS, QUICK_ROWS, Options, groups, main, parse, run
from benchmarks.speed.adaboost import ForcedAdaBoost
from benchmarks.speed.figure import draw
from benchmarks.speed.fits import PREDICTION
from benchmarks.speed.groups import Group, load, measured_on, save
from benchmarks.speed.layout import figure
from benchmarks.speed.methods import (
    ADABOOST,
    ADABOOST_NATURAL,
    DEFAULT,
    HISTOGRAM,
    LIGHTGBM,
    LINEAR,
    METHODS,
    OURS,
    PAPER,
    POOL,
    TREE_PEERS,
    XGBOOST,
    chosen,
)
from benchmarks.speed.readings import at_equal_rounds, cheapest_as_accurate, slope
from benchmarks.speed.report import page, target_table
from benchmarks.speed.sections import until_as_accurate
from benchmarks.speed.targets import DEFAULT_TARGETS, FIT_TARGETS, TARGETS, Target
from benchmarks.speed.timing import default_repeats, interleaved
from rboost import AdaRBoostClassifier
from rboost import native as switch


@pytest.fixture
def tiny(monkeypatch):
    """Everything so small that a run takes seconds."""
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)  # slow beside hundreds of test modules
    monkeypatch.setattr(data, "TEST_ROWS", 100)
    monkeypatch.setattr(fits, "GRID", (2, 4))
    monkeypatch.setattr(fits, "WARM_UP_ROWS", 50)
    monkeypatch.setattr(prediction, "FIT_ROWS", 60)
    monkeypatch.setattr(prediction, "CALLS_OF_ONE_ROW", 2)
    monkeypatch.setattr(memory, "MEASURED", (HISTOGRAM,))


def fit_entry(method, seconds, rounds=150, asked=None, error=10.0):
    return {
        "method": method,
        "asked": rounds if asked is None else asked,
        "rounds": rounds,
        "seconds": seconds,
        "errors": [error],
    }


def test_a_run_measures_every_part_and_writes_the_page(tmp_path, tiny, capsys):
    small = ["--rows", "60", "--repeats", "1", "--rounds", "3", "--threads", "1"]
    folders = ["--out", str(tmp_path), "--store", str(tmp_path)]
    main([*small, *folders])
    printed = capsys.readouterr().out
    assert str(tmp_path / "speed.md") in printed
    assert "not measured" in printed  # targets are for 150 rounds
    text = (tmp_path / "speed.md").read_text()
    assert "nan" not in text
    assert "Not measured." not in text
    for name in METHODS:
        assert name in text
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    results = load(tmp_path / "speed.json")
    assert {group.part for group in results} == set(PARTS)
    assert {group.rows for group in results} == {1, 60}
    for group, entries in results.items():
        if group.part in fits.FITTED:
            assert {e["method"] for e in entries} == set(fits.FITTED[group.part])
            assert all(min(e["seconds"]) > 0 < min(e[PREDICTION]) for e in entries)
            assert all(e["rounds"] <= e["asked"] for e in entries if e["method"] != DEFAULT)
            assert all(0 <= error <= 100 for e in entries for error in e["errors"])
    main(["--report-only", "--rounds", "3", *folders])
    again = (tmp_path / "speed.md").read_text()
    assert again.partition(HEADING)[0] == text.partition(HEADING)[0]


def test_methods_take_turns(monkeypatch):
    done, prepared = [], []
    clock = iter(range(100))
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))

    def task(name):
        def prepare(repeat):
            prepared.append((name, repeat))
            return lambda: done.append(name) or f"{name}{repeat}"

        return prepare

    found = list(interleaved({name: task(name) for name in "abc"}, 2, "turns"))
    assert done == list("abcabc")
    assert prepared == [(name, repeat) for repeat in (0, 1) for name in "abc"]
    assert [(name, repeat, result) for name, repeat, _, result in found] == [
        (name, repeat, f"{name}{repeat}") for repeat in (0, 1) for name in "abc"
    ]
    assert [seconds for _, _, seconds, _ in found] == [1] * 6  # only the call itself is timed


def test_larger_tables_are_repeated_less():
    sizes = (1, 400, 5_000, 100_000, 1_000_000, 4_000_000)
    repeats = [default_repeats(rows) for rows in sizes]
    assert repeats == [20, 20, 5, 3, 2, 2]


def test_without_arguments_all_is_measured():
    options, given = parse([])
    assert given.out.as_posix() == "docs/speed"
    threads = tuple(dict.fromkeys((1, os.cpu_count())))
    assert options == Options(tuple(PARTS), None, None, threads, 150, False)
    wanted = list(groups(options))
    assert len(set(wanted)) == len(wanted)
    assert {g.rows for g in wanted if g.part == "fit"} == {400, 5_000, 100_000, 1_000_000}
    assert {g.rows for g in wanted if g.part == "predict"} == {1, 1_000_000}
    assert {g.truth for g in wanted if g.part == "accuracy"} == {"linear", "curved"}
    assert {g.threads for g in wanted if g.part in ("memory", "default")} == {1}
    assert {g.threads for g in wanted if g.part == "million"} == {os.cpu_count()}
    assert {g.rows for g in wanted if g.part == "default"} == set(DEFAULT_TARGETS)
    sizes = [g.rows for g in wanted if g.part == "trees"]
    assert max(sizes) == 100_000


def test_options_narrow_a_run(tmp_path):
    given = ["--only", "predict", "--rows", "7", "--threads", "3", "3", "--repeats", "4"]
    options, parsed = parse([*given, "--skip-slow", "--out", str(tmp_path)])
    assert options == Options(("predict",), (7,), 4, (3,), 150, True)
    assert parsed.out == tmp_path
    assert [g.rows for g in groups(options)] == [1, 7]
    quick, _ = parse(["--quick", "--out", str(tmp_path)])
    assert {g.rows for g in groups(quick)} == {1, *QUICK_ROWS}
    assert quick.repeats == 2
    own, _ = parse(["--quick", "--rows", "9", "--repeats", "1", "--out", str(tmp_path)])
    assert (own.rows, own.repeats) == ((9,), 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--only", "sleep"], "invalid choice: 'sleep'"),
        (["--rows", "0"], "must be at least 1"),
        (["--repeats", "0"], "must be at least 1"),
        (["--threads", "-1"], "must be at least 1"),
        (["--report-only"], "run without --report-only"),
    ],
    ids=str,
)
def test_mistakes_end_in_one_sentence(given, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*given, "--out", str(tmp_path / "none"), "--store", str(tmp_path / "none")])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "none").exists()


def test_parts_are_merged_by_group(tmp_path, monkeypatch):
    path = tmp_path / "speed.json"
    old = {
        Group("fit", 400, 1, "linear", 150): [fit_entry(LINEAR, [1.0]), fit_entry(XGBOOST, [3.0])],
        Group("fit", 5_000, 1, "linear", 150): [fit_entry(LINEAR, [2.0])],
    }
    save(path, old)
    new = [fit_entry(LINEAR, [0.5])]
    monkeypatch.setitem(
        PARTS, "fit", type(PARTS["fit"])(lambda group, repeats, skip_slow: new, (400,))
    )
    run(Options(("fit",), None, 1, (1, 2), 150, False), path)
    assert load(path) == {
        Group("fit", 400, 1, "linear", 150): new,  # as a whole: no entry of the earlier run
        Group("fit", 5_000, 1, "linear", 150): [fit_entry(LINEAR, [2.0])],
        Group("fit", 400, 2, "linear", 150): new,
    }


def test_every_group_is_on_disk_before_the_next(tmp_path, monkeypatch):
    def measure(group, repeats, skip_slow):
        if group.rows == 5_000:
            raise KeyboardInterrupt
        return [fit_entry(LINEAR, [1.0])]

    monkeypatch.setitem(PARTS, "fit", type(PARTS["fit"])(measure, (400, 5_000)))
    with pytest.raises(KeyboardInterrupt):
        run(Options(("fit",), None, 1, (1,), 150, False), tmp_path / "speed.json")
    assert [group.rows for group in load(tmp_path / "speed.json")] == [400]


@pytest.mark.parametrize("other", [("Machine: ", "Machine: another "), ('"measured on"', '"by"')])
def test_results_of_another_machine_are_not_mixed(tmp_path, other):
    path = tmp_path / "speed.json"
    save(path, {})
    path.write_text(path.read_text().replace(*other))
    before = path.read_bytes()
    for what in (["--only", "pass", "--rows", "9"], ["--report-only"]):
        with pytest.raises(SystemExit, match="measured on another machine, or with other versions"):
            main([*what, "--out", str(tmp_path), "--store", str(tmp_path)])
    assert path.read_bytes() == before
    assert not (tmp_path / "speed.md").exists()


def test_the_machine_is_told_in_general_terms():
    assert os.uname().nodename not in measured_on()
    assert "/" not in measured_on()


def test_rows_are_float32_with_a_fifth_of_the_labels_flipped():
    for truth in data.TRUTHS:
        X, observed = data.training_rows(5_000, truth, 0)
        same, true = data.draw(5_000, truth, seed=0)
        assert X.dtype == np.float32
        np.testing.assert_array_equal(X, same)
        assert abs(np.mean(observed != true) - data.FLIPPED) < 0.02
        assert 0.4 < true.mean() < 0.6
        again, _ = data.training_rows(5_000, truth, 1)
        assert not np.array_equal(X, again)


def test_only_the_linear_truth_is_linear():
    errors = {}
    for truth in data.TRUTHS:
        model = LogisticRegression().fit(*data.draw(5_000, truth, seed=0))
        X, y = data.draw(5_000, truth, seed=1)
        errors[truth] = np.mean(model.predict(X) != y)
    assert errors["linear"] < 0.1
    assert errors["curved"] > 0.15


def test_forced_adaboost_is_adaboost_that_goes_on():
    X, y = data.training_rows(400, "linear", 0)
    natural = AdaBoostClassifier(LogisticRegression(), n_estimators=30).fit(X, y)
    n_kept = len(natural.estimators_)
    assert 1 < n_kept < 30
    forced = ForcedAdaBoost(30).fit(X, y)
    assert len(forced.estimators_) == 30
    assert_allclose(forced.steps_[:n_kept], natural.estimator_weights_[:n_kept], rtol=1e-4)
    np.testing.assert_array_equal(ForcedAdaBoost(n_kept).fit(X, y).predict(X), natural.predict(X))


def test_methods_are_built_with_rounds_and_threads():
    for name, method in METHODS.items():
        model = method.build(7, 2)
        rounds = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
        assert getattr(model, rounds) == (None if name == DEFAULT else 7)
        if name in (*OURS, DEFAULT, LIGHTGBM, XGBOOST):
            assert model.n_jobs == 2
    assert isinstance(METHODS[PAPER].build(7, 1), AdaRBoostClassifier)
    assert METHODS[POOL].build(7, 1).engines == "pool"


def test_slow_methods_are_skipped_or_sampled():
    names = (LINEAR, ADABOOST)
    assert list(chosen(names, 5_000, skip_slow=True)) == [LINEAR, ADABOOST]
    assert list(chosen(names, 100_000, skip_slow=True)) == [LINEAR]
    assert list(chosen(names, 100_000, skip_slow=False)) == [LINEAR, ADABOOST]
    assert METHODS[ADABOOST].rounds_run(100_000, 150) == 150
    assert METHODS[ADABOOST].rounds_run(1_000_000, 150) == 15
    assert METHODS[LINEAR].rounds_run(1_000_000, 150) == 150


def test_fewer_rounds_are_scaled_up_but_a_natural_stop_is_not():
    entries = [
        fit_entry(LINEAR, [2.0, 1.0]),
        fit_entry(ADABOOST, [4.0, 3.0], rounds=15),
        fit_entry(ADABOOST_NATURAL, [0.5], rounds=4, asked=150),
    ]
    assert at_equal_rounds(entries, LINEAR, 150) == 1.0
    assert at_equal_rounds(entries, ADABOOST, 150) == 30.0
    assert at_equal_rounds(entries, ADABOOST_NATURAL, 150) == 0.5
    assert at_equal_rounds(entries, XGBOOST, 150) is None


def test_equal_accuracy_takes_the_fewest_rounds_that_reach_it():
    entries = [
        *(
            fit_entry(LINEAR, [seconds], rounds, error=error)
            for rounds, seconds, error in ((10, 0.2, 12.0), (5, 0.1, 20.0), (20, 0.4, 9.0))
        ),
        fit_entry(LIGHTGBM, [2.0, 3.0], error=12.0),
        fit_entry(XGBOOST, [4.0], error=8.0),
    ]
    assert cheapest_as_accurate(entries, LINEAR, LIGHTGBM)["asked"] == 10
    assert until_as_accurate(entries, LINEAR, LIGHTGBM) == "10 rounds, 0.200 s, 10.0×"
    assert cheapest_as_accurate(entries, LINEAR, XGBOOST) is None
    assert until_as_accurate(entries, LINEAR, XGBOOST) == "not reached (9.00 % at best)"


@pytest.mark.parametrize("power", [0.5, 1.0, 1.3])
def test_slope_of_a_power_law(power):
    points = [(rows, 3e-6 * rows**power) for rows in (100_000, 250_000, 4_000_000)]
    assert_allclose(slope(points), power)
    assert slope(points[:1]) is None


def test_bounds_of_a_target():
    at_least = Target("", lambda results: None, at_least=2)
    at_most = Target("", lambda results: None, at_most=50, unit=" µs")
    between = Target("", lambda results: None, 0.9, 1.1, "")
    assert [t.asked() for t in (at_least, at_most, between)] == ["≥ 2×", "≤ 50 µs", "0.9–1.1"]
    no, yes = "**no**", "yes"
    assert [at_least.verdict(v) for v in (1.9, 2, 3)] == [no, yes, yes]
    assert [at_most.verdict(v) for v in (49, 50, 51)] == [yes, yes, no]
    assert [between.verdict(v) for v in (0.8, 1.0, 1.2)] == [no, yes, no]
    allowed = Target("", lambda results: None, at_least=3, allowance=1.5)
    assert [allowed.verdict(v) for v in (1.9, 2, 3)] == [no, "within 1.5×", yes]


def whole_results(ours):
    """Every group that a target reads; our time at n rows is ``ours`` × n nanoseconds."""
    results = {}

    def put(part, rows, entries, threads=1, truth="linear"):
        results[Group(part, rows, threads, truth, 150)] = entries

    def timed(method, seconds):
        return {"method": method, "seconds": [seconds]}

    for rows in FIT_TARGETS:
        put(
            "fit",
            rows,
            [fit_entry(name, [ours * rows * 1e-9, 9.0]) for name in (LINEAR,)]
            + [fit_entry(peer, [100e-9 * rows, 9.0]) for peer in (ADABOOST, *TREE_PEERS)],
        )
    for threads in (1, 2):
        for rows in (100_000, 1_000_000, 4_000_000):
            put("scaling", rows, [fit_entry(LINEAR, [ours * rows * 1e-9 / threads])], threads)
    speeds = ((bandwidth.STREAM, 1e10), (bandwidth.PASS, 8e9))
    put(
        "pass",
        1_000_000,
        [{"method": m, "bytes_per_second": s} for m, s in speeds],
    )
    put("memory", 1_000_000, [{"method": LINEAR, "bytes": 88_000_000, "copy": 80_000_000}])
    put("predict", 1_000_000, [timed(LINEAR, 0.1), timed(LIGHTGBM, 3.0)])
    put("predict", 1, [timed(LINEAR, 5e-4)])
    put("trees", 100_000, [fit_entry(POOL, [5.0]), fit_entry(LIGHTGBM, [2.0])], truth="curved")
    for rows in DEFAULT_TARGETS:
        entries = [
            fit_entry(name, [seconds, 99.0]) | {PREDICTION: [seconds / 2, 99.0]}
            for name, seconds in ((DEFAULT, 3.0), (LIGHTGBM, 1.0))
        ]
        put("default", rows, entries, truth="curved")
    million = {"method": DEFAULT, "seconds": [200.0], "bytes": 240, "copy": 160, "process": 2**30}
    put("million", 1_000_000, [million], threads=2, truth="curved")
    return results


def test_the_peak_of_a_fit_is_that_of_its_own_process():
    held = np.ones(30_000_000)  # a process that is started here begins with a peak as high
    code = "import numpy as np; from benchmarks.speed.million import _peak; before = _peak()\n"
    code += "held = np.ones(10_000_000); print(_peak() - before)"
    grown = int(subprocess.check_output([sys.executable, "-c", code]))
    assert 0.9 * 80e6 < grown < held.nbytes / 2


def test_targets_are_read_from_minima():
    values = {target.what: target.read(whole_results(ours=1)) for target in TARGETS}
    assert None not in values.values()
    fitted = [value for what, value in values.items() if f"/ {LINEAR}" in what and "fit" in what]
    assert_allclose(fitted, [100] * 12)
    rest = [value for what, value in values.items() if f"/ {LINEAR}" not in what]
    assert_allclose(rest, [2, 80, 1.1, 0.5, 1, 2.5, *[3] * 6, 200, 1.5])
    assert_allclose(values[f"predict 1,000,000 rows: LightGBM / {LINEAR}"], 30)
    fast, slow = (target_table(whole_results(ours)) for ours in (1, 50))
    assert "**no**" not in fast
    assert slow.count("**no**") == 12
    assert target_table({}).count("not measured") == len(TARGETS)


def test_the_page_of_numbers_made_by_hand(tmp_path):
    results = whole_results(ours=1)
    text = page(results, 150)
    assert draw(results, 150).startswith(b"\x89PNG")
    assert f"| **{LINEAR}** | 4.00e-07 | 5.00e-06 | 0.000100 | 0.00100 |" in text
    assert "| LightGBM | 100 | 100 | 100 | 100 |" in text
    assert "| 1,000,000 rows | 10.0 | 8.00 | 0.800 |" in text
    assert "| 1,000,000 rows, 2 threads | 200 | 1.50 | 1.00 |" in text
    assert f"| **{DEFAULT}** | 3.00 | 3.00 | 3.00 |" in text
    assert f"Slope of log time over log rows: 1.00 ({LINEAR})" in text
    assert text.count("Not measured.") == 1  # accuracy
    assert "Fewer rounds" not in text


def test_the_page_says_what_was_not_measured(tmp_path):
    text = page({}, 150)
    assert text.count("Not measured.") == len(PARTS)
    assert draw({}, 150).startswith(b"\x89PNG")
    results = {
        Group("fit", 400, 1, "linear", 150): [
            fit_entry(LINEAR, [1.0]),
            fit_entry(ADABOOST, [1.0], rounds=15),
            fit_entry(ADABOOST_NATURAL, [1.0], rounds=1, asked=150),
        ],
        Group("memory", 400, 1, "linear", 150): [{"method": LINEAR, "bytes": None, "copy": 1}],
    }
    text = page(results, 150)
    assert f"- {ADABOOST}, 400 rows: 15 rounds of 150; scaled up." in text
    assert f"- {ADABOOST_NATURAL}, 400 rows: 1 round of 150; the time is that of these." in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.01234, "0.0123"), (1.0, "1.00"), (99.95, "100"), (1234.5, "1,234")],
)
def test_numbers_have_three_figures(value, shown):
    assert figure(value) == shown


def test_what_the_native_core_offers_is_timed(monkeypatch):
    X, _ = data.draw(100, "linear", seed=0)
    assert native.stream_bandwidth(X, 3) > 0
    fused = native.fused_pass(X)
    for _ in range(2):
        assert np.isfinite(fused.run()).all()
    assert fused.n_bytes > X.nbytes
    monkeypatch.setattr(switch, "compiled", lambda: None)
    assert native.fused_pass(X) is None


@pytest.mark.skipif(not memory.RESET.exists(), reason="needs Linux")
def test_peak_memory_is_that_of_the_fit(monkeypatch):
    class Hungry:
        def fit(self, X, y):
            block = np.ones(64 * 2**20, dtype=np.uint8)  # gone before the fit ends
            return len(block)

    monkeypatch.setattr(memory, "warm_up", lambda name, threads: None)
    method = type(METHODS[LINEAR])(lambda rounds, threads: Hungry())
    monkeypatch.setitem(METHODS, LINEAR, method)
    peak = memory.peak_above_input(LINEAR, 100, 1, 1, "linear")
    if peak is None:
        pytest.skip("the peak cannot be started anew here")
    assert math.isclose(peak, 64 * 2**20, rel_tol=0.1)
