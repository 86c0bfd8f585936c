"""Timing in turns: one repeat of each method, then the next repeat of each.

What slows the machine for a while then slows all methods alike. The page reports minima, the time
that a method needs when nothing is in its way.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rboost.progress import track

# Given the number of the repeat, prepares what is timed.
Task = Callable[[int], Callable[[], Any]]


def interleaved(
    tasks: Mapping[str, Task], repeats: int, description: str
) -> Iterator[tuple[str, int, float, Any]]:
    """Yield name, repeat, seconds and what the task returned, the tasks in turn."""
    turns = [(repeat, name) for repeat in range(repeats) for name in tasks]
    for repeat, name in track(turns, len(turns), description, enabled=sys.stderr.isatty()):
        run = tasks[name](repeat)
        gc.collect()
        start = time.perf_counter()
        result = run()
        yield name, repeat, time.perf_counter() - start, result


def default_repeats(rows: int) -> int:
    """Fewer for larger tables, whose times vary less and cost more."""
    for at_most, repeats in ((1_000, 20), (20_000, 5), (200_000, 3)):
        if rows <= at_most:
            return repeats
    return 2
