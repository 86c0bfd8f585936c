"""Groups of measurements, and the file that holds them.

A group is what was measured together, in turns. It is replaced as a whole or not at all, so a ratio
never mixes two runs. Parts can be measured one by one, and added to the same file.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rboost.io.files import write_atomically
from rboost.paper.store import Record


@dataclass(frozen=True)
class Group:
    """A part of the page at one size and number of threads."""

    part: str
    rows: int
    threads: int
    truth: str
    rounds: int

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.part}, {self.rows} rows, {threads}, {self.truth}"


Entries = list[Record]
Results = dict[Group, Entries]


def machine() -> Record:
    """What the times depend on, in general terms."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "architecture": platform.machine(),
        "CPUs": os.cpu_count(),
        "SIMD": [*simd["baseline"], *simd["found"]],
        "Python": platform.python_version(),
        "versions": {
            name: version(name) for name in ("numpy", "scikit-learn", "xgboost", "lightgbm")
        },
    }


def load(path: Path) -> tuple[Record, Results]:
    """The machine and all groups in a file; of this machine and none where there is no file."""
    if not path.exists():
        return machine(), {}
    content = json.loads(path.read_text(encoding="utf-8"))
    results = {}
    for record in content["groups"]:
        entries = record.pop("entries")
        results[Group(**record)] = entries
    return content["machine"], results


def save(path: Path, where: Record, results: Results) -> None:
    """Write all groups, or leave the file as it was."""
    groups: list[dict[str, Any]] = [
        {**asdict(group), "entries": entries} for group, entries in results.items()
    ]
    write_atomically(path, json.dumps({"machine": where, "groups": groups}, indent=1) + "\n")
