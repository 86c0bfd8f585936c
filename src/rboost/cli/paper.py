"""``rboost paper``: run the paper's experiments and report on them."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rboost.cli.parser import CommandParser

if TYPE_CHECKING:
    from rboost.paper.run import Options


def add_paper_commands(commands: Any) -> None:
    """Add ``paper run`` and ``paper report``."""
    commands.add_parser("paper", help="the experiments of the paper", add_options=_add_actions)


def _add_actions(paper: CommandParser) -> None:
    from rboost.datasets import BENCHMARKS
    from rboost.paper.protocol import PROTOCOLS
    from rboost.paper.run import PARTS, Options

    full, quick = Options(), _quick_options()
    actions = paper.add_subparsers(dest="action", required=True)

    runner = actions.add_parser(
        "run",
        help="run the experiments; goes on where an earlier run stopped",
    )
    shorter = f"{quick.repeats} repeats of {quick.rounds} rounds on 3 sets, within a minute"
    runner.add_argument("--quick", action="store_true", help=f"other defaults: {shorter}")
    runner.add_argument("--out", type=Path, help="folder for the results (paper, or paper-quick)")
    runner.add_argument("--repeats", type=int, help=f"({full.repeats})")
    runner.add_argument("--rounds", type=int, help=f"boosting rounds ({full.rounds})")
    runner.add_argument("--datasets", nargs="+", help=f"({' '.join(BENCHMARKS)})")
    runner.add_argument("--parts", nargs="+", help=f"({' '.join(PARTS)})")
    runner.add_argument("--protocol", choices=PROTOCOLS, help=f"({full.protocol})")
    runner.add_argument("--seed", type=int, help=f"({full.seed})")
    runner.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (all cores)")
    runner.set_defaults(run=_run, stopped="stopped; the same command goes on from here")

    reporter = actions.add_parser("report", help="write report.html and report.md")
    reporter.add_argument("--out", type=Path, default=Path("paper"), help="folder of the run")
    reporter.set_defaults(run=_report)


def _quick_options() -> Options:
    from rboost.paper.run import Options

    return Options(repeats=2, rounds=30, datasets=("Banana", "Heart", "Twonorm"))


def _run(arguments: argparse.Namespace) -> int:
    from rboost.paper.run import Options, run

    names = ("repeats", "rounds", "datasets", "parts", "protocol", "seed")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    for name in ("datasets", "parts"):
        if name in given:
            given[name] = tuple(given[name])
    options = replace(_quick_options() if arguments.quick else Options(), **given)
    out = arguments.out or Path("paper-quick" if arguments.quick else "paper")
    run(options, out, arguments.jobs, progress=True)
    print(f"Results: {out.resolve()}")
    print(f"Report them with: rboost paper report --out {out}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from rboost.paper.report import write_report
    from rboost.paper.run import load_run

    options, measured = load_run(arguments.out)
    for path in write_report(options, measured, arguments.out):
        print(path.resolve())
    return 0
