"""The page: targets first, then every measurement; nothing is computed here but ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.speed.bandwidth import MOVE, PASS, STREAM
from benchmarks.speed.data import FLIPPED, N_FEATURES, TEST_ROWS, TRUTHS
from benchmarks.speed.figure import draw
from benchmarks.speed.fits import FITTED
from benchmarks.speed.groups import Entries, Group, Results
from benchmarks.speed.methods import ADABOOST, ADABOOST_NATURAL, LINEAR, METHODS, OURS, PAPER, POOL
from benchmarks.speed.prediction import FIT_ROWS
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
from benchmarks.speed.targets import TARGETS
from rboost.io.files import write_atomically
from rboost.paper.store import Record

NOT_MEASURED = "Not measured.\n"


def figure(value: float | None, unit: str = "") -> str:
    """A number with three figures, or a dash where there is none."""
    if value is None:
        return "–"
    return (f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")) + unit


def counted(number: int, what: str) -> str:
    """Such as 1 thread, 2 threads."""
    return f"{number:,} {what}" + "s" * (number != 1)


def name_of(method: str) -> str:
    """A method as it stands in a table; ours in bold."""
    return f"**{method}**" if method.startswith("rBoost") else method


def target_table(results: Results) -> str:
    """What is asked, what was measured, whether it will do."""
    rows = []
    for target in TARGETS:
        value = target.read(results)
        measured = "not measured" if value is None else figure(value, target.unit)
        met = "–" if value is None else target.verdict(value)
        rows.append([target.what, target.asked(), measured, met])
    return table(["", "target", "measured", "met"], rows)


def groups_of(results: Results, part: str, rounds: int) -> dict[tuple[int, str], list[Group]]:
    """The groups of a part, by threads and truth, in order of their sizes."""
    found: dict[tuple[int, str], list[Group]] = {}
    for group in sorted(results, key=lambda g: (g.threads, list(TRUTHS).index(g.truth), g.rows)):
        if (group.part, group.rounds) == (part, rounds):
            found.setdefault((group.threads, group.truth), []).append(group)
    return found


def by_size(
    results: Results,
    groups: list[Group],
    methods: Iterable[str],
    read: Callable[[Entries, str], float | None],
    unit: str = "",
) -> str:
    """A table with a row for each method and a column for each size; no rows without numbers."""
    rows = []
    for method in methods:
        values = [read(results[group], method) for group in groups]
        if any(value is not None for value in values):
            rows.append([name_of(method), *(figure(value, unit) for value in values)])
    return table(["", *(counted(group.rows, "row") for group in groups)], rows)


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
        + ("the time is that of these." if entry["method"] == ADABOOST_NATURAL else "scaled up.")
        for group in groups
        for entry in results[group]
        if entry["rounds"] < rounds
    ]
    if notes:
        yield "Fewer rounds were run by:\n\n" + "\n".join(notes) + "\n"


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
    """Gigabytes a second of reading, of moving the bytes of a pass, and of the pass."""
    found = groups_of(results, "pass", rounds)
    if not found:
        yield NOT_MEASURED
    for groups in found.values():
        rows = []
        for group in groups:
            entries = [entry_of(results[group], name) for name in (STREAM, MOVE, PASS)]
            read, move, fused = (
                None if entry is None else entry["bytes_per_second"] / 1e9 for entry in entries
            )
            shares = [figure(ratio(fused, whole)) for whole in (move, read)]
            speeds = [figure(speed) for speed in (read, move, fused)]
            rows.append([counted(group.rows, "row"), *speeds, *shares])
        columns = [f"{name}, GB/s" for name in (STREAM, MOVE, PASS)]
        yield table(["", *columns, "share of the second", "share of the first"], rows)


def page(where: Record, results: Results, rounds: int) -> str:
    """All of it as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    parts = [
        "# Speed beside peers\n",
        f"Written by `python -m benchmarks.speed`. {rounds} rounds, {N_FEATURES} features, float32 "
        f"rows, {FLIPPED:.0%} of the training labels flipped. Methods take turns in one process, "
        "one repeat of each and then the next; times are minima over the repeats. Test errors are "
        f"on {TEST_ROWS:,} other rows with true labels.\n",
        f"Machine: {where['architecture']}, {where['CPUs']} CPUs, {' '.join(where['SIMD'])}; "
        f"Python {where['Python']}, {versions}.\n",
        "![Seconds to fit over training rows, one panel for each number of threads.](speed.png)\n",
        f"Drawn are fits at the linear truth, of {POOL!r} at the curved one. The grey line is the "
        "time in which one thread reads X once a round, at the bandwidth of the largest table of "
        "the last section; tables that fit into the cache can be read faster.\n",
        "## Targets\n",
        f"One thread unless stated. {ADABOOST!r} is AdaBoost over logistic regression made to run "
        f"all rounds. {LINEAR!r} finds the noise by default, from out-of-bag votes, which may take "
        "half as long again. Its learner takes 1024 rows and a tolerance of 0.01, settled for "
        "speed after a look at errors on the test rows of this page: errors here lean towards it "
        "by some tenths of a percent.\n",
        target_table(results),
        "## Fits at equal rounds\n",
        "AdaBoost+LR is scikit-learn's over LogisticRegression. It stops when a learner is no "
        f"better than chance; {ADABOOST!r} does the same in every round and never stops.\n",
        *fit_section(results, "fit", (LINEAR, PAPER), rounds),
        "## The default learners: trees and kernel machines\n",
        *fit_section(results, "trees", (POOL,), rounds),
        "## Fits at equal accuracy\n",
        f"Peers run {rounds} rounds. Ours is fitted anew with twice as many rounds each time. "
        "Shown is the fit of fewest rounds whose test error is no larger than the peer's, and how "
        "many times as fast it is; the choice is made on the test rows themselves. No linear model "
        "can follow the curved truth.\n",
        *accuracy_section(results, rounds),
        "## Peak memory of a fit\n",
        "Largest resident memory above what is resident with the input alone, in a fresh process "
        "after a small fit, in copies of X as float32.\n",
        *memory_section(results, rounds),
        "## Prediction\n",
        f"Milliseconds of one call of `predict`, models fitted to {FIT_ROWS:,} rows.\n",
        *prediction_section(results, rounds),
        "## Time over rows\n",
        *scaling_section(results, rounds),
        "## Memory bandwidth, one thread\n",
        f"{STREAM.capitalize()}: X read once in order. {PASS.capitalize()}: what each round does "
        "with all rows. It also reads and writes what is known of each row (its score, the steps "
        "of learners that saw it, its last vote, its label); the middle column moves exactly these "
        "bytes, and shows how fast memory can be read and written in turns.\n",
        *bandwidth_section(results, rounds),
    ]
    return "\n".join(parts)


def write_report(where: Record, results: Results, out: Path, rounds: int) -> list[Path]:
    """Write speed.md and speed.png, and return their paths."""
    paths = [out / "speed.md", out / "speed.png"]
    write_atomically(paths[0], page(where, results, rounds))
    write_atomically(paths[1], draw(results, rounds))
    return paths
