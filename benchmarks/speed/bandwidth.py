"""How fast one thread reads the rows, and how near to that one pass of boosting comes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.speed.data import Rows, training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.native import fused_pass
from benchmarks.speed.timing import Task, add_times, interleaved, new_entry

PASS = "fused pass"
# A pass over a million rows takes milliseconds.
TIMES_MORE_REPEATS = 10
# Bytes that stay in the cache of one core.
BLOCK = 2**17


def ways_to_read(X: Rows) -> dict[str, Callable[[], Any]]:
    """Ways to read every byte of X once in order; which is fastest depends on the machine."""
    flat = X.reshape(-1)
    words = flat[: flat.size // 2 * 2].view(np.uint64)
    block = np.empty(BLOCK // flat.itemsize, dtype=flat.dtype)
    return {
        "dot product": partial(flat.dot, flat),
        "sum": flat.sum,
        "maximum": partial(np.maximum.reduce, flat),
        "bitwise or": partial(np.bitwise_or.reduce, words),
        "copy into the cache": partial(_copied, flat, block),
    }


def _copied(flat: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
    """Copy block after block to one place; the last one is what it holds then."""
    for start in range(0, flat.size, block.size):
        part = flat[start : start + block.size]
        block[: part.size] = part
    return block


def measure_bandwidth(group: Group, repeats: int) -> Entries:
    """Times of reading X, and of the pass of a round, with the bytes that each moves."""
    X, _ = training_rows(group.rows, group.truth, 0)
    with threadpool_limits(group.threads):
        runs = ways_to_read(X)
        entries = {name: new_entry(name, bytes=X.nbytes) for name in runs}
        fused = fused_pass(X)
        if fused is not None:
            runs[PASS] = fused.run
            entries[PASS] = new_entry(PASS, bytes=fused.n_bytes)
        tasks: dict[str, Task] = {name: partial(_prepared, run) for name, run in runs.items()}
        for name, _, times, _ in interleaved(tasks, TIMES_MORE_REPEATS * repeats, str(group)):
            add_times(entries[name], times)
    return list(entries.values())


def _prepared(run: Callable[[], Any], repeat: int) -> Callable[[], Any]:
    return run
