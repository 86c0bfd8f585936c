"""How numbers of the page are laid out: three figures, ours in bold, a column for each size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from benchmarks.markdown import table
from benchmarks.speed.groups import Entries, Group, Results
from benchmarks.speed.readings import entry_of, seconds
from benchmarks.speed.timing import CPU, WALL
from benchmarks.store import Record

NOT_MEASURED = "Not measured.\n"
ABSENT = "–"
# A row of a table: what it is of, and its cell at one size.
Line = tuple[str, Callable[[Entries], str]]


def figure(value: float | None, unit: str = "") -> str:
    """A number with three figures, all of a whole number, or a dash where there is none."""
    if value is None:
        return ABSENT
    is_long = isinstance(value, int) or value >= 100
    return (f"{value:,.0f}" if is_long else f"{value:#.3g}".rstrip(".")) + unit


def counted(number: int, what: str) -> str:
    """Such as 1 thread, 2 threads."""
    return f"{number:,} {what}" + "s" * (number != 1)


def name_of(method: str) -> str:
    """A method as it stands in a table; ours in bold."""
    return f"**{method}**" if method.startswith("rBoost") else method


def line(
    method: str,
    read: Callable[[Record], float | None],
    what: str = "",
    unit: str = "",
    **more: object,
) -> Line:
    """A row with a number of each entry of a method."""

    def cell(entries: Entries) -> str:
        entry = entry_of(entries, method, **more)
        return figure(None if entry is None else read(entry), unit)

    return name_of(method) + what, cell


def times_line(method: str, what: str = "", unit: float = 1.0, **more: object) -> Line:
    """A row with the CPU time of the fastest repeat, and in brackets its wall time."""

    def cell(entries: Entries) -> str:
        entry = entry_of(entries, method, **more)
        if entry is None:
            return ABSENT
        cpu, wall = (figure(unit * seconds(entry, clock)) for clock in (CPU, WALL))
        return f"{cpu} ({wall})"

    return name_of(method) + what, cell


def groups_of(results: Results, part: str, rounds: int) -> dict[tuple[str, int], list[Group]]:
    """The groups of a part, by truth and threads, in order of their sizes."""
    found: dict[tuple[str, int], list[Group]] = {}
    for group in sorted(results, key=lambda g: (g.truth, g.threads, g.rows, g.classes)):
        if (group.part, group.rounds) == (part, rounds):
            found.setdefault((group.truth, group.threads), []).append(group)
    return found


def methods_in(results: Results, part: str, rounds: int) -> list[str]:
    """The methods that were measured in a part, in the order of its first group."""
    groups = [group for found in groups_of(results, part, rounds).values() for group in found]
    return list(dict.fromkeys(entry["method"] for group in groups for entry in results[group]))


def tables(results: Results, part: str, rounds: int, lines: Iterable[Line]) -> Iterator[str]:
    """A table with a column for each size; several where truths or threads differ.

    Rows without numbers are left out.
    """
    found, lines = groups_of(results, part, rounds), list(lines)
    for (truth, threads), groups in found.items():
        if len(found) > 1:
            yield f"{truth.capitalize()} truth, {counted(threads, 'thread')}:\n"
        rows = [[name, *(cell(results[group]) for group in groups)] for name, cell in lines]
        yield table(["", *map(size_of, groups)], [row for row in rows if {*row[1:]} != {ABSENT}])


def size_of(group: Group) -> str:
    """Such as 5,000 rows, or 10 classes, 5,000 rows; what is told where rows mean nothing."""
    classes = "" if group.classes == 2 else f"{group.classes} classes, "
    return classes + counted(group.rows, "row") if group.rows else "seconds"
