"""What is asked first, and what is not asked again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rboost.review.queue import ORDERS, entropy, first_open, rank
from tests.review.audits import three_classes, two_classes


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6).filter(sum))
def test_entropy_lies_between_certainty_and_ignorance(weights):
    p = np.array([weights]) / sum(weights)
    found = entropy(p)[0]
    assert 0 <= found <= np.log(len(weights)) + 1e-12
    assert found == pytest.approx(-sum(x * np.log(x) for x in p[0] if x > 0), abs=1e-12)


@pytest.mark.parametrize("make", [two_classes, three_classes])
@pytest.mark.parametrize("order", ORDERS)
def test_every_unchecked_row_is_ranked_once_by_its_worth(make, order):
    audit = make()
    ranking = rank(audit, order)
    assert sorted(ranking) == list(range(len(audit)))
    assert np.all(np.diff(ORDERS[order](audit)[ranking]) <= 0)


def test_informative_starts_with_what_is_least_known():
    audit = two_classes()
    first = rank(audit, "informative")[0]
    assert abs(audit.inference.posterior[first, 0] - 0.5) == pytest.approx(
        np.abs(audit.inference.posterior[:, 0] - 0.5).min()
    )


def test_suspicious_starts_with_suspects_and_ends_with_rows_without_a_label():
    audit = two_classes()
    ranking = rank(audit, "suspicious")
    np.testing.assert_array_equal(ranking[: len(audit.suspects())], audit.suspects().rows)
    assert set(ranking[-2:]) == {7, 8}


def test_checked_rows_are_not_ranked():
    audit = two_classes()
    checked = np.full(len(audit), -1)
    checked[[3, 7]] = 1
    for order in ORDERS:
        assert not {3, 7} & set(rank(audit.with_checked(checked), order).tolist())


def test_the_first_open_row_is_in_no_set():
    assert first_open(np.array([4, 2, 9]), {4: "answered"}, {2}) == 9
    assert first_open(np.array([4]), {4}) is None
