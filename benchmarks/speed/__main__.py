"""Times, memory and prediction of ours and of peers, side by side.

    python -m benchmarks.speed
    python -m benchmarks.speed --only fit --rows 400 5000
    python -m benchmarks.speed --report-only

writes ``speed.md`` and ``speed.png`` to docs/speed. It needs the extras ``audit`` and ``peers``.
Groups of measurements are kept in build/speed: a later run of the same code on the same machine
replaces those that it measures and shows the others too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages import write_page
from benchmarks.speed.bandwidth import measure_bandwidth
from benchmarks.speed.data import TRUTHS
from benchmarks.speed.figure import draw
from benchmarks.speed.fits import measure_accuracy, measure_fits
from benchmarks.speed.groups import PACKAGES, Entries, Group, load, save
from benchmarks.speed.memory import measure_memory
from benchmarks.speed.million import measure_million
from benchmarks.speed.prediction import measure_prediction
from benchmarks.speed.report import page, target_table
from benchmarks.speed.targets import ROUNDS
from benchmarks.speed.timing import default_repeats
from rboost.files import write_atomically


@dataclass(frozen=True)
class Part:
    """A section of the page: how it is measured, and its sizes unless others are asked for.

    ``threads`` says with which of the numbers of threads it is measured: each, the first, the last.
    """

    measure: Callable[[Group, int, bool], Entries]
    rows: tuple[int, ...]
    truths: tuple[str, ...] = ("linear",)
    threads: str = "each"


THREADS = {"each": slice(None), "first": slice(1), "last": slice(-1, None)}
PARTS = {
    "fit": Part(measure_fits, (400, 5_000, 100_000, 1_000_000)),
    "trees": Part(measure_fits, (400, 5_000, 100_000), ("curved",)),
    "default": Part(measure_fits, (400, 12_000, 100_000), ("curved",), "first"),
    "million": Part(measure_million, (1_000_000,), ("curved",), "last"),
    "accuracy": Part(measure_accuracy, (400, 5_000, 100_000), tuple(TRUTHS), "first"),
    "memory": Part(measure_memory, (1_000_000,), threads="first"),
    "predict": Part(measure_prediction, (1, 1_000_000)),
    "scaling": Part(measure_fits, (100_000, 250_000, 1_000_000, 4_000_000)),
    "pass": Part(measure_bandwidth, (1_000_000,), threads="first"),
}
QUICK_ROWS = (400, 5_000)
QUICK_REPEATS = 2


@dataclass(frozen=True)
class Options:
    """What a run is asked for; None: each part's own."""

    parts: tuple[str, ...]
    rows: tuple[int, ...] | None
    repeats: int | None
    threads: tuple[int, ...]
    rounds: int
    skip_slow: bool


def groups(options: Options) -> Iterator[Group]:
    """All groups of measurements, in the order of the page."""
    for name in options.parts:
        part = PARTS[name]
        sizes = part.rows if options.rows is None else options.rows
        if name == "predict":
            sizes = tuple(dict.fromkeys((1, *sizes)))
        for threads in options.threads[THREADS[part.threads]]:
            for truth in part.truths:
                for rows in sizes:
                    yield Group(name, rows, threads, truth, options.rounds)


def run(options: Options, path: Path) -> None:
    """Measure group after group; each is on disk before the next begins."""
    results = load(path)
    for group in groups(options):
        repeats = options.repeats or default_repeats(group.rows)
        results[group] = PARTS[group.part].measure(group, repeats, options.skip_slow)
        save(path, results)


def parse(arguments: Sequence[str] | None = None) -> tuple[Options, argparse.Namespace]:
    """Read the command line: what is measured, and where to."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description="Compare speed and memory with peers."
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART",
                        help=f"measure these parts: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--rows", nargs="+", type=int, metavar="N", help="sizes, in every part")
    parser.add_argument("--repeats", type=int, help="repeats; fewer for larger sizes by default")
    parser.add_argument("--threads", nargs="+", type=int, metavar="N", help="1 and all by default")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="targets hold for the default")
    parser.add_argument("--skip-slow", action="store_true", help="no fits that take minutes")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write again")
    parser.add_argument("--out", type=Path, default=Path("docs/speed"), help="folder of the page")
    parser.add_argument(
        "--store", type=Path, default=Path("build/speed"), help="folder of measurements"
    )
    given = parser.parse_args(arguments)
    rows, threads = given.rows or [], given.threads or [1, os.cpu_count() or 1]
    repeats = 1 if given.repeats is None else given.repeats
    if min([*rows, *threads, repeats, given.rounds]) < 1:
        parser.error("--rows, --repeats, --threads and --rounds must be at least 1")
    path = given.store / "speed.json"
    if given.report_only and not path.exists():
        parser.error(f"there is no {path} to write the page from; run without --report-only")
    options = Options(
        parts=tuple(dict.fromkeys(given.only or PARTS)),
        rows=tuple(rows) or (QUICK_ROWS if given.quick else None),
        repeats=given.repeats or (QUICK_REPEATS if given.quick else None),
        threads=tuple(dict.fromkeys(threads)),
        rounds=given.rounds,
        skip_slow=given.skip_slow,
    )
    return options, given


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, write the page, print how far the targets are met."""
    options, given = parse(arguments)
    store = given.store / "speed.json"
    if not given.report_only:
        run(options, store)
    results = load(store)
    path = given.out / "speed.md"
    write_atomically(path.with_suffix(".png"), draw(results, options.rounds))
    write_page(path, page(results, options.rounds), "benchmarks.speed", arguments, PACKAGES)
    print(target_table(results))
    print(path)


if __name__ == "__main__":
    main()
