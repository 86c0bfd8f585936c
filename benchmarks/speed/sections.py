"""The sections of the page: every measurement; nothing is computed here but ratios."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from benchmarks.markdown import table
from benchmarks.speed.bandwidth import PASS, STREAM
from benchmarks.speed.data import TEST_ROWS
from benchmarks.speed.fits import FITTED, PREDICTION
from benchmarks.speed.groups import Entries, Group, Results
from benchmarks.speed.layout import (
    NOT_MEASURED,
    by_size,
    counted,
    figure,
    groups_of,
    name_of,
)
from benchmarks.speed.methods import (
    AS_THEY_STOP,
    LIGHTGBM,
    LINEAR,
    METHODS,
    OURS,
)
from benchmarks.speed.readings import (
    at_equal_rounds,
    cheapest_as_accurate,
    entry_of,
    fastest,
    fits_of,
    mean_error,
    peers_in,
    ratio,
    slope,
    times_by_rows,
)


def fit_section(results: Results, part: str, ours: tuple[str, ...], rounds: int) -> Iterable[str]:
    """Seconds, ratios and errors of fits at equal rounds."""
    found = groups_of(results, part, rounds)
    if not found:
        yield NOT_MEASURED
    methods = FITTED[part]

    def seconds(entries: Entries, method: str) -> float | None:
        return at_equal_rounds(entries, method, rounds)

    for (threads, truth), groups in found.items():
        where = f"{counted(threads, 'thread')}, {truth} truth"
        yield f"### {where}\n"
        yield "Seconds:\n"
        yield by_size(results, groups, methods, seconds)
        for own in ours:
            yield f"Times as long as **{own}**:\n"
            yield by_size(
                results,
                groups,
                [method for method in methods if method not in OURS],
                lambda entries, method, own=own: ratio(  # type: ignore[misc]
                    seconds(entries, method), seconds(entries, own)
                ),
            )
        yield "Test error in percent:\n"
        yield by_size(results, groups, methods, _error)
        yield from _rounds_run(results, groups, rounds)


def _error(entries: Entries, method: str) -> float | None:
    entry = entry_of(entries, method)
    return None if entry is None or not entry["errors"] else mean_error(entry)


def _rounds_run(results: Results, groups: list[Group], rounds: int) -> Iterable[str]:
    """Which fits ran fewer rounds than were asked for."""
    notes = [
        f"- {entry['method']}, {counted(group.rows, 'row')}: "
        f"{counted(entry['rounds'], 'round')} of {rounds}; "
        + ("the time is that of these." if entry["method"] in AS_THEY_STOP else "scaled up.")
        for group in groups
        for entry in results[group]
        if entry["rounds"] < rounds
    ]
    if notes:
        yield "Fewer rounds were run by:\n\n" + "\n".join(notes) + "\n"


def default_section(results: Results, rounds: int) -> Iterable[str]:
    """Seconds to fit and to predict by the default beside LightGBM, and how many times as many."""
    found = groups_of(results, "default", rounds)
    if not found:
        yield NOT_MEASURED
    methods = FITTED["default"]
    for (threads, truth), groups in found.items():
        yield f"### {counted(threads, 'thread')}, {truth} truth\n"
        for what, key in (("fit", "seconds"), (f"predict {TEST_ROWS:,} rows", PREDICTION)):
            yield f"Seconds to {what}, and times as long as LightGBM:\n"
            yield by_size(results, groups, methods, partial(fastest, key=key))
            yield by_size(
                results,
                groups,
                [method for method in methods if method != LIGHTGBM],
                lambda entries, method, key=key: ratio(  # type: ignore[misc]
                    fastest(entries, method, key), fastest(entries, LIGHTGBM, key)
                ),
            )
        yield "Test error in percent:\n"
        yield by_size(results, groups, methods, _error)


def million_section(results: Results, rounds: int) -> Iterable[str]:
    """Time and memory of the default where the table is large."""
    found = groups_of(results, "million", rounds)
    if not found:
        yield NOT_MEASURED
    for groups in found.values():
        rows = [
            [
                f"{counted(group.rows, 'row')}, {counted(group.threads, 'thread')}",
                figure(min(entry["seconds"])),
                figure(entry["bytes"] / entry["copy"]),
                figure(entry["process"] / 2**30),
            ]
            for group in groups
            for entry in results[group]
        ]
        yield table(["", "seconds", "peak in tables", "peak of the process, GiB"], rows)


def accuracy_section(results: Results, rounds: int) -> Iterable[str]:
    """Time until ours errs no more than a peer."""
    found = groups_of(results, "accuracy", rounds)
    if not found:
        yield NOT_MEASURED
    for (threads, truth), groups in found.items():
        for group in groups:
            entries = results[group]
            yield (
                f"### {counted(group.rows, 'row')}, {truth} truth, {counted(threads, 'thread')}, "
                f"mean error of {counted(len(entries[0]['errors']), 'draw')}\n"
            )
            ours = [name for name in OURS if entry_of(entries, name) is not None]
            yield table(
                ["peer", "error %", "seconds", *map(name_of, ours)],
                (
                    [
                        peer,
                        figure(_error(entries, peer)),
                        figure(fastest(entries, peer)),
                        *(until_as_accurate(entries, own, peer) for own in ours),
                    ]
                    for peer in peers_in(entries)
                ),
            )
            yield "Error in percent by rounds:\n"
            yield table(
                ["", *(str(fit["asked"]) for fit in fits_of(entries, ours[0]))],
                (
                    [name_of(own), *(figure(mean_error(fit)) for fit in fits_of(entries, own))]
                    for own in ours
                ),
            )


def until_as_accurate(entries: Entries, ours: str, peer: str) -> str:
    """Rounds, seconds and how many times as fast; or that the peer's error is not reached."""
    fit = cheapest_as_accurate(entries, ours, peer)
    if fit is None:
        best = min(mean_error(fit) for fit in fits_of(entries, ours))
        return f"not reached ({figure(best)} % at best)"
    seconds = min(fit["seconds"])
    faster = figure(ratio(fastest(entries, peer), seconds), "×")
    return f"{counted(fit['asked'], 'round')}, {figure(seconds)} s, {faster}"


def memory_section(results: Results, rounds: int) -> Iterable[str]:
    """Peak memory in copies of X."""

    def copies(entries: Entries, method: str) -> float | None:
        entry = entry_of(entries, method)
        known = entry is not None and entry["bytes"] is not None
        return entry["bytes"] / entry["copy"] if entry is not None and known else None

    found = groups_of(results, "memory", rounds)
    if not found:
        yield NOT_MEASURED
    for (threads, _), groups in found.items():
        yield f"### {counted(threads, 'thread')}\n"
        yield by_size(results, groups, METHODS, copies)


def prediction_section(results: Results, rounds: int) -> Iterable[str]:
    """Milliseconds of a call."""
    found = groups_of(results, "predict", rounds)
    if not found:
        yield NOT_MEASURED
    for (threads, _), groups in found.items():
        names = dict.fromkeys(entry["method"] for group in groups for entry in results[group])

        def milliseconds(entries: Entries, method: str) -> float | None:
            seconds = fastest(entries, method)
            return None if seconds is None else 1000 * seconds

        yield f"### {counted(threads, 'thread')}\n"
        yield by_size(results, groups, names, milliseconds)
        yield f"Times as long as **{LINEAR}**:\n"
        yield by_size(
            results,
            groups,
            [name for name in names if not name.startswith("rBoost")],
            lambda entries, method: ratio(fastest(entries, method), fastest(entries, LINEAR)),
        )


def scaling_section(results: Results, rounds: int) -> Iterable[str]:
    """Seconds over rows, and their slope."""
    found = groups_of(results, "scaling", rounds)
    if not found:
        yield NOT_MEASURED
    for (threads, _), groups in found.items():
        yield f"### {counted(threads, 'thread')}\n"
        yield by_size(
            results,
            groups,
            FITTED["scaling"],
            lambda entries, method: at_equal_rounds(entries, method, rounds),
        )
        slopes = [
            f"{figure(slope(times_by_rows(results, 'scaling', name, threads, rounds)))} ({name})"
            for name in FITTED["scaling"]
        ]
        yield "Slope of log time over log rows: " + ", ".join(slopes) + ".\n"


def bandwidth_section(results: Results, rounds: int) -> Iterable[str]:
    """Gigabytes a second of reading, and of the pass."""
    found = groups_of(results, "pass", rounds)
    if not found:
        yield NOT_MEASURED
    for groups in found.values():
        rows = []
        for group in groups:
            entries = [entry_of(results[group], name) for name in (STREAM, PASS)]
            read, fused = (
                None if entry is None else entry["bytes_per_second"] / 1e9 for entry in entries
            )
            speeds = [figure(speed) for speed in (read, fused)]
            rows.append([counted(group.rows, "row"), *speeds, figure(ratio(fused, read))])
        columns = [f"{name}, GB/s" for name in (STREAM, PASS)]
        yield table(["", *columns, "share of the first"], rows)
