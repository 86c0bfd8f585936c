"""What the speed is meant to be, and where in the results it stands; all by CPU time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.speed.audits import AUDIT, MODEL_FILE
from benchmarks.speed.groups import Results
from benchmarks.speed.methods import DEFAULT, LIGHTGBM, LINEAR
from benchmarks.speed.prediction import AS_MANY, BATCH_ROWS
from benchmarks.speed.readings import (
    entry_of,
    find,
    megabytes,
    peak_in_tables,
    ratio,
    seconds,
)
from benchmarks.speed.starts import IMPORT, NO_COLUMN, NO_FILE
from benchmarks.store import Record

Reader = Callable[[Results], float | None]
MILLION = 1_000_000


@dataclass(frozen=True)
class Target:
    """A number that is to be no larger than the goal, or no smaller."""

    question: str
    read: Reader
    goal: float
    unit: str
    at_least: bool = False

    def asked(self) -> str:
        """The goal in words."""
        return f"{'≥' if self.at_least else '≤'} {self.goal:g}{self.unit}"

    def verdict(self, value: float) -> str:
        """Whether a measured value will do."""
        is_met = value >= self.goal if self.at_least else value <= self.goal
        return "yes" if is_met else "**no**"


def _of(
    part: str,
    method: str,
    rows: int,
    classes: int = 2,
    read: Callable[[Record], float | None] = seconds,
    **more: object,
) -> Reader:
    def reader(results: Results) -> float | None:
        entry = entry_of(find(results, part, rows, classes), method, **more)
        return None if entry is None else read(entry)

    return reader


def _times(over: Reader, under: Reader) -> Reader:
    return lambda results: ratio(over(results), under(results))


def _fit(part: str, over: str, under: str, rows: int, goal: float, classes: int = 2) -> Target:
    """A ratio of fits: ours is no more than so many times as long, or a peer at least."""
    size = f"{rows:,} rows" if classes == 2 else f"{classes} classes, {rows:,} rows"
    both = (_of(part, method, rows, classes) for method in (over, under))
    return Target(f"fit, {size}: {over} / {under}", _times(*both), goal, "×", under == LINEAR)


def _batch(rows: int) -> Target:
    both = (_of("predict", m, rows, predicted=BATCH_ROWS) for m in (AS_MANY, DEFAULT))
    question = f"predict {BATCH_ROWS:,} rows, fitted to {rows:,}: {AS_MANY} / {DEFAULT}"
    return Target(question, _times(*both), 1, "×", at_least=True)


def _one_row(rows: int, goal: float) -> Target:
    milliseconds = _of(
        "predict", DEFAULT, rows, read=lambda entry: 1e3 * seconds(entry), predicted=1
    )
    return Target(f"predict one row, fitted to {rows:,}: {DEFAULT}", milliseconds, goal, " ms")


def _peak(method: str, goal: float) -> Target:
    question = f"peak memory above the input, {MILLION:,} rows: {method}"
    return Target(question, _of("memory", method, MILLION, read=peak_in_tables), goal, " tables")


# By rows, and times as long as LightGBM.
DEFAULT_GOALS = {200: 6, 400: 4, 2_000: 4, 12_000: 4.5, 100_000: 3.5}
# By rows, and times as fast as LightGBM.
PAIR_GOALS = {400: 9, 5_000: 14, 100_000: 20, MILLION: 22}
# By rows and classes, and times as long as LightGBM.
CLASS_GOALS = {(5_000, 10): 4, (10_000, 50): 3}
# By the rows that a model was fitted to, and milliseconds.
ONE_ROW_GOALS = {2_000: 1, 50_000: 0.5}
# By rows, and CPU seconds.
AUDIT_GOALS = {1_000: 1.5, 10_000: 3.5, 100_000: 9}
MODEL_ROWS = 1_000
START_GOALS = {NO_FILE: 0.5, NO_COLUMN: 0.5, IMPORT: 1.2}
TARGETS = [
    *(_fit("default", DEFAULT, LIGHTGBM, rows, goal) for rows, goal in DEFAULT_GOALS.items()),
    *(_fit("pair", LIGHTGBM, LINEAR, rows, goal) for rows, goal in PAIR_GOALS.items()),
    _peak(LINEAR, 1.15),
    _peak(DEFAULT, 1.2),
    *(
        _fit("classes", DEFAULT, LIGHTGBM, rows, goal, classes)
        for (rows, classes), goal in CLASS_GOALS.items()
    ),
    *(_one_row(rows, goal) for rows, goal in ONE_ROW_GOALS.items()),
    *map(_batch, ONE_ROW_GOALS),
    *(
        Target(f"audit, {rows:,} rows", _of("audit", AUDIT, rows), goal, " s")
        for rows, goal in AUDIT_GOALS.items()
    ),
    Target(
        f"audit, {MODEL_ROWS:,} rows: writing its {MODEL_FILE}",
        _of("audit", MODEL_FILE, MODEL_ROWS), 0.2, " s",
    ),
    Target(
        f"audit, {MODEL_ROWS:,} rows: size of its {MODEL_FILE}",
        _of("audit", MODEL_FILE, MODEL_ROWS, read=megabytes), 1, " MB",
    ),
    *(
        Target(f"process: {name}", _of("start", name, 0), goal, " s")
        for name, goal in START_GOALS.items()
    ),
    Target(
        f"fit, texts of 50 classes, 10,000 rows: {DEFAULT}",
        _of("texts", DEFAULT, 10_000, 50), 20, " s",
    ),
]  # fmt: skip
