"""Times of prediction, of one row and of many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import draw, training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import DEFAULT, LIGHTGBM, LINEAR, METHODS
from benchmarks.speed.native import n_learners
from benchmarks.speed.timing import Task, add_times, interleaved, new_entry

# As many trees as the default has learners.
AS_MANY = f"{LIGHTGBM}, as many trees"
BATCH_ROWS = 20_000
# A call with one row is too short to be timed alone.
CALLS_OF_ONE_ROW = 50


def measure_prediction(group: Group, repeats: int) -> Entries:
    """Times of ``predict`` of one row and of a batch, by models fitted to the same rows."""
    X, y = training_rows(group.rows, group.truth, 0)
    batch, _ = draw(BATCH_ROWS, group.truth, seed=1)
    with threadpool_limits(group.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        default = METHODS[DEFAULT](group.rounds, group.threads).fit(X, y)
        trees = n_learners(default)
        models = {DEFAULT: default}
        for name, method, rounds in (
            (AS_MANY, LIGHTGBM, trees), (LIGHTGBM, LIGHTGBM, group.rounds),
            (LINEAR, LINEAR, group.rounds),
        ):  # fmt: skip
            models[name] = METHODS[method](rounds, group.threads).fit(X, y)
        learners = {DEFAULT: trees, AS_MANY: trees}
        entries, tasks = {}, {}
        for name, model in models.items():
            model.predict(batch[:1])
            for new in (batch[:1], batch):
                key = f"{name}, {len(new)}"
                entries[key] = new_entry(
                    name, predicted=len(new), learners=learners.get(name, group.rounds)
                )
                tasks[key] = _task(model.predict, new)
        for key, _, times, _ in interleaved(tasks, repeats, str(group)):
            add_times(entries[key], times, _calls(entries[key]["predicted"]))
    return list(entries.values())


def _calls(n_rows: int) -> int:
    return CALLS_OF_ONE_ROW if n_rows == 1 else 1


def _task(predict: Callable[[Any], Any], X: Any) -> Task:
    def run() -> None:
        for _ in range(_calls(len(X))):
            predict(X)

    return lambda repeat: run
