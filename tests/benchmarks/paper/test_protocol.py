import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.paper.datasets import BENCHMARKS, load_benchmark
from benchmarks.paper.protocol import SETTINGS, make_trial, seed_of

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_ida_sizes_and_disjoint_parts(dataset):
    trial = make_trial(dataset, "sym10", 0, "ida", 0)
    assert len(trial.observed) == BENCHMARKS[dataset].n_train
    assert len(trial.y_test) == BENCHMARKS[dataset].n_test
    X, _ = load_benchmark(dataset)
    rows, counts = np.unique(X, axis=0, return_counts=True)
    unique = {tuple(row) for row in rows[counts == 1]}
    train = {tuple(row) for row in trial.X}
    assert not train & {tuple(row) for row in trial.X_test} & unique


def test_text_is_four_fifths():
    trial = make_trial("Heart", "sym10", 0, "text", 0)
    assert (len(trial.observed), len(trial.y_test)) == (216, 54)


def test_what_the_rates_mean():
    assert_allclose(SETTINGS["sym30"].noise_matrix("ida"), [[0.85, 0.15], [0.15, 0.85]])
    assert_allclose(SETTINGS["sym30"].noise_matrix("text"), [[0.7, 0.3], [0.3, 0.7]])
    assert_allclose(SETTINGS["asym30"].noise_matrix("ida"), [[0.7, 0.3], [0, 1]])
    trial = make_trial("Image", "asym30", 0, "ida", 0)
    assert_allclose((trial.observed != trial.true)[trial.true == 0].mean(), 0.3, atol=0.06)
    assert np.all(trial.observed[trial.true == 1] == 1)


def test_splits_depend_on_the_repeat_alone_and_flips_on_the_setting_too():
    one, other = (make_trial("Heart", setting, 0, "ida", 0) for setting in ("sym30", "asym30"))
    np.testing.assert_array_equal(one.X, other.X)
    assert np.any(one.observed != other.observed)
    assert np.any(make_trial("Heart", "sym30", 1, "ida", 0).X != one.X)
    assert np.any(make_trial("Heart", "sym30", 0, "ida", 1).X != one.X)
    again = make_trial("Heart", "sym30", 0, "ida", 0)
    np.testing.assert_array_equal(again.observed, one.observed)


def test_test_labels_are_true():
    X, y = load_benchmark("Heart")
    trial = make_trial("Heart", "sym30", 0, "ida", 0)
    lookup = {tuple(row): label for row, label in zip(X, y, strict=True)}
    assert [lookup[tuple(row)] for row in trial.X_test] == trial.y_test.tolist()


def test_seeds_differ_by_purpose():
    assert len({seed_of(0, name, repeat) for name in "abc" for repeat in range(5)}) == 15
