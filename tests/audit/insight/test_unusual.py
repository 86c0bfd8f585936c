"""Rows that fit no class or are between two: which are, and how often ordinary rows are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rboost.audit import audit_labels
from rboost.audit.insight.likeness import Points
from rboost.audit.insight.unusual import (
    BETWEEN,
    FALSE_ALARMS,
    FEWEST_SEARCHED,
    NEARLY,
    NO_CLASS,
    ORDINARY,
    row_fit,
    tail_cutoff,
)
from tests.audit.conftest import make_table, quick


def two_clouds(n_rows, n_columns, seed=0):
    random = np.random.RandomState(seed)
    label = random.randint(0, 2, n_rows)
    return random.standard_normal((n_rows, n_columns)) + 3 * label[:, np.newaxis], label


def fit_of(values, label, probability=None, copy_of=None):
    sure = np.tile([0.9, 0.1], (len(values), 1)) if probability is None else probability
    return row_fit(np.arange(len(values)), Points(values), np.eye(3)[label], sure, copy_of)


@given(st.integers(0, 99), st.sampled_from([0.2, 1.0, 3.0]))
def test_the_cutoff_leaves_its_share_of_log_normal_distances(seed, scale):
    distance = np.random.RandomState(seed).lognormal(0, scale, 20_000)
    assert np.mean(distance > tail_cutoff(distance)) == pytest.approx(FALSE_ALARMS, rel=0.4)
    assert tail_cutoff(7 * distance) == pytest.approx(7 * tail_cutoff(distance))


def test_no_row_is_beyond_where_all_are_as_far():
    assert not (np.ones(50) > tail_cutoff(np.ones(50))).any()
    few_differ = np.append(np.zeros(990), np.arange(10))
    assert np.mean(few_differ > tail_cutoff(few_differ)) <= FALSE_ALARMS


@pytest.mark.parametrize("n_columns", [2, 5, 20])
@pytest.mark.parametrize("draw", ["standard_normal", "uniform", "lognormal"])
def test_ordinary_rows_are_hardly_ever_called_unusual(n_columns, draw):
    random = np.random.RandomState(0)
    values = getattr(random, draw)(size=(2000, n_columns))
    label = random.randint(0, 2, 2000)
    assert np.mean(fit_of(values, label) == NO_CLASS) <= 3 * FALSE_ALARMS


def test_rows_far_from_every_class_are_named_and_rows_of_another_class_are_not():
    values, label = two_clouds(600, 4)
    values[:3] = [[9, -9, 9, -9], [-9, 9, 0, 0], [0, 0, 12, -12]]
    label[3] = 1 - label[3]  # a wrong label
    found = fit_of(values, label)
    assert (found[:3] == NO_CLASS).all()
    assert found[3] == ORDINARY
    assert np.mean(found[4:] == NO_CLASS) <= 3 * FALSE_ALARMS


def test_the_order_of_rows_and_of_classes_changes_nothing(rng):
    values, label = two_clouds(300, 3)
    values[:2] = [[9, -9, 9], [-9, 9, -9]]
    order = rng.permutation(300)
    assert_array_equal(fit_of(values[order], label[order]), fit_of(values, label)[order])
    assert_array_equal(fit_of(values, 1 - label), fit_of(values, label))
    some = np.array([5, 0, 200])
    sure = np.tile([0.9, 0.1], (300, 1))
    found = row_fit(some, Points(values), np.eye(2)[label], sure)
    assert_array_equal(found, fit_of(values, label)[some])


def test_copies_of_a_strange_row_do_not_make_it_ordinary():
    values, label = two_clouds(300, 3)
    values[:30], label[:30] = [9, -9, 9], 0
    copy_of = np.where(np.arange(300) < 30, 0, np.arange(300))
    assert (fit_of(values, label, copy_of=copy_of)[:30] == NO_CLASS).all()
    assert (fit_of(values, label)[:30] == ORDINARY).all()  # thirty rows of their own kind


def test_rows_of_a_class_of_few_are_not_judged():
    values, label = two_clouds(300, 3)
    few = FEWEST_SEARCHED - 1
    values[:few], label[:few] = [9, -9, 9], 2
    found = fit_of(values, label, np.tile([0.8, 0.1, 0.1], (300, 1)))
    assert (found[:few] == ORDINARY).all()


@given(st.floats(0, 1))
def test_between_classes_are_rows_whose_two_likeliest_are_nearly_as_probable(share):
    probability = np.array([[share, 1 - share]])
    found = row_fit(np.array([0]), None, probability, probability)[0]
    low, high = np.sort(probability[0])
    assert found == (BETWEEN if low >= NEARLY * high else ORDINARY)


def test_an_audit_says_it_and_changes_no_probability():
    X, _, given = make_table(300, 3)
    X[:2] = [[30, -30], [-30, 30]]
    audit = quick(X, given)
    before = audit.issue_probability.copy()
    listed = audit.to_frame(audit.suspects(n=300))
    assert_array_equal(audit.row_fit()[listed["row"] - 1], listed["fit"])
    assert set(listed["fit"]) == {NO_CLASS, BETWEEN, ORDINARY}
    assert (audit.row_fit([0, 1]) == NO_CLASS).all()
    assert_array_equal(before, audit.issue_probability)


def test_without_columns_there_is_no_distance():
    _, _, given = make_table(60, 2)
    probability = np.random.RandomState(0).dirichlet([1, 1], 60)
    found = audit_labels(None, given, probabilities=probability).row_fit()
    assert set(found) <= {BETWEEN, ORDINARY}
