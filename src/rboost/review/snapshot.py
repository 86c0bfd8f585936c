"""What is known at a moment of a review: an audit after the answers, and its few numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rboost._typing import Integers
from rboost.audit import LabelAudit, TableLabels
from rboost.audit.insight.summary import PROBABLY, summarize
from rboost.audit.labels import NO_LABEL
from rboost.audit.render.text import describe_contradiction
from rboost.review.answers import Log
from rboost.review.queue import ORDERS, Ranking, random_draws, rank

# Names of rows that a comparison lists at most.
MOST_NAMED = 50

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is known at a moment; replaced as a whole.

    ``fitted`` is what was fitted last, ``live`` the same with all answers up to event ``version``
    of the log, ``rankings`` the rows without an answer by then, in each order. ``doubtful`` are
    rows whose answer in the review is rather a mistake than right.
    """

    fitted: LabelAudit
    live: LabelAudit
    version: int
    estimate: Json
    rankings: dict[str, Ranking]
    doubtful: list[int]


def take_snapshot(fitted: LabelAudit, log: Log) -> Snapshot:
    """What follows from the answers without a new fit."""
    live = after_answers(fitted, log)
    unsure = [row for row, answer in log.current.items() if answer.label is None]
    rankings = {order: rank(live, order, unsure, len(log.current)) for order in ORDERS}
    doubtful = [row for row in live.doubtful_answers.tolist() if row in log.current]
    return Snapshot(fitted, live, log.version, estimate(live), rankings, doubtful)


def after_answers(audit: LabelAudit, log: Log) -> LabelAudit:
    """The audit with the answers, which is the same where they add nothing."""
    labels = with_answers(audit.labels, log)
    if np.array_equal(labels.checked, audit.labels.checked) and np.array_equal(
        labels.at_random, audit.labels.at_random
    ):
        return audit
    return audit.with_checked(labels.checked, labels.at_random)


def with_answers(labels: TableLabels, log: Log) -> TableLabels:
    """Checked labels, and which were drawn at random: those of the audit, then those of the log.

    An audit that was fitted to answers holds them as checked. Some may have been taken back since,
    so only rows that never had an answer in the review count as checked before it.
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


def estimate(audit: LabelAudit) -> Json:
    """The noise and the wrong labels of an audit, and how good its model is expected to be.

    ``low`` to ``high`` holds the share of wrong labels among the ``n_unchecked`` that nobody
    checked, with probability 0.9, as do all intervals. ``noise`` is the share of rows of each true
    class whose label says otherwise. ``suspects`` counts labels more likely wrong than right,
    ``random_checks`` is what labels drawn at random say without any model, ``contradiction`` the
    sentence to read where answers are not what was expected.
    """
    summary = summarize(audit, audit.suspects(), of_annotators=False)
    quality = audit.quality
    drawn = summary.random_checks
    return {
        "noise": [
            {"true_class": k.true, "rate": 1 - k.rate, "low": 1 - k.high, "high": 1 - k.low}
            for k in summary.kept
        ],
        "n_unchecked": summary.n_unchecked,
        "low": summary.share_low if summary.n_unchecked else 0.0,
        "high": summary.share_high if summary.n_unchecked else 0.0,
        "expected_wrong": summary.expected_wrong,
        "suspects": summary.probably_wrong,
        "accuracy": quality.accuracy,
        "label_accuracy": quality.label_accuracy,
        "random_checks": asdict(drawn) if drawn else None,
        "contradiction": describe_contradiction(summary.predictive_check),
    }


def compare(before: LabelAudit, after: LabelAudit) -> Json:
    """What a new fit changed, for the same answers.

    Suspects are labels more likely wrong than right; some are named, ``n_`` counts all.
    """
    old, new = (one.suspects(threshold=PROBABLY).rows for one in (before, after))
    came, went = np.setdiff1d(new, old), np.setdiff1d(old, new)
    return {
        "n_answers": int(after.labels.is_checked.sum()),
        "before": estimate(before),
        "after": estimate(after),
        "new_suspects": _named(after, came),
        "n_new_suspects": len(came),
        "former_suspects": _named(after, went),
        "n_former_suspects": len(went),
    }


def _named(audit: LabelAudit, rows: Integers) -> list[str]:
    """Names of the rows whose labels are likeliest wrong."""
    likeliest = rows[np.argsort(-np.nan_to_num(audit.issue_probability[rows]), kind="stable")]
    return [str(name)[:100] for name in audit.ids[likeliest[:MOST_NAMED]].tolist()]
