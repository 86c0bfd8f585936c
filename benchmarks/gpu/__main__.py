"""Fit on a GPU, beside one core of the CPU, and compare what both find.

    python -m benchmarks.gpu                        # on a machine with a GPU
    python -m benchmarks.gpu --only "many rows" GPU

writes gpu.md to docs/gpu whenever a line is measured. It needs the extra ``gpu``,
and neither pandas nor a network.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock, Timer

from benchmarks.gpu.parts import PINNED, TURNS, parts
from benchmarks.gpu.report import Results, page
from benchmarks.pages import write_page
from benchmarks.store import Record

PACKAGES = ("xgboost", "cupy")
NAMES = [name for turn in TURNS for name in turn]


class Page:
    """The page of the results, written anew with every line."""

    def __init__(self, out: Path, arguments: Sequence[str] | None) -> None:
        self._path, self._arguments, self._lock = out / "gpu.md", arguments, Lock()
        self._results: Results = {}

    def add(self, name: str, found: Record) -> None:
        """Print a line and keep it."""
        with self._lock:
            self._results.setdefault(name, []).append(found)
            print(json.dumps({"part": name, **found}), flush=True)
            text = page(self._results)
            write_page(self._path, text, "benchmarks.gpu", self._arguments, PACKAGES)


def run_part(name: str, cores: set[int], options: argparse.Namespace, page: Page) -> None:
    """Run a part in a process of its own, until its end or that of the time."""
    command = [sys.executable, "-m", "benchmarks.gpu", "--part", name]
    command += ["--many", str(options.many), "--rows", str(options.rows)]
    os.sched_setaffinity(0, cores)  # of this thread alone, from which the process has it
    environment = os.environ | {"OMP_NUM_THREADS": str(len(cores))}
    start = time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        timer = Timer(max(1, options.end - start), process.kill)
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                page.add(name, json.loads(line))
            else:
                print(line, end="", file=sys.stderr)
        code = process.wait()
        timer.cancel()
    if code:
        print(f"{name}: exit code {code} after {time.time() - start:.0f} s", file=sys.stderr)
    if code and time.time() > options.end and name != "equality":  # whose finished lines count
        page.add(name, {"stopped after": time.time() - start})


def run(options: argparse.Namespace) -> None:
    """The turns, one after the other."""
    page, cores = Page(options.out, options.arguments), sorted(os.sched_getaffinity(0))
    for turn in TURNS:
        names = [name for name in turn if name in options.only]
        pinned = dict(zip((name for name in names if name in PINNED), cores, strict=False))
        others = set(cores) - set(pinned.values()) or set(cores)
        with ThreadPoolExecutor(len(turn)) as threads:
            running = []
            for name in names:
                own = {pinned[name]} if name in pinned else others
                running.append(threads.submit(run_part, name, own, options, page))
            for part in running:
                part.result()


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="PART",
                        help=f"these parts: {', '.join(NAMES)}")  # fmt: skip
    parser.add_argument("--many", type=int, default=10_000_000, help="rows of the GPU alone")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the other parts")
    parser.add_argument("--seconds", type=float, default=520, help="when parts are stopped (520)")
    parser.add_argument("--out", type=Path, default=Path("docs/gpu"), help="folder of the page")
    parser.add_argument("--part", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.arguments = arguments
    options.end = time.time() + options.seconds
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all parts, or in a process of its own the one that is named."""
    options = parse(arguments)
    if options.part is None:
        run(options)
        return
    for found in parts(options.many, options.rows)[options.part]():
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
