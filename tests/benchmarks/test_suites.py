"""Tables and the noise that is put into their labels."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from benchmarks.estimators import trusted_rows
from benchmarks.methods import N_TRUSTED
from benchmarks.mixed import MIXED, plain_columns
from benchmarks.suites import (
    FIVE,
    MAX_UNTOUCHED_ROWS,
    MIXED_ROWS,
    OVERLAPPING,
    SETTINGS,
    SUITES,
    UNTOUCHED,
    draw_trial,
    load_table,
    random_pairs,
    to_the_next,
)

TWO_CLASSES = ("paper", "development")
TABLES = [(suite, name) for suite in TWO_CLASSES for name in SUITES[suite].names]


@pytest.mark.parametrize(("suite", "name"), TABLES)
def test_every_table_loads(suite, name):
    X, y = load_table(suite, name)
    assert X.dtype == np.float64
    assert np.all(np.isfinite(X))
    assert len(X) == len(y)
    np.testing.assert_array_equal(np.unique(y), [0, 1])
    assert 0.2 < y.mean() < 0.8
    trial = draw_trial(suite, name, "sym30", 0, seed=0)
    n_train, n_test = SUITES[suite].tables[name].n_train, len(trial.y_test)
    assert n_train + n_test <= len(y)
    assert n_train >= 100
    assert n_test >= 80
    assert trial.X.shape == (n_train, X.shape[1])
    assert trial.X_test.shape == (n_test, X.shape[1])
    assert len(trial.observed) == len(trial.true) == n_train
    for labels in (trial.observed, trial.true, trial.y_test):
        np.testing.assert_array_equal(np.unique(labels), [0, 1])


def test_defaults_are_chosen_on_other_tables():
    for first, second in (TWO_CLASSES, ("classes", "classes development")):
        assert not set(SUITES[first].names) & set(SUITES[second].names)
    developed_on = [
        name for suite in SUITES if "development" in suite for name in SUITES[suite].names
    ]
    assert not set(SUITES["large"].names) & set(developed_on)
    assert set(FIVE) < set(SETTINGS)


def test_the_split_does_not_depend_on_the_setting():
    trials = {setting: draw_trial("paper", "Heart", setting, 0, seed=0) for setting in SETTINGS}
    clean = trials["clean"]
    np.testing.assert_array_equal(clean.observed, clean.true)
    for trial in trials.values():
        for name in ("X", "true", "X_test", "y_test"):
            np.testing.assert_array_equal(getattr(trial, name), getattr(clean, name))
    assert len({trial.seed for trial in trials.values()}) == len(SETTINGS)
    other = draw_trial("paper", "Heart", "clean", 1, seed=0)
    assert not np.array_equal(other.X, clean.X)
    assert not np.array_equal(draw_trial("paper", "Heart", "clean", 0, seed=1).X, clean.X)


def test_rows_are_trained_on_or_tested_on():
    trial = draw_trial("paper", "Waveform", "clean", 0, seed=0)
    rows = {tuple(row) for row in trial.X}
    assert len(rows) == len(trial.X)
    assert not rows & {tuple(row) for row in trial.X_test}


@pytest.mark.parametrize("setting", SETTINGS)
def test_flips_are_at_the_stated_rates(setting):
    trials = [draw_trial("paper", "Banana", setting, repeat, seed=0) for repeat in range(20)]
    for true, rate in enumerate(SETTINGS[setting]):
        flipped = np.concatenate([t.observed[t.true == true] != true for t in trials])
        assert abs(flipped.mean() - rate) <= 4 * np.sqrt(rate * (1 - rate) / len(flipped))
        assert_allclose(trials[0].noise_matrix[true, 1 - true], rate)


@pytest.mark.parametrize("dataset", ["Titanic", "Heart", "Twonorm"])
def test_trusted_rows_are_of_both_classes(dataset):
    for repeat in range(5):
        trial = draw_trial("paper", dataset, "asym30", repeat, seed=0)
        rows = trusted_rows(trial, N_TRUSTED)
        assert len(np.unique(rows)) == len(rows) >= N_TRUSTED
        assert np.bincount(trial.true[rows], minlength=2).min() >= 2
        np.testing.assert_array_equal(rows, trusted_rows(trial, N_TRUSTED))
        assert len(trusted_rows(trial, 1)) < 30


@pytest.mark.parametrize(
    ("suite", "name", "setting"),
    [
        (suite, *case)
        for suite in ("classes", "classes development")
        for case in SUITES[suite].cases(SUITES[suite].names)
    ],
)
def test_tables_of_several_classes(suite, name, setting):
    """All classes are seen in training, those of noisy tables in test rows too."""
    X, y = load_table(suite, name)
    assert np.all(np.isfinite(X))
    n_classes = len(np.unique(y))
    trial = draw_trial(suite, name, setting, 0, seed=0)
    assert trial.noise_matrix.shape == (n_classes, n_classes)
    assert_allclose(trial.noise_matrix.sum(axis=1), 1)
    assert trial.noise_matrix.min() >= 0
    np.testing.assert_array_equal(np.unique(trial.observed), np.arange(n_classes))
    if setting == UNTOUCHED:
        assert len(trial.y_test) == 0
        assert len(trial.true) == min(len(y), MAX_UNTOUCHED_ROWS)
    else:
        assert len(trial.true) == SUITES[suite].tables[name].n_train
        np.testing.assert_array_equal(np.unique(trial.y_test), np.arange(n_classes))
    if setting in ("clean", UNTOUCHED):
        np.testing.assert_array_equal(trial.observed, trial.true)


def test_overlapping_tables_have_as_many_classes_as_the_page_says():
    found = {name: len(np.unique(load_table("classes", name)[1])) for name in OVERLAPPING}
    assert found == {
        "marketing": 9, "contraceptive": 3, "led7digit": 10, "vehicle": 4, "german": 2
    }  # fmt: skip


def test_flips_to_the_next_class():
    expected = [[0.7, 0.3, 0], [0, 0.7, 0.3], [0.3, 0, 0.7]]
    assert_allclose(to_the_next(0.3)(3, np.random.RandomState(0)), expected)


@pytest.mark.parametrize("n_classes", [3, 4, 7, 26])
def test_a_few_pairs_are_flipped(n_classes):
    matrices = [random_pairs(n_classes, np.random.RandomState(seed)) for seed in range(300)]
    for matrix in matrices:
        rates = matrix[~np.eye(n_classes, dtype=bool)]
        flipped = rates[rates > 0]
        assert len(flipped) == max(2, n_classes // 3)
        assert np.all(np.count_nonzero(matrix, axis=1) <= 2)  # one other class for each
        assert 0.1 <= flipped.min() <= flipped.max() <= 0.4
        assert_allclose(matrix.sum(axis=1), 1)
    # Over many draws every pair occurs.
    assert n_classes > 7 or np.all(np.sum(matrices, axis=0) > 0)


def test_random_noise_is_of_the_trial():
    matrices = [
        draw_trial("classes", "vehicle", "pairs", repeat, seed).noise_matrix
        for repeat, seed in ((0, 0), (0, 0), (1, 0), (0, 1))
    ]
    np.testing.assert_array_equal(matrices[0], matrices[1])
    assert not np.array_equal(matrices[0], matrices[2])
    assert not np.array_equal(matrices[0], matrices[3])
    trial = draw_trial("classes", "penbased", "pairs", 0, seed=0)
    for true, row in enumerate(trial.noise_matrix):
        of_class = trial.observed[trial.true == true]
        shares = np.bincount(of_class, minlength=len(row)) / len(of_class)
        assert np.all(np.abs(shares - row) <= 4 * np.sqrt(row * (1 - row) / len(of_class)))


@pytest.mark.parametrize("name", MIXED)
def test_mixed_tables_have_words_dates_and_missing_cells(name):
    X, y = load_table("mixed", name)
    assert X.isna().any().any()
    assert {values.dtype.kind for _, values in X.items()} >= {"O", "M"}
    assert 0.3 < y.mean() < 0.7
    pd.testing.assert_frame_equal(MIXED[name](50, 3)[0], MIXED[name](50, 3)[0])
    trial = draw_trial("mixed", name, "asym30", 0, seed=0)
    assert trial.X.shape == (MIXED_ROWS, X.shape[1])
    assert not set(trial.X.index) & set(trial.X_test.index)
    np.testing.assert_array_equal(trial.true, y[trial.X.index])
    plain = plain_columns(trial.X)
    assert {values.dtype.kind for _, values in plain.items()} <= {"i", "f", "O"}
    assert not plain.select_dtypes(exclude="number").isna().any().any()
