"""One piece of work: its key, and what is measured."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from benchmarks import measure
from benchmarks.estimators import trusted_rows
from benchmarks.judge import calibration_error, judge_noise, judge_ranking, wrong_share
from benchmarks.measure import ESTIMATORS, Job, run_job
from benchmarks.methods import N_TRUSTED, Method
from benchmarks.paper.protocol import Trial
from benchmarks.suites import draw_trial
from benchmarks.texts import data_fingerprint


def test_the_key_is_what_a_result_depends_on(monkeypatch):
    peer = Job("paper", "Titanic", "clean", 0, "random forest")
    ours, estimators = (
        Job("paper", "Titanic", "clean", 0, name) for name in ("rBoost", ESTIMATORS)
    )
    assert peer.key(0) != peer.key(1)
    before = [job.key(0) for job in (peer, ours, estimators)]
    monkeypatch.setattr(measure, "code_fingerprint", lambda module: "other")
    after = [job.key(0) for job in (peer, ours, estimators)]
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, False]
    monkeypatch.setattr(measure, "package_version", lambda package: "other")
    assert peer.key(0) != before[0]


def test_the_key_changes_with_the_files_of_the_table(tmp_path):
    job = Job("texts", "77 intents", "sym20", 0, "TF-IDF + LR", tmp_path)
    file, others = (tmp_path / name for name in ("texts/banking77.csv.gz", "others.csv"))
    file.parent.mkdir()
    keys = []
    for content, other in [(b"1", b"1"), (b"1", b"2"), (b"2", b"2")]:
        file.write_bytes(content)
        others.write_bytes(other)
        data_fingerprint.cache_clear()
        keys.append(job.key(0))
    assert keys[0] == keys[1] != keys[2]


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


def test_what_a_job_measures(small_methods):
    for method in small_methods:
        job = Job("paper", "Heart", "asym30", 0, method)
        record, again = run_job(job, 0), run_job(job, 0)
        assert record.pop("seconds") > 0
        assert again.pop("seconds") > 0
        assert record == again
        assert 0 < record["error"] < 60
        assert 0 < record["oracle"] < 60
        assert 0 <= record["calibration"] <= 1
        assert ("noise error" in record) == (method == "rBoost")
        json.dumps(record)
    assert record["ROC-AUC"] > 0.5
    assert 0 < record["average precision"] <= 1


def test_a_method_with_trusted_rows_is_fitted_to_the_rest(monkeypatch):
    seen = {}

    class Spy:
        def fit(self, X, y, X_trusted, y_trusted):
            seen.update(X=X, y=y, X_trusted=X_trusted, y_trusted=y_trusted)
            return self

    trial = draw_trial("paper", "Heart", "sym30", 0, seed=0)
    measure.fit(Method(lambda noise, seed: Spy(), "rboost", None, N_TRUSTED), trial, None)
    trusted = trusted_rows(trial, N_TRUSTED)
    np.testing.assert_array_equal(seen["y_trusted"], trial.true[trusted])
    np.testing.assert_array_equal(seen["X_trusted"], trial.X[trusted])
    assert len(seen["y"]) == len(trial.true) - len(trusted)
    rest = np.setdiff1d(np.arange(len(trial.true)), trusted)
    np.testing.assert_array_equal(seen["y"], trial.observed[rest])


def test_estimators_of_noise_are_compared_on_the_same_scores(small_forest):
    job = Job("paper", "Twonorm", "sym30", 0, ESTIMATORS)
    record = run_job(job, 0)
    json.dumps(record)
    matrices = {name: np.array(one["noise_matrix"]) for name, one in record["noise"].items()}
    assert f"counting on {N_TRUSTED} trusted rows" in matrices
    for name, matrix in matrices.items():
        assert matrix.shape == (2, 2)
        assert np.all(matrix >= 0)
        error = record["noise"][name]["noise error"]
        assert_allclose(error, np.abs(matrix - [[0.7, 0.3], [0.3, 0.7]]).mean())
    assert record["noise"]["noise-aware"]["noise error"] < 0.15
    for ranking in record["rankings"].values():
        assert ranking["ROC-AUC"] > 0.7
    clean = run_job(Job("paper", "Twonorm", "clean", 0, ESTIMATORS), 0)
    assert set(clean["rankings"]) == set(record["rankings"])
    assert not any(clean["rankings"].values())  # there is nothing to rank


def made_trial(true, observed, noise_matrix):
    """A trial with labels and noise made by hand, and nothing else."""
    none = np.empty((0, 1))
    labels = [np.array(x) for x in (observed, true)]
    return Trial(none, *labels, none, np.empty(0, dtype=int), np.array(noise_matrix), 0)


def test_noise_is_judged_off_the_diagonal():
    truth = [[0.8, 0.2, 0.0], [0.0, 1.0, 0.0], [0.1, 0.1, 0.8]]
    trial = made_trial([0, 1, 2], [0, 1, 2], truth)
    found = np.array(truth)
    found[0] = [0.5, 0.2, 0.3]
    assert "covered" not in judge_noise(found, None, trial)
    # The diagonal is in no interval and counts for nothing; one rate of six is not held.
    interval = np.stack([found - 0.1 * (1 - 3 * np.eye(3)), found + 0.1 * (1 - 3 * np.eye(3))])
    record = judge_noise(found, interval, trial)
    assert_allclose(record["noise error"], 0.3 / 6)
    assert_allclose(record["covered"], 5 / 6)
    assert record["noise_matrix"] == found.tolist()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_share_of_wrong_labels_follows_from_the_noise(seed, n_classes):
    random = np.random.RandomState(seed)
    matrix = 0.6 * np.eye(n_classes) + 0.4 * random.dirichlet(np.ones(n_classes), n_classes)
    true = np.concatenate([np.arange(n_classes), random.randint(n_classes, size=300)])
    # Labels in the very proportions of the noise.
    prior = np.bincount(true) / len(true)
    counts = np.round(1e5 * prior @ matrix).astype(int)
    trial = made_trial(np.zeros(counts.sum(), int), np.repeat(np.arange(n_classes), counts), matrix)
    expected = prior @ (1 - np.diag(matrix))
    assert_allclose(wrong_share(matrix, trial), expected, atol=1e-3)
    assert wrong_share(np.eye(n_classes), trial) == 0


def test_rankings_are_judged_where_labels_are_wrong():
    trial = made_trial([0, 1, 2, 2], [0, 1, 2, 0], np.eye(3))
    best = judge_ranking(np.array([0.1, 0.0, 0.2, 0.9]), trial)
    assert best == {"average precision": 1.0, "ROC-AUC": 1.0}
    worst = judge_ranking(np.array([0.3, 0.2, 0.1, 0.0]), trial)
    assert worst == {"average precision": 0.25, "ROC-AUC": 0.0}
    assert judge_ranking(None, trial) == {}
    assert judge_ranking(np.zeros(4), made_trial([0, 1, 2, 2], [0, 1, 2, 2], np.eye(3))) == {}
