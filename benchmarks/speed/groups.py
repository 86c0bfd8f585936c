"""Groups of measurements, and the file that holds them.

A group is what was measured together, in turns. It is replaced as a whole or not at all, so a ratio
never mixes two runs. Parts can be measured one by one, and added to the same file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.code import code_fingerprint
from benchmarks.machine import machine_in_words
from benchmarks.store import Record
from rboost.files import write_atomically

PACKAGES = ("xgboost",)


@dataclass(frozen=True)
class Group:
    """A part of the page at one size and number of threads."""

    part: str
    rows: int
    threads: int
    truth: str
    rounds: int
    classes: int = 2

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.part}, {self.rows} rows, {self.classes} classes, {threads}, {self.truth}"


Entries = list[Record]
Results = dict[Group, Entries]


def measured_on() -> str:
    """What the times depend on: the machine and the code. Only such groups share a file."""
    return f"{machine_in_words(PACKAGES)} {code_fingerprint('benchmarks.speed')}"


def load(path: Path) -> Results:
    """All groups in a file; none where there is no file."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("measured on") != measured_on():
        raise SystemExit(
            f"{path} was measured on another machine, or with other versions or code; delete it, "
            "or choose another folder with --store."
        )
    results = {}
    for record in content["groups"]:
        entries = record.pop("entries")
        results[Group(**record)] = entries
    return results


def save(path: Path, results: Results) -> None:
    """Write all groups, or leave the file as it was."""
    groups: list[dict[str, Any]] = [
        {**asdict(group), "entries": entries} for group, entries in results.items()
    ]
    content = {"measured on": measured_on(), "groups": groups}
    write_atomically(path, json.dumps(content, indent=1) + "\n")
