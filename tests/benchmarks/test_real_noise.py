"""Labels that were really wrong: how tables are cut, what is measured, how answers are counted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier

from benchmarks.real_noise import jobs, methods, review
from benchmarks.real_noise.__main__ import main
from benchmarks.real_noise.jobs import WORK, Job, Options
from benchmarks.real_noise.measures import as_many_as_believed, average_precision, quality, rates
from benchmarks.real_noise.methods import (
    FOREST,
    FOREST_RANKINGS,
    METHODS,
    RANKINGS,
    RBOOST,
    RBOOST_TOLD,
)
from benchmarks.real_noise.report import page
from benchmarks.real_noise.review import OURS, RANDOM, REVIEWS, STAGES
from benchmarks.real_noise.summary import answers_needed, curve, gap_closed
from benchmarks.real_noise.tables import COLLECTIONS, Halves, cut, data_fingerprint, load
from rboost.audit import audit_labels
from rboost.audit.labels import NO_LABEL


@pytest.fixture
def table():
    """120 rows of two columns whose class 1 is often missed."""
    random = np.random.RandomState(0)
    X = random.standard_normal((120, 2))
    true = (X[:, 0] + 0.3 * random.standard_normal(120) > 0.5).astype(int)
    flipped = random.uniform(size=120) < np.where(true == 1, 0.3, 0.05)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "given": true ^ flipped, "true": true})


@pytest.fixture
def small_forest(monkeypatch):
    for module in (methods, review):
        monkeypatch.setattr(
            module, "forest", lambda seed: RandomForestClassifier(10, random_state=seed)
        )


@pytest.fixture
def data(table, tmp_path):
    """A folder with both collections, each of the same two tables, one of them in another order."""
    folder = tmp_path / "data"
    (folder / "real_noise").mkdir(parents=True)
    for name in COLLECTIONS:
        tables = {f"{name} B": table, f"{name} A": table[::-1]}
        rows = pd.concat([one.assign(table=key) for key, one in tables.items()])
        rows.to_csv(folder / "real_noise" / f"{name}.csv.gz", index=False)
    return folder


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_tables_of_a_collection_are_apart(name, data, table):
    tables = load(data, name)
    assert list(tables) == [f"{name} A", f"{name} B"]
    read = tables[f"{name} B"].reset_index(drop=True)
    pd.testing.assert_frame_equal(read, table, check_exact=False, rtol=1e-15)


def test_data_that_is_not_there_is_explained(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--data", str(tmp_path), "--out", str(tmp_path / "out")])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "real_noise" / "defects.csv.gz") in line
    assert "Herbold et al., as prepared in the GitHub repository sticeran/NoiseDetection" in line
    assert "Fan et al., YuanruiZJU/SZZ-TSE" in line


def test_a_cut_keeps_verified_labels_from_the_learner(table):
    halves = cut(table, 0)
    assert list(halves.X) == list(halves.X_test) == ["a", "b"]
    assert len(halves.X) == len(halves.X_test) == 60
    rows = pd.concat([halves.X, halves.X_test])
    assert set(rows["a"]) == set(table["a"])
    assert abs(halves.true.sum() - halves.y_test.sum()) <= 1
    original = table.set_index("a").loc[halves.X["a"]]
    assert_array_equal(halves.given, original["given"])
    assert_array_equal(halves.wrong, original["given"] != original["true"])
    other = cut(table, 1)
    assert not other.X.equals(halves.X)


def test_the_noise_of_a_half_is_counted():
    given, true = np.array([0, 0, 0, 1, 1, 0]), np.array([0, 0, 0, 0, 1, 1])
    none = pd.DataFrame()
    noise = Halves(none, given, true, none, true).noise_matrix
    assert_allclose(noise, [[0.75, 0.25], [0.5, 0.5]])
    # The first interval holds its rate, the second does not.
    interval = np.array([[[0, 0.2], [0.6, 0]], [[1, 0.3], [0.7, 1]]])
    record = rates(np.array([[0.9, 0.1], [0.65, 0.35]]), interval, noise)
    assert record == {
        "0 to 1 true": 0.25, "0 to 1 held": True, "0 to 1 estimated": 0.1,
        "1 to 0 true": 0.5, "1 to 0 held": False, "1 to 0 estimated": 0.65,
    }  # fmt: skip


def test_measures_by_hand():
    true, probability = np.array([1, 0, 1, 0, 0]), np.array([0.9, 0.3, 0.4, 0.0, 0.6])
    assert_array_equal(as_many_as_believed(probability), [1, 0, 0, 0, 1])  # they sum to 2.2
    record = quality(probability, true)
    assert_allclose(record["log loss"], -np.log([0.9, 0.7, 0.4, 0.999, 0.4]).mean(), atol=1e-12)
    assert_allclose(record["AUC"], 5 / 6)
    # One true positive, one false, one missed, two true negatives.
    assert_allclose(record["MCC"], (1 * 2 - 1 * 1) / np.sqrt(2 * 2 * 3 * 3))
    assert quality(np.full(5, 0.01), true)["MCC"] == 0
    assert_allclose(average_precision(np.array([3, 2, 1]), np.array([1, 0, 1])), (1 + 2 / 3) / 2)
    assert np.isnan(average_precision(np.array([3, 2]), np.array([0, 0])))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_as_many_positives_as_believed_are_the_likeliest(numbers):
    probability = np.array(numbers)
    decided = as_many_as_believed(probability) == 1
    assert decided.sum() == round(probability.sum())
    if decided.any() and not decided.all():
        assert probability[decided].min() >= probability[~decided].max()


@given(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), st.integers(0, 3), st.floats(0, 1))
def test_answers_needed_are_interpolated(drops, k, between):
    losses = 10 - np.concatenate([[0.0], np.cumsum(drops)])
    target = (1 - between) * losses[k] + between * losses[k + 1]
    expected = (1 - between) * STAGES[k] + between * STAGES[k + 1]
    for sign in (1, -1):
        needed = answers_needed(sign * losses, sign * target, less_is_better=sign == 1)
        assert_allclose(needed, expected, atol=1e-9)


def test_answers_needed_of_curves_that_turn_or_never_arrive():
    assert answers_needed([5, 4, 4.5, 3, 3], 4.2, less_is_better=True) == pytest.approx(20)
    assert answers_needed([5, 4, 4, 4, 4], 3, less_is_better=True) == np.inf
    assert answers_needed([5, 4, 4, 4, 4], 6, less_is_better=True) == 0
    assert gap_closed(0.3, 0.4, 0.2) == pytest.approx(0.5)


def test_soft_labels_learn_from_answers():
    random = np.random.RandomState(0)
    scores, given = random.standard_normal(400), random.randint(0, 2, 400)
    true = np.where(given == 1, (scores > 0).astype(int), 0)  # half of the labels 1 are wrong
    checked = np.where(np.arange(400) < 150, true, NO_LABEL)
    soft = review.soft_labels(scores, given, checked)
    assert_array_equal(soft[:150], true[:150])
    rest = np.arange(400) >= 150
    assert soft[rest & (given == 1) & (scores < -0.5)].max() < 0.5
    assert soft[rest & (given == 1) & (scores > 0.5)].min() > 0.5
    one_class = np.where((checked == 0), 0, NO_LABEL)
    assert_array_equal(review.soft_labels(scores, given, one_class)[given == 1].max(), 1)


@pytest.mark.parametrize("name", REVIEWS)
def test_a_reviewer_answers_each_row_once(name, table, small_forest, monkeypatch):
    monkeypatch.setattr(review, "STAGES", (0, 25, 200))
    asked = []

    def spy(X, y, *, y_checked, **options):
        asked.append(np.array([label is not None for label in y_checked]))
        is_right = np.array(y_checked)[asked[-1]] == halves.true[asked[-1]]
        assert is_right.all() or (name == review.RANDOM_ERRS and is_right.mean() > 0.7)
        return audit_labels(X, y, y_checked=y_checked, model="linear", **options)

    monkeypatch.setattr(review, "audit_labels", spy)
    halves = cut(table, 0)
    stages = REVIEWS[name].run(halves, 0)["stages"]
    assert [stage["answers"] for stage in stages] == [0, 25, 40]  # 20 of 60 stay unchecked
    found = [stage["found"] for stage in stages]
    assert found == sorted(found)
    assert found[0] == 0
    assert found[-1] <= halves.wrong.sum()
    if asked:
        assert not np.any(asked[1] & ~asked[2])  # no answer is forgotten


def test_orders_put_wrong_labels_first_or_anywhere(table, small_forest):
    halves = cut(table, 0)
    probability = methods.out_of_fold(halves, 0)
    confidence = methods.self_confidence(probability, halves.given)
    assert_allclose(confidence, np.where(halves.given == 1, 1 - probability, probability))
    issues = methods.cleanlab_order(probability, halves.given)
    assert set((issues - confidence).round(9)) <= {0.0, 1.0}
    order = review.random_order(halves, 3)
    assert sorted(order) == list(range(60))


def test_keys_change_with_the_data_and_ours_with_the_code_of_the_package(data, monkeypatch):
    names, options = (FOREST, RBOOST, OURS), Options(data)
    keys = [Job("defects", "A", 0, name).key(options) for name in names]
    assert len(set(keys)) == 3
    monkeypatch.setattr(jobs, "code_fingerprint", lambda module: "other")
    after = [Job("defects", "A", 0, name).key(options) for name in names]
    assert [a == b for a, b in zip(after, keys, strict=True)] == [True, False, False]
    assert Job("commits", "A", 0, FOREST).key(options) != keys[0]
    file = data / "real_noise" / "defects.csv.gz"
    file.write_bytes(file.read_bytes() + b"\0")
    data_fingerprint.cache_clear()
    assert Job("defects", "A", 0, FOREST).key(options) != keys[0]


def test_what_is_run(data):
    wanted = list(jobs.jobs(Options(data, n_tables=2, repeats=3)))
    assert len(wanted) == len(COLLECTIONS) * 2 * 3 * len(METHODS)
    assert {job.name for job in jobs.jobs(Options(data, n_tables=1, review=True))} == set(WORK)


def test_a_run_writes_the_page_and_resumes(data, tmp_path, monkeypatch, capsys, small_forest):
    kept = (RBOOST, RBOOST_TOLD, FOREST_RANKINGS)
    work = {name: METHODS[name if name in kept else "LightGBM, 150 rounds"] for name in METHODS}
    monkeypatch.setattr(jobs, "WORK", work)
    options = ["--collection", "defects", "--tables", "1", "--jobs", "1", "--out", str(tmp_path)]
    main(["--data", str(data), *options, "--page", str(tmp_path)])
    assert capsys.readouterr().out.split() == [str(tmp_path / "results.md")]
    assert (tmp_path / "methods.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "results.md").read_text()
    for name in (*RANKINGS, *(name for name in METHODS if name != FOREST_RANKINGS)):
        assert f"| {name} | 0." in text
    assert "Not measured in this run" in text
    results = (tmp_path / "results.jsonl").read_bytes()
    monkeypatch.setattr(jobs, "run_job", None)  # nothing is left to do
    jobs.run(Options(data, ("defects",), n_tables=1), tmp_path, 1)
    assert (tmp_path / "results.jsonl").read_bytes() == results


def made_results(losses):
    """Two tables on which every method has .4, and .2 with verified labels; reviews as given."""
    quality_of = {"AUC": 0.8, "MCC": 0.3, "average precision": 0.5}
    held = {
        f"{key} {kind}": value
        for key in ("0 to 1", "1 to 0", "wrong share")
        for kind, value in {"true": 0.1, "estimated": 0.1, "held": True}.items()
    }
    results = {}
    for name in WORK:
        record = {"log loss": 0.2 if "verified" in name else 0.4, **quality_of, **held}
        record |= dict.fromkeys(RANKINGS, 0.5)
        if name in REVIEWS:
            chosen = losses.get(name, losses[RANDOM])
            record = {
                "stages": [
                    {"log loss": loss, **quality_of, "found": k} for k, loss in enumerate(chosen)
                ]
            }
        for one in ("first", "second"):
            results[Job("defects", one, 0, name)] = record
    return results


def test_the_page_says_what_answers_are_worth():
    losses = {RANDOM: [0.4, 0.36, 0.3, 0.24, 0.2], OURS: [0.4, 0.3, 0.24, 0.2, 0.2]}
    results = made_results(losses)
    assert_allclose(curve(results, "defects", OURS, "log loss"), losses[OURS])
    text = page(results, Options(Path(), ("defects",), review=True))
    assert "80% of the gap is closed, 75% asked: yes. No harm asked: yes." in text
    assert "same log loss: 50 (ratio 0.50), at most 70% asked: yes" in text
    assert "| log loss | 200 | 0.200 | 100 | 0.50 |" in text
    assert f"| {OURS} | 0% | 50% | 80% | 100% | 100% |" in text
    assert f"| {RBOOST}, 100 rows checked at random | 0.240 |" in text
    assert "nan" not in text


def test_the_page_says_when_nothing_is_gained():
    losses = {RANDOM: [0.4, 0.39, 0.38, 0.37, 0.45], OURS: [0.4, 0.4, 0.4, 0.4, 0.41]}
    text = page(made_results(losses), Options(Path(), ("defects",), review=True))
    assert "same log loss: more than 200 (ratio > 2.00), at most 70% asked: **no**" in text
    assert "| log loss | 200 | 0.450 | 0: random order gained nothing | – |" in text
