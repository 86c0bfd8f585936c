"""Times of fits, and test errors: the parts default, pair, classes, texts, scaling, accuracy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.data import clean_rows, training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import (
    ADABOOST,
    DEFAULT,
    LIGHTGBM,
    LINEAR,
    METHODS,
    TREE_PEERS,
    WORDS,
)
from benchmarks.speed.timing import Task, add_times, interleaved, new_entry
from benchmarks.store import Record

FITTED: dict[str, tuple[str, ...]] = {
    "default": (DEFAULT, *TREE_PEERS),
    "pair": (LINEAR, ADABOOST, *TREE_PEERS),
    "classes": (DEFAULT, LIGHTGBM),
    "texts": (DEFAULT, WORDS),
    "scaling": (LINEAR,),
    "accuracy": (DEFAULT, LINEAR, ADABOOST, *TREE_PEERS),
}
# Shares of the rounds at which the pair is fitted to see when it is as accurate as a peer.
GRID = (1 / 30, 1 / 15, 2 / 15, 4 / 15, 8 / 15, 1, 2)
WARM_UP_ROWS, WARM_UP_CLASSES = 200, 3


def measure_fits(group: Group, repeats: int) -> Entries:
    """Fit every method to the same rows in every repeat."""
    drawn = training_rows(group.rows, group.truth, 0, group.classes)
    fits = [(name, group.rounds) for name in FITTED[group.part]]
    # Errors with two classes are those of the part accuracy, a mean over several draws.
    judged = range(group.classes > 2)
    return _measure(group, repeats, fits, lambda repeat: drawn, judged)


def measure_accuracy(group: Group, repeats: int) -> Entries:
    """Fit the pair at growing rounds too, and all to other rows in every repeat."""
    grid = dict.fromkeys(max(1, round(share * group.rounds)) for share in GRID)
    fits = [
        (name, rounds)
        for name in FITTED[group.part]
        for rounds in (grid if name == LINEAR else (group.rounds,))
    ]
    data = partial(training_rows, group.rows, group.truth)
    return _measure(group, repeats, fits, data, range(repeats))


def _measure(
    group: Group,
    repeats: int,
    fits: Iterable[tuple[str, int]],
    data: Callable[[int], Any],
    judged: range,
) -> Entries:
    """Time the fits, each a method and a number of rounds, in turns; judge some of the repeats."""
    X_test, y_test = clean_rows(group.truth, group.classes)
    entries: dict[str, Record] = {
        f"{name}, {rounds}": new_entry(name, asked=rounds, errors=[]) for name, rounds in fits
    }
    tasks = {
        key: _task(entry["method"], entry["asked"], group.threads, data)
        for key, entry in entries.items()
    }
    with threadpool_limits(group.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dict(fits):
            warm_up(name, group)
        for key, repeat, times, model in interleaved(tasks, repeats, str(group)):
            entry = entries[key]
            add_times(entry, times)
            entry["rounds"] = rounds_of(model, entry["asked"])
            if repeat in judged:
                wrong = np.asarray(model.predict(X_test)) != y_test
                entry["errors"].append(100 * float(np.mean(wrong)))
    return list(entries.values())


def _task(name: str, rounds: int, threads: int, data: Callable[[int], Any]) -> Task:
    def prepare(repeat: int) -> Callable[[], Any]:
        return partial(METHODS[name](rounds, threads).fit, *data(repeat))

    return prepare


def warm_up(name: str, group: Group) -> None:
    """Fit a little, so that what happens once in a process is not timed."""
    classes = min(group.classes, WARM_UP_CLASSES)
    rows = training_rows(WARM_UP_ROWS, group.truth, 0, classes)
    METHODS[name](2, group.threads).fit(*rows)


def rounds_of(model: Any, asked: int) -> int:
    """Rounds that were really run."""
    if hasattr(model, "estimators_"):
        return len(model.estimators_)
    return int(getattr(model, "n_iter_", asked))
