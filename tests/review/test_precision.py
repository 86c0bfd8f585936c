"""When answers are enough, and what the next ones are expected to add."""

from dataclasses import replace

import numpy as np
import pytest

from rboost.review.answers import Log
from rboost.review.precision import FEWEST_ANSWERS, N_NEXT, forecast, is_enough, points
from rboost.review.snapshot import after_answers, take_snapshot
from tests.review.audits import three_classes, two_classes

NOTHING = Log(0, {}, frozenset())


@pytest.fixture(scope="module")
def snapshot():
    return take_snapshot(two_classes(), NOTHING)


def known(snapshot, low, high, n_unchecked=100):
    told = {"low": low, "high": high, "n_unchecked": n_unchecked}
    return replace(snapshot, estimate=snapshot.estimate | told)


def test_answers_are_enough_at_the_width_asked_for_and_never_without_answers(snapshot):
    narrow, wide = known(snapshot, 0.02, 0.06), known(snapshot, 0.02, 0.061)
    assert points(0.02, 0.06) == pytest.approx(2)
    assert is_enough(narrow, FEWEST_ANSWERS, until=2.001)
    assert not is_enough(narrow, FEWEST_ANSWERS - 1, until=2.001)
    assert not is_enough(narrow, 0, until=40)
    assert not is_enough(wide, 1000, until=2.001)
    assert is_enough(known(snapshot, 0, 0, n_unchecked=0), 3, until=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("make", [two_classes, three_classes])
def test_a_forecast_is_the_mean_width_after_answers_that_follow_the_model(make):
    """Compared with answers drawn row by row: the truth first, at a share of the model's own."""
    snapshot = take_snapshot(make(), NOTHING)
    live, rows = snapshot.live, snapshot.rankings["mixed"].rows[:N_NEXT]
    issue, random, found = live.issue_probability, np.random.RandomState(1), []
    low, high = snapshot.estimate["low"], snapshot.estimate["high"]
    mean = np.nanmean(issue)
    for _ in range(12):
        # A share whose quantiles .05, .5 and .95 are those of the interval, roughly.
        share = np.interp(
            random.random_sample(), [0, 0.05, 0.5, 0.95, 1], [low, low, mean, high, high]
        )
        wrong = np.nan_to_num(issue[rows], nan=1.0) * share / mean
        is_wrong = (random.random_sample(len(rows)) < wrong) | (live.labels.given[rows] < 0)
        checked = live.labels.checked.copy()
        checked[rows] = np.where(is_wrong, live.suggested[rows], live.labels.given[rows])
        found.append(points(*live.with_checked(checked).wrong_share_interval()[:2]))
    expected = forecast(snapshot, NOTHING)
    spread = np.std(found) / np.sqrt(len(found))
    assert abs(expected - np.mean(found)) < 4 * spread + 1.0
    assert expected == forecast(snapshot, NOTHING)


def test_nothing_is_forecast_where_no_row_is_left(snapshot):
    rankings = {name: replace(own, rows=own.rows[:0]) for name, own in snapshot.rankings.items()}
    assert forecast(replace(snapshot, rankings=rankings), NOTHING) is None
    assert after_answers(snapshot.fitted, NOTHING) is snapshot.fitted
