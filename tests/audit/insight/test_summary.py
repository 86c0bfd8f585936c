import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.stats import binomtest

from rboost.audit import audit_labels
from rboost.audit.insight.summary import (
    BUDGETS,
    AuditSummary,
    FlipRate,
    checks_would_tell,
    find_budgets,
    review_gain,
    usual_budgets,
)


@pytest.fixture(scope="module")
def summary(small_audit):
    return small_audit.summary()


@pytest.mark.slow
def test_rows_are_counted_once(small_audit, summary):
    assert summary.n_rows == 150
    assert (summary.n_missing, summary.n_checked) == (5, 10)
    assert summary.n_unchecked == 135
    labels = small_audit.labels
    assert summary.n_corrected == np.count_nonzero(labels.checked[5:15] != labels.given[5:15])
    assert sum(one.n_rows for one in summary.classes) == 145
    assert sum(one.n_unchecked for one in summary.classes) == summary.n_unchecked


def test_expected_numbers_agree_with_the_audit_and_with_each_other(small_audit, summary):
    assert_allclose(summary.expected_wrong, small_audit.expected_wrong_labels)
    assert_allclose(sum(one.expected_wrong for one in summary.classes), summary.expected_wrong)
    assert_allclose(sum(one.expected_lost for one in summary.classes), summary.expected_wrong)
    assert_allclose(sum(one.expected_rows for one in summary.classes), 145)
    assert summary.n_suspects == len(small_audit.suspects()) == 50
    assert summary.probably_wrong == small_audit.suspects().n_probable
    assert_allclose(summary.expected_precision * summary.n_suspects, summary.expected_found)


def test_flips_leave_out_the_diagonal_and_begin_with_the_most_frequent(small_audit, summary):
    assert len(summary.noise) == 9
    assert len(summary.flips) == 6
    off_diagonal = small_audit.noise_matrix[~np.eye(3, dtype=bool)]
    rates = [flip.rate for flip in summary.flips]
    assert_allclose(rates, sorted(off_diagonal, reverse=True), atol=0.01)
    assert rates == sorted(rates, reverse=True)
    assert all(flip.low <= flip.rate <= flip.high for flip in summary.noise)


def test_rows_of_all_flips_are_the_wrong_labels_expected_and_corrected(small_audit, summary):
    rows = [flip.expected_rows for flip in summary.flips]
    assert_allclose(sum(rows), summary.expected_wrong + summary.n_corrected)


def test_reviewers_who_err_make_the_interval_wider_and_it_holds():
    random = np.random.RandomState(0)
    X = random.randn(1000, 3)
    true = (X[:, 0] > 0).astype(int)
    given = np.where(np.arange(1000) % 20 == 0, 1 - true, true)
    said = np.where(np.arange(1000) % 7 == 0, 1 - true, true)
    drawn = np.isin(np.arange(1000), random.permutation(1000)[:100])
    audit = audit_labels(X, given, model="linear", check_columns=False)
    summary = audit.with_checked(np.where(drawn, said, -1), drawn).summary()
    truth = np.mean((given != true)[~drawn])
    assert summary.random_checks.low > truth  # which takes answers as they are
    assert summary.share_low <= truth <= summary.share_high
    right = audit.with_checked(np.where(drawn, true, -1), drawn).summary()
    assert right.share_low <= truth <= right.share_high
    assert right.share_high - right.share_low < summary.share_high - summary.share_low


def test_rates_agree_with_the_expected_number_also_where_labels_were_rather_guessed():
    random = np.random.RandomState(0)
    X = random.randn(1000, 3)
    y = random.rand(1000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    audit = audit_labels(X, y.astype(int), model="linear", check_columns=False)
    assert_allclose(audit.noise_matrix, np.eye(2), atol=0.03)  # hardly any flips at random
    summary = audit.summary()
    assert summary.expected_share > 0.03
    wrong = sum(flip.rate * one.expected_rows
                for flip, one in zip(summary.flips, _of_flips(summary), strict=True))  # fmt: skip
    assert_allclose(wrong, summary.expected_wrong, rtol=0.15)


def _of_flips(summary):
    """The true class of each flip."""
    by_name = {one.name: one for one in summary.classes}
    return [by_name[flip.true] for flip in summary.flips]


def test_budgets_are_those_that_the_table_has_rows_for(small_audit, summary):
    assert [one.n_rows for one in summary.budgets] == [10, 20, 50, 100]
    suspects = small_audit.suspects(n=20)
    assert_allclose(summary.budgets[1].expected_found, suspects.expected_found)
    assert_allclose(summary.budgets[1].expected_precision, suspects.expected_precision)
    assert_allclose(summary.budgets[1].expected_recall, suspects.expected_recall)


def test_gain_leaves_out_unknown_rows_and_starts_at_nothing():
    gain = review_gain(np.array([0.1, np.nan, 0.9, 0.5]))
    assert_allclose(gain, [0, 0.9, 1.4, 1.5])
    assert usual_budgets(gain) == ()  # fewer rows than anybody would ask for
    (budget,) = usual_budgets(review_gain(np.zeros(10)))
    assert budget.expected_precision == 0
    assert np.isnan(budget.expected_recall)


def test_is_uncertain_where_thirty_random_checks_would_tell_more(summary):
    width = summary.share_high - summary.share_low
    exact = np.ptp(binomtest(round(30 * summary.expected_share), 30).proportion_ci(0.9, "exact"))
    assert summary.is_uncertain == (width > exact)
    assert checks_would_tell(0.1, 0.0, 0.5)
    assert not checks_would_tell(0.1, 0.08, 0.12)
    assert not checks_would_tell(0.0, 0.0, 0.05)


def test_plain_types_survive_json_and_unknown_numbers_are_null(small_audit):
    none = small_audit.summary(small_audit.suspects(n=0))
    plain = none.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["expected_precision"] is None
    assert plain["budgets"][0]["n_rows"] == 10


def test_finds_lie_within_their_intervals(small_audit):
    least = most = 0.0
    for one in small_audit.budgets:
        assert 0 <= one.found_low <= one.expected_found <= one.found_high <= one.n_rows
        low, high, _ = small_audit.precision_interval(small_audit.suspects(n=one.n_rows).rows)
        least, most = max(least, low * one.n_rows), max(most, high * one.n_rows)
        assert_allclose([one.found_low, one.found_high], [least, most])


@given(
    wrong=arrays(np.float64, st.integers(0, 600), elements=st.floats(0, 1)),
    ends=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=6, max_size=6),
)
def test_who_checks_more_rows_finds_no_fewer_wrong_labels(wrong, ends):
    """Whatever the intervals of the lists are, of which each is found by itself."""
    wrong = np.sort(wrong)[::-1]

    class Audit:
        issue_probability, labels = wrong, SimpleNamespace(is_observed=np.full(len(wrong), True))

        def suspects(self, n):
            return SimpleNamespace(rows=np.arange(len(wrong))[:n])

        def precision_interval(self, rows):
            low, high = sorted(ends[BUDGETS.index(len(rows))])
            mean = wrong[rows].mean()  # which lies within them, as of an audit
            return min(low, mean), max(high, mean), "model"

    found = find_budgets(Audit())
    assert [one.n_rows for one in found] == [n for n in BUDGETS if n <= len(wrong)]
    for name in ("expected_found", "found_low", "found_high"):
        numbers = [getattr(one, name) for one in found]
        assert numbers == sorted(numbers)
    for one in found:
        assert 0 <= one.found_low <= one.expected_found + 1e-9
        assert one.expected_found <= one.found_high + 1e-9 <= one.n_rows + 2e-9


def test_what_is_mislabelled_of_two_classes_has_the_intervals_of_the_flips():
    one, other = FlipRate("no", "yes", 0.1, 0.003, 0.19), FlipRate("yes", "no", 0.15, 0.02, 0.28)
    kept = FlipRate("no", "no", 0.9, 0.808, 0.99), FlipRate("yes", "yes", 0.85, 0.72, 0.97)
    noise = (kept[0], one, other, kept[1])
    summary = SimpleNamespace(noise=noise, classes=("no", "yes"), kept=noise[::3])
    assert AuditSummary.mislabelled.fget(summary) == (one, other)


def test_what_is_mislabelled_of_more_classes_is_what_is_not_kept(summary):
    for one, kept in zip(summary.mislabelled, summary.kept, strict=True):
        assert one.true == kept.true
        assert_allclose([one.rate, one.low, one.high], [1 - kept.rate, 1 - kept.high, 1 - kept.low])
