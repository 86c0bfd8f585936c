"""Pairs of classes that are confused, in words: those that matter, and alike ones together."""

from __future__ import annotations

from dataclasses import dataclass

from rboost.audit.insight.summary import AuditSummary, FlipRate
from rboost.audit.numbers import format_count, percent
from rboost.audit.render.wording import listed, quoted

# Fewer rows of a kind than this are not worth a line.
FEWEST_ROWS = 1.0


@dataclass(frozen=True)
class Confusion:
    """A rate of wrong labels, and all labels that rows of this class carry equally often."""

    flip: FlipRate
    given: tuple[str, ...]

    @property
    def names(self) -> str:
        """The labels in a sentence."""
        return listed([quoted(name) for name in self.given])

    @property
    def each(self) -> str:
        """A word that numbers need if they are of several labels."""
        return " each" if len(self.given) > 1 else ""


def find_confusions(summary: AuditSummary) -> list[Confusion]:
    """Kinds of wrong labels, those with the most rows first; of two classes all."""
    together: dict[tuple[str, ...], list[FlipRate]] = {}
    for flip in sorted(summary.flips, key=lambda one: -(one.expected_rows or 0.0)):
        if len(summary.classes) == 2 or (flip.expected_rows or 0.0) >= FEWEST_ROWS:
            shown = flip.true, _interval(flip), percent(flip.rate), _rows(flip)
            together.setdefault(shown, []).append(flip)
    return [Confusion(flips[0], tuple(one.given for one in flips)) for flips in together.values()]


def of_confusion(found: Confusion) -> str:
    """One rate of wrong labels."""
    flip = found.flip
    return (
        f"Of rows that are truly {quoted(flip.true)}, {percent(flip.rate)}{found.each} are "
        f"labelled {found.names} (90 % interval: {_interval(flip)}; about {_rows(flip)} rows"
        f"{found.each})."
    )


def of_confusions(summary: AuditSummary, most: int) -> list[str]:
    """The most frequent kinds of wrong labels, and how many are not named."""
    found = find_confusions(summary)
    if not found:
        return ["No two classes are expected to be confused in even one row."]
    sentences = [of_confusion(one) for one in found[:most]]
    if len(found) > most:
        sentences.append(f"… and {len(found) - most} rarer confusions.")
    return sentences


def _interval(flip: FlipRate) -> str:
    return f"{percent(flip.low)} to {percent(flip.high)}"


def _rows(flip: FlipRate) -> str:
    return format_count(flip.expected_rows or 0.0)
