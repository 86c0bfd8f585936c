"""The report of an audit: one page that needs nothing but itself, the same for the same audit."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rboost.audit.insight.checked import Promise
from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.quality import ASSUMPTIONS, Quality
from rboost.audit.insight.reading import ColumnReading
from rboost.audit.insight.segments import Segment
from rboost.audit.insight.summary import AuditSummary
from rboost.audit.numbers import format_count, percent
from rboost.audit.render import findings
from rboost.audit.render.confusions import find_confusions, of_confusions
from rboost.audit.render.origin import COMMANDS, Origin
from rboost.audit.render.pictures import Displays, draw_pictures
from rboost.audit.render.plots import NoiseMatrixDisplay
from rboost.audit.render.projection_plot import ProjectionDisplay
from rboost.audit.render.report_rows import LONGEST_NAME, show_rows
from rboost.audit.render.wording import one_line, visible, with_noun
from rboost.packages import package

# Suspects and rows without a label that are shown at most; the list of suspects has no limit.
MOST_SHOWN = {"suspects": 500, "unlabelled": 200}
# Rates of wrong labels that the summary names one by one and that the table of them lists, columns
# that are seen at once, and classes that pictures have numbers or names for.
LIMITS = {
    "most_flips": 5,
    "most_flips_listed": 20,
    "most_columns": 20,
    "most_numbered": NoiseMatrixDisplay.MOST_NUMBERED,
    "most_named": ProjectionDisplay.MOST_NAMED,
}
# Bytes that the values of all suspects may take together.
MOST_BYTES = 1_000_000


@dataclass(frozen=True, eq=False)
class ReportContents:
    """What the report shows; rows are explained, of the table it takes their values."""

    summary: AuditSummary
    quality: Quality
    segments: tuple[Segment, ...]
    displays: Displays
    suspects: list[Explanation]
    unlabelled: list[Explanation]
    table: Any
    ids: Any
    id_name: str
    columns: tuple[ColumnReading, ...] = ()
    promises: tuple[Promise, ...] = ()
    origin: Origin | None = None


def render_report(shown: ReportContents, title: str) -> str:
    """Render the report as HTML: no links to the outside; nothing of the table is run or loaded."""
    summary = shown.summary
    style, script = _part("report.css"), _part("report.js")
    room = MOST_BYTES // max(1, len(shown.suspects))
    return _environment().get_template("report.html.jinja").render(
        title=one_line(title, 120),
        style=_markup(style),
        script=_markup(script),
        policy=_policy(style, script),
        summary=summary,
        sentences=findings.of_everything(summary),
        confusions=find_confusions(summary),
        confused=of_confusions(summary, LIMITS["most_flips"]),
        **LIMITS,
        dangers=findings.of_dangers(summary),
        pictures=draw_pictures(shown.displays, summary),
        id_name=one_line(shown.id_name, 40),
        label_name=one_line(summary.label_name, 40),
        suspects=show_rows(shown.suspects, shown.table, shown.ids, room),
        unlabelled=show_rows(shown.unlabelled, shown.table, shown.ids, room=0),
        segments=shown.segments,
        quality=shown.quality,
        quality_sentence=findings.of_quality(shown.quality),
        assumptions=ASSUMPTIONS,
        columns=shown.columns,
        promises=shown.promises,
        promise_sentence=findings.of_promises(shown.promises) if shown.promises else "",
        origin=shown.origin,
        commands=COMMANDS if shown.origin is None else shown.origin.commands,
    )  # fmt: skip


def _environment() -> Any:
    """Jinja, which escapes everything; words and numbers have a filter each."""
    jinja = package("jinja2")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_part),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )
    environment.filters.update(
        format_count=format_count, with_noun=with_noun, short=one_line, visible=visible,
        name=lambda value: one_line(value, LONGEST_NAME), unbroken=_unbroken,
        brief=lambda value: one_line(value, 24),
        percent=lambda share: _unbroken(percent(share)),
    )  # fmt: skip
    return environment


def _unbroken(text: str) -> str:
    """Text in which no line ends between a number and its percent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _markup(text: str) -> Any:
    """A part of the package, not of the table, which goes into the page as it is."""
    return package("markupsafe").Markup(text)


def _part(name: str) -> str:
    return files("rboost.audit.render").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The page may show its own pictures, run its own script, and do nothing else."""
    return (
        "default-src 'none'; img-src data:; "
        f"style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
