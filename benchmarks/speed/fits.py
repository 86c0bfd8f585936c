"""Times of fits and test errors: the parts fit, trees, default, scaling and accuracy."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.data import clean_rows, training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import (
    ADABOOST,
    ADABOOST_NATURAL,
    DEFAULT,
    LIGHTGBM,
    LINEAR,
    METHODS,
    OURS,
    PAPER,
    POOL,
    TREE_PEERS,
    chosen,
)
from benchmarks.speed.timing import Task, interleaved
from benchmarks.store import Record

# Rounds at which ours is fitted to see when it is as accurate as a peer.
GRID = (5, 10, 20, 40, 80, 160, 320)
FITTED: dict[str, tuple[str, ...]] = {
    "fit": (LINEAR, PAPER, ADABOOST, ADABOOST_NATURAL, *TREE_PEERS),
    "trees": (POOL, *TREE_PEERS),
    "default": (DEFAULT, LIGHTGBM),
    "scaling": (LINEAR, PAPER),
    "accuracy": (*OURS, ADABOOST_NATURAL, *TREE_PEERS),
}
WARM_UP_ROWS = 200
# Where an entry has the seconds of predicting the test rows, each time after a fit.
PREDICTION = "seconds to predict"


def measure_fits(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Fit every method to the same rows in every repeat, at equal rounds."""
    drawn = training_rows(group.rows, group.truth, 0)
    return _measure(
        group,
        repeats,
        [
            (name, method.rounds_run(group.rows, group.rounds))
            for name, method in chosen(FITTED[group.part], group.rows, skip_slow).items()
        ],
        data=lambda repeat: drawn,
        judged=lambda repeat: repeat == 0 or group.part == "default",
    )


def measure_accuracy(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Fit the peers at the given rounds and ours at growing ones, to other rows in every repeat."""
    names = chosen(FITTED[group.part], group.rows, skip_slow)
    return _measure(
        group,
        repeats,
        [
            (name, rounds)
            for name in names
            for rounds in (GRID if name in OURS else (group.rounds,))
        ],
        data=partial(training_rows, group.rows, group.truth),
        judged=lambda repeat: True,
    )


def _measure(
    group: Group,
    repeats: int,
    fits: list[tuple[str, int]],
    data: Callable[[int], Any],
    judged: Callable[[int], bool],
) -> Entries:
    """Time the fits, each a method and a number of rounds, in turns."""
    X_test, y_test = clean_rows(group.truth)
    entries: dict[str, Record] = {
        f"{name}, {rounds}": {
            "method": name,
            "asked": rounds,
            "seconds": [],
            PREDICTION: [],
            "errors": [],
        }
        for name, rounds in fits
    }
    tasks = {
        key: _task(entry["method"], entry["asked"], group.threads, data)
        for key, entry in entries.items()
    }
    with threadpool_limits(group.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dict(fits):
            warm_up(name, group.threads)
        for key, repeat, seconds, model in interleaved(tasks, repeats, str(group)):
            entry = entries[key]
            entry["seconds"].append(seconds)
            entry["rounds"] = rounds_of(model, entry["asked"])
            if judged(repeat):
                start = time.perf_counter()
                predicted = np.asarray(model.predict(X_test))
                entry[PREDICTION].append(time.perf_counter() - start)
                entry["errors"].append(100 * float(np.mean(predicted != y_test)))
    return list(entries.values())


def _task(name: str, rounds: int, threads: int, data: Callable[[int], Any]) -> Task:
    def prepare(repeat: int) -> Callable[[], Any]:
        return partial(METHODS[name].build(rounds, threads).fit, *data(repeat))

    return prepare


def warm_up(name: str, threads: int) -> None:
    """Fit a little, so that what happens once in a process is not timed."""
    METHODS[name].build(2, threads).fit(*training_rows(WARM_UP_ROWS, "linear", 0))


def rounds_of(model: Any, asked: int) -> int:
    """Rounds that were really run."""
    if hasattr(model, "estimators_"):
        return int(getattr(model, "n_iter_", len(model.estimators_)))
    return asked
