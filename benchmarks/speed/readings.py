"""Numbers read out of results: minima, ratios, slopes. None where something was not measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.speed.groups import Entries, Group, Results
from benchmarks.speed.methods import AS_THEY_STOP, OURS
from benchmarks.store import Record


def find(
    results: Results, part: str, rows: int, threads: int, rounds: int, truth: str = "linear"
) -> Entries:
    """The entries of one group; none where it was not measured."""
    return results.get(Group(part, rows, threads, truth, rounds), [])


def entry_of(entries: Entries, method: str) -> Record | None:
    """What was measured of one method."""
    return next((entry for entry in entries if entry["method"] == method), None)


def fastest(entries: Entries, method: str, key: str = "seconds") -> float | None:
    """Seconds of the fastest repeat."""
    entry = entry_of(entries, method)
    return None if entry is None else min(entry[key])


def at_equal_rounds(entries: Entries, method: str, rounds: int) -> float | None:
    """Seconds for so many rounds; of a fit that ran fewer, its time a round times the rounds.

    What stops when it sees fit is left as it is: that it stops is what its row shows.
    """
    entry, seconds = entry_of(entries, method), fastest(entries, method)
    if entry is None or seconds is None or method in AS_THEY_STOP:
        return seconds
    return seconds * rounds / entry["rounds"]


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


def peers_in(entries: Entries) -> list[str]:
    """Names of the peers in a group."""
    return list(dict.fromkeys(e["method"] for e in entries if e["method"] not in OURS))


def slope(points: list[tuple[int, float]]) -> float | None:
    """Slope of the straight line through log time over log rows, by least squares."""
    if len(points) < 2:
        return None
    rows, seconds = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(rows, seconds, 1)[0])


def times_by_rows(
    results: Results, part: str, method: str, threads: int, rounds: int
) -> list[tuple[int, float]]:
    """Rows and seconds at equal rounds, at every size that was measured."""
    found = []
    for group in sorted(results, key=lambda group: group.rows):
        if (group.part, group.threads, group.rounds) == (part, threads, rounds):
            seconds = at_equal_rounds(results[group], method, rounds)
            if seconds is not None:
                found.append((group.rows, seconds))
    return found
