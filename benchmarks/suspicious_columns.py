"""Columns that hide wrong labels: whether audits name them, and them alone.

    python -m benchmarks.suspicious_columns

audits tables with a planted column and tables without (``planted_columns.py``), prints and writes
``docs/audit/columns.md``. It needs the extras ``audit`` and ``peers``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.markdown import table
from benchmarks.pages import write_page
from benchmarks.planted_columns import CLEAN, KINDS, PLANTED, Case, clean_cases, planted_cases
from rboost.audit import LabelAudit, audit_labels
from rboost.audit.insight.suspicion import MOST_FITS

OUT = Path("docs/audit/columns.md")
HALVES = ("report", "choice")


@dataclass(frozen=True)
class Named:
    """The columns that an audit named, and the one that it should name."""

    half: str
    table: str
    kind: str
    column: str | None
    named: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """Whether the planted column was named, another one, or none."""
        if self.column in self.named:
            return "right" if len(self.named) == 1 else "and others"
        return "wrong" if self.named else "missed"


def audited(case: Case, model: str, check_columns: bool = True) -> LabelAudit:
    """An audit that keeps its warnings to itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return audit_labels(case.X, case.y, model=model, check_columns=check_columns)


def measure(half: str, case: Case) -> Named:
    """What is named; the model of the audit plays no part in it, so the fastest will do."""
    found = audited(case, "linear").column_warnings
    named = tuple(name for one in found for name in (one.column, *one.alike))
    return Named(half, case.name, case.kind, case.column, named)


def extra_time(case: Case) -> tuple[str, float, float]:
    """Seconds of all cores for the default audit, and what the check adds."""
    seconds = []
    for check_columns in (False, True):
        start = time.process_time()  # others may use the machine as well
        audited(case, "rboost", check_columns)
        seconds.append(time.process_time() - start)
    return case.name, seconds[0], seconds[1] - seconds[0]


def planted_table(found: Sequence[Named]) -> str:
    """How often the planted column was named, by kind; which were not."""
    rows = []
    for kind, plant in KINDS.items():
        of_kind = [one for one in found if one.kind == kind]
        outcomes = [one.outcome for one in of_kind]
        rows.append(
            [kind, (plant.__doc__ or "").strip().rstrip("."), str(len(of_kind)),
             *(str(outcomes.count(name)) for name in ("right", "and others", "wrong", "missed")),
             ", ".join(one.table for one in of_kind if one.outcome in ("wrong", "missed")) or "–"]
        )  # fmt: skip
    head = [
        "column",
        "what was done",
        "tables",
        "named",
        "with others",
        "wrong one",
        "missed",
        "where",
    ]
    return table(head, rows)


def clean_table(found: Sequence[Named]) -> str:
    """How many tables without such a column led to a warning."""
    rows = []
    for half in HALVES:
        for kind in ("as it is", "10 % flipped", "30 % of one class"):
            of_kind = [one for one in found if one.half == half and one.kind == kind]
            false = [f"{one.table} ({', '.join(one.named)})" for one in of_kind if one.named]
            rows.append([half, kind, str(len(of_kind)), str(len(false)), ", ".join(false) or "–"])
    return table(["half", "labels", "tables", "false warnings", "where"], rows)


def time_text(times: Sequence[tuple[str, float, float]]) -> str:
    """What the check costs beside the audit."""
    audit, extra = np.array([one[1:] for one in times]).T
    worst = int(np.argmax(extra / audit))
    return (
        f"At most {MOST_FITS} fits of 30 rounds of trees to 2000 rows. On the tables as they are "
        f"({len(times)}, {audit.sum():.0f} s of processor time in all with the default model) the "
        f"check adds {extra.sum() / audit.sum():.0%}, in the median {np.median(extra / audit):.0%}"
        f", at most {extra[worst] / audit[worst]:.0%} ({times[worst][0]}: {audit[worst]:.1f} s and "
        f"{extra[worst]:.1f} s more)."
    )


def report(
    planted: Sequence[Named], clean: Sequence[Named], times: Sequence[tuple[str, float, float]]
) -> str:
    """The page."""
    parts = ["# Columns that hide wrong labels\n"]
    parts.append(
        "Audits of tables with a planted column, and of tables without one: does the warning name "
        "it, and it alone? Thresholds were chosen on the half called *choice*; *report* had no "
        "part in it. Two of them were made stricter after a false warning on a table of neither "
        "half, when earlier results of *report* were known.\n"
    )
    for half in HALVES:
        of_half = [one for one in planted if one.half == half]
        named = sum(one.column in one.named for one in of_half)
        parts.append(f"## Planted, {half}\n\n{named} of {len(of_half)} named; tables: "
                     f"{', '.join(PLANTED[half])}.\n\n{planted_table(of_half)}")  # fmt: skip
    parts.append(f"## Tables without such a column\n\n{clean_table(clean)}")
    parts.append(f"Report: {', '.join(CLEAN['report'])}. Choice: {', '.join(CLEAN['choice'])}.\n")
    parts.append(f"## Time\n\n{time_text(times)}\n")
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure everything, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1)
    jobs = Parallel(n_jobs=parser.parse_args(arguments).jobs)
    planted = jobs(delayed(measure)(half, one) for half in HALVES for one in planted_cases(half))
    clean = jobs(delayed(measure)(half, one) for half in HALVES for one in clean_cases(half))
    untouched = [case for case in clean_cases("report") if case.kind == "as it is"]
    text = report(planted, clean, [extra_time(case) for case in untouched])
    print(text)
    write_page(OUT, text, "benchmarks.suspicious_columns", arguments, ("pandas",))


if __name__ == "__main__":
    main()
