"""What audits promise beside what is true: of planted errors of all kinds, and of rare classes.

Run by ``python -m benchmarks.audit --promises``. The promise is the expected precision of the
suspects that an audit lists unless told otherwise, and is made only where its interval is narrow;
intervals are meant to hold nine times in ten.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.markdown import table
from benchmarks.planted_noise import IMBALANCED, TWENTY, Case, plant
from rboost._typing import Floats
from rboost.audit import audit_labels
from rboost.audit.insight.summary import WIDEST_PROMISE

# How close a promise must be, and by how much none may be too high.
CLOSE, TOO_HIGH = 0.15, 0.2


@dataclass(frozen=True)
class Promise:
    """What an audit said, and what is true."""

    case: Case
    n_rows: int
    n_classes: int
    n_listed: int
    promised: float
    precision: float
    list_interval: tuple[float, float]
    share: float
    interval: tuple[float, float]
    true_share: float
    # For each pair of classes, whether the interval of the rate holds the share that was flipped.
    rates_held: tuple[bool, ...]

    @property
    def gap(self) -> float:
        """How much more was promised than is true."""
        return self.promised - self.precision

    @property
    def is_made(self) -> bool:
        """Whether the audit says how many of its list are wrong, beside the interval."""
        return self.list_interval[1] - self.list_interval[0] <= WIDEST_PROMISE

    @property
    def list_held(self) -> bool:
        """Whether the interval of the list holds what is true of it."""
        return self.list_interval[0] <= self.precision <= self.list_interval[1]

    @property
    def held(self) -> bool:
        """Whether the interval holds the share of wrong labels."""
        return self.interval[0] <= self.true_share <= self.interval[1]


def measure(case: Case) -> Promise:
    """Plant errors, audit once, compare."""
    X, true, given = plant(case)
    wrong = true != given
    # One thread: processes compete already. Warnings are about single tables.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = audit_labels(X, given, n_jobs=1)
    suspects, n_classes = audit.suspects(), int(true.max()) + 1
    least, most, _ = audit.precision_interval(suspects.rows)
    flips = np.zeros((n_classes, n_classes))
    np.add.at(flips, (true, given), 1)
    return Promise(
        case, len(true), n_classes, len(suspects), suspects.expected_precision,
        float(wrong[suspects.rows].mean()), (least, most),
        audit.expected_wrong_labels / len(true), audit.inference.wrong_share, float(wrong.mean()),
        rates_held(audit.noise_interval, flips / flips.sum(axis=1, keepdims=True)),
    )  # fmt: skip


def rates_held(interval: Floats, noise: Floats) -> tuple[bool, ...]:
    """Whether the interval of each p(given | true) holds it, of given labels other than true."""
    held = (interval[0] <= noise + 1e-9) & (noise <= interval[1] + 1e-9)
    return tuple(held[~np.eye(len(noise), dtype=bool)].tolist())


def measure_all(cases: Sequence[Case], n_jobs: int) -> list[Promise]:
    """Audit all of them."""
    return list(Parallel(n_jobs=n_jobs)(delayed(measure)(case) for case in cases))


def _row(one: Promise) -> list[str]:
    (low, high), (least, most) = one.interval, one.list_interval
    return [
        str(one.n_rows), str(one.n_listed), f"{one.promised:.0%}" if one.is_made else "–",
        f"{least:.0%}–{most:.0%}", f"{one.precision:.0%}", "yes" if one.list_held else "no",
        f"{one.true_share:.1%}", f"{one.share:.1%}", f"{low:.1%}–{high:.1%}",
        "yes" if one.held else "no",
    ]  # fmt: skip


HEAD = [
    "rows", "listed", "promised", "interval of the list", "true", "holds", "wrong", "expected",
    "interval", "holds",
]  # fmt: skip


def list_verdict(found: Sequence[Promise]) -> str:
    """How many promises are made and kept, the highest, and how often intervals of lists hold."""
    gaps = np.array([one.gap for one in found if one.is_made])
    made = f"{len(gaps)} of {len(found)} lists have a promise"
    if len(gaps):
        made += (
            f", **{np.sum(np.abs(gaps) <= CLOSE)} of {len(gaps)}** within {100 * CLOSE:.0f} points "
            f"of the truth, the highest {100 * gaps.max():+.0f} points from it (asked: at most "
            f"{100 * TOO_HIGH:.0f} above)"
        )
    return (
        f"{made}. The intervals of {np.mean([one.list_held for one in found]):.0%} of the lists "
        "hold the truth."
    )


def twenty_verdict(found: Sequence[Promise]) -> str:
    """What is promised of lists, and how often the share of wrong labels is held."""
    return (
        f"{list_verdict(found)} The interval holds the share of all labels that is wrong in "
        f"{np.mean([one.held for one in found]):.0%}."
    )


def twenty_table(found: Sequence[Promise]) -> str:
    """A row for each table."""
    return table(
        ["table", "classes", "noise", *HEAD],
        [[one.case.table, str(one.n_classes), one.case.noise, *_row(one)] for one in found],
    )


def imbalance_verdict(found: Sequence[Promise]) -> str:
    """What is promised of lists, intervals, and what is said where no label is wrong."""
    noisy = [one for one in found if one.true_share > 0]
    clean = [one.list_interval[0] for one in found if one.true_share == 0]
    rates = np.array([one.rates_held for one in noisy]).reshape(-1, 2)
    return (
        f"{list_verdict(noisy)} Intervals of tables with errors hold the share of wrong labels in "
        f"{np.mean([one.held for one in noisy]):.0%}, the rate of the frequent class in "
        f"{rates[:, 0].mean():.0%} and of the rare in {rates[:, 1].mean():.0%}. Where no label is "
        f"wrong, {np.mean(np.array(clean) == 0):.0%} of the lists may be all right by their "
        "interval."
    )


def imbalance_table(found: Sequence[Promise]) -> str:
    """A row for each table, ratio and noise; the last column: frequent, then rare."""
    return table(
        ["table", "ratio", "noise", *HEAD, "rates hold"],
        [
            [one.case.table, f"1:{one.case.ratio}", one.case.noise, *_row(one),
             ", ".join("yes" if held else "no" for held in one.rates_held)]
            for one in found
        ],
    )  # fmt: skip


def report(twenty: Mapping[str, Sequence[Promise]], imbalance: Sequence[Promise]) -> str:
    """The page."""
    parts = [
        "# Promises\n",
        "Tables with planted errors, audited once with all defaults. *Promised* is the precision "
        "that the audit expects of its default list of suspects, where the 90 % interval of the "
        f"list is at most {100 * WIDEST_PROMISE:.0f} points wide; *true* the share of the list "
        "that was really flipped; *wrong* the share of all labels that were flipped, *expected* "
        "what the audit says, with its 90 % interval. An error of the table as it came counts as "
        "right.\n",
    ]
    words = {
        "judged": "Kept to judge by: nothing about promises is chosen by these tables, though some "
        "of them served elsewhere.",
        "development": "Choices may have been made by these.",
    }
    for name, sentence in words.items():
        found = twenty[name]
        parts.append(f"## Twenty tables, {name}\n\n{sentence} {twenty_verdict(found)}\n")
        parts.append(twenty_table(found))
    parts.append(f"## A rare class\n\n{imbalance_verdict(imbalance)}\n")
    parts.append(imbalance_table(imbalance))
    return "\n".join(parts)


def run(n_jobs: int) -> str:
    """Audit everything and write the page."""
    twenty = {name: measure_all(cases, n_jobs) for name, cases in TWENTY.items()}
    return report(twenty, measure_all(IMBALANCED, n_jobs))
