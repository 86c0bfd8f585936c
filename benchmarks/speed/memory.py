"""Peak memory of a fit above its input, measured in a process of its own.

Linux keeps the largest resident memory of a process (VmHWM) and starts it anew when 5 is written to
/proc/self/clear_refs. Nothing else tells the peak of a fit from that of what was done before it,
so elsewhere there is no measurement.
"""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import warnings
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import N_FEATURES, training_rows
from benchmarks.speed.fits import warm_up
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import ADABOOST_NATURAL, METHODS, OURS, TREE_PEERS, chosen
from rboost.progress import track

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")
MEASURED = (*OURS, ADABOOST_NATURAL, *TREE_PEERS)
ROOT = Path(__file__).parents[2]


def measure_memory(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Bytes of every method, and of one float32 copy of X; None where they cannot be known."""
    entries = []
    names = list(chosen(MEASURED, group.rows, skip_slow))
    for name in track(names, len(names), str(group), enabled=sys.stderr.isatty()):
        arguments = [name, *map(str, (group.rows, group.threads, group.rounds)), group.truth]
        command = [sys.executable, "-m", "benchmarks.speed.memory", *arguments]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        entries.append(
            {"method": name, "bytes": json.loads(done.stdout), "copy": 4 * N_FEATURES * group.rows}
        )
    return entries


def peak_above_input(name: str, rows: int, threads: int, rounds: int, truth: str) -> int | None:
    """Largest resident memory during a fit, less what was resident with the input alone."""
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(name, threads)
        X, y = training_rows(rows, truth, 0)
        model = METHODS[name].build(rounds, threads)
        gc.collect()
        give_back_free_memory()
        try:
            RESET.write_text("5")
            before = status("VmRSS")
        except OSError:
            return None
        model.fit(X, y)
        return status("VmHWM") - before


def give_back_free_memory() -> None:
    """Return to the system what the drawing of rows left behind, or a fit would use it unseen."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def status(name: str) -> int:
    """A number of /proc/self/status in bytes."""
    for line in STATUS.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return 1024 * int(value.split()[0])
    raise OSError(f"{STATUS} has no {name}")


if __name__ == "__main__":
    name, rows, threads, rounds, truth = sys.argv[1:]
    print(json.dumps(peak_above_input(name, int(rows), int(threads), int(rounds), truth)))
