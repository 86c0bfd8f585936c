"""How well the share of wrong labels is known, and what the next answers are expected to add.

A review is done when the 90 % interval of the share of wrong labels among those that nobody checked
is as narrow as was asked for. What further answers add is simulated: the share is taken to be at
each of three quantiles of its distribution, labels of the next rows are drawn to be wrong as often,
and the interval after these answers is averaged.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rboost.audit.labels import NO_LABEL
from rboost.review.answers import CHANGE, KEEP, Answer, Log
from rboost.review.queue import DEFAULT_ORDER
from rboost.review.snapshot import Snapshot, with_answers

# Half the width of the interval that is asked for by default, in percentage points.
UNTIL = 3.0
# With fewer answers the width is that of a model which hardly anything has tested.
FEWEST_ANSWERS = 20
# Answers whose worth is forecast.
N_NEXT = 20
# How likely the quantiles .05, .5 and .95 are as three points that stand for a distribution
# (Pearson and Tukey).
THREE_POINTS = (0.185, 0.63, 0.185)


def points(low: float, high: float) -> float:
    """Half the width of an interval of a share, in percentage points.

    Examples
    --------
    >>> from rboost.review.precision import points
    >>> round(points(0.02, 0.07), 1)
    2.5
    """
    return 50 * (high - low)


def is_enough(snapshot: Snapshot, n_answers: int, until: float) -> bool:
    """Whether the share of wrong labels is known as well as was asked for, by enough answers."""
    known = snapshot.estimate
    if not known["n_unchecked"]:
        return True
    return n_answers >= FEWEST_ANSWERS and points(known["low"], known["high"]) <= until


def forecast(
    snapshot: Snapshot, log: Log, is_wanted: Callable[[], bool] = lambda: True
) -> float | None:
    """How far the interval is expected to reach to either side after the next answers, in points.

    Of rows in the default order; None where no row is left, or once it is not wanted any more.
    """
    live, rows = snapshot.live, snapshot.rankings[DEFAULT_ORDER].rows[:N_NEXT]
    known = snapshot.estimate
    if not len(rows) or not known["n_unchecked"] or live.labels.n_annotators:
        return None
    given, suggested = live.labels.given[rows], live.suggested[rows]
    wrong = np.nan_to_num(live.issue_probability[rows], nan=1.0)
    mean = known["expected_wrong"] / known["n_unchecked"]
    random = np.random.RandomState(0).random_sample(len(rows))
    who = log.standing[-1].reviewer if log.standing else ""
    expected = 0.0
    for share, weight in zip((known["low"], mean, known["high"]), THREE_POINTS, strict=True):
        is_wrong = (random < wrong * share / max(mean, 1e-9)) | (given == NO_LABEL)
        said = np.column_stack([rows, is_wrong, np.where(is_wrong, suggested, given)]).tolist()
        answers = [
            (Answer(log.version + k, row, CHANGE if is_new else KEEP, label, "", who), None)
            for k, (row, is_new, label) in enumerate(said, 1)
        ]
        if not is_wanted():
            return None
        labels = with_answers(snapshot.fitted.labels, log.after(answers))
        if labels.is_observed.any():
            expected += weight * points(*live.wrong_share_interval(labels)[:2])
    return expected
