"""What the speed is meant to be, and where in the results it stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.speed.bandwidth import PASS, STREAM
from benchmarks.speed.fits import PREDICTION
from benchmarks.speed.groups import Results
from benchmarks.speed.methods import ADABOOST, DEFAULT, LIGHTGBM, LINEAR, POOL, XGBOOST
from benchmarks.speed.readings import (
    at_equal_rounds,
    entry_of,
    fastest,
    find,
    ratio,
    slope,
    times_by_rows,
)
from benchmarks.store import Record

ROUNDS = 150
MILLION = 1_000_000
# Sizes whose times are to grow in proportion to the rows.
SCALING_ROWS = (100_000, 4_000_000)


@dataclass(frozen=True)
class Target:
    """A number that is to lie between two others."""

    what: str
    read: Callable[[Results], float | None]
    at_least: float = -math.inf
    at_most: float = math.inf
    unit: str = "×"
    # What the default way of finding the noise may fall short by.
    allowance: float = 1.0

    def asked(self) -> str:
        """The bounds in words."""
        if math.isinf(self.at_most):
            return f"≥ {self.at_least:g}{self.unit}"
        if math.isinf(self.at_least):
            return f"≤ {self.at_most:g}{self.unit}"
        return f"{self.at_least:g}–{self.at_most:g}{self.unit}"

    def verdict(self, value: float) -> str:
        """Whether a measured value will do."""
        if self.at_least <= value <= self.at_most:
            return "yes"
        if self.allowance > 1 and value >= self.at_least / self.allowance:
            return f"within {self.allowance:g}×"
        return "**no**"


def _fit_ratio(rows: int, peer: str) -> Callable[[Results], float | None]:
    def read(results: Results) -> float | None:
        entries = find(results, "fit", rows, 1, ROUNDS)
        return ratio(
            at_equal_rounds(entries, peer, ROUNDS), at_equal_rounds(entries, LINEAR, ROUNDS)
        )

    return read


def _two_threads(results: Results) -> float | None:
    one, two = (
        fastest(find(results, "scaling", MILLION, threads, ROUNDS), LINEAR) for threads in (1, 2)
    )
    return ratio(one, two)


def _share_of_bandwidth(results: Results) -> float | None:
    entries = find(results, "pass", MILLION, 1, ROUNDS)
    speeds = [
        None if entry is None else entry["bytes_per_second"]
        for entry in (entry_of(entries, PASS), entry_of(entries, STREAM))
    ]
    share = ratio(*speeds)
    return None if share is None else 100 * share


def _memory(results: Results) -> float | None:
    entry = entry_of(find(results, "memory", MILLION, 1, ROUNDS), LINEAR)
    return None if entry is None or entry["bytes"] is None else entry["bytes"] / entry["copy"]


def _prediction(results: Results) -> float | None:
    entries = find(results, "predict", MILLION, 1, ROUNDS)
    return ratio(fastest(entries, LIGHTGBM), fastest(entries, LINEAR))


def _one_row(results: Results) -> float | None:
    seconds = fastest(find(results, "predict", 1, 1, ROUNDS), LINEAR)
    return None if seconds is None else 1e3 * seconds


def scaling_slope(results: Results) -> float | None:
    """Slope over the sizes of the target; None unless both ends were measured."""
    low, high = SCALING_ROWS
    points = [
        point
        for point in times_by_rows(results, "scaling", LINEAR, 1, ROUNDS)
        if low <= point[0] <= high
    ]
    ends = {rows for rows, _ in points}
    return slope(points) if ends >= {low, high} else None


def _trees(results: Results) -> float | None:
    entries = find(results, "trees", 100_000, 1, ROUNDS, "curved")
    return ratio(at_equal_rounds(entries, POOL, ROUNDS), fastest(entries, LIGHTGBM))


def _default(rows: int, key: str) -> Callable[[Results], float | None]:
    def read(results: Results) -> float | None:
        entries = find(results, "default", rows, 1, ROUNDS, "curved")
        return ratio(fastest(entries, DEFAULT, key), fastest(entries, LIGHTGBM, key))

    return read


def _of_a_million(read: Callable[[Record], float]) -> Callable[[Results], float | None]:
    def of_results(results: Results) -> float | None:
        entry = entry_of(find(results, "million", MILLION, 2, ROUNDS, "curved"), DEFAULT)
        return None if entry is None else read(entry)

    return of_results


# Rows: how many times as long as LightGBM the default may take to fit.
DEFAULT_TARGETS = {400: 10, 12_000: 8, 100_000: 8}
LONGEST_PREDICTION = 4
# Rows: times as fast as AdaBoost+LR, LightGBM and XGBoost.
FIT_TARGETS = {
    400: {ADABOOST: 80, LIGHTGBM: 14, XGBOOST: 20},
    5_000: {ADABOOST: 20, LIGHTGBM: 12, XGBOOST: 18},
    100_000: {ADABOOST: 70, LIGHTGBM: 20, XGBOOST: 22},
    MILLION: {ADABOOST: 50, LIGHTGBM: 14, XGBOOST: 13},
}
TARGETS = [
    *(
        Target(
            f"fit, {rows:,} rows: {peer} / {LINEAR}",
            _fit_ratio(rows, peer),
            at_least=factor,
            allowance=1.5,
        )
        for rows, factors in FIT_TARGETS.items()
        for peer, factor in factors.items()
    ),
    Target("fit, 1,000,000 rows: one thread / two threads", _two_threads, at_least=1.6),
    Target(f"{PASS}, share of a {STREAM}", _share_of_bandwidth, at_least=75, unit=" %"),
    Target("peak memory above the input / one float32 copy of X", _memory, at_most=1.3),
    Target(f"predict 1,000,000 rows: LightGBM / {LINEAR}", _prediction, at_least=10),
    Target("predict one row", _one_row, at_most=1, unit=" ms"),
    Target("slope of log time over log rows, 100,000 to 4,000,000", scaling_slope, 0.9, 1.1, ""),
    Target(f"fit, 100,000 rows: {POOL} / LightGBM", _trees, at_most=3),
    *(
        Target(f"fit, {rows:,} rows: {DEFAULT} / LightGBM", _default(rows, "seconds"), at_most=most)
        for rows, most in DEFAULT_TARGETS.items()
    ),
    *(
        Target(
            f"predict, fitted to {rows:,} rows: {DEFAULT} / LightGBM",
            _default(rows, PREDICTION),
            at_most=LONGEST_PREDICTION,
        )
        for rows in DEFAULT_TARGETS
    ),
    Target(
        f"fit, 1,000,000 rows, two threads: {DEFAULT}",
        _of_a_million(lambda entry: min(entry["seconds"])),
        at_most=240,
        unit=" s",
    ),
    Target(
        f"peak memory, 1,000,000 rows: {DEFAULT} / the table",
        _of_a_million(lambda entry: entry["bytes"] / entry["copy"]),
        at_most=2.5,
    ),
]
