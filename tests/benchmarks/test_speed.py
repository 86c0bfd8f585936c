"""The speed benchmark: turns, results that are merged, readings, targets and the page."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from benchmarks.memory import RESET
from benchmarks.pages import HEADING
from benchmarks.speed import (
    audits,
    bandwidth,
    data,
    fits,
    memory,
    native,
    prediction,
    starts,
    timing,
)
from benchmarks.speed.__main__ import (
    PARTS,
    QUICK_ROWS,
    Options,
    Part,
    groups,
    main,
    parse,
    run,
)
from benchmarks.speed.bandwidth import PASS
from benchmarks.speed.figure import draw
from benchmarks.speed.groups import Group, load, measured_on, save
from benchmarks.speed.layout import figure
from benchmarks.speed.methods import (
    ADABOOST,
    DEFAULT,
    HISTOGRAM,
    LIGHTGBM,
    LINEAR,
    METHODS,
    WORDS,
    XGBOOST,
)
from benchmarks.speed.prediction import AS_MANY, BATCH_ROWS
from benchmarks.speed.processes import ROOT, alone
from benchmarks.speed.readings import (
    best_stream,
    bytes_per_second,
    cheapest_as_accurate,
    peak_in_tables,
    seconds,
    slope,
)
from benchmarks.speed.report import SECTIONS, page, target_table
from benchmarks.speed.sections import until_as_accurate
from benchmarks.speed.targets import (
    AUDIT_GOALS,
    CLASS_GOALS,
    DEFAULT_GOALS,
    ONE_ROW_GOALS,
    PAIR_GOALS,
    TARGETS,
    Target,
)
from benchmarks.speed.timing import Times, default_repeats, interleaved, timed
from rboost import RBoostClassifier
from rboost import native as switch


def same_process(function, *arguments):
    return function(*arguments)


@pytest.fixture
def tiny(monkeypatch):
    """Everything so small that a run takes seconds, and most of it in this process."""
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)  # slow beside hundreds of test modules
    for name in ("TEST_ROWS", "TEST_ROWS_OF_MANY"):
        monkeypatch.setattr(data, name, 100)
    monkeypatch.setattr(fits, "WARM_UP_ROWS", 50)
    monkeypatch.setattr(prediction, "BATCH_ROWS", 200)
    monkeypatch.setattr(prediction, "CALLS_OF_ONE_ROW", 2)
    monkeypatch.setattr(memory, "MEASURED", (HISTOGRAM,))
    monkeypatch.setattr(memory, "alone", same_process)
    monkeypatch.setattr(audits, "alone", same_process)
    monkeypatch.setattr(audits, "WARM_UP_ROWS", 60)

    monkeypatch.setattr(starts, "_task", lambda *arguments: lambda repeat: lambda: None)


def entry(method, cpu, wall=None, **more):
    return {"method": method, "cpu": cpu, "wall": cpu if wall is None else wall, **more}


def fit_entry(method, cpu, rounds=150, asked=None, errors=(10.0,)):
    asked = rounds if asked is None else asked
    return entry(method, cpu, asked=asked, rounds=rounds, errors=list(errors))


def group(part, rows, truth="curved", threads=1, classes=2):
    return Group(part, rows, threads, truth, 150, classes)


@pytest.mark.slow
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
    for name in (*METHODS, AS_MANY, PASS):
        assert name in text
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")
    results = load(tmp_path / "speed.json")
    assert {group.part for group in results} == set(PARTS)
    assert {group.rows for group in results} == {0, 60}
    for group, entries in results.items():
        repeats = bandwidth.TIMES_MORE_REPEATS if group.part == "pass" else 1
        assert all(len(e["cpu"]) == len(e["wall"]) == repeats for e in entries)
        assert all(min(e["cpu"]) >= 0 and min(e["wall"]) >= 0 for e in entries)
        if group.part in fits.FITTED:
            assert {e["method"] for e in entries} == set(fits.FITTED[group.part])
            assert all(e["rounds"] <= e["asked"] for e in entries if e["method"] == LINEAR)
            assert all(0 <= error <= 100 for e in entries for error in e["errors"])
            is_judged = group.part in ("accuracy", "classes", "texts")
            assert all(len(e["errors"]) == is_judged for e in entries)
    main(["--report-only", "--rounds", "3", *folders])
    again = (tmp_path / "speed.md").read_text()
    assert again.partition(HEADING)[0] == text.partition(HEADING)[0]


def test_methods_take_turns(monkeypatch):
    done, prepared = [], []
    wall, cpu = iter(range(100)), iter(range(0, 300, 3))
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(wall))
    monkeypatch.setattr(timing, "cpu_seconds", lambda: next(cpu))

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
    assert [times for _, _, times, _ in found] == [Times(3, 1)] * 6  # only the call is timed


def test_cpu_time_is_that_of_processes_too():
    """A loop that reads its own CPU time, so that a slow machine changes nothing."""
    code = "import time\nwhile time.process_time() < 0.2: pass"
    times, _ = timed(lambda: subprocess.run([sys.executable, "-c", code], check=True))
    assert times.cpu >= 0.19


def test_larger_tables_are_repeated_less():
    sizes = (0, 400, 5_000, 100_000, 1_000_000)
    assert [default_repeats(rows) for rows in sizes] == [20, 20, 5, 3, 2]


def test_without_arguments_all_is_measured():
    options, given = parse([])
    assert given.out.as_posix() == "docs/speed"
    threads = tuple(dict.fromkeys((1, os.cpu_count())))
    assert options == Options(tuple(PARTS), None, None, threads, 150)
    wanted = list(groups(options))
    assert len(set(wanted)) == len(wanted)
    sizes = {name: {g.rows for g in wanted if g.part == name} for name in PARTS}
    assert sizes["default"] == set(DEFAULT_GOALS)
    assert sizes["pair"] == set(PAIR_GOALS)
    assert sizes["predict"] == set(ONE_ROW_GOALS)
    assert sizes["audit"] == set(AUDIT_GOALS)
    assert {(g.rows, g.classes) for g in wanted if g.part == "classes"} == set(CLASS_GOALS)
    assert {g.truth for g in wanted if g.part == "accuracy"} == {"linear", "curved"}
    assert {g.threads for g in wanted if g.part == "scaling"} == set(threads)
    assert {g.threads for g in wanted if g.part != "scaling"} == {1}


def test_options_narrow_a_run(tmp_path):
    given = ["--only", "predict", "--rows", "7", "--threads", "3", "3", "--repeats", "4"]
    options, parsed = parse([*given, "--out", str(tmp_path)])
    assert options == Options(("predict",), (7,), 4, (3,), 150)
    assert parsed.out == tmp_path
    assert [g.rows for g in groups(options)] == [7]
    quick, _ = parse(["--quick", "--out", str(tmp_path)])
    assert {g.rows for g in groups(quick)} == {0, *QUICK_ROWS}
    assert quick.repeats == 2
    own, _ = parse(["--quick", "--rows", "9", "--repeats", "1", "--out", str(tmp_path)])
    assert (own.rows, own.repeats) == ((9,), 1)


def test_few_rows_have_few_classes():
    options, _ = parse(["--only", "classes", "--rows", "60", "800", "5000"])
    found = [(g.rows, g.classes) for g in groups(options)]
    assert found == [(60, 3), (800, 8), (5_000, 10), (5_000, 50)]


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
    first, second = group("pair", 400), group("pair", 5_000)
    old = {
        first: [fit_entry(LINEAR, [1.0]), fit_entry(XGBOOST, [3.0])],
        second: [fit_entry(LINEAR, [2.0])],
    }
    save(path, old)
    new = [fit_entry(LINEAR, [0.5])]
    part = Part(lambda group, repeats: new, ((400, 2),), each_threads=True)
    monkeypatch.setitem(PARTS, "pair", part)
    run(Options(("pair",), None, 1, (1, 2), 150), path)
    assert load(path) == {
        first: new,  # as a whole: no entry of the earlier run
        second: [fit_entry(LINEAR, [2.0])],
        group("pair", 400, threads=2): new,
    }


def test_every_group_is_on_disk_before_the_next(tmp_path, monkeypatch):
    def measure(group, repeats):
        if group.rows == 5_000:
            raise KeyboardInterrupt
        return [fit_entry(LINEAR, [float(repeats)])]

    monkeypatch.setitem(PARTS, "pair", Part(measure, ((400, 2), (5_000, 2)), most_repeats=3))
    with pytest.raises(KeyboardInterrupt):
        run(Options(("pair",), None, None, (1,), 150), tmp_path / "speed.json")
    assert load(tmp_path / "speed.json") == {group("pair", 400): [fit_entry(LINEAR, [3.0])]}


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
    for truth in data.TWO_CLASSES:
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
    for truth in data.TWO_CLASSES:
        model = LogisticRegression().fit(*data.draw(5_000, truth, seed=0))
        X, y = data.draw(5_000, truth, seed=1)
        errors[truth] = np.mean(model.predict(X) != y)
    assert errors["linear"] < 0.1
    assert errors["curved"] > 0.15


def test_classes_are_told_apart_and_as_frequent():
    for truth, classes in (("clouds", 50), ("texts", 4)):
        X, observed = data.training_rows(2_000, truth, 0, classes)
        _, true = data.draw(2_000, truth, 0, classes)
        assert len(X) == 2_000
        assert set(np.bincount(true)) == {2_000 // classes}
        assert abs(np.mean(observed != true) - data.FLIPPED) < 0.03
        model = METHODS[WORDS](1, 1) if truth == "texts" else LogisticRegression(max_iter=1000)
        X_test, y_test = data.clean_rows(truth, classes)
        assert np.mean(model.fit(X, true).predict(X_test) != y_test) < 0.25


def test_a_mixed_table_has_columns_of_all_kinds():
    table = data.mixed_table(500, 0)
    columns = table.drop(columns=data.LABEL)
    assert columns.shape == (500, data.N_FEATURES)
    assert columns["number 3"].isna().any()
    assert columns["note"].nunique() > 300
    assert set(table[data.LABEL]) == {"yes", "no"}
    assert table.equals(data.mixed_table(500, 0))


def test_methods_are_built_with_rounds_and_threads():
    for name, build in METHODS.items():
        model = build(7, 2)
        if name != WORDS:
            rounds = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
            assert getattr(model, rounds) == (None if name == DEFAULT else 7)
        if name in (DEFAULT, LINEAR, LIGHTGBM, XGBOOST):
            assert model.n_jobs == 2


def test_learners_of_all_folds_are_counted():
    X, y = data.training_rows(400, "linear", 0)
    pool = RBoostClassifier(engines="pool", max_iter=7, random_state=0).fit(X, y)
    assert 3 < native.n_learners(pool) <= 7  # learners that are no good are not kept
    trees = RBoostClassifier(engines="trees", max_iter=3, random_state=0).fit(X, y)
    n_folds = native.n_learners(trees) / trees.n_iter_
    assert n_folds > 1
    assert n_folds == int(n_folds)


def test_equal_accuracy_takes_the_fewest_rounds_that_reach_it():
    entries = [
        *(
            fit_entry(LINEAR, [cpu], rounds, errors=[error])
            for rounds, cpu, error in ((10, 0.2, 12.0), (5, 0.1, 20.0), (20, 0.4, 9.0))
        ),
        fit_entry(LIGHTGBM, [2.0, 3.0], errors=[11.0, 13.0]),
        fit_entry(XGBOOST, [4.0], errors=[8.0]),
    ]
    assert cheapest_as_accurate(entries, LINEAR, LIGHTGBM)["asked"] == 10
    assert until_as_accurate(entries, LINEAR, LIGHTGBM) == "10 rounds, 10.0×"
    assert cheapest_as_accurate(entries, LINEAR, XGBOOST) is None
    assert until_as_accurate(entries, LINEAR, XGBOOST) == "not reached (9.00 %)"
    assert until_as_accurate(entries, LINEAR, HISTOGRAM) == "–"


@pytest.mark.parametrize("power", [0.5, 1.0, 1.3])
def test_slope_of_a_power_law(power):
    points = [(rows, 3e-6 * rows**power) for rows in (100_000, 250_000, 4_000_000)]
    assert_allclose(slope(points), power)
    assert slope(points[:1]) is None


def test_bounds_of_a_target():
    at_least = Target("", lambda results: None, 2, "×", at_least=True)
    at_most = Target("", lambda results: None, 0.5, " ms")
    assert [t.asked() for t in (at_least, at_most)] == ["≥ 2×", "≤ 0.5 ms"]
    no, yes = "**no**", "yes"
    assert [at_least.verdict(v) for v in (1.9, 2, 3)] == [no, yes, yes]
    assert [at_most.verdict(v) for v in (0.4, 0.5, 0.6)] == [yes, yes, no]


def whole_results(ours):
    """Every group of a run: peers take a second, ours so many, by CPU; walls are twice as long."""

    def timed(method, cpu, **more):
        return entry(method, [cpu, 1e6], [2 * cpu, 1e6], **more)

    def fits_of(part, classes):
        own = {"asked": 150, "rounds": 150, "errors": [8.0] if classes > 2 else []}
        return [timed(name, ours if "rBoost" in name else 1.0, **own) for name in fits.FITTED[part]]

    results = {}
    for group in groups(parse(["--threads", "1", "2"])[0]):
        if group.part == "accuracy":
            results[group] = [
                fit_entry(name, [1.0], rounds)
                for name in fits.FITTED["accuracy"]
                for rounds in ((5, 150) if name == LINEAR else (150,))
            ]
        elif group.part in fits.FITTED:
            results[group] = fits_of(group.part, group.classes)
        elif group.part == "memory":
            results[group] = [
                timed(name, 1.0, table=100, peak=100 * ours) for name in memory.MEASURED
            ]
        elif group.part == "predict":
            results[group] = [
                timed(name, 1e-3 * ours * n**0.5, predicted=n, learners=200)
                for name in (DEFAULT, AS_MANY)
                for n in (1, BATCH_ROWS)
            ]
        elif group.part == "audit":
            results[group] = [timed(audits.AUDIT, ours)]
            results[group] += [timed(audits.MODEL_FILE, ours / 10, bytes=5e5 * ours)]
        elif group.part == "start":
            names = (starts.NO_FILE, starts.NO_COLUMN, starts.IMPORT, starts.NOTHING)
            results[group] = [timed(name, ours / 4) for name in names]
        else:
            results[group] = [
                timed("sum", 1.0, bytes=4e9),
                timed("maximum", 0.5, bytes=4e9),
                timed(PASS, 1.0, bytes=6e9),
            ]
    return results


def test_targets_are_read_from_minima_of_cpu_time():
    values = [target.read(whole_results(ours=0.5)) for target in TARGETS]
    shares = [0.5] * 5 + [2.0] * 4 + [0.5] * 2 + [0.5] * 2
    assert_allclose(values[:13], shares)
    assert_allclose(values[13:17], [0.5, 0.5, 1, 1])
    assert_allclose(values[17:], [0.5, 0.5, 0.5, 0.05, 0.25, *[0.125] * 3, 0.5])
    assert target_table(whole_results(ours=0.01)).count("yes") == len(TARGETS)
    slow = target_table(whole_results(ours=100))
    assert slow.count("**no**") == len(TARGETS) - len(ONE_ROW_GOALS)
    assert target_table({}).count("not measured") == len(TARGETS)


def test_the_page_of_numbers_made_by_hand():
    results = whole_results(ours=0.5)
    text = page(results, 150)
    assert draw(results, 150).startswith(b"\x89PNG")
    assert "Not measured." not in text
    assert text.count("\n## ") == len(SECTIONS) + 1
    assert f"| **{LINEAR}** |" + " 0.500 (1.00) |" * 4 in text
    assert f"| LightGBM / **{LINEAR}** |" + " 2.00× |" * 4 in text
    assert f"| **{DEFAULT}** | 0.500 tables |" in text
    assert f"| **{DEFAULT}**, test error | 8.00 % | 8.00 % |" in text
    assert f"| **{DEFAULT}**, 1 row | 0.500 (1.00) | 0.500 (1.00) |" in text
    assert f"| {AS_MANY}, learners | 200 | 200 |" in text
    assert "| model file, size | 0.250 MB | 0.250 MB | 0.250 MB |" in text
    assert "| Python alone | 0.125 (0.250) |" in text
    assert "| LightGBM | 5 rounds, 1.00× | 5 rounds, 1.00× | 5 rounds, 1.00× |" in text
    assert f"| **{LINEAR}**, 2 threads |" + " 0.500 (1.00) |" * 3 + " 0.00 |" in text
    assert f"| {PASS} / the fastest way to read | 0.750 |" in text
    assert ", rounds |" not in text  # all ran as many as they were asked for


def test_the_page_says_what_was_not_measured():
    text = page({}, 150)
    assert text.count("Not measured.") == len(SECTIONS)
    assert draw({}, 150).startswith(b"\x89PNG")
    results = {
        group("pair", 400, "linear"): [fit_entry(ADABOOST, [1.0], rounds=4, asked=150)],
        group("memory", 400): [entry(LINEAR, [1.0], table=1, peak=None)],
    }
    text = page(results, 150)
    assert f"| {ADABOOST}, rounds | 4 |" in text
    assert f"| **{LINEAR}**, s | 1.00 (1.00) |" in text
    assert f"| **{LINEAR}** | " not in text  # no peak
    assert "nan" not in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (0.01234, "0.0123"), (1.0, "1.00"), (99.95, "100"), (1234.5, "1,234"),
        (4, "4"), (1234, "1,234"),
    ],
)  # fmt: skip
def test_numbers_have_three_figures(value, shown):
    assert figure(value) == shown


def test_every_way_to_read_reads_all():
    X, _ = data.draw(3 * bandwidth.BLOCK // 80 + 7, "linear", seed=0)
    flat = X.reshape(-1)
    ways = {name: read() for name, read in bandwidth.ways_to_read(X).items()}
    assert_allclose(ways["dot product"], np.square(flat, dtype=np.float64).sum(), rtol=1e-3)
    assert_allclose(ways["sum"], flat.sum())
    assert ways["maximum"] == flat.max()
    assert ways["bitwise or"] == np.bitwise_or.reduce(flat.view(np.uint64))
    n_last = flat.size % len(ways["copy into the cache"])
    np.testing.assert_array_equal(ways["copy into the cache"][:n_last], flat[-n_last:])


def test_the_fastest_way_to_read_counts():
    entries = [
        entry("sum", [3.0, 2.0], bytes=10),
        entry("maximum", [1.0, 2.0], [8.0, 9.0], bytes=10),
        entry(PASS, [0.1], bytes=10),
    ]
    assert best_stream(entries) == entries[1]
    assert [bytes_per_second(each) for each in entries] == [5, 10, 100]
    assert seconds(entries[1], "wall") == 8
    assert best_stream(entries[2:]) is None


def test_the_pass_of_the_native_core_is_timed(monkeypatch):
    X, _ = data.draw(100, "linear", seed=0)
    fused = native.fused_pass(X)
    for _ in range(2):
        assert np.isfinite(fused.run()).all()
    assert fused.n_bytes > X.nbytes
    monkeypatch.setattr(switch, "compiled", lambda: None)
    assert native.fused_pass(X) is None


def test_a_function_is_called_in_a_process_of_its_own():
    assert alone(math.gcd, 12, 18) == 6
    assert alone(os.getpid) != os.getpid()
    assert alone(print, "not JSON") is None  # the last line is what it returns


def test_commands_that_end_otherwise_are_no_measurement():
    starts._task(["raise SystemExit(2)"], 2)(0)()
    with pytest.raises(RuntimeError, match="code 3, not 0: said"):
        starts._task(["import sys; sys.stderr.write('said'); sys.exit(3)"])(0)()


def test_a_command_that_fails_at_once_is_timed(tmp_path):
    arguments = (starts.COMMAND, "audit", str(tmp_path / "none.csv"), "--label", "a")
    starts._task(arguments, starts.FAILED)(0)()
    assert list(tmp_path.iterdir()) == []


HUNGRY = """
import json
import numpy as np
from benchmarks.speed import memory
from benchmarks.speed.methods import LINEAR, METHODS

class Hungry:
    def fit(self, X, y):
        block = np.ones(64 * 2**20, dtype=np.uint8)  # gone before the fit ends
        return len(block)

memory.warm_up = lambda name, group: None
METHODS[LINEAR] = lambda rounds, threads: Hungry()
held = np.ones(128 * 2**20, dtype=np.uint8)  # what came before is no part of it
del held
asked = {"part": "memory", "rows": 1_000, "threads": 1, "truth": "linear", "rounds": 150}
print(json.dumps(memory.fit_alone(LINEAR, asked)))
"""


@pytest.mark.skipif(not RESET.exists(), reason="needs Linux")
def test_peak_memory_is_that_of_the_fit():
    """In a process of its own, as the benchmark measures it: a long one has free memory."""
    found = json.loads(subprocess.check_output([sys.executable, "-c", HUNGRY], cwd=ROOT, text=True))
    if found["peak"] is None:
        pytest.skip("the peak cannot be started anew here")
    assert found["table"] == 4 * data.N_FEATURES * 1_000
    assert math.isclose(found["peak"], 64 * 2**20, rel_tol=0.1)
    assert math.isclose(peak_in_tables(found), found["peak"] / found["table"])
    assert len(found["cpu"]) == len(found["wall"]) == 1
