"""How numbers of the page are laid out: three figures, ours in bold, a column for each size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.markdown import table
from benchmarks.speed.data import TRUTHS
from benchmarks.speed.groups import Entries, Group, Results

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
