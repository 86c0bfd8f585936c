"""Rows that fit no class: how often ordinary rows are called so, and how often rows of none are.

    python -m benchmarks.unusual

audits tables as they are, and tables of at least three classes of which one was left out but for a
few rows with labels of the others; prints and writes ``docs/audit/unusual.md``. It needs the extras
``audit`` and ``peers``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.markdown import table
from benchmarks.pages import write_page
from benchmarks.planted_columns import CLEAN, load
from rboost._typing import Integers
from rboost.audit import audit_labels
from rboost.audit.insight.unusual import FALSE_ALARMS, NO_CLASS

OUT = Path("docs/audit/unusual.md")
# Rows of the class left out: this share of the others, and at least so many. Classes left out of a
# table, one after the other, and rows that a table has, at most.
SHARE, FEWEST, MOST_CLASSES, MOST_ROWS = 0.01, 5, 3, 3000


@dataclass(frozen=True, eq=False)
class Case:
    """A table with labels; ``foreign`` marks rows of a class that no label stands for."""

    name: str
    X: pd.DataFrame
    y: Integers
    foreign: NDArray[np.bool_]


def ordinary_cases() -> Iterator[Case]:
    """Tables as they are."""
    for name in (*CLEAN["choice"], *CLEAN["report"]):
        X, y = load(name)
        rows = np.sort(np.random.RandomState(0).permutation(len(y))[:MOST_ROWS])
        X = X.iloc[rows].reset_index(drop=True)
        yield Case(name, X, y[rows], np.zeros(len(rows), dtype=bool))


def foreign_cases() -> Iterator[Case]:
    """Tables without one class but for a few rows, which have labels of the others at random."""
    for case in ordinary_cases():
        classes, counts = np.unique(case.y, return_counts=True)
        if len(classes) < 3 or counts.min() < 20:
            continue
        for left_out in classes[:MOST_CLASSES].tolist():
            random = np.random.RandomState(left_out)
            own = np.flatnonzero(case.y == left_out)
            n_kept = max(FEWEST, round(SHARE * (len(case.y) - len(own))))
            kept = random.permutation(own)[:n_kept]
            rows = np.sort(np.concatenate([np.flatnonzero(case.y != left_out), kept]))
            foreign, y = np.isin(rows, kept), case.y[rows].copy()
            y[foreign] = random.choice(y[~foreign], int(foreign.sum()))
            X = case.X.iloc[rows].reset_index(drop=True)
            yield Case(f"{case.name} without class {left_out + 1}", X, y, foreign)


def measure(case: Case) -> tuple[float, float]:
    """The shares of ordinary and of foreign rows that fit no class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = audit_labels(case.X, case.y, model="linear", check_columns=False)
    is_named = audit.row_fit() == NO_CLASS
    foreign = is_named[case.foreign].mean() if case.foreign.any() else np.nan
    return float(is_named[~case.foreign].mean()), float(foreign)


def report(ordinary: dict[str, float], foreign: dict[str, tuple[float, float]]) -> str:
    """The page."""
    alarms = np.array([*ordinary.values()])
    found = np.array([share for _, share in foreign.values()])
    beside = np.array([share for share, _ in foreign.values()])
    worst = max(ordinary, key=lambda name: ordinary[name])
    rows = [[name, f"{share:.1%}", f"{others:.1%}"] for name, (others, share) in foreign.items()]
    return "\n".join(
        [
            "# Rows that fit no class\n",
            f"`audit.row_fit()` is made to call about {FALSE_ALARMS:.0%} of ordinary rows so. "
            "The form of the cutoff, one of four, was chosen on these tables.\n",
            "## Ordinary rows\n",
            f"On {len(alarms)} tables as they are {alarms.mean():.2%} of the rows are called so in "
            f"the mean, at most {alarms.max():.1%} ({worst}); more than {FALSE_ALARMS:.0%} on "
            f"{np.count_nonzero(alarms > FALSE_ALARMS)} of them. Some rows of these tables may "
            "well be unusual.\n",
            "## Rows of a class that no label stands for\n",
            f"One class is left out but for {SHARE:.0%} of the number of other rows (at least "
            f"{FEWEST}), which have labels of the others. Of these rows {found.mean():.0%} are "
            f"named in the mean, of the others {beside.mean():.2%}. Classes that lie between "
            "others are not far from all of them.\n",
            table(["table", "of the class left out", "of all others"], rows),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args(arguments)
    ordinary = {case.name: measure(case)[0] for case in ordinary_cases()}
    foreign = {case.name: measure(case) for case in foreign_cases()}
    text = report(ordinary, foreign)
    print(text)
    write_page(OUT, text, "benchmarks.unusual", arguments, ("pandas",))


if __name__ == "__main__":
    main()
