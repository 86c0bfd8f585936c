"""What is measured, each part in a process of its own that prints lines of JSON.

CUDA is warmed up on a small table first, which is not measured.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from benchmarks.equality import SUITE, compare, fit_alone
from benchmarks.generators import GENERATORS
from benchmarks.gpu.rows import make_rows, noise_of
from benchmarks.store import Record
from benchmarks.suites import SUITES, draw_trial
from rboost import RBoostClassifier

N_COLUMNS, MANY_CLASSES = 50, 10
# More than the pool joins in for.
SMALL = 25_000


def n_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def warm_up(n_classes: int) -> None:
    """Have CUDA started and kernels compiled; those of three classes are those of more."""
    timed_fit(SMALL, min(n_classes, 3), device="cuda")


def timed_fit(n_rows: int, n_classes: int, **settings: Any) -> Record:
    """Seconds from an array in the memory of the host to probabilities there; what is found."""
    start = time.perf_counter()
    rows = make_rows(n_rows, N_COLUMNS, n_classes, n_cores())
    made = time.perf_counter() - start
    model = RBoostClassifier(random_state=0, **settings)
    start = time.perf_counter()
    issues = np.asarray(model.fit(rows.X, rows.observed).label_issue_probability_)
    seconds = time.perf_counter() - start
    return {
        "rows": n_rows,
        "classes": n_classes,
        "seconds": seconds,
        "rounds": model.n_iter_,
        "rates off": float(np.abs(model.noise_matrix_ - noise_of(n_classes)).max()),
        "average precision": float(average_precision_score(rows.observed != rows.true, issues)),
        "seconds to make the rows": made,
    }


def on_gpu(n_rows: int, n_classes: int = 2) -> Iterator[Record]:
    """The default settings on the GPU."""
    warm_up(n_classes)
    yield timed_fit(n_rows, n_classes, device="cuda")


def on_one_core(estimator: str, n_rows: int) -> Iterator[Record]:
    """An engine of the CPU with one thread."""
    yield timed_fit(n_rows, 2, estimator=estimator, n_jobs=1)


def equality() -> Iterator[Record]:
    """GPU and CPU beside each other, on the tables of the suite that are made on the spot."""
    warm_up(2)
    suite = SUITES[SUITE]
    for setting in reversed(tuple(suite.settings)):  # those with noise first, if time runs out
        for name in (name for name in suite.names if name in GENERATORS):
            trial = draw_trial(SUITE, name, setting, 0, 0)
            start = time.perf_counter()
            on_cpu = fit_alone(trial, device="cpu", n_jobs=1)
            middle = time.perf_counter()
            on_cuda = fit_alone(trial, device="cuda", n_jobs=1)
            seconds = [middle - start, time.perf_counter() - middle]
            found = {"table": name, "setting": setting, "seconds": seconds}
            yield found | compare(on_cpu, on_cuda)


def parts(n_many: int, n_rows: int) -> dict[str, Callable[[], Iterator[Record]]]:
    """All parts by name: the many rows of the GPU alone, and those that one core has to fit too."""
    return {
        "many rows": lambda: on_gpu(n_many),
        "GPU": lambda: on_gpu(n_rows),
        "many classes": lambda: on_gpu(n_rows, MANY_CLASSES),
        "LightGBM, one core": lambda: on_one_core("trees", n_rows),
        "XGBoost, one core": lambda: on_one_core("xgboost", n_rows),
        "equality": equality,
    }


# The parts of a line run at the same time, those that use one core pinned to it.
TURNS = (
    ("many rows",),
    ("GPU",),
    ("many classes",),
    ("LightGBM, one core", "XGBoost, one core", "equality"),
)
PINNED = ("LightGBM, one core", "XGBoost, one core")
