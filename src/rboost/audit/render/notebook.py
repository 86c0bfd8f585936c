"""What a notebook shows of an audit: a few sentences and rows, or the whole report."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.summary import AuditSummary
from rboost.audit.numbers import format_count, percent
from rboost.audit.render import findings
from rboost.audit.render.listing import in_words
from rboost.audit.render.terminal import wrapped
from rboost.audit.render.wording import one_line, with_noun
from rboost.files import write_atomically

# Rows that are shown of all suspects, and characters of a name.
MOST_ROWS, LONGEST = 10, 40
NEXT = "report() shows all, to_frame() lists the suspects, explain(row) gives reasons."


def as_lines(summary: AuditSummary) -> str:
    """A few lines instead of all arrays: rows, classes, wrong labels, and what to call next."""
    first = (
        f"LabelAudit of {one_line(summary.label_name, LONGEST)!r}: "
        f"{with_noun(summary.n_rows, 'row')}, "
        f"{with_noun(len(summary.classes), 'class', 'classes')}, "
        f"{with_noun(summary.n_suspects, 'suspect')}"
    )
    found = wrapped(findings.of_wrong_labels(summary), "  ", "  ")
    return "\n".join([first, found, f"  {NEXT}"])


def as_html(
    summary: AuditSummary, most_suspicious: list[Explanation], ids: Any, id_name: str
) -> str:
    """What was found, in sentences, and the most suspicious rows as a table; all of it escaped."""
    sentences = [*findings.of_everything(summary), *findings.of_dangers(summary)]
    parts = [f"<p>{escape(sentence)}</p>" for sentence in sentences]
    if most_suspicious:
        names = (id_name, "given", "suggested", "wrong", "against the given label")
        rows = [
            (ids[one.row], one.given, one.suggested, percent(one.probability_wrong), in_words(one))
            for one in most_suspicious
        ]
        parts.append(
            f"<table><thead>{_row(names, 'th')}</thead>"
            f"<tbody>{''.join(_row(row, 'td') for row in rows)}</tbody></table>"
        )
    n_more = summary.n_suspects - len(most_suspicious)
    more = f"… and {with_noun(n_more, 'more suspect')}. " if n_more else ""
    return f"<div>{''.join(parts)}<p>{more}<code>{NEXT}</code></p></div>"


class InlineReport:
    """The report of an audit: shown inside a notebook, or saved as a page of its own."""

    def __init__(self, html: str) -> None:
        self.html = html

    def __repr__(self) -> str:
        size = format_count(len(self.html.encode()) // 1000)
        return f"InlineReport: {size} kB; a notebook shows it, save(path) writes it."

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which cannot reach the notebook around it."""
        return (
            '<iframe title="Label audit" sandbox="allow-scripts" '
            'style="width: 100%; height: 80vh; border: 1px solid #ccc; background: white" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        write_atomically(Path(path), self.html)
        return Path(path)


def _row(cells: tuple[Any, ...], tag: str) -> str:
    shown = (
        f'<{tag} style="text-align: left">{escape(one_line(cell, 300))}</{tag}>' for cell in cells
    )
    return f"<tr>{''.join(shown)}</tr>"
