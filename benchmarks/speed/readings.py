"""Numbers read out of results: minima, ratios, slopes. None where something was not measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.speed.bandwidth import PASS
from benchmarks.speed.groups import Entries, Results
from benchmarks.speed.timing import CPU
from benchmarks.store import Record

ROUNDS = 150


def find(results: Results, part: str, rows: int, classes: int = 2) -> Entries:
    """The entries of one group on one thread, as targets want it; none where not measured."""
    for group, entries in results.items():
        wanted = (part, rows, classes, 1, ROUNDS)
        if (group.part, group.rows, group.classes, group.threads, group.rounds) == wanted:
            return entries
    return []


def entry_of(entries: Entries, method: str, **more: object) -> Record | None:
    """What was measured of one method, at these settings if there are several."""
    wanted = {"method": method, **more}
    return next((e for e in entries if all(e[key] == own for key, own in wanted.items())), None)


def seconds(entry: Record, clock: str = CPU) -> float:
    """Of the fastest repeat."""
    return float(min(entry[clock]))


def fastest(entries: Entries, method: str, clock: str = CPU) -> float | None:
    """Seconds of the fastest repeat of one method."""
    entry = entry_of(entries, method)
    return None if entry is None else seconds(entry, clock)


def ratio(over: float | None, under: float | None) -> float | None:
    """How many times as large."""
    return None if over is None or under is None else over / under


def mean_error(entry: Record) -> float:
    """Test error in percent, over the repeats that were judged."""
    return float(np.mean(entry["errors"]))


def cheapest_as_accurate(entries: Entries, ours: str, peer: str) -> Record | None:
    """Of our fits that err no more than the peer, the one of fewest rounds; None: none does."""
    rival = entry_of(entries, peer)
    if rival is None:
        return None
    fits = sorted(fits_of(entries, ours), key=lambda entry: entry["asked"])
    return next((entry for entry in fits if mean_error(entry) <= mean_error(rival)), None)


def fits_of(entries: Entries, method: str) -> Iterator[Record]:
    """Fits of one method at different rounds."""
    return (entry for entry in entries if entry["method"] == method)


def peak_in_tables(entry: Record) -> float | None:
    """Peak memory of a fit above its table, in tables."""
    return None if entry["peak"] is None else entry["peak"] / entry["table"]


def megabytes(entry: Record) -> float:
    """Of a file."""
    return entry["bytes"] / 1e6


def bytes_per_second(entry: Record) -> float:
    """Of the fastest repeat."""
    return entry["bytes"] / seconds(entry)


def best_stream(entries: Entries) -> Record | None:
    """The fastest of the ways to read X."""
    ways = [entry for entry in entries if entry["method"] != PASS]
    return max(ways, key=bytes_per_second, default=None)


def slope(points: list[tuple[int, float]]) -> float | None:
    """Slope of the straight line through log time over log rows, by least squares."""
    if len(points) < 2:
        return None
    rows, seconds = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(rows, seconds, 1)[0])


def times_by_rows(
    results: Results, part: str, method: str, threads: int, rounds: int, clock: str = CPU
) -> list[tuple[int, float]]:
    """Rows and seconds at every size that was measured."""
    found = []
    for group in sorted(results, key=lambda group: group.rows):
        if (group.part, group.threads, group.rounds) == (part, threads, rounds):
            time = fastest(results[group], method, clock)
            if time is not None:
                found.append((group.rows, time))
    return found
