"""The leaderboards: test errors, estimated noise and ranking of wrong labels beside peers.

    python -m benchmarks.accuracy --jobs 2
    python -m benchmarks.accuracy --jobs 2 --suite classes --page docs/classes
    python -m benchmarks.accuracy --jobs 2 --suite large --page docs/large
    python -m benchmarks.accuracy --jobs 2 --suite mixed --page docs/mixed
    python -m benchmarks.accuracy --jobs 2 --suite texts --data ../shared --page docs/texts

write ``leaderboard.md`` and ``leaderboard.png``; of more than two classes ``classes.md`` and
``classes.png``, of large tables ``large.md`` and ``large.png``, of tables of words, dates and
numbers ``mixed.md`` and ``mixed.png``, of texts ``texts.md`` and ``texts.png``. They need the
extras ``audit`` and ``peers``. A run can be killed and resumed; results of peers stay when the
package changes, and of the package when only peers do.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks.measure import ESTIMATORS, Job, run_job
from benchmarks.methods import ENGINES, JUDGES, LARGE, LEADERBOARD, METHODS, MIXED, SEVERAL, TEXTS
from benchmarks.pages import write_page
from benchmarks.report import render
from benchmarks.store import Record, ResultStore
from benchmarks.suites import SUITES, UNTOUCHED
from rboost.files import write_atomically
from rboost.progress import track

PEERS = ("catboost", "xgboost", "cleanlab")
# What is compared on each page.
COMPARED = {
    "leaderboard": (*LEADERBOARD, ESTIMATORS),
    "classes": (*SEVERAL, ESTIMATORS),
    "large": LARGE,
    "sizes": ("rBoost", *ENGINES),
    "mixed": MIXED,
    "texts": TEXTS,
}


@dataclass(frozen=True)
class Options:
    """What a run is asked for."""

    suite: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    repeats: int
    seed: int
    data: Path | None = None


def jobs(options: Options) -> Iterator[Job]:
    """All pieces of work."""
    for repeat in range(options.repeats):
        for dataset, setting in SUITES[options.suite].cases(options.datasets):
            for method in options.methods:
                if _is_measured(method, setting):
                    yield Job(options.suite, dataset, setting, repeat, method, options.data)


def _is_measured(method: str, setting: str) -> bool:
    if method == ESTIMATORS:
        return True
    limits = JUDGES if setting == UNTOUCHED else None
    settings = METHODS[method].settings
    return (limits is None or method in limits) and (settings is None or setting in settings)


def _run_keyed(job: Job, seed: int) -> tuple[str, Record]:
    return job.key(seed), run_job(job, seed)


def run(options: Options, out: Path, n_jobs: int) -> dict[Job, Record]:
    """Run what is not yet done and return the results of all."""
    store = ResultStore(out / "results.jsonl")
    wanted = list(jobs(options))
    todo = [job for job in wanted if job.key(options.seed) not in store.results]
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_keyed)(job, options.seed) for job in todo
    )
    for key, result in track(found, len(todo), "Measuring", enabled=sys.stderr.isatty()):
        store.add(key, result)
    return {job: store.results[job.key(options.seed)] for job in wanted}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description="Compare accuracy with peers."
    )
    parser.add_argument("--suite", choices=SUITES, default="paper", help="which tables")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="only these tables of it")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods")
    parser.add_argument(
        "--repeats",
        type=int,
        help="splits of each table (10; 3 of several classes, 1 of large tables)",
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder that holds texts/ and crowd/, for texts"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of splits and flips")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=Path("build/accuracy"), help="folder to write")
    parser.add_argument("--page", type=Path, help="folder of the page and its figure, if another")
    return parser


def parse(arguments: Sequence[str] | None = None) -> tuple[Options, argparse.Namespace]:
    """Read the command line: what is measured, and how and where to."""
    parser = _parser()
    given = parser.parse_args(arguments)
    suite = SUITES[given.suite]
    known = COMPARED[suite.page]
    datasets, methods = given.datasets or suite.names, given.methods or known
    for name, names in (("table", datasets), ("method", methods)):
        choices = suite.names if name == "table" else known
        unknown = [value for value in names if value not in choices]
        if unknown:
            known_names = ", ".join(map(repr, choices))
            parser.error(f"there is no {name} {unknown[0]!r}; choose from: {known_names}")
    repeats = suite.repeats if given.repeats is None else given.repeats
    if repeats < 1 or given.jobs < 1:
        parser.error("--repeats and --jobs must be at least 1")
    if given.suite == "texts" and given.data is None:
        parser.error("--suite texts needs --data DIR, the folder that holds texts/ and crowd/")
    chosen = given.suite, tuple(datasets), tuple(methods), repeats, given.seed, given.data
    return Options(*chosen), given


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, write the report, say where it is."""
    options, given = parse(arguments)
    results = run(options, given.out, given.jobs)
    title = (
        f"{options.repeats} repeats of {len(options.datasets)} tables (suite {options.suite}), "
        f"seed {options.seed}"
    )
    page, figure = render(results, SUITES[options.suite], title)
    folder, name = given.page or given.out, SUITES[options.suite].page
    write_atomically(folder / f"{name}.png", figure)
    write_page(folder / f"{name}.md", page, "benchmarks.accuracy", arguments, PEERS)
    print(folder / f"{name}.md")


if __name__ == "__main__":
    main()
