"""What an audit says in a few numbers, and how two of them differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._typing import Integers
from rboost.audit import LabelAudit
from rboost.audit.insight.checked import RandomChecks
from rboost.audit.render.text import of_contradiction

# Names of rows that a comparison lists at most.
MOST_NAMED = 50


@dataclass(frozen=True)
class Rate:
    """The share of rows of a true class whose label says otherwise; the interval holds by .9."""

    true_class: str
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """The noise and the wrong labels of an audit, and how good its model is expected to be.

    ``random_checks`` is what labels drawn at random say without any model, ``contradiction`` the
    sentence to read where answers are not what was expected.
    """

    noise: tuple[Rate, ...]
    expected_wrong: float
    suspects: int
    accuracy: float
    label_accuracy: float
    random_checks: RandomChecks | None
    contradiction: str


def estimate(audit: LabelAudit) -> Estimate:
    """The few numbers of an audit."""
    summary, quality = audit.summary(), audit.quality
    return Estimate(
        noise=tuple(Rate(k.true, 1 - k.rate, 1 - k.high, 1 - k.low) for k in summary.kept),
        expected_wrong=summary.expected_wrong,
        suspects=summary.n_suspects,
        accuracy=quality.accuracy,
        label_accuracy=quality.label_accuracy,
        random_checks=summary.random_checks,
        contradiction=of_contradiction(summary.predictive_check),
    )


@dataclass(frozen=True)
class Changes:
    """What a new fit changed, for the same answers; suspects are named, ``n_`` counts all."""

    before: Estimate
    after: Estimate
    new_suspects: tuple[str, ...]
    n_new_suspects: int
    former_suspects: tuple[str, ...]
    n_former_suspects: int


def compare(before: LabelAudit, after: LabelAudit) -> Changes:
    """What differs between two audits of the same rows."""
    old, new = before.suspects().rows, after.suspects().rows
    came, went = np.setdiff1d(new, old), np.setdiff1d(old, new)
    return Changes(
        estimate(before), estimate(after), _named(after, came), len(came), _named(after, went),
        len(went),
    )  # fmt: skip


def _named(audit: LabelAudit, rows: Integers) -> tuple[str, ...]:
    likeliest = rows[np.argsort(-np.nan_to_num(audit.issue_probability[rows]), kind="stable")]
    names: list[Any] = audit.ids[likeliest[:MOST_NAMED]].tolist()
    return tuple(str(name)[:100] for name in names)
