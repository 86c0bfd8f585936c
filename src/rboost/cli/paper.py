"""``rboost paper``: run the paper's experiments and report on them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rboost.datasets import BENCHMARKS
from rboost.paper.protocol import PROTOCOLS
from rboost.paper.run import PARTS, Options, load_run, run

QUICK = Options(repeats=2, rounds=30, datasets=("Banana", "Heart", "Twonorm"))


def add_paper_commands(commands: Any) -> None:
    """Add ``paper run`` and ``paper report``."""
    paper = commands.add_parser("paper", help="the experiments of the paper")
    actions = paper.add_subparsers(dest="action", required=True)

    runner = actions.add_parser(
        "run",
        help="run the experiments; goes on where an earlier run stopped",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    default = Options()
    runner.add_argument("--out", type=Path, default=Path("paper"), help="folder for the results")
    runner.add_argument("--repeats", type=int, default=default.repeats)
    runner.add_argument("--rounds", type=int, default=default.rounds, help="boosting rounds")
    runner.add_argument("--protocol", choices=PROTOCOLS, default=default.protocol)
    runner.add_argument("--seed", type=int, default=default.seed)
    runner.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    runner.add_argument(
        "--datasets", nargs="+", default=list(default.datasets), help=", ".join(BENCHMARKS)
    )
    runner.add_argument("--parts", nargs="+", default=list(default.parts), help=", ".join(PARTS))
    runner.add_argument(
        "--quick", action="store_true", help="2 repeats of 30 rounds on 3 sets, within a minute"
    )
    runner.set_defaults(run=_run)

    reporter = actions.add_parser("report", help="write report.html and report.md")
    reporter.add_argument("--out", type=Path, default=Path("paper"), help="folder of the run")
    reporter.set_defaults(run=_report)


def _run(arguments: argparse.Namespace) -> int:
    options = Options(
        repeats=arguments.repeats,
        rounds=arguments.rounds,
        protocol=arguments.protocol,
        seed=arguments.seed,
        datasets=tuple(arguments.datasets),
        parts=tuple(arguments.parts),
    )
    run(QUICK if arguments.quick else options, arguments.out, arguments.jobs, progress=True)
    print(f"Results: {arguments.out.resolve()}")
    print(f"Report them with: rboost paper report --out {arguments.out}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from rboost.paper.report import write_report

    options, measured = load_run(arguments.out)
    for path in write_report(options, measured, arguments.out):
        print(path.resolve())
    return 0
