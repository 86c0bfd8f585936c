"""The answers of the page, one table each; nothing is computed here but ratios."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.markdown import table
from benchmarks.speed.audits import AUDIT, MODEL_FILE
from benchmarks.speed.bandwidth import PASS
from benchmarks.speed.fits import FITTED
from benchmarks.speed.groups import Entries, Results
from benchmarks.speed.layout import (
    ABSENT,
    Line,
    counted,
    figure,
    groups_of,
    line,
    methods_in,
    name_of,
    size_of,
    tables,
    times_line,
)
from benchmarks.speed.memory import MEASURED
from benchmarks.speed.methods import DEFAULT, LINEAR
from benchmarks.speed.prediction import AS_MANY, BATCH_ROWS
from benchmarks.speed.readings import (
    best_stream,
    bytes_per_second,
    cheapest_as_accurate,
    entry_of,
    fastest,
    fits_of,
    mean_error,
    megabytes,
    peak_in_tables,
    ratio,
    seconds,
    slope,
    times_by_rows,
)
from benchmarks.speed.timing import WALL
from benchmarks.store import Record


def fit_section(
    results: Results, rounds: int, part: str, ratios: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """Seconds of fits, ratios of their CPU times, and of more than two classes errors.

    Rounds are told of methods that do not run as many as they are asked for.
    """

    def times_as_long(over: str, under: str) -> Line:
        def cell(entries: Entries) -> str:
            return figure(ratio(fastest(entries, over), fastest(entries, under)), "×")

        return f"{name_of(over)} / {name_of(under)}", cell

    methods = FITTED[part]
    lines = [*map(times_line, methods), *(times_as_long(*pair) for pair in ratios)]
    lines += [line(method, _error_if_judged, ", test error", " %") for method in methods]
    lines += [line(method, _rounds_if_its_own, ", rounds") for method in methods]
    yield from tables(results, part, rounds, lines)


def _error_if_judged(entry: Record) -> float | None:
    return mean_error(entry) if entry["errors"] else None


def _rounds_if_its_own(entry: Record) -> int | None:
    return None if entry["rounds"] == entry["asked"] else int(entry["rounds"])


def memory_section(results: Results, rounds: int) -> Iterator[str]:
    """Peaks in tables, and times of the same fits."""
    lines = [line(method, peak_in_tables, unit=" tables") for method in MEASURED]
    lines += [times_line(method, ", s") for method in MEASURED]
    yield from tables(results, "memory", rounds, lines)


def prediction_section(results: Results, rounds: int) -> Iterator[str]:
    """Milliseconds of a call, by the rows that models were fitted to."""
    lines = [
        times_line(method, f", {counted(predicted, 'row')}", 1e3, predicted=predicted)
        for predicted in (1, BATCH_ROWS)
        for method in methods_in(results, "predict", rounds)
    ]
    for method in (DEFAULT, AS_MANY):
        lines.append(line(method, lambda entry: entry["learners"], ", learners"))
    yield from tables(results, "predict", rounds, lines)


def audit_section(results: Results, rounds: int) -> Iterator[str]:
    """Seconds of audits and of their model files."""
    lines = [*map(times_line, (AUDIT, MODEL_FILE)), line(MODEL_FILE, megabytes, ", size", " MB")]
    yield from tables(results, "audit", rounds, lines)


def start_section(results: Results, rounds: int) -> Iterator[str]:
    """Seconds of processes."""
    methods = methods_in(results, "start", rounds)
    yield from tables(results, "start", rounds, map(times_line, methods))


def accuracy_section(results: Results, rounds: int) -> Iterator[str]:
    """Test errors after the same number of rounds, of methods that do not stop by themselves."""
    lines = [line(method, mean_error, asked=rounds) for method in FITTED["accuracy"]]
    yield from tables(results, "accuracy", rounds, lines)


def until_section(results: Results, rounds: int) -> Iterator[str]:
    """Rounds until the pair errs no more than a peer, and how many times as fast it is then."""

    def until(peer: str) -> Line:
        return name_of(peer), lambda entries: until_as_accurate(entries, LINEAR, peer)

    peers = [method for method in FITTED["accuracy"] if method != LINEAR]
    yield from tables(results, "accuracy", rounds, map(until, peers))


def until_as_accurate(entries: Entries, ours: str, peer: str) -> str:
    """Rounds, and how many times as fast; or that the peer's error is not reached."""
    if entry_of(entries, peer) is None:
        return ABSENT
    fit = cheapest_as_accurate(entries, ours, peer)
    if fit is None:
        best = min(map(mean_error, fits_of(entries, ours)))
        return f"not reached ({figure(best)} %)"
    faster = figure(ratio(fastest(entries, peer), seconds(fit)), "×")
    return f"{counted(fit['asked'], 'round')}, {faster}"


def scaling_section(results: Results, rounds: int) -> Iterator[str]:
    """Seconds over rows with each number of threads, and their slope."""
    found = {threads: own for (_, threads), own in groups_of(results, "scaling", rounds).items()}
    sizes = list(dict.fromkeys(size_of(group) for groups in found.values() for group in groups))
    name, times = times_line(LINEAR)
    rows = []
    for threads, groups in found.items():
        cells = {size_of(group): times(results[group]) for group in groups}
        points = times_by_rows(results, "scaling", LINEAR, threads, rounds, WALL)
        known = [cells.get(size, ABSENT) for size in sizes]
        rows.append([f"{name}, {counted(threads, 'thread')}", *known, figure(slope(points))])
    if rows:
        yield table(["", *sizes, "slope"], rows)


def bandwidth_section(results: Results, rounds: int) -> Iterator[str]:
    """Gigabytes a second of each way of reading, and of the pass."""

    def share(entries: Entries) -> str:
        found = [entry_of(entries, PASS), best_stream(entries)]
        speeds = [None if entry is None else bytes_per_second(entry) for entry in found]
        return figure(ratio(*speeds))

    lines = [
        line(method, lambda entry: bytes_per_second(entry) / 1e9)
        for method in methods_in(results, "pass", rounds)
    ]
    lines.append((f"{PASS} / the fastest way to read", share))
    yield from tables(results, "pass", rounds, lines)
