"""The benchmark of GPUs where there is none: the rows that it makes, what it compares and says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.equality import Outcome, compare, differences, is_equal
from benchmarks.gpu.report import page, verdicts
from benchmarks.gpu.rows import BLOCK, make_rows, noise_of
from rboost.noise.matrix import check_noise_parameter


@pytest.mark.parametrize("n_classes", [2, 10])
def test_rows_depend_on_no_threads_and_labels_are_flipped_as_said(n_classes):
    rows, again = (make_rows(BLOCK + 5000, 14, n_classes, threads) for threads in (1, 3))
    assert_array_equal(rows.X, again.X)
    assert_array_equal(rows.observed, again.observed)
    assert rows.X.dtype == np.float32
    assert len(np.unique(rows.X[:, 0])) > 0.99 * BLOCK  # no block repeats another
    assert np.bincount(rows.true).min() > 0.2 * len(rows.true) / n_classes
    check_noise_parameter(noise_of(n_classes), n_classes)
    found = np.zeros((n_classes, n_classes))
    np.add.at(found, (rows.true, rows.observed), 1)
    assert_allclose(found / found.sum(axis=1, keepdims=True), noise_of(n_classes), atol=0.02)


def test_equality_is_judged_by_rates_ranking_and_errors(rng):
    noise, issues = np.array([[0.8, 0.2], [0.1, 0.9]]), rng.uniform(size=500)
    first = Outcome(noise, issues, 5.0)
    near = compare(first, Outcome(noise + 0.002, issues**2, 5.1))
    assert_allclose([near["rates"], near["correlation"]], [0.002, 1])
    assert is_equal(near)
    for far in (
        Outcome(noise + 0.004, issues, 5.0),
        Outcome(noise, issues[::-1], 5.0),
        Outcome(noise, issues, 5.2),
    ):
        assert not is_equal(compare(first, far))
    constant = Outcome(noise, np.zeros(500), 5.0)
    assert is_equal(compare(constant, constant))
    text = differences([{"table": "hastie", "setting": "clean", **near}], ("CPU", "GPU"))
    assert "| hastie, clean | 0.0020 | 1.00000 | 5.00 | 5.10 | yes |" in text
    assert "1 of 1 are equal" in text


def test_the_page_says_what_was_stopped_and_how_much_faster_a_gpu_is():
    fit = {
        "rows": 10**6, "classes": 2, "seconds": 5.0, "rounds": 100,
        "rates off": 0.01, "average precision": 0.7,
    }  # fmt: skip
    results = {
        "many rows": [fit | {"seconds": 70.0}],
        "GPU": [fit],
        "many classes": [],
        "LightGBM, one core": [fit | {"seconds": 60.0}],
        "XGBoost, one core": [{"stopped after": 200.0}],
    }
    many, trees, xgboost = verdicts(results)
    assert "no, 70.0 s" in many
    assert "no, 12.0 times" in trees
    assert "yes, more than 40.0 times" in xgboost
    text = page(results)
    assert "not finished (200 s)" in text
