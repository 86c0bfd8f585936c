"""Mutated tables, options, answers, models and folders of audits.

    python -m benchmarks.fuzz --cases 10000
    python -m benchmarks.fuzz --cases 10000 --only model

Every case must end in a result or in one sentence: never in a traceback, never in a folder that is
half written. Twenty real tables are audited as they are first. The same seed gives the same cases;
what a case that fails has read is kept in the folder of failures. It needs the extras ``audit``,
``review`` and ``paper``, and takes about half an hour on two cores.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fuzz.run import KINDS, Failure, cases, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; say how many failed, and how."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fuzz", description="Mutated inputs that must end in a sentence."
    )
    parser.add_argument("--cases", type=int, default=10_000, help="(10000)")
    parser.add_argument("--seed", type=int, default=0, help="(0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--only", choices=KINDS, help="one kind of cases")
    parser.add_argument("--failures", type=Path, metavar="DIR", help="keep what failed there")
    given = parser.parse_args(arguments)
    todo = cases(given.cases, given.seed, given.only)
    alike: dict[str, list[Failure]] = defaultdict(list)
    for failure in run(todo, given.jobs, given.failures):
        alike[failure.where].append(failure)
    for where, failures in sorted(alike.items(), key=lambda item: -len(item[1])):
        numbers = ", ".join(f"{one.case.kind} {one.case.number}" for one in failures[:5])
        print(f"{len(failures)} × {where} ({numbers})\n{failures[0].details}")
    n_failed = sum(map(len, alike.values()))
    print(f"{len(todo)} cases, {n_failed} failed in {len(alike)} different ways.")
    return 1 if n_failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
