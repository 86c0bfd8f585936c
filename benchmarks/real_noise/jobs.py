"""Pieces of work that are done once: in parallel, killed and resumed at will."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.code import code_fingerprint, fingerprint_of
from benchmarks.methods import package_version
from benchmarks.real_noise.methods import METHODS
from benchmarks.real_noise.review import REVIEWS
from benchmarks.real_noise.tables import COLLECTIONS, cut, data_fingerprint, load
from benchmarks.store import Record, ResultStore
from rboost.progress import track

WORK = METHODS | REVIEWS


@dataclass(frozen=True)
class Options:
    """What a run is asked for; ``n_tables`` of each collection, None meaning all.

    ``data`` is the folder that holds ``real_noise``.
    """

    data: Path
    collections: tuple[str, ...] = COLLECTIONS
    n_tables: int | None = None
    repeats: int = 1
    seed: int = 0
    review: bool = False


@dataclass(frozen=True)
class Job:
    """One method or one reviewer on one cut of one table."""

    collection: str
    table: str
    repeat: int
    name: str

    def key(self, options: Options) -> str:
        """Everything that the result depends on."""
        package = WORK[self.name].package
        own = code_fingerprint(__name__) if package == "rboost" else package_version(package)
        measured = protocol_fingerprint(self.name in REVIEWS)
        code = f"{package} {own} {measured} {data_fingerprint(options.data, self.collection)}"
        return f"{options.seed}/{self.collection}/{self.table}/{self.repeat}/{self.name}/{code}"


Results = dict[Job, Record]


@cache
def protocol_fingerprint(review: bool) -> str:
    """A number that changes with how tables are cut and with what is measured."""
    names = ("tables", "measures", "methods", "jobs", *(("review",) if review else ()))
    return fingerprint_of([Path(__file__).parent / f"{name}.py" for name in names])


def jobs(options: Options) -> Iterator[Job]:
    """All pieces of work."""
    for repeat in range(options.repeats):
        for collection in options.collections:
            for table in list(load(options.data, collection))[: options.n_tables]:
                for name in WORK if options.review else METHODS:
                    yield Job(collection, table, repeat, name)


def run_job(job: Job, options: Options) -> Record:
    """Cut the table and measure."""
    seed = 1000 * options.seed + job.repeat
    halves = cut(load(options.data, job.collection)[job.table], seed)
    # One thread: processes compete already. Warnings are about single tables, which means matter.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WORK[job.name].run(halves, seed)


def _run_keyed(job: Job, options: Options) -> tuple[str, Record]:
    return job.key(options), run_job(job, options)


def run(options: Options, out: Path, n_jobs: int) -> Results:
    """Run what is not yet done and return the results of all."""
    store = ResultStore(out / "results.jsonl")
    wanted = list(jobs(options))
    todo = [job for job in wanted if job.key(options) not in store.results]
    found = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_keyed)(job, options) for job in todo
    )
    for key, result in track(found, len(todo), "Measuring", enabled=sys.stderr.isatty()):
        store.add(key, result)
    return {job: store.results[job.key(options)] for job in wanted}
