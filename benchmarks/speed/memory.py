"""Peak memory of a fit above its input, and its times, in a process of its own."""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.memory import start_peak, status
from benchmarks.speed.data import training_rows
from benchmarks.speed.fits import warm_up
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import ADABOOST, DEFAULT, LINEAR, METHODS, TREE_PEERS
from benchmarks.speed.processes import alone
from benchmarks.speed.timing import add_times, new_entry, timed
from benchmarks.store import Record
from rboost.progress import track

MEASURED = (DEFAULT, LINEAR, ADABOOST, *TREE_PEERS)
# What tables of numbers are, and what the native core of the pair takes as it is.
TYPES = dict.fromkeys(MEASURED, "float64") | {LINEAR: "float32"}


def measure_memory(group: Group, repeats: int) -> Entries:
    """One fit of every method."""
    names = track(MEASURED, len(MEASURED), str(group), enabled=sys.stderr.isatty())
    return [alone(fit_alone, name, asdict(group)) for name in names]


def fit_alone(name: str, group: dict[str, Any]) -> Record:
    """Times of a fit, its peak and the size of its table in bytes."""
    asked = Group(**group)
    with threadpool_limits(asked.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(name, asked)
        X, y = training_rows(asked.rows, asked.truth, 0)
        table = X.astype(TYPES[name])
        del X
        fit = partial(METHODS[name](asked.rounds, asked.threads).fit, table, y)
        entry = new_entry(name, type=TYPES[name], table=table.nbytes)
        before = start_peak()
        times, _ = timed(fit)
    add_times(entry, times)
    return entry | {"peak": None if before is None else status("VmHWM") - before}
