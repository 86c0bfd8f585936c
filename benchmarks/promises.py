"""What audits promise beside what is true: of planted errors of all kinds, and of rare classes.

Run by ``python -m benchmarks.audit --promises``. The promise is the expected precision of the
suspects that an audit lists unless told otherwise; intervals are meant to hold nine times in ten.
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

# Of twenty promises, how many must be how close, and by how much none may be too high.
CLOSE, N_CLOSE, TOO_HIGH = 0.15, 18, 0.25
# The precision of a shorter list is mostly chance.
FEWEST_LISTED = 10


@dataclass(frozen=True)
class Promise:
    """What an audit said, and what is true; NaN where nothing is listed."""

    case: Case
    n_rows: int
    n_classes: int
    n_listed: int
    promised: float
    precision: float
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
    suspects, n_classes = audit.suspects(threshold=0.5), int(true.max()) + 1
    flips = np.zeros((n_classes, n_classes))
    np.add.at(flips, (true, given), 1)
    return Promise(
        case, len(true), n_classes, len(suspects), suspects.expected_precision,
        float(wrong[suspects.rows].mean()) if len(suspects) else float("nan"),
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
    low, high = one.interval
    percents = (
        [f"{one.promised:.0%}", f"{one.precision:.0%}", f"{100 * one.gap:+.0f}"]
        if one.n_listed
        else ["–", "–", "–"]
    )
    return [
        str(one.n_rows), str(one.n_listed), *percents, f"{one.true_share:.1%}", f"{one.share:.1%}",
        f"{low:.1%}–{high:.1%}", "yes" if one.held else "no",
    ]  # fmt: skip


HEAD = [
    "rows", "listed", "promised", "true", "gap", "wrong", "expected", "interval", "holds",
]  # fmt: skip


def twenty_verdict(found: Sequence[Promise]) -> str:
    """How many promises are kept, and the worst."""
    made = [one for one in found if one.n_listed]
    silent = len(found) - len(made)
    kept = sum(abs(one.gap) <= CLOSE for one in made) + silent
    short = [one for one in made if one.n_listed < FEWEST_LISTED and abs(one.gap) > CLOSE]
    largest = max((one.gap for one in made), default=float("nan"))
    return (
        f"**{kept} of {len(found)}** promises are within {100 * CLOSE:.0f} points of the truth "
        f"(asked: {N_CLOSE}), {silent} of them because nothing is listed; {len(short)} of the "
        f"others are of lists with fewer than {FEWEST_LISTED} rows. The one furthest above it: "
        f"{100 * largest:+.0f} points (asked: at most {100 * TOO_HIGH:.0f}). The interval holds "
        f"the share of wrong labels in {np.mean([one.held for one in found]):.0%}."
    )


def twenty_table(found: Sequence[Promise]) -> str:
    """A row for each table."""
    return table(
        ["table", "classes", "noise", *HEAD],
        [[one.case.table, str(one.n_classes), one.case.noise, *_row(one)] for one in found],
    )


def imbalance_verdict(found: Sequence[Promise]) -> str:
    """Promises of lists that are long enough, intervals, and what is listed without errors."""
    gaps = np.array([one.gap for one in found if one.n_listed >= FEWEST_LISTED])
    noisy = [one for one in found if one.true_share > 0]
    clean = [one.n_listed for one in found if one.true_share == 0]
    rates = np.array([one.rates_held for one in noisy]).reshape(-1, 2)
    return (
        f"Of {len(gaps)} lists of at least {FEWEST_LISTED} suspects {np.sum(np.abs(gaps) <= CLOSE)}"
        f" promise within {100 * CLOSE:.0f} points of the truth and {np.sum(gaps > TOO_HIGH)} more "
        f"than {100 * TOO_HIGH:.0f} above it. Intervals of tables with errors hold the share of "
        f"wrong labels in {np.mean([one.held for one in noisy]):.0%}, the rate of the frequent "
        f"class in {rates[:, 0].mean():.0%} and of the rare in {rates[:, 1].mean():.0%}. "
        f"Where no label is wrong, {np.mean(clean):.1f} are listed on average, at most "
        f"{max(clean)}."
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
        "that the audit expects of its default list of suspects, *true* the share of the list that "
        "was really flipped, *gap* the difference in points; *wrong* the share of all labels that "
        "were flipped, *expected* what the audit says, with its 90 % interval. An error of the "
        "table as it came counts as right.\n",
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
