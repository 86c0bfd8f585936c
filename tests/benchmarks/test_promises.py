"""What audits promise of planted errors: how errors are planted, what is counted."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from benchmarks.planted_noise import (
    IMBALANCED,
    MATRICES,
    RARE,
    TWENTY,
    Case,
    by_matrix,
    doubts,
    imbalanced,
    load,
    near_boundary,
    plant,
)
from benchmarks.promises import (
    Promise,
    imbalance_verdict,
    measure,
    rates_held,
    report,
    twenty_verdict,
)


def promise(promised=0.8, precision=0.7, n_listed=20, **other):
    case = other.pop("case", Case("table", "symmetric", 0.1))
    values = {"list_interval": (0.65, 0.9), "interval": (0.05, 0.15), "true_share": 0.1} | other
    return Promise(
        case, 200, 2, n_listed, promised, precision, share=0.1, rates_held=(True, False), **values
    )


@pytest.fixture
def overlapping():
    """1500 rows of three classes that follow each other on a line."""
    random = np.random.RandomState(0)
    y = random.randint(0, 3, 1500)
    return pd.DataFrame({"a": y + 0.4 * random.standard_normal(1500)}), y


def test_the_two_sets_have_no_source_in_common():
    names = [case.table for cases in TWENTY.values() for case in cases]
    assert len(set(names)) == len(names) == 40
    # Credit approval, handwritten digits and tumours exist under two names each.
    for twins in ({"crx", "australian"}, {"digits", "optdigits"}, {"wdbc", "breast cancer"}):
        assert len(twins & set(names)) <= 1
    assert "crx" in [case.table for case in TWENTY["judged"]]
    for cases in TWENTY.values():
        assert {case.noise for case in cases} == {*MATRICES, "boundary"}
        assert all(0.05 <= case.share <= 0.2 for case in cases)


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_flip_the_share_that_is_asked_for(kind, overlapping):
    y = np.repeat(overlapping[1], 20)
    random = np.random.RandomState(1)
    given = by_matrix(y, MATRICES[kind](3, random), 0.1, random)
    assert np.mean(given != y) == pytest.approx(0.1, abs=0.01)


def test_near_the_boundary_labels_become_what_rows_look_like(overlapping):
    X, y = overlapping
    given = near_boundary(X, y, 0.1, np.random.RandomState(0))
    wrong, (doubt, other) = given != y, doubts(X, y)
    assert wrong.mean() == pytest.approx(0.1, abs=0.03)
    assert_array_equal(given[wrong], other[wrong])
    assert doubt[wrong].mean() > 2 * doubt[~wrong].mean()


def test_tables_are_cut_to_size():
    X, y = load("letter")
    assert X.shape == (4000, 16)
    assert set(y) == set(range(10))


@pytest.mark.parametrize("case", IMBALANCED[:: len(RARE) + 1], ids=str)
def test_rare_classes_are_as_rare_as_they_should_be(case):
    X, y = imbalanced(case.table, case.ratio, np.random.RandomState(0))
    assert len(X) == len(y)
    assert 2000 < len(y) <= 10_000
    assert np.sum(y == 0) / np.sum(y == 1) == pytest.approx(case.ratio, rel=0.05)


def test_an_audit_is_compared_with_the_truth():
    found = measure(Case("housevotes", "symmetric", 0.1))
    _, true, given = plant(found.case)
    assert found.true_share == np.mean(true != given)
    assert found.interval[0] <= found.share <= found.interval[1]
    assert found.list_interval[0] <= found.promised <= found.list_interval[1]
    assert 0 <= found.precision * found.n_listed <= np.sum(true != given)
    assert (found.n_rows, found.n_classes, len(found.rates_held)) == (len(true), 2, 2)


def test_rates_are_held_by_their_intervals():
    noise = np.array([[0.9, 0.1], [0.3, 0.7]])
    interval = np.array([[[0.0, 0.05], [0.31, 0.0]], [[0.0, 0.2], [0.4, 0.0]]])
    assert rates_held(interval, noise) == (True, False)


def test_verdicts_by_hand():
    found = [promise(), promise(0.9, 0.5), promise(0.5, 0.1, list_interval=(0.0, 0.9))]
    text = twenty_verdict(found)
    assert "2 of 3 lists have a promise, **1 of 2** within 15 points" in text
    assert "the highest +40 points from it" in text
    assert "The intervals of 67% of the lists hold the truth." in text
    clean = Case("table", "none", ratio=20)
    right = promise(case=clean, true_share=0.0, list_interval=(0.0, 0.4))
    text = imbalance_verdict([*found, right, promise(case=clean, true_share=0.0)])
    assert "2 of 3 lists have a promise" in text
    assert "the frequent class in 100% and of the rare in 0%" in text
    assert "50% of the lists may be all right" in text


def test_the_page_has_a_row_for_each_table():
    rare = [promise(case=Case("r", noise, ratio=50), true_share=0.1 * (noise != "none"))
            for noise in RARE]  # fmt: skip
    text = report({name: [promise()] * 3 for name in TWENTY}, rare)
    assert text.count("| table | 2 | symmetric | 200 | 20 | 80% | 65%–90% | 70% | yes |") == 6
    assert text.count("| r | 1:50 |") == len(RARE)
