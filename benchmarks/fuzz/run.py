"""Run cases, on several processes; each depends on the seed and its number alone."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.fuzz import files
from benchmarks.fuzz.answers import answers
from benchmarks.fuzz.models import model_file
from benchmarks.fuzz.outcome import PACKAGE, TookTooLong
from benchmarks.fuzz.python_calls import python_call
from benchmarks.fuzz.tables import TABLES
from rboost.progress import track

# What is tried, and of ten thousand cases how many; a whole audit takes a second or two.
KINDS: dict[str, tuple[Callable[[Random, Path], None], int]] = {
    "read": (files.read, 2000),
    "audit": (files.audited, 1300),
    "options": (files.options, 800),
    "parquet": (files.parquet, 700),
    "trusted": (files.trusted, 800),
    "predict": (files.predicted, 1000),
    "folder": (files.audit_folder, 900),
    "answers": (answers, 900),
    "python": (python_call, 600),
    "model": (model_file, 1000),
}
# With so many cases, the first are the tables as they are.
MANY = 1000
LONGEST = 120  # seconds


@dataclass(frozen=True)
class Case:
    """One input: what is tried, and what it is made from."""

    seed: int
    number: int
    kind: str
    table: str = ""


@dataclass(frozen=True)
class Failure:
    """How a case failed; ``where`` is the same for cases that fail alike."""

    case: Case
    where: str
    details: str


def cases(n: int, seed: int, only: str | None = None) -> list[Case]:
    """The cases of a run; those of a longer run begin with them, up to the tables as they are."""
    whole = list(TABLES) if n >= MANY and only is None else []
    found = [Case(seed, -1 - k, "table", name) for k, name in enumerate(whole)]
    shares = [share for _, share in KINDS.values()]
    for number in range(n - len(whole)):
        kind = only or Random(f"{seed}/{number}").choices(list(KINDS), shares)[0]
        found.append(Case(seed, number, kind))
    return found


def run_case(case: Case, keep: Path | None = None) -> Failure | None:
    """Run a case in a folder of its own; one that fails leaves what it read in ``keep``."""
    random = Random(f"{case.seed}/{case.number}/{case.kind}")
    with tempfile.TemporaryDirectory(prefix="rboost-case-") as name:
        folder = Path(name).resolve()
        try:
            with _alarm(), threadpool_limits(1):
                if case.kind == "table":
                    files.whole_table(random, folder, case.table)
                else:
                    KINDS[case.kind][0](random, folder)
        except (Exception, TookTooLong) as error:
            details = "".join(traceback.format_exception(error))
            if keep is not None:
                own = keep / f"{case.kind}-{case.seed}-{case.number}"
                shutil.copytree(folder, own, dirs_exist_ok=True)
                (own / "failure.txt").write_text(f"{case}\n{details}", errors="replace")
            return Failure(case, where_of(error), details)
    return None


def run(todo: list[Case], jobs: int, keep: Path | None = None) -> Iterator[Failure]:
    """Run cases and yield those that failed."""
    if jobs == 1:
        found: Any = (run_case(case, keep) for case in todo)
        yield from filter(None, track(found, len(todo), "Trying mutated inputs", enabled=True))
        return
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="rboost-running-") as name:
        task = _Task(keep, Path(name))
        with ProcessPoolExecutor(jobs, context) as pool:
            found = pool.map(task, todo, chunksize=8)
            try:
                shown = track(found, len(todo), "Trying mutated inputs", enabled=True)
                yield from filter(None, shown)
            except BrokenProcessPool as error:  # a crash, which no process survives to tell of
                running = [file.read_text() for file in Path(name).iterdir()]
                details = "A process died; it was one of\n" + "\n".join(running)
                yield Failure(todo[0], f"{type(error).__name__}", details)


@dataclass(frozen=True)
class _Task:
    """Runs a case; the ``running`` ones of all processes are written down."""

    keep: Path | None
    running: Path

    def __call__(self, case: Case) -> Failure | None:
        (self.running / str(os.getpid())).write_text(repr(case))
        return run_case(case, self.keep)


def where_of(error: BaseException) -> str:
    """The error, and the last line of this package that it went through."""
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    line = f" at {Path(own[-1].filename).relative_to(PACKAGE)}:{own[-1].lineno}" if own else ""
    kind = type(cause).__name__ if cause is not error else type(error).__name__
    said = str(error).splitlines()[0][:100] if not own and str(error) else ""
    return f"{kind}{line} {said}".rstrip()


class _alarm:  # noqa: N801 - reads as a statement
    """Ends a case that takes too long."""

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)
        signal.alarm(LONGEST)

    def __exit__(self, *_: object) -> None:
        signal.alarm(0)

    @staticmethod
    def _ring(*_: object) -> None:
        raise TookTooLong(f"no end after {LONGEST} s")
