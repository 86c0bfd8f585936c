"""Times of prediction, of one row and of many."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.speed.data import draw, training_rows
from benchmarks.speed.groups import Entries, Group
from benchmarks.speed.methods import DEFAULT, METHODS, chosen
from benchmarks.speed.timing import Task, interleaved

FIT_ROWS = 5_000
# A call with one row is too short to be timed alone.
CALLS_OF_ONE_ROW = 50
# As written it is the same model; the default is timed where it is fitted.
PREDICTED = tuple(name for name in METHODS if name != DEFAULT)


def measure_prediction(group: Group, repeats: int, skip_slow: bool) -> Entries:
    """Seconds of ``predict``, by models fitted to the same rows."""
    X, y = training_rows(FIT_ROWS, group.truth, 0)
    X_new, _ = draw(group.rows, group.truth, seed=1)
    calls = CALLS_OF_ONE_ROW if group.rows == 1 else 1
    with threadpool_limits(group.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predictions: dict[str, Callable[[Any], Any]] = {}
        for name, method in chosen(PREDICTED, group.rows, skip_slow).items():
            model = method.build(group.rounds, group.threads).fit(X, y)
            predictions[name] = model.predict
        seconds: dict[str, list[float]] = {name: [] for name in predictions}
        for predict in predictions.values():
            predict(X_new[:1])
        tasks = {name: _task(predict, X_new, calls) for name, predict in predictions.items()}
        for name, _, total, _ in interleaved(tasks, repeats, str(group)):
            seconds[name].append(total / calls)
    return [{"method": name, "seconds": times} for name, times in seconds.items()]


def _task(predict: Callable[[Any], Any], X: Any, calls: int) -> Task:
    def run() -> None:
        for _ in range(calls):
            predict(X)

    return lambda repeat: run
