"""Processes that do next to nothing: what imports cost."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.speed.data import LABEL, mixed_table
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.timing import Task, add_times, interleaved, new_entry

NO_FILE, NO_COLUMN = "`rboost audit`, no such file", "`rboost audit`, no such column"
IMPORT = "`from rboost import RBoostClassifier`"
PEER_IMPORT = "`from lightgbm import LGBMClassifier`"
NOTHING = "Python alone"
COMMAND = "import sys; from rboost.cli import main; sys.exit(main(sys.argv[1:]))"
ROWS = 1_000
# The exit code of a command that fails with a sentence.
FAILED = 2


def measure_starts(group: Group, repeats: int) -> Entries:
    """Times of whole processes; the rows of the group mean nothing."""
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "table.csv"
        mixed_table(ROWS, 0).to_csv(table, index=False)
        options = "--out", str(Path(name) / "out"), "--label"
        tasks = {
            NO_FILE: _task((COMMAND, "audit", str(table) + "x", *options, LABEL), FAILED),
            NO_COLUMN: _task((COMMAND, "audit", str(table), *options, f"{LABEL}x"), FAILED),
            IMPORT: _task([IMPORT.strip("`")]),
            PEER_IMPORT: _task([PEER_IMPORT.strip("`")]),
            NOTHING: _task(["pass"]),
        }
        entries = {name: new_entry(name) for name in tasks}
        for task in tasks.values():  # compiled modules are kept, files are in memory
            task(0)()
        for name, _, times, _ in interleaved(tasks, repeats, str(group)):
            add_times(entries[name], times)
    return list(entries.values())


def _task(arguments: Sequence[str], code: int = 0) -> Task:
    """A program with its arguments in a new process; an error unless it ends with this code."""
    command = [sys.executable, "-c", *arguments]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}

    def run() -> None:
        done = subprocess.run(command, capture_output=True, text=True, env=one_thread)
        if done.returncode != code:
            raise RuntimeError(f"Ended with code {done.returncode}, not {code}: {done.stderr}")

    return lambda repeat: run
