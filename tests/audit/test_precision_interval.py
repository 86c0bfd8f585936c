"""How many of a list are wrong, as an audit says it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from rboost.audit import audit_labels
from rboost.audit.insight.checked import MODEL, RANDOM_CHECKS, exact_interval
from rboost.audit.labels import NO_LABEL


@pytest.fixture(scope="module")
def case():
    """An audit of 1000 rows by the probabilities of their classes, and the true classes."""
    random = np.random.RandomState(0)
    p = expit(3 * random.standard_normal(1000))
    true = (random.uniform(size=1000) < p).astype(int)
    given = np.where(random.uniform(size=1000) < 0.2, 1 - true, true)
    return audit_labels(None, given, probabilities=np.column_stack([1 - p, p])), true


def checked_at_random(audit, true, n):
    drawn = np.random.RandomState(1).permutation(len(audit))[:n]
    checked = np.full(len(audit), NO_LABEL)
    checked[drawn] = true[drawn]
    return audit.with_checked(checked, checked != NO_LABEL)


def test_random_checks_of_rows_ranked_as_high_replace_the_model(case):
    audit, true = case
    later = checked_at_random(audit, true, 600)
    rows = later.suspects(n=100).rows
    low, high, source = later.precision_interval(rows)
    assert source == RANDOM_CHECKS
    least = later.issue_probability[rows].min()
    wrong = later.inference.noise.issue_probability(later.scores, later.labels.given)
    alike = later.labels.is_checked & (wrong >= least)
    n_wrong = int(np.sum(true[alike] != later.labels.given[alike]))
    exact = exact_interval(n_wrong, int(alike.sum()))
    n_left = len(rows)
    n_all = n_left + int(alike.sum())
    error = later.inference.noise.largest_error_rate
    expected = [
        np.clip((share * n_all - n_wrong) / n_left, 0, 1)
        for share in ((exact[0] - error) / (1 - error), exact[1] / (1 - error))
    ]
    assert [low, high] == pytest.approx(expected)
    assert low <= np.mean(true[rows] != later.labels.given[rows]) <= high


def test_of_a_list_that_is_not_the_most_suspicious_the_model_is_asked(case):
    audit, true = case
    later = checked_at_random(audit, true, 600)
    rows = later.suspects(n=100).rows[50:]
    assert later.precision_interval(rows)[2] == MODEL


def test_without_answers_it_is_that_of_the_model_and_of_all_rows_that_of_the_table(case):
    audit, _ = case
    low, high, source = audit.precision_interval(np.arange(len(audit)))
    assert source == MODEL
    assert (low, high) == pytest.approx(audit.inference.wrong_share)
    rows = audit.suspects(n=40).rows
    mask = np.isin(np.arange(len(audit)), rows)
    assert audit.precision_interval(mask) == audit.precision_interval(rows)
    assert np.isnan(audit.precision_interval(rows[:0])[0])
    assert audit.summary(audit.suspects(n=40)).list_low == audit.precision_interval(rows)[0]


@pytest.mark.parametrize("rows", [[-1], [1000], [3, 3], ["checked"]])
def test_rows_that_it_cannot_speak_of_are_refused(case, rows):
    audit, true = case
    if rows == ["checked"]:
        audit = checked_at_random(audit, true, 30)
        rows = np.flatnonzero(audit.labels.is_checked)[:1]
    with pytest.raises(ValueError, match="different positions of rows whose label nobody checked"):
        audit.precision_interval(rows)


def test_copies_count_once(case):
    audit, _ = case
    rows = audit.suspects(n=30).rows
    alone = audit.precision_interval(rows)
    copies = np.arange(len(audit))
    copies[rows[1:]] = rows[0]
    found = replace(audit, copy_of=copies).precision_interval(rows)
    assert found[1] - found[0] > alone[1] - alone[0]


def test_no_list_has_more_wrong_labels_than_the_table(case, monkeypatch):
    audit, _ = case
    rows = audit.suspects(n=400).rows
    least, most, _ = audit.precision_interval(rows)
    ends = 0.0, 0.3 * most, RANDOM_CHECKS  # of 1000 rows
    monkeypatch.setattr(type(audit), "wrong_share_interval", lambda self, labels=None: ends)
    low, high, _ = audit.precision_interval(rows)
    assert high == pytest.approx(min(most, 1000 * ends[1] / 400))
    assert low == pytest.approx(min(least, high))
    assert high < most
