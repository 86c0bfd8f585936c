"""Timing in turns: one repeat of each method, then the next repeat of each.

What slows the machine for a while then slows all methods alike. CPU time is that of all threads,
and of processes that were started and have ended; others on the machine change it less than they
change wall time. The page reports minima, the time that is needed when nothing is in the way.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.store import Record
from rboost.progress import track

# Given the number of the repeat, prepares what is timed.
Task = Callable[[int], Callable[[], Any]]
CPU, WALL = "cpu", "wall"


class Times(NamedTuple):
    """Seconds of the processor and of the clock on the wall."""

    cpu: float
    wall: float


def cpu_seconds() -> float:
    """CPU time so far of this process, and of those that it started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(run: Callable[[], Any]) -> tuple[Times, Any]:
    """How long a call takes, and what it returns."""
    gc.collect()
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = run()
    return Times(cpu_seconds() - cpu, time.perf_counter() - wall), result


def interleaved(
    tasks: Mapping[str, Task], repeats: int, description: str
) -> Iterator[tuple[str, int, Times, Any]]:
    """Yield name, repeat, times and what the task returned, the tasks in turn."""
    turns = [(repeat, name) for repeat in range(repeats) for name in tasks]
    for repeat, name in track(turns, len(turns), description, enabled=sys.stderr.isatty()):
        yield name, repeat, *timed(tasks[name](repeat))


def new_entry(method: str, **more: Any) -> Record:
    """What is known of a method before its first repeat."""
    return {"method": method, **more, CPU: [], WALL: []}


def add_times(entry: Record, times: Times, calls: int = 1) -> None:
    """Add a repeat of so many calls."""
    entry[CPU].append(times.cpu / calls)
    entry[WALL].append(times.wall / calls)


def default_repeats(rows: int) -> int:
    """Fewer for larger tables, whose times vary less and cost more."""
    for at_most, repeats in ((1_000, 20), (20_000, 5), (200_000, 3)):
        if rows <= at_most:
            return repeats
    return 2
