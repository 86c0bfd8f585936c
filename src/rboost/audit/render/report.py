"""The report of an audit: one page that needs nothing but itself, the same for the same audit."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rboost.audit.insight.quality import ASSUMPTIONS
from rboost.audit.insight.summary import AuditSummary, summarize
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render import findings
from rboost.audit.render.pictures import draw_pictures
from rboost.audit.render.plots import NoiseMatrixDisplay
from rboost.audit.render.projection_plot import ProjectionDisplay
from rboost.audit.render.report_rows import suspects_shown, unlabelled_shown
from rboost.audit.render.wording import count, counted, one_line, percent

if TYPE_CHECKING:
    from rboost.audit.result import LabelAudit

# Rates of wrong labels that the summary names one by one and that the table of them lists, and
# classes that pictures have numbers or names for.
LIMITS = {
    "most_flips": 5,
    "most_flips_listed": 20,
    "most_numbered": NoiseMatrixDisplay.MOST_NUMBERED,
    "most_named": ProjectionDisplay.MOST_NAMED,
}


def render_report(audit: LabelAudit, suspects: Suspects, title: str = "Label audit") -> str:
    """Render the report as HTML.

    Parameters
    ----------
    audit : LabelAudit
        What was found.
    suspects : Suspects
        Rows to list; at most 500 are shown with reasons.
    title : str
        The heading of the page.

    Returns
    -------
    html : str
        A page without links to anything outside; nothing from the table is run or loaded.
    """
    environment = _environment()
    summary = summarize(audit, suspects)
    style, script = _part("report.css"), _part("report.js")
    return environment.from_string(_part("report.html.jinja")).render(
        title=one_line(title, 120),
        style=_markup(style),
        script=_markup(script),
        policy=_policy(style, script),
        summary=summary,
        sentences=_sentences(summary),
        flips=summary.flips,
        **LIMITS,
        uncertain=findings.of_uncertainty(summary),
        pictures=draw_pictures(audit, suspects, summary),
        id_name=one_line(audit.id_name, 40),
        label_name=one_line(audit.labels.name, 40),
        suspects=suspects_shown(audit, suspects),
        unlabelled=unlabelled_shown(audit),
        segments=audit.segments,
        quality=audit.quality,
        quality_sentence=findings.of_quality(audit.quality),
        assumptions=ASSUMPTIONS,
    )


def _sentences(summary: AuditSummary) -> list[str]:
    return [
        findings.of_rows(summary),
        findings.of_wrong_labels(summary),
        findings.of_suspects(summary),
    ]


def _environment() -> Any:
    """Jinja, which escapes everything; words and numbers have a filter each."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed; run: pip install 'rboost[audit]'"
        ) from error
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters.update(
        count=count, counted=counted, percent=_unbroken_percent, short=one_line,
        flip=findings.of_flip, unbroken=_unbroken,
    )  # fmt: skip
    return environment


def _unbroken(text: str) -> str:
    """Text in which no line ends between a number and its percent sign."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _unbroken_percent(share: float) -> str:
    return _unbroken(percent(share))


def _markup(text: str) -> Any:
    """A part of the package, not of the table, which goes into the page as it is."""
    from markupsafe import Markup

    return Markup(text)


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
