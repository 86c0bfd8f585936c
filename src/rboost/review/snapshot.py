"""What is known at a moment of a review, and which rows are open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Integers
from rboost.audit import LabelAudit
from rboost.review.answers import Log
from rboost.review.estimate import Estimate, estimate
from rboost.review.labels import with_answers
from rboost.review.queue import ORDERS, rank, still_open

# The order of rows that others have answered, for a second opinion.
SECOND = "second"


@dataclass(frozen=True)
class Wanted:
    """Which rows a person goes through: in which order, of which given and suggested class."""

    order: str = next(iter(ORDERS))
    given: int | None = None
    suggested: int | None = None
    reviewer: str = ""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is known at a moment; replaced as a whole.

    ``fitted`` is what was fitted last, ``live`` the same with all answers so far.
    """

    fitted: LabelAudit
    live: LabelAudit
    version: int
    estimate: Estimate
    rankings: dict[str, Integers]

    def open_rows(self, wanted: Wanted, log: Log) -> Integers:
        """All rows that are wanted and not answered, in their order."""
        if wanted.order == SECOND:
            closed, ranking = log.own(wanted.reviewer), np.array(list(log.current), dtype=np.intp)
        else:
            closed, ranking = log.current, self.rankings[wanted.order]
        found = still_open(ranking, len(self.fitted), closed)
        if wanted.given is not None:
            found = found[self.live.labels.given[found] == wanted.given]
        if wanted.suggested is not None:
            found = found[self.live.suggested[found] == wanted.suggested]
        return found


def take_snapshot(fitted: LabelAudit, log: Log) -> Snapshot:
    """What follows from the answers without a new fit."""
    live = after_answers(fitted, log)
    unsure = [row for row, answer in log.current.items() if answer.label is None]
    rankings = {order: rank(live, order, unsure, len(log.current)) for order in ORDERS}
    return Snapshot(fitted, live, log.version, estimate(live), rankings)


def after_answers(audit: LabelAudit, log: Log) -> LabelAudit:
    """The audit with the answers, which is the same where they add nothing."""
    labels = with_answers(audit.labels, log)
    if np.array_equal(labels.checked, audit.labels.checked) and np.array_equal(
        labels.at_random, audit.labels.at_random
    ):
        return audit
    return audit.with_checked(labels.checked, labels.at_random)
