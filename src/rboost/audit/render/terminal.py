"""What an audit found, as a few lines for the terminal."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.summary import summarize
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render import findings
from rboost.audit.render.wording import counted, one_line, percent

if TYPE_CHECKING:
    from rboost.audit.result import LabelAudit

WIDTH = 100
MOST_ROWS, MOST_FLIPS = 10, 6
# How wide the columns may get: name of the row, label given, label suggested.
WIDEST = (18, 16, 18)
_CUT = "…"
_ISOLATES = {0x2068: None, 0x2069: None}


def describe(audit: LabelAudit, suspects: Suspects) -> str:
    """Rows, classes, flip rates, and the ten most suspicious rows, 100 columns wide.

    No cell of the table can make the terminal do anything: control characters are spelt out.
    """
    summary = summarize(audit, suspects)
    flips = [findings.of_flip(flip) for flip in summary.flips[:MOST_FLIPS]]
    if len(summary.flips) > MOST_FLIPS:
        flips.append(f"… and {len(summary.flips) - MOST_FLIPS} rarer confusions.")
    parts = [
        wrapped(findings.of_rows(summary)),
        wrapped(findings.of_wrong_labels(summary)),
        "\n".join(wrapped(line, "  ", "    ") for line in flips),
    ]
    parts += [wrapped(findings.of_uncertainty(summary)), wrapped(findings.of_suspects(summary))]
    if len(suspects):
        parts.append(_most_suspicious(audit, suspects))
    # Marks around words that are written from right to left are for browsers.
    return "\n\n".join(filter(None, parts)).translate(_ISOLATES) + "\n"


def _most_suspicious(audit: LabelAudit, suspects: Suspects) -> str:
    """An aligned table; the last column takes what room is left."""
    shown = audit.explain_all(suspects.rows[:MOST_ROWS])
    table = [
        [audit.id_name, "given", "→ suggested", "wrong", "strongest reason"],
        *([audit.ids[one.row], one.given, f"→ {one.suggested}", percent(one.probability_wrong),
           _strongest(one)] for one in shown),
    ]  # fmt: skip
    texts = [[one_line(cell, 120) for cell in row] for row in table]
    widest = [*WIDEST, 7]
    widths = [min(most, max(map(width, column))) for most, column in
              zip(widest, zip(*texts, strict=True), strict=False)]  # fmt: skip
    widths.append(WIDTH - sum(widths) - 2 * len(widths))
    lines = [
        "  ".join(fitted(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]
    if len(suspects) > len(shown):
        lines.append(f"… and {counted(len(suspects) - len(shown), 'more suspect')}")
    return "\n".join(lines)


def _strongest(explanation: Explanation) -> str:
    if not explanation.reasons:
        return "no single column stands out"
    reason = explanation.reasons[0]
    value, typical = one_line(reason.value, 24), one_line(reason.typical, 24)
    return f"{one_line(reason.column, 24)} = {value} (usually {typical})"


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(map(_width_of, text))


def fitted(text: str, columns: int) -> str:
    """A text cut or padded to so many columns."""
    if width(text) > columns:
        kept, taken = "", 0
        for character in text:
            taken += _width_of(character)
            if taken > columns - 1:
                break
            kept += character
        text = kept + _CUT
    return text + " " * (columns - width(text))


def wrapped(text: str, first: str = "", indent: str = "") -> str:
    """A text in lines that fit; the first begins with ``first``, the others with ``indent``."""
    lines, line = [], first
    for word in text.split():
        joined = f"{line}{word}" if not line.strip() else f"{line} {word}"
        if line.strip() and width(joined) > WIDTH:
            lines.append(line)
            joined = indent + word
        line = joined
    return "\n".join([*lines, line])


def _width_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
