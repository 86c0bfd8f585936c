"""Lists of suspects whose share of false alarms is bounded by random checks."""

import re
from functools import partial

import numpy as np
import pytest

from rboost.audit import audit_labels
from rboost.audit.insight.checked import controlled_list
from rboost.audit.labels import NO_LABEL, table_labels

N_ROWS = 2000
ORDER = np.linspace(0, 1, N_ROWS, endpoint=False)  # row 0 is the most suspicious
controlled = partial(controlled_list, false_alarms=0.1)


def steep(threshold, top, bottom=0.02):
    """Chances that labels are wrong: one above a place in the order, another below."""
    return np.where(threshold > ORDER, top, bottom)


def decreasing(share):
    """Issue probabilities that fall evenly and have this mean."""
    return np.linspace(2 * share, 0, N_ROWS).clip(1e-6, 1)


def labels_of(wrong, drawn, others=()):
    """Given labels are 0; those that were drawn and the others were checked."""
    checked = np.where(drawn, wrong, NO_LABEL)
    checked[list(others)] = wrong[list(others)]
    given = np.zeros(len(wrong), dtype=int)
    return table_labels(np.array([0, 1]), given, checked, at_random=drawn)


def draw(n, random, n_rows=N_ROWS):
    return np.isin(np.arange(n_rows), random.permutation(n_rows)[:n])


def false_alarms(rows, wrong):
    return 1 - wrong[rows].mean() if len(rows) else 0.0


@pytest.mark.parametrize(
    ("chances", "issue"),
    [
        (steep(0.3, 0.9), decreasing(0.25)),  # exactly at the edge
        (steep(0.3, 0.88), steep(0.3, 0.99)),  # promises too much
        (steep(0.2, 0.95), decreasing(0.45)),  # expects more than twice as many
        (np.full(N_ROWS, 0.2), steep(0.3, 0.999)),  # an order that says nothing
        (steep(0.1, 0.0, 0.5), steep(0.3, 0.9)),  # the most suspicious are right
        (steep(0.05, 1.0, 0.85), steep(0.3, 0.5)),  # the list becomes worse with its length
    ],
    ids=["edge", "too sure", "too many", "no order", "wrong order", "worse"],
)
@pytest.mark.parametrize("n_others", [0, 60])
def test_false_alarms_are_kept_in_nine_of_ten_draws(chances, issue, n_others):
    random = np.random.RandomState(0)
    wrong = (random.uniform(size=N_ROWS) < chances).astype(int)
    kept = []
    for _ in range(200):
        labels = labels_of(wrong, draw(300, random), range(n_others))
        rows = controlled(issue, labels)
        assert not labels.is_checked[rows].any()
        kept.append(false_alarms(rows, wrong) <= 0.1)
    assert np.mean(kept) >= 0.9


def test_the_longest_list_that_is_good_enough_is_found():
    random, wrong = np.random.RandomState(1), (ORDER < 0.3).astype(int)
    issue = steep(0.3, 0.95, 0.02)
    n_listed = []
    for _ in range(20):
        rows = controlled(issue, labels_of(wrong, draw(300, random)))
        assert (np.diff(issue[rows]) <= 0).all()
        n_listed.append(len(rows))
    assert np.median(n_listed) > 0.9 * 0.3 * N_ROWS * (1 - 300 / N_ROWS)


def test_too_few_random_checks_are_refused_with_the_number_that_it_takes():
    random, wrong = np.random.RandomState(2), (ORDER < 0.1).astype(int)
    issue = steep(0.1, 0.95, 0.001)
    with pytest.raises(ValueError, match="Of 0 labels drawn at random"):
        controlled(issue, labels_of(wrong, np.zeros(N_ROWS, dtype=bool), range(50)))
    with pytest.raises(ValueError, match="Of 40 labels drawn at random and checked") as refused:
        controlled(issue, labels_of(wrong, draw(40, random)))
    assert str(refused.value).count(".") == 1
    more = int(re.search(r"check about (\d+) more rows", str(refused.value)).group(1))
    assert 200 < more < N_ROWS
    found = [len(controlled(issue, labels_of(wrong, draw(40 + more, random)))) for _ in range(20)]
    assert np.mean(np.array(found) > 0) >= 0.8


def test_a_table_of_which_all_is_checked_lists_nothing_it_cannot_know():
    wrong = (ORDER < 0.3).astype(int)
    with pytest.raises(ValueError, match="check about 1 more"):
        controlled(decreasing(0.2), labels_of(wrong, np.ones(N_ROWS, dtype=bool)))


def test_an_audit_lists_rows_by_probabilities_without_answers():
    random = np.random.RandomState(0)
    true = random.randint(0, 2, N_ROWS)
    given = np.where(random.uniform(size=N_ROWS) < 0.3, 1 - true, true)
    P = np.clip(np.where(true == 1, 0.95, 0.05) + 0.04 * random.standard_normal(N_ROWS), 0.01, 0.99)
    drawn = draw(300, random)
    checked = [label if is_drawn else None for label, is_drawn in zip(true, drawn, strict=True)]
    audit = audit_labels(
        None, given, probabilities=np.column_stack([1 - P, P]), y_checked=checked,
        checked_at_random=drawn,
    )  # fmt: skip
    found = audit.suspects(false_alarms=0.1)
    assert len(found) > 200
    assert (given != true)[found.rows].mean() >= 0.9
    assert not audit.labels.is_checked[found.rows].any()
    assert (np.diff(found.probability_wrong) <= 0).all()
    nobody = audit_labels(None, given, probabilities=np.column_stack([1 - P, P]))
    np.testing.assert_allclose(audit._issue_without_answers, nobody.issue_probability)
    with pytest.raises(ValueError, match="Of 0 labels drawn at random"):
        nobody.suspects(false_alarms=0.1)


@pytest.mark.parametrize("share", [0, 0.6, np.nan, True, "few"])
def test_shares_out_of_range_are_refused(share, small_audit):
    with pytest.raises(ValueError, match="false_alarms must be a finite number above 0"):
        small_audit.suspects(false_alarms=share)
    with pytest.raises(ValueError, match="Pass only one of"):
        small_audit.suspects(n=3, false_alarms=0.1)
