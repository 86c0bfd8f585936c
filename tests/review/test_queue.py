"""What is asked first, and what is not asked again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.review.queue import (
    ORDERS,
    random_draws,
    random_order,
    rank,
)
from tests.review.audits import three_classes, two_classes


@pytest.mark.parametrize("make", [two_classes, three_classes])
@pytest.mark.parametrize("order", ORDERS)
def test_every_row_is_ranked_once_unless_checked_or_set_aside(make, order):
    audit = make()
    assert sorted(rank(audit, order).rows) == list(range(len(audit)))
    checked = np.full(len(audit), -1)
    checked[[3, 7]] = 1
    ranking = rank(audit.with_checked(checked), order, set_aside=[5]).rows
    assert sorted(ranking) == sorted(set(range(len(audit))) - {3, 5, 7})


def test_the_mixed_order_takes_turns():
    audit = two_classes()
    ranking = rank(audit, "mixed").rows
    drawn = random_order(audit.labels)
    assert ranking[0] == drawn[0]
    assert ranking[1] == rank(audit, "suspicious").rows[0]
    checked = np.full(len(audit), -1)
    checked[ranking[:3]] = 1
    later = audit.with_checked(checked)
    assert rank(later, "mixed").rows[0] == rank(later, "suspicious").rows[0]


def test_draws_that_are_due_come_first():
    audit = two_classes()
    drawn = random_order(audit.labels)
    others = [row for row in drawn[::-1] if row not in drawn[:10]][:32]
    checked = np.full(len(audit), -1)
    checked[others] = 1
    later = audit.with_checked(checked)
    # Of 32 answers, six should have been drawn at random, and the next is due.
    ranking = rank(later, "mixed").rows
    np.testing.assert_array_equal(ranking[:7], drawn[:7])
    # Labels that were checked before the review make nothing due.
    before = rank(later, "mixed", n_answers=0).rows
    assert before[0] == drawn[0]
    assert before[1] == rank(later, "suspicious").rows[0]


@given(st.integers(0, 200), st.sets(st.integers(0, 149)))
def test_random_draws_depend_on_the_number_of_answers_alone(n_answers, answered):
    labels = two_classes().labels
    is_closed = np.isin(np.arange(len(labels)), list(answered))
    found = random_draws(labels, n_answers, is_closed)
    order = random_order(labels)
    np.testing.assert_array_equal(found, order[: len(found)])
    assert is_closed[found].all()
    everything = random_draws(labels, n_answers, np.ones(len(labels), dtype=bool))
    assert len(everything) == (n_answers // 5 if n_answers >= 25 else 0)
    assert not {7, 8} & set(order.tolist())  # they have no label that could be wrong


def test_informative_starts_with_what_is_least_known():
    audit = two_classes()
    first = rank(audit, "informative").rows[0]
    assert abs(audit.inference.posterior[first, 0] - 0.5) == pytest.approx(
        np.abs(audit.inference.posterior[:, 0] - 0.5).min()
    )


def test_suspicious_starts_with_suspects_and_ends_with_rows_without_a_label():
    audit = two_classes()
    ranking = rank(audit, "suspicious").rows
    np.testing.assert_array_equal(ranking[: len(audit.suspects())], audit.suspects().rows)
    assert set(ranking[-2:]) == {7, 8}
