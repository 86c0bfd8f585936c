"""Tables whose labels were really wrong, with verified ones to judge by.

    python -m benchmarks.real_noise --data ../shared              # methods, rankings, intervals
    python -m benchmarks.real_noise --data ../shared --review     # and what answers are worth

read ``real_noise/defects.csv.gz`` and ``real_noise/commits.csv.gz`` of that folder, and write
``results.md`` and its figures to docs/real_noise. They need the extras ``audit`` and
``peers``. A run can be killed and resumed; results of peers stay when the package changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import write_page
from benchmarks.real_noise.jobs import Options, run
from benchmarks.real_noise.report import draw, page
from benchmarks.real_noise.tables import COLLECTIONS
from rboost.files import write_atomically

PEERS = ("catboost", "cleanlab", "pandas")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_noise", description="Labels that were really wrong."
    )
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="folder that holds real_noise/"
    )
    parser.add_argument("--review", action="store_true", help="simulate a reviewer, too")
    parser.add_argument("--collection", choices=COLLECTIONS, help="only this one")
    parser.add_argument("--tables", type=int, metavar="N", help="only the first N of each")
    parser.add_argument("--repeats", type=int, default=1, help="cuts of each table (1)")
    parser.add_argument("--seed", type=int, default=0, help="seed of cuts and methods")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/real_noise"), help="folder of finished results"
    )
    parser.add_argument(
        "--page", type=Path, default=Path("docs/real_noise"), help="folder of page and figures"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write the page, say where it is."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if min(given.repeats, given.jobs, given.tables or 1) < 1:
        parser.error("--repeats, --jobs and --tables must be at least 1")
    collections = (given.collection,) if given.collection else COLLECTIONS
    options = Options(
        given.data, collections, given.tables, given.repeats, given.seed, given.review
    )
    try:
        results = run(options, given.out, given.jobs)
    except FileNotFoundError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    for name, figure in draw(results, options).items():
        write_atomically(given.page / name, figure)
    path = given.page / "results.md"
    write_page(path, page(results, options), "benchmarks.real_noise", arguments, PEERS)
    print(path)


if __name__ == "__main__":
    main()
