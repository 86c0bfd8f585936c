"""Pairs of classes that are confused, in words: those that matter, and alike ones together."""

from __future__ import annotations

from dataclasses import dataclass

from rboost.audit.insight.summary import AuditSummary, FlipRate
from rboost.audit.numbers import format_count, percent
from rboost.audit.render.wording import listed, quoted, with_noun

# Fewer rows of a kind than this are not worth a line.
FEWEST_ROWS = 1.0


@dataclass(frozen=True)
class Confusion:
    """Labels that rows of a true class carry equally often, and how many rows that are in all."""

    true: str
    given: tuple[str, ...]
    rate: str
    interval: str
    expected_rows: float

    @property
    def names(self) -> str:
        """The labels in a sentence."""
        return listed([quoted(name) for name in self.given])

    @property
    def each(self) -> str:
        """What a rate needs if it is of several labels."""
        return " each" if len(self.given) > 1 else ""

    @property
    def rows(self) -> str:
        """How many rows, in all if they are of several labels."""
        rows = "row" if format_count(self.expected_rows) == "1" else "rows"
        in_all = " in all" if len(self.given) > 1 else ""
        return f"{format_count(self.expected_rows)} {rows}{in_all}"


def find_confusions(summary: AuditSummary, is_brief: bool = False) -> list[Confusion]:
    """Kinds of wrong labels, those with the most rows first; of two classes all.

    Lines that would read alike are one; if it is to be brief, also if only their rows differ.
    """
    together: dict[tuple[str, ...], list[FlipRate]] = {}
    for flip in summary.flips:
        if len(summary.classes) == 2 or _rows(flip) >= FEWEST_ROWS:
            number = "" if is_brief else format_count(_rows(flip))
            together.setdefault((flip.true, *_rate(flip), number), []).append(flip)
    found = [
        Confusion(true, tuple(one.given for one in flips), rate, interval, sum(map(_rows, flips)))
        for (true, rate, interval, _), flips in together.items()
    ]
    return sorted(found, key=lambda one: -one.expected_rows / len(one.given))


def of_confusions(summary: AuditSummary, most: int) -> list[str]:
    """The most frequent kinds of wrong labels, and how many are not named."""
    rates = {_rate(flip) for flip in summary.flips}
    if len(summary.classes) > 2 and len(rates) == 1:
        ((rate, interval),) = rates
        total = format_count(sum(map(_rows, summary.flips)))
        return [
            f"Whatever the true class, {rate} of its rows are given each of the other labels "
            f"(90 % interval: {interval}; about {total} rows in all)."
        ]
    found = find_confusions(summary, is_brief=True)
    if not found:
        return ["No two classes are expected to be confused in even one row."]
    are = "were" if summary.n_corrected else "are"  # labels as given, some are corrected by now
    sentences = [
        f"Of rows that are truly {quoted(one.true)}, {one.rate}{one.each} {are} labelled "
        f"{one.names} (90 % interval: {one.interval}; about {one.rows})."
        for one in found[:most]
    ]
    if len(found) > most:
        sentences.append(f"… and {with_noun(len(found) - most, 'rarer confusion')}.")
    return sentences


def _rate(flip: FlipRate) -> tuple[str, str]:
    return percent(flip.rate), f"{percent(flip.low)} to {percent(flip.high)}"


def _rows(flip: FlipRate) -> float:
    return flip.expected_rows or 0.0
