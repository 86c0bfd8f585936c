"""Times, memory and prediction of ours and of peers, side by side.

    python -m benchmarks.speed
    python -m benchmarks.speed --only default --rows 400 5000
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
from benchmarks.speed.audits import measure_audits
from benchmarks.speed.bandwidth import measure_bandwidth
from benchmarks.speed.figure import draw
from benchmarks.speed.fits import measure_accuracy, measure_fits
from benchmarks.speed.groups import PACKAGES, Entries, Group, load, save
from benchmarks.speed.memory import measure_memory
from benchmarks.speed.prediction import measure_prediction
from benchmarks.speed.readings import ROUNDS
from benchmarks.speed.report import page, target_table
from benchmarks.speed.starts import measure_starts
from benchmarks.speed.timing import default_repeats
from rboost.files import write_atomically


@dataclass(frozen=True)
class Part:
    """What is measured together: how, and at which sizes unless others are asked for.

    Sizes are rows, 0 where rows mean nothing, and classes. What takes long is repeated less.
    """

    measure: Callable[[Group, int], Entries]
    sizes: tuple[tuple[int, int], ...]
    truths: tuple[str, ...] = ("curved",)
    most_repeats: int = 20
    each_threads: bool = False


def _two_classes(*rows: int) -> tuple[tuple[int, int], ...]:
    return tuple((n, 2) for n in rows)


PARTS = {
    "default": Part(measure_fits, _two_classes(200, 400, 2_000, 12_000, 100_000)),
    "pair": Part(measure_fits, _two_classes(400, 5_000, 100_000, 1_000_000), ("linear",)),
    "memory": Part(measure_memory, _two_classes(1_000_000), most_repeats=1),
    "classes": Part(measure_fits, ((5_000, 10), (10_000, 50)), ("clouds",), 2),
    "texts": Part(measure_fits, ((10_000, 50),), ("texts",), 2),
    "predict": Part(measure_prediction, _two_classes(2_000, 50_000)),
    "audit": Part(measure_audits, _two_classes(1_000, 10_000, 100_000), most_repeats=3),
    "start": Part(measure_starts, _two_classes(0), most_repeats=5),
    "accuracy": Part(measure_accuracy, _two_classes(400, 5_000, 50_000), ("linear", "curved"), 10),
    "scaling": Part(
        measure_fits, _two_classes(100_000, 300_000, 1_000_000), ("linear",), each_threads=True
    ),
    "pass": Part(measure_bandwidth, _two_classes(1_000_000)),
}
QUICK_ROWS = (200, 1_000)
QUICK_REPEATS = 2
# A class has at least as many rows, where other sizes are asked for.
ROWS_A_CLASS = 100


@dataclass(frozen=True)
class Options:
    """What a run is asked for; None: each part's own."""

    parts: tuple[str, ...]
    rows: tuple[int, ...] | None
    repeats: int | None
    threads: tuple[int, ...]
    rounds: int


def groups(options: Options) -> Iterator[Group]:
    """All groups of measurements, in the order of the page, each once."""
    found: dict[Group, None] = {}
    for name in options.parts:
        part = PARTS[name]
        for threads in options.threads if part.each_threads else options.threads[:1]:
            for truth in part.truths:
                for rows, classes in sizes(part, options.rows):
                    found[Group(name, rows, threads, truth, options.rounds, classes)] = None
    return iter(found)


def sizes(part: Part, rows: tuple[int, ...] | None) -> Iterator[tuple[int, int]]:
    """Rows and classes: the part's own, or as many classes at other rows as these allow."""
    for own, classes in part.sizes:
        for asked in (own,) if rows is None or not own else rows:
            few = max(3, asked // ROWS_A_CLASS)
            yield asked, classes if asked == own else min(classes, few)


def run(options: Options, path: Path) -> None:
    """Measure group after group; each is on disk before the next begins."""
    results = load(path)
    for group in groups(options):
        part = PARTS[group.part]
        repeats = options.repeats or min(default_repeats(group.rows), part.most_repeats)
        results[group] = part.measure(group, repeats)
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
    parser.add_argument("--threads", nargs="+", type=int, metavar="N",
                        help="1 and all by default; most parts take the first")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="targets hold for the default")
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
