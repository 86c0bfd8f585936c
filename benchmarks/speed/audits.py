"""Audits from a file to a folder, each in a process of its own, and the model file they write."""

from __future__ import annotations

import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import LABEL, mixed_table
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.processes import alone
from benchmarks.speed.timing import CPU, WALL, add_times, new_entry, timed
from benchmarks.store import Record
from rboost.audit import LabelAudit
from rboost.audit.disk.folder import MODEL, audit_into
from rboost.audit.disk.request import Request
from rboost.progress import track
from rboost.saving import save

AUDIT, MODEL_FILE = "audit", "model file"
# An audit of so few rows imports all that another needs.
WARM_UP_ROWS = 100


def measure_audits(group: Group, repeats: int) -> Entries:
    """Times of audits and of their model files, and the bytes of these."""
    entries = {name: new_entry(name) for name in (AUDIT, MODEL_FILE)}
    for _ in track(range(repeats), repeats, str(group), enabled=sys.stderr.isatty()):
        for found in alone(audit_alone, group.rows, group.threads):
            entry = entries[found["method"]]
            entry |= found | {clock: entry[clock] + found[clock] for clock in (CPU, WALL)}
    return list(entries.values())


def audit_alone(rows: int, threads: int) -> list[Record]:
    """One audit after the imports, and its model written once more."""
    audited, saved = new_entry(AUDIT), new_entry(MODEL_FILE)
    with tempfile.TemporaryDirectory() as name, threadpool_limits(threads):
        folder = Path(name)
        for n_rows in (WARM_UP_ROWS, rows):
            table = folder / f"{n_rows}.csv"
            mixed_table(n_rows, 0).to_csv(table, index=False)
            times, audit = timed(partial(_audit, table, folder / "out"))
        add_times(audited, times)
        again = folder / "again.rboost"
        times, _ = timed(partial(save, audit.model, again))
        add_times(saved, times)
        saved["bytes"] = (folder / "out" / MODEL).stat().st_size
    return [audited, saved]


def _audit(table: Path, out: Path) -> LabelAudit:
    """What the command does with a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit, suspects = audit_into(out, Request(table, LABEL))
        audit.to_text(suspects)
    return audit
