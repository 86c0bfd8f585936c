"""The paper's experiments, run again and reported on, measured beside published.

    python -m benchmarks.paper                                 # all of them
    python -m benchmarks.paper --quick                         # a few, within a minute
    python -m benchmarks.paper --jobs 9 --page docs/paper      # and the page of the documentation

write ``report.html``, ``report.md`` and figures. It needs the extras ``audit`` and ``peers``. A run
can be killed and resumed; ``--report`` reports on what an unfinished one has.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.pages import write_page
from benchmarks.paper import run as experiments
from benchmarks.paper.datasets import BENCHMARKS
from benchmarks.paper.protocol import PROTOCOLS
from benchmarks.paper.report import write_report
from benchmarks.paper.run import PARTS, Options
from rboost.files import write_atomically

FULL = Options()
QUICK = Options(repeats=2, rounds=30, datasets=("Banana", "Heart", "Twonorm"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="Run the experiments of the paper and report on them; goes on where an earlier "
        "run stopped.",
    )
    shorter = f"{QUICK.repeats} repeats of {QUICK.rounds} rounds on 3 sets, within a minute"
    parser.add_argument("--quick", action="store_true", help=f"other defaults: {shorter}")
    parser.add_argument("--out", type=Path, help="folder for the results (paper, or paper-quick)")
    parser.add_argument("--repeats", type=int, help=f"({FULL.repeats})")
    parser.add_argument("--rounds", type=int, help=f"boosting rounds ({FULL.rounds})")
    parser.add_argument("--datasets", nargs="+", help=f"({' '.join(BENCHMARKS)})")
    parser.add_argument("--parts", nargs="+", help=f"({' '.join(PARTS)})")
    parser.add_argument("--protocol", choices=PROTOCOLS, help=f"({FULL.protocol})")
    parser.add_argument("--seed", type=int, help=f"({FULL.seed})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (all cores)")
    parser.add_argument(
        "--report", action="store_true", help="run nothing, report on what the folder holds"
    )
    parser.add_argument("--page", type=Path, help="folder of report.md and figures, too")
    return parser


def _asked_for(given: argparse.Namespace) -> Options:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in ("repeats", "rounds", "datasets", "parts", "protocol", "seed")
        if (value := getattr(given, name)) is not None
    }
    return replace(QUICK if given.quick else FULL, **values)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not yet done, report on it, say where; mistakes end in one sentence."""
    parser = _parser()
    given = parser.parse_args(arguments)
    out = given.out or Path("paper-quick" if given.quick else "paper")
    try:
        if not given.report:
            experiments.run(_asked_for(given), out, given.jobs, progress=True)
            print(f"Results: {out.resolve()}")
        options, measured = experiments.load_run(out)
        written = write_report(options, measured, out)
    except (ValueError, OSError, ImportError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"{parser.prog}: stopped; the same command goes on from here\n")
    for path in written:
        print(path.resolve())
    if given.page is not None:
        _write_page(given.page, out, written, arguments)


def _write_page(
    page: Path, out: Path, written: Sequence[Path], arguments: Sequence[str] | None
) -> None:
    """The report once more, as a page that says where its figures come from."""
    for path in written:
        if path.suffix == ".png":
            write_atomically(page / path.relative_to(out), path.read_bytes())
    text = (out / "report.md").read_text(encoding="utf-8")
    write_page(page / "report.md", text, "benchmarks.paper", arguments)
    print(page / "report.md")


if __name__ == "__main__":
    main()
