"""The machine that was measured on, and the versions of what was run."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from rboost.paper.store import Record

GIB = 2**30
GPU_QUERY = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]


def machine(modules: Iterable[str]) -> Record:
    """What times depend on: processor, memory, GPU, and the versions of these modules."""
    return {
        "CPU": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "GPU": _gpu(),
        "date": date.today().isoformat(),
        "versions": {"Python": platform.python_version(), **versions(modules)},
    }


def versions(modules: Iterable[str]) -> dict[str, str]:
    """By the modules themselves, as several distributions may hold one; those that are there."""
    found = {}
    for name in modules:
        try:
            found[name] = str(importlib.import_module(name).__version__)
        except ImportError:
            continue
    return found


def in_words(where: Record) -> str:
    """A machine in one paragraph of a page."""
    gpu = f"{where['GPU']}; " if where["GPU"] else ""
    named = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    return (
        f"Machine: {gpu}{where['CPU']}, {where['cores']} cores, "
        f"{where['memory'] / GIB:.0f} GiB of memory; {named}; {where['date']}."
    )


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
