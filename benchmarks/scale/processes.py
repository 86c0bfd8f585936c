"""What a command costs with all processes that it starts: seconds, and the peak of their memory.

Memory is the sum of the processes' proportional set sizes (a page that k of them share counts 1/k
for each), which Linux tells; the command and what it starts are one session of processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BETWEEN_SAMPLES = 0.5
# The place of the session in /proc/PID/stat, counted behind the name of the program.
SESSION = 3


@dataclass(frozen=True)
class Cost:
    """Seconds of a command, and the largest memory in bytes that was seen."""

    seconds: float
    peak: int


def run_measured(command: Sequence[str]) -> Cost:
    """Run a command to its end; what it prints goes to standard error."""
    start, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=sys.stderr, start_new_session=True)
    try:
        while process.poll() is None:
            peak = max(peak, memory_of_session(process.pid))
            time.sleep(BETWEEN_SAMPLES)
    except BaseException:  # the command does not outlive an interrupt
        os.killpg(process.pid, signal.SIGTERM)
        raise
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with exit code {process.returncode}.")
    return Cost(seconds, peak)


def memory_of_session(session: int) -> int:
    """Bytes of all processes of a session, those that share memory counted once."""
    return sum(
        _proportional_memory(entry)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and _session_of(entry) == session
    )


def _session_of(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[SESSION])
    except (OSError, IndexError):  # it has ended
        return None


def _proportional_memory(process: Path) -> int:
    try:
        lines = (process / "smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
