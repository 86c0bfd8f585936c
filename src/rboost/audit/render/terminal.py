"""What an audit found, as text: lines for the terminal and the prompt, suspects as a table."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import numpy as np

from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.summary import AuditSummary
from rboost.audit.render import findings
from rboost.audit.wording import one_line, percent, shortened, with_noun
from rboost.packages import package

WIDTH = 100
MOST_FLIPS, MOST_GROUPS = 6, 12
# Widest columns: name of the row, label given, label suggested, probability.
WIDEST = (18, 16, 18, 7)
NO_REASON = "no single column stands out"
NEXT = "report() shows all, to_frame() lists the suspects, explain(row) gives reasons."
_CUT = "…"
_ISOLATES = {0x2068: None, 0x2069: None}


def describe(
    summary: AuditSummary, most_suspicious: list[Explanation], ids: Any, id_name: str
) -> str:
    """Rows, classes, flip rates, and the most suspicious rows, 100 columns wide.

    No cell of the table can make the terminal do anything: control characters are spelt out.
    """
    groups = findings.of_groups(summary)
    if len(groups) > MOST_GROUPS:
        groups[MOST_GROUPS:] = [f"… and {len(groups) - MOST_GROUPS} groups with fewer."]
    rows, wrong_labels, suspects = map(wrapped, findings.of_everything(summary))
    parts = [
        rows,
        wrong_labels,
        *(
            "\n".join(wrapped(line, "  ", "    ") for line in lines)
            for lines in (findings.of_confusions(summary, MOST_FLIPS), groups)
        ),
        *map(wrapped, findings.of_dangers(summary)),
        suspects,
    ]
    if most_suspicious:
        parts.append(_aligned(most_suspicious, ids, id_name))
        if summary.n_suspects > len(most_suspicious):
            n_more = summary.n_suspects - len(most_suspicious)
            parts[-1] += f"\n… and {with_noun(n_more, 'more suspect')}"
    # Marks around words that are written from right to left are for browsers.
    return "\n\n".join(filter(None, parts)).translate(_ISOLATES) + "\n"


def as_lines(summary: AuditSummary) -> str:
    """A few lines instead of all arrays: rows, classes, wrong labels, and what to call next."""
    first = (
        f"LabelAudit of {one_line(summary.label_name, 40)!r}: "
        f"{with_noun(summary.n_rows, 'row')}, "
        f"{with_noun(len(summary.classes), 'class', 'classes')}, "
        f"{with_noun(summary.n_suspects, 'suspect')}"
    )
    found = wrapped(findings.of_wrong_labels(summary), "  ", "  ")
    return "\n".join([first, found, f"  {NEXT}"])


def _aligned(rows: list[Explanation], ids: Any, id_name: str) -> str:
    """A table; its last column takes what room is left."""
    table = [
        [id_name, "given", "→ suggested", "wrong", "strongest reason"],
        *([ids[one.row], one.given, f"→ {one.suggested}", percent(one.probability_wrong),
           _strongest(one)] for one in rows),
    ]  # fmt: skip
    texts = [[one_line(cell, 120) for cell in row] for row in table]
    columns = zip(WIDEST, zip(*texts, strict=True), strict=False)  # all but the last
    widths = [min(most, max(map(width, column))) for most, column in columns]
    widths.append(WIDTH - sum(widths) - 2 * len(widths))
    return "\n".join(
        "  ".join(fitted(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in texts
    )


def _strongest(explanation: Explanation) -> str:
    if not explanation.reasons:
        return NO_REASON
    reason = explanation.reasons[0]
    column, value = one_line(reason.column, 24), one_line(reason.value, 24)
    usual, instead = one_line(reason.typical, 24), one_line(reason.typical_suggested, 40)
    return f"{column} = {value} (usually {usual}; → {instead})"


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(map(_width_of, text))


def fitted(text: str, columns: int) -> str:
    """A text cut or padded to a number of columns."""
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
    """A text in lines that fit; the first begins with ``first``, the others with ``indent``.

    No line ends between a number and its percent sign.
    """
    lines, line = [], first
    for word in re.findall(r"\S+(?: %\S*)?", text):
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


def list_rows(explanations: list[Explanation], ids: Any, id_name: str, table: Any) -> Any:
    """A pandas frame of rows: what they are labelled, what is suggested, why, and their values."""
    columns = {
        id_name: [ids[one.row] for one in explanations],
        "given_label": [one.given for one in explanations],
        "suggested_label": [one.suggested for one in explanations],
        "probability_wrong": np.round([one.probability_wrong for one in explanations], 4),
        "probability_suggested": np.round([one.probability_suggested for one in explanations], 4),
        "against_given_label": [in_words(one) for one in explanations],
        "nearest_agreeing_rows": [
            ", ".join(str(ids[k]) for k in one.agreeing) for one in explanations
        ],
    }
    pandas = package("pandas")
    listed = pandas.DataFrame(columns)
    values = table.iloc[[one.row for one in explanations]].reset_index(drop=True)
    values.columns = renamed(values.columns, list(listed.columns))
    return pandas.concat([listed, values], axis=1)


def renamed(columns: Any, taken: list[str]) -> list[str]:
    """Names of columns, with something before those that are taken."""
    names = [str(name) for name in columns]
    used = {*taken, *names}
    for place, name in enumerate(names):
        if name in taken:
            while names[place] in used:
                names[place] = f"table_{names[place]}"
            used.add(names[place])
    return names


def in_words(explanation: Explanation) -> str:
    """The reasons in one line; nothing where none were looked for, which leaves no neighbours."""
    if not explanation.reasons:
        return NO_REASON if explanation.given and explanation.agreeing else ""
    given, suggested = one_line(explanation.given, 24), one_line(explanation.suggested, 24)
    return "; ".join(
        f"{one.column} = {shortened(one.value)} (usually {one_line(one.typical)} for '{given}', "
        f"{one_line(one.typical_suggested)} for '{suggested}')"
        for one in explanation.reasons
    )
