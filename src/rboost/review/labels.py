"""The labels of an audit after the answers of a review."""

from __future__ import annotations

from rboost.audit import TableLabels
from rboost.audit.labels import NO_LABEL
from rboost.review.answers import Log
from rboost.review.queue import random_draws


def with_answers(labels: TableLabels, log: Log) -> TableLabels:
    """What is checked, and what by chance: what the audit came with, and the answers of the log.

    An audit that was fitted to answers holds them as checked. Some may have been taken back since,
    so only rows that never had an answer count as checked beforehand.
    """
    checked = labels.checked.copy()
    checked[list(log.touched)] = NO_LABEL
    for row, answer in log.current.items():
        checked[row] = NO_LABEL if answer.label is None else answer.label
    at_random = labels.at_random.copy()
    is_closed = checked != NO_LABEL
    is_closed[list(log.current)] = True
    at_random[random_draws(labels, len(log.current), is_closed)] = True
    return labels.with_checked(checked, at_random)
