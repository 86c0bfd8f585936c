"""What checked labels say by themselves, and whether they were to be expected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from rboost.audit.insight.checked import (
    FEWEST_DRAWN,
    MISTAKES,
    MODEL,
    RANDOM_CHECKS,
    _distribution,
    check_calibration,
    check_predictions,
    count_random_checks,
    interval_of_wrong,
)
from rboost.audit.labels import table_labels
from rboost.noise import flip_labels, infer_noise, symmetric


def labels_of(n_checked, n_wrong, n_rows=400, at_random=True):
    given = np.zeros(n_rows, dtype=int)
    checked = np.full(n_rows, -1)
    checked[:n_checked] = 0
    checked[:n_wrong] = 1
    return table_labels(np.array(["a", "b"]), given, checked, at_random=at_random)


@given(st.integers(1, 80), st.data())
def test_the_interval_is_exact(n_checked, data):
    n_wrong = data.draw(st.integers(0, n_checked))
    found = count_random_checks(labels_of(n_checked, n_wrong))
    assert (found.n_checked, found.n_wrong) == (n_checked, n_wrong)
    exact = binomtest(n_wrong, n_checked).proportion_ci(0.9, "exact")
    assert (found.low, found.high) == pytest.approx(tuple(exact))


def test_only_rows_that_were_drawn_and_had_a_label_count():
    labels = labels_of(40, 10, at_random=np.arange(400) < 20)
    assert count_random_checks(labels).n_checked == 20
    assert count_random_checks(labels_of(40, 10, at_random=False)) is None
    without = np.where(np.arange(400) < 5, -1, labels.given)
    found = count_random_checks(
        table_labels(labels.classes, without, labels.checked, at_random=True)
    )
    assert (found.n_checked, found.n_wrong) == (35, 5)


@pytest.mark.parametrize(
    ("n_checked", "n_wrong", "by_model", "source"),
    [
        (40, 4, (0.0, 0.4), RANDOM_CHECKS),  # narrower
        (40, 4, (0.1, 0.12), MODEL),  # wider, and they overlap
        (40, 12, (0.0, 0.1), RANDOM_CHECKS),  # wider, but apart
        (FEWEST_DRAWN - 1, 8, (0.0, 0.01), MODEL),  # apart, but too few
        (FEWEST_DRAWN, 8, (0.0, 0.01), RANDOM_CHECKS),
        (400, 40, (0.0, 0.4), MODEL),  # nothing is left unchecked
    ],
)
def test_random_checks_replace_the_interval_of_the_model(n_checked, n_wrong, by_model, source):
    labels = labels_of(n_checked, n_wrong)
    low, high, found = interval_of_wrong(labels, by_model)
    assert found == source
    if found == MODEL:
        assert (low, high) == by_model
    else:  # of 400 rows, less those that were checked
        exact = binomtest(n_wrong, n_checked).proportion_ci(0.9, "exact")
        ends = [(share * 400 - n_wrong) / (400 - n_checked) for share in exact]
        assert (low, high) == pytest.approx(tuple(np.clip(ends, 0, 1)))
        assert 0 <= low < high <= 1


def test_the_interval_is_of_labels_that_nobody_checked():
    """15 wrong labels were found by other checks; those drawn at random speak of all rows."""
    random = np.random.RandomState(0)
    wrong = np.arange(400) < 40
    held = []
    for _ in range(300):
        drawn = np.isin(np.arange(400), random.permutation(400)[:50])
        checked = np.where(drawn | (np.arange(400) < 15), wrong, -1)
        labels = table_labels(np.array([0, 1]), np.zeros(400, int), checked, at_random=drawn)
        low, high, source = interval_of_wrong(labels, (0.0, 1.0))
        assert source == RANDOM_CHECKS
        held.append(low <= wrong[labels.is_observed].mean() <= high)
    assert np.mean(held) > 0.87


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_the_interval_holds_where_reviewers_err(share):
    random = np.random.RandomState(0)
    wrong = np.arange(400) < 400 * share
    held = {0.0: [], 0.1: []}
    for _ in range(200):
        drawn = np.isin(np.arange(400), random.permutation(400)[:100])
        said = np.where(random.uniform(size=400) < 0.1, ~wrong, wrong)
        labels = table_labels(
            np.array([0, 1]), np.zeros(400, int), np.where(drawn, said, -1), at_random=drawn
        )
        for error, own in held.items():
            low, high, _ = interval_of_wrong(labels, (0.0, 1.0), error)
            own.append(low <= wrong[labels.is_observed].mean() <= high)
    assert np.mean(held[0.1]) > 0.87
    if share < 0.4:  # there as many errors hide wrong labels as make some up
        assert np.mean(held[0.0]) < 0.6


def test_an_interval_that_cannot_hold_what_was_found_is_not_used():
    labels = table_labels(
        np.array([0, 1]), np.zeros(400, int), np.where(np.arange(400) < 350, 1, -1)
    )
    drawn = np.arange(400) >= 350
    labels = labels.with_checked(np.where(drawn & (np.arange(400) < 390), 0, labels.checked), drawn)
    assert count_random_checks(labels).n_wrong == 0
    assert interval_of_wrong(labels, (0.2, 0.3)) == (0.2, 0.3, MODEL)


@given(st.integers(1, 150), st.floats(0.01, 0.99))
def test_equal_probabilities_make_a_binomial_distribution(n_events, probability):
    found = _distribution(np.full(n_events, probability))
    np.testing.assert_allclose(
        found, binom.pmf(np.arange(n_events + 1), n_events, probability), atol=1e-12
    )


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=60))
def test_the_distribution_is_the_convolution(probability):
    expected = np.ones(1)
    for p in probability:
        expected = np.convolve(expected, [1 - p, p])
    np.testing.assert_allclose(_distribution(np.array(probability)), expected, atol=1e-12)


def table(seed, n_rows=1500, rate=0.15):
    random = np.random.RandomState(seed)
    scores = random.normal(scale=4, size=n_rows)
    true = (random.uniform(size=n_rows) < 1 / (1 + np.exp(-scores))).astype(int)
    observed, _ = flip_labels(true, symmetric(rate), random_state=seed)
    return scores, true, observed


@pytest.mark.slow
def test_what_was_assumed_is_rarely_contradicted():
    """Whether rows are checked at random or because they are suspicious."""
    p_values = []
    for seed in range(30):
        scores, true, observed = table(seed)
        before = infer_noise(scores, observed)
        wrong = before.issue_probability(scores, observed)
        order = np.random.RandomState(seed).permutation(len(true))
        for rows in (order[:60], np.argsort(-wrong)[:60]):
            checked = np.full(len(true), -1)
            checked[rows] = true[rows]
            labels = table_labels(np.array([0, 1]), observed, checked)
            found = check_predictions(before, scores, labels)
            assert found.expected == pytest.approx(wrong[rows].sum())
            p_values.append(found.p_value)
    assert np.mean(np.array(p_values) < 0.01) <= 0.05
    assert np.mean(np.array(p_values) < 0.5) > 0.1  # it is not blind either


def test_what_nobody_expected_contradicts():
    scores, true, _ = table(0)
    scores = np.where(true == 1, 8.0, -8.0) + scores / 4
    before = infer_noise(scores, true)  # every label agrees with what the columns say
    checked = np.full(len(true), -1)
    checked[:150] = true[:150]
    labels = table_labels(np.array([0, 1]), true, checked)
    assert not check_predictions(before, scores, labels).contradicts
    checked[:22] = 1 - true[:22]
    found = check_predictions(before, scores, labels.with_checked(checked))
    assert found.contradicts
    assert found.n_wrong == 22
    assert found.p_value < 1e-6
    one = np.full(len(true), -1)
    one[0] = 1 - true[0]
    found = check_predictions(before, scores, labels.with_checked(one))
    assert found.p_value == pytest.approx(2 * MISTAKES, rel=0.5)  # anybody errs once
    assert check_predictions(before, scores, labels.with_checked(np.full(len(true), -1))) is None


def test_predictions_are_compared_with_what_people_found_bin_by_bin():
    random = np.random.RandomState(0)
    scores = 4 * random.randn(2000)
    true = (random.rand(2000) < 1 / (1 + np.exp(-scores))).astype(int)
    noisy, flipped = flip_labels(true, symmetric(0.2), random_state=0)
    before = infer_noise(scores, noisy)
    rows = random.rand(2000) < 0.5
    labels = table_labels(np.array(["a", "b"]), noisy, np.where(rows, true, -1))
    found = check_calibration(before, scores, labels)
    assert sum(one.n_checked for one in found) == rows.sum()
    assert sum(one.n_wrong for one in found) == (flipped & rows).sum()
    predicted = before.issue_probability(scores[rows], noisy[rows])
    for one in found:
        own = (predicted >= one.low) & (predicted < one.high)
        assert one.predicted == pytest.approx(predicted[own].mean())
        assert one.n_checked == own.sum()
        assert one.found_low <= one.found <= one.found_high
    wrong = [
        random.rand(10, 2000) < before.issue_probability(scores, noisy),  # as was predicted
        random.rand(10, 2000) < 0.5,
    ]
    said = [[np.where(rows, noisy ^ draw, -1) for draw in draws] for draws in wrong]
    consistent = [
        np.mean(
            [
                one.is_consistent
                for checked in draws
                for one in check_calibration(
                    before, scores, table_labels(labels.classes, noisy, checked)
                )
            ]
        )
        for draws in said
    ]
    assert consistent[0] >= 0.8 > 0.4 >= consistent[1]
    nobody = table_labels(labels.classes, noisy, np.full(2000, -1))
    assert check_calibration(before, scores, nobody) == ()
