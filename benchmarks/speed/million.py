"""Time and peak memory of the default on a table of float64, in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.data import N_FEATURES, training_rows
from benchmarks.speed.fits import warm_up
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.memory import ROOT, status
from benchmarks.speed.methods import DEFAULT, METHODS
from benchmarks.store import Record


def measure_million(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Seconds of one fit, and bytes beside those of the table."""
    arguments = [*map(str, (group.rows, group.threads, group.rounds)), group.truth]
    command = [sys.executable, "-m", "benchmarks.speed.million", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(done.stdout)]


def fit_alone(rows: int, threads: int, rounds: int, truth: str) -> Record:
    """Fit once; the peak is counted from what was resident before the table was made."""
    with threadpool_limits(threads):
        warm_up(DEFAULT, threads)
        before = _peak()
        X, y = training_rows(rows, truth, 0)
        table = X.astype(np.float64)
        del X
        start = time.perf_counter()
        METHODS[DEFAULT].build(rounds, threads).fit(table, y)
        seconds = time.perf_counter() - start
    return {
        "method": DEFAULT,
        "seconds": [seconds],
        "bytes": _peak() - before,
        "process": _peak(),
        "copy": 8 * N_FEATURES * rows,
    }


def _peak() -> int:
    """Largest resident memory of this process so far, in bytes."""
    try:
        return status("VmHWM")
    except OSError:  # no Linux, where getrusage would also count the process that started this one
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    rows, threads, rounds, truth = sys.argv[1:]
    print(json.dumps(fit_alone(int(rows), int(threads), int(rounds), truth)))
