"""The machine that was measured on, and the versions of what was run."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

GIB = 2**30
GPU_QUERY = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
ALWAYS = ("rboost", "numpy", "scipy", "sklearn", "lightgbm")


def machine_in_words(packages: Iterable[str]) -> str:
    """What times depend on: processor, memory, GPU, and versions, those of ``packages`` too."""
    gpu = _gpu()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    named = {"Python": platform.python_version(), **versions([*ALWAYS, *packages])}
    return (
        f"Machine: {f'{gpu}; ' if gpu else ''}{_cpu()}, {len(os.sched_getaffinity(0))} cores, "
        f"{memory:.0f} GiB of memory; {', '.join(f'{name} {v}' for name, v in named.items())}."
    )


def versions(modules: Iterable[str]) -> dict[str, str]:
    """By the modules themselves, as several distributions may hold one; those that are there."""
    found = {}
    for name in modules:
        try:
            found[name] = str(importlib.import_module(name).__version__)
        except ImportError:
            continue
    return found


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _gpu() -> str | None:
    """Name and driver of the GPU; None where there is none."""
    try:
        done = subprocess.run(GPU_QUERY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    name, _, driver = done.stdout.splitlines()[0].partition(",")
    return f"{name.strip()} (driver {driver.strip()})"
