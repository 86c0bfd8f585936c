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
from rboost.labels import Answers
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
    if labels.answers.said == audit.labels.answers.said and np.array_equal(
        labels.at_random, audit.labels.at_random
    ):
        return audit
    return audit.with_checked(labels.answers, labels.at_random)


def with_answers(labels: TableLabels, log: Log) -> TableLabels:
    """What each person says, and which rows were drawn at random: of the audit, then of the log.

    An audit that was fitted to answers holds them as checked. Some may have been taken back since,
    so only rows that never had an answer in the review count as checked before it.
    """
    said = [answer for answer in log.standing if answer.label is not None]
    answers = labels.answers.without([*log.touched]).followed_by(
        Answers.by(
            len(labels),
            [answer.row for answer in said],
            [answer.reviewer for answer in said],
            [answer.label for answer in said],
        )
    )
    at_random = labels.at_random.copy()
    is_closed = answers.majority != NO_LABEL
    is_closed[list(log.current)] = True
    at_random[random_draws(labels, len(log.current), is_closed)] = True
    return labels.with_checked(answers, at_random)


def estimate(audit: LabelAudit) -> Json:
    """The noise and the wrong labels of an audit, and how good its model is expected to be.

    ``low`` to ``high`` holds the share of wrong labels among the ``n_unchecked`` that nobody
    checked, with probability 0.9, as do all intervals; where it ``is_uncertain``, no more is said
    of it. ``noise`` is the share of rows of each true class whose label says otherwise.
    ``probably_wrong`` counts labels with a probability of .5 or more of being wrong.
    ``random_checks`` is what labels drawn at random say without any model, ``contradiction`` the
    sentence to read where answers are not what was expected.
    """
    summary = summarize(audit, audit.suspects(), of_annotators=False)
    quality = audit.quality
    drawn = summary.random_checks
    return {
        "noise": [
            {"true_class": one.true, "rate": one.rate, "low": one.low, "high": one.high}
            for one in summary.mislabelled
        ],
        "is_uncertain": summary.is_uncertain,
        "n_unchecked": summary.n_unchecked,
        "low": summary.share_low if summary.n_unchecked else 0.0,
        "high": summary.share_high if summary.n_unchecked else 0.0,
        "expected_wrong": summary.expected_wrong,
        "probably_wrong": summary.probably_wrong,
        "accuracy": quality.accuracy,
        "label_accuracy": quality.label_accuracy,
        "random_checks": asdict(drawn) if drawn else None,
        "contradiction": describe_contradiction(summary.predictive_check),
    }


def compare(before: LabelAudit, after: LabelAudit) -> Json:
    """What a new fit changed, for the same answers.

    Some of the labels that became probably wrong, or are so no more, are named; ``n_`` counts all.
    """
    old, new = (one.suspects(threshold=PROBABLY).rows for one in (before, after))
    came, went = np.setdiff1d(new, old), np.setdiff1d(old, new)
    return {
        "n_answers": int(after.labels.is_checked.sum()),
        "before": estimate(before),
        "after": estimate(after),
        "now_probable": _named(after, came),
        "n_now_probable": len(came),
        "no_longer_probable": _named(after, went),
        "n_no_longer_probable": len(went),
    }


def _named(audit: LabelAudit, rows: Integers) -> list[str]:
    """Names of the rows whose labels are likeliest wrong."""
    likeliest = rows[np.argsort(-np.nan_to_num(audit.issue_probability[rows]), kind="stable")]
    return [str(name)[:100] for name in audit.ids[likeliest[:MOST_NAMED]].tolist()]
