"""The report of an audit: one page that needs nothing but itself, the same for the same audit."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rboost._validation import is_missing
from rboost.audit.insight.explanation import Explanation
from rboost.audit.insight.summary import ASSUMPTIONS, Suspects, band_of
from rboost.audit.insight.words import ReadText
from rboost.audit.render.plots import (
    AnnotatorDisplay,
    CalibrationDisplay,
    GroupNoiseDisplay,
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ProjectionDisplay,
    ReviewGainDisplay,
)
from rboost.audit.render.text import (
    NEXT,
    SHOWN_TEXT,
    describe_calibration,
    describe_cautions,
    describe_confusions,
    describe_findings,
    describe_groups,
    describe_labels_needed,
    describe_words,
    find_confusions,
    in_words,
    no_reason,
)
from rboost.audit.wording import (
    cut_middle,
    end_at_word,
    format_count,
    format_estimate,
    measured,
    one_line,
    percent,
    quoted,
    shortened,
    visible,
    with_noun,
)
from rboost.files import write_atomically
from rboost.noise.likelihood import likeliest
from rboost.packages import package

# Suspects, rows without a label and rows in dispute that are shown at most; the list of suspects
# has no limit.
MOST_SUSPECTS, MOST_UNLABELLED, MOST_DISPUTED = 500, 200, 200
# Rates of wrong labels that the summary names one by one and that the table of them lists, columns
# and classes that are seen at once, and classes that pictures have numbers, cells or names for.
LIMITS = {
    "most_flips": 5,
    "most_flips_listed": 20,
    "most_columns": 20,
    "most_intervals": NoiseMatrixDisplay.MOST_INTERVALS,
    "most_cells": NoiseMatrixDisplay.MOST_CELLS,
    "most_classes": 20,
    "most_named": ProjectionDisplay.MOST_NAMED,
}
# Characters of a value and of a name; bytes that texts and values of all suspects may take in all,
# and that the markup of a value or of a marked word, and of a text, takes.
LONGEST_CELL, LONGEST_NAME = 200, 60
MOST_BYTES, MARKUP_BYTES, TEXT_MARKUP_BYTES = 1_000_000, 40, 200
# Characters of the nearest texts.
LONGEST_NEAR = 80
_JOINED = "\\1\N{NON-BREAKING HYPHEN}\\2\N{NON-BREAKING HYPHEN}\\3"
# For a report whose folder is not known.
COMMANDS = {
    "review": "rboost review FOLDER",
    "again": "rboost audit FILE --label COLUMN --trusted FOLDER/checked.csv",
    "clean": "rboost clean FOLDER --out clean.csv",
    "predict": "rboost predict FOLDER NEW.csv --out predictions.csv",
}


@dataclass(frozen=True)
class Origin:
    """What was audited, when and how; ``left_aside`` has further columns and why, in words.

    ``commands`` are those to go on with: "review", "again", "clean" and, with a model, "predict".
    """

    data: str
    made: str
    version: str
    seed: int
    model: str
    commands: dict[str, str]
    left_aside: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ShownText:
    """A text of a row in parts, as :meth:`ReadText.parts` has them: its beginning, and all.

    ``whole`` is empty where the beginning is all; ``n_characters`` are those of a text that is
    longer still.
    """

    column: str
    beginning: list[tuple[str, str]]
    whole: list[tuple[str, str]]
    n_characters: int


@dataclass(frozen=True)
class ShownRow:
    """A row of the report: its texts, the texts of its neighbours, and its other values.

    ``band`` is "probably wrong" or "worth a look", ``fit`` what is said of an unusual row.
    """

    why: Explanation
    band: str
    fit: str
    texts: list[ShownText]
    near: list[tuple[Any, str]]
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """What is drawn, as the address of an image; a wide one is moved about on a telephone."""

    display: Any
    address: str
    is_wide: bool


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


def render_report(audit: Any, suspects: Suspects, title: str, origin: Origin | None = None) -> str:
    """Render the report of a :class:`rboost.LabelAudit` as HTML.

    It has no links to the outside, and nothing of the table is run or loaded.
    """
    summary, missing = audit.summary(suspects), audit.missing()
    surest = np.argsort(-audit.inference.posterior[missing].max(axis=1), kind="stable")
    explained = audit.explain_all(suspects.rows[:MOST_SUSPECTS])
    texts = list(audit.features.texts)
    disputed, n_disputed = _disputed(audit)
    others = [k for k in range(audit.table.shape[1]) if k not in audit.features.texts]
    style, script = _part("report.css"), _part("report.js")
    return _environment().get_template("report.html.jinja").render(
        audit=audit,
        title=one_line(title, 120),
        style=style,
        script=script,
        policy=_policy(style, script),
        summary=summary,
        sentences=describe_findings(summary),
        classes=_classes(audit, summary),
        confusions=find_confusions(summary),
        confused=describe_confusions(summary, LIMITS["most_flips"]),
        **LIMITS,
        dangers=describe_cautions(summary),
        labels_needed=describe_labels_needed(summary),
        disputed=disputed,
        n_disputed=n_disputed,
        doubted=[
            (audit.ids[row], audit.labels.written[row], audit.labels.said[row])
            for row in audit.doubtful_answers.tolist()
        ],
        worst_group="".join(describe_groups(summary)[:1]),
        pictures=_draw_all(audit, suspects),
        ids=audit.ids,
        id_name=one_line(audit.id_name, 40),
        label_name=one_line(summary.label_name, 40),
        suspects=_rows(audit, explained, others),
        text_names=[str(audit.table.columns[k]) for k in texts],
        n_columns=len(others),
        unlabelled=_rows(audit, audit.explain_all(missing[surest[:MOST_UNLABELLED]]), []),
        assumptions=ASSUMPTIONS,
        calibration_sentence=describe_calibration(audit.calibration),
        origin=origin,
        commands=COMMANDS if origin is None else origin.commands,
    )  # fmt: skip


def render_summary(audit: Any, most_rows: int) -> str:
    """What a notebook shows of an audit: the findings, and the most suspicious rows."""
    summary = audit.summary()
    return _environment().get_template("notebook.html.jinja").render(
        summary=summary,
        sentences=[*describe_findings(summary), *describe_cautions(summary)],
        shown=audit.explain_all(audit.suspects().rows[:most_rows]),
        ids=audit.ids,
        id_name=audit.id_name,
        next=NEXT,
    )  # fmt: skip


def _disputed(audit: Any) -> tuple[list[tuple[Any, list[tuple[str, int]], str, float]], int]:
    """Rows whose annotators disagree: name, who said what in counts, consensus and probability.

    The least certain come first, answered ones last; also returned is how many there are in all.
    """
    labels, posterior = audit.labels, audit.inference.posterior
    rows = np.flatnonzero(np.count_nonzero(labels.votes, axis=1) > 1)
    best = likeliest(posterior[rows], labels.given[rows])
    probability = posterior[rows, best]
    names, found = labels.class_names, []
    for k in np.argsort(probability, kind="stable")[:MOST_DISPUTED].tolist():
        votes = labels.votes[rows[k]]
        order = [j for j in np.argsort(-votes, kind="stable").tolist() if votes[j]]
        said = [(names[j], int(votes[j])) for j in order]
        found.append((audit.ids[rows[k]], said, names[best[k]], float(probability[k])))
    return found, len(rows)


def _classes(audit: Any, summary: Any) -> list[tuple[Any, float]]:
    """The classes with the share that the model recognises; of many, the most often wrong first."""
    found = list(zip(summary.classes, audit.quality.accuracy_by_class, strict=True))
    if len(found) > LIMITS["most_classes"]:
        found.sort(key=lambda pair: -pair[0].expected_wrong)
    return found


def _draw_all(audit: Any, suspects: Suspects) -> dict[str, Picture]:
    """All pictures of the report by their names."""
    few = len(audit.classes) <= 4
    distribution = IssueDistributionDisplay.from_audit(audit)
    lanes = len(distribution.classes)
    drawn: dict[str, tuple[Any, float, float]] = {  # width and height in inches
        "matrix": (NoiseMatrixDisplay.from_audit(audit), *((4.8, 3.57) if few else (7.8, 6.12))),
        "distribution": (distribution, 5.2, 0.8 + (1.2 if few else 0.62) * lanes),
        "gain": (ReviewGainDisplay.from_audit(audit, suspects), 5.2, 3.6),
        "projection": (ProjectionDisplay.from_audit(audit, suspects), 5.2, 4.6 if few else 5.4),
    }
    if audit.labels.n_annotators:
        annotators = AnnotatorDisplay.from_audit(audit)
        drawn["annotators"] = annotators, 5.2, 1.0 + 0.34 * len(annotators.names)
    if audit.groups is not None:
        groups = GroupNoiseDisplay.from_audit(audit)
        drawn["groups"] = groups, 5.2, 1.0 + 0.34 * len(groups.names)
    if audit.calibration:
        drawn["calibration"] = CalibrationDisplay.from_audit(audit), 5.2, 3.4
    return {
        name: Picture(display, draw(display, width, height), is_wide=width > 6)
        for name, (display, width, height) in drawn.items()
    }


def draw(display: Any, width: float, height: float) -> str:
    """The address of a picture of this size in inches, untouched by the settings of the user.

    Words stay words, so that the reader's machine finds letters that ours may lack.
    """
    matplotlib, style, drawing = (
        package(name, extra="plots")
        for name in ("matplotlib", "matplotlib.style", "matplotlib.figure")
    )
    fixed: Any = {"svg.fonttype": "none", "svg.hashsalt": "rboost"}
    buffer = io.BytesIO()
    with style.context("default"), matplotlib.rc_context(fixed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = drawing.Figure((width, height), layout="constrained")
        display.plot(figure.subplots())
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _rows(audit: Any, explained: list[Explanation], columns: list[int]) -> list[ShownRow]:
    """Rows as the report shows them, each in its share of the room, with values of these columns.

    Beside texts these take at most half of it.
    """
    room, texts = MOST_BYTES // max(1, len(explained)), list(audit.features.texts)
    fit = audit.row_fit(np.array([one.row for one in explained], dtype=np.intp))
    found = []
    for one, own_fit in zip(explained, fit, strict=True):
        cells, taken = _cells(audit.table, one.row, columns, room // 2 if texts else room)
        near = [
            (audit.ids[row], _beginning(audit.table.iat[row, texts[0]]) if texts else "")
            for row in one.agreeing
        ]
        shown, band = show_texts(one.texts, room - taken), band_of(one.probability_wrong)
        found.append(ShownRow(one, band, own_fit, shown, near, cells))
    return found


def show_texts(texts: Sequence[ReadText], room: int) -> list[ShownText]:
    """As many texts as there is room for: first the beginning of each, then more of it."""
    ends: list[int] = []
    for read in texts:
        room -= _n_bytes(one_line(read.column, LONGEST_NAME)) + TEXT_MARKUP_BYTES
        end = _end(read, SHOWN_TEXT, room)
        room -= _n_bytes_of(read, end)
        if room < 0:
            break
        ends.append(end)
    shown = []
    for read, end in zip(texts, ends, strict=False):
        last = end if end == len(read.text) else max(end, _end(read, room, room))
        room -= _n_bytes_of(read, last) if last > end else 0
        shown.append(show_text(read, end, last))
    return shown


def _end(read: ReadText, longest: int, room: int) -> int:
    """Where to cut a text: the limits are in characters and in bytes of the page."""
    end = end_at_word(read.text, longest)
    while end and (taken := _n_bytes_of(read, end)) > room:
        end = end_at_word(read.text, min(end - 1, end * max(room, 0) // taken))
    return end


def _n_bytes_of(read: ReadText, end: int) -> int:
    """Bytes that the beginning of a text takes, marked words and all."""
    return sum(_n_bytes(part) + MARKUP_BYTES * bool(side) for part, side in read.parts(end))


def _n_bytes(text: str) -> int:
    return len(escape(visible(text)).encode())


def show_text(read: ReadText, end: int, last: int) -> ShownText:
    """A text that is seen up to ``end`` at first, and to ``last`` at all."""
    return ShownText(
        one_line(read.column, LONGEST_NAME),
        read.parts(end),
        read.parts(last) if last > end else [],
        len(read.text) if last < len(read.text) else 0,
    )


def _beginning(value: Any) -> str:
    """The first words of a neighbour."""
    if is_missing(value):
        return ""
    end = end_at_word(str(value), LONGEST_NEAR)
    return str(value)[:end] + ("…" if end < len(str(value)) else "")


def _cells(
    table: Any, row: int, columns: list[int], room: int
) -> tuple[tuple[tuple[str, str], ...], int]:
    """The values of a row, column by column, as long as there is room; bytes that they take."""
    cells: list[tuple[str, str]] = []
    taken = 0
    for k in columns:
        column = table.columns[k]
        # One by one, as a whole row would turn whole numbers into fractions.
        value = visible(shortened(table.iat[row, k], LONGEST_CELL))
        name = one_line(column, LONGEST_NAME)
        n_bytes = _n_bytes(name + value) + MARKUP_BYTES
        if taken + n_bytes > room:
            break
        taken += n_bytes
        cells.append((name, value))
    return tuple(cells), taken


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
        in_parts=_in_parts, estimate=format_estimate, measured=measured, cut_middle=cut_middle,
        name=lambda value: one_line(value, LONGEST_NAME), unbroken=_unbroken,
        quoted=quoted, in_words=in_words, describe_words=describe_words, no_reason=no_reason,
        beginning=lambda read: show_text(read, *2 * [end_at_word(read.text, SHOWN_TEXT)]),
        percent=lambda share: _unbroken(percent(share)),
    )  # fmt: skip
    return environment


def _unbroken(text: str) -> str:
    """Text in which no line ends before a percent sign or within a date."""
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", _JOINED, text)


def _in_parts(name: str) -> Any:
    """A name whose lines may end after the signs that join its words."""
    markup = package("markupsafe").Markup
    return markup("<wbr>").join(re.split(r"(?<=[_/.:-])(?=\w)", name))


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
