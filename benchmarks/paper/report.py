"""One page and one Markdown file about a run: tables, figures, claims, assumptions."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks.paper import figures
from benchmarks.paper.claims import verdicts
from benchmarks.paper.datasets import characteristics
from benchmarks.paper.methods import METHODS
from benchmarks.paper.protocol import SETTINGS
from benchmarks.paper.run import TABLE_SETTINGS, Options, jobs
from benchmarks.paper.tables import ALL, ErrorTable, Measured, error_table
from rboost.files import write_atomically
from rboost.packages import package


@dataclass(frozen=True)
class Figure:
    """A figure with the words that go with it."""

    name: str
    title: str
    alt: str
    draw: Callable[[Measured, Options], Any | None]


FIGURES = [
    Figure(
        "figure1", "Figure 1: shapes of the loss",
        "Loss over score for four noise matrices; with noise it rises again on the right side.",
        lambda measured, options: figures.loss_shapes(),
    ),
    Figure(
        "figure2", "Figure 2: error over rounds, 30 % asymmetric noise",
        "Test error left, training error right, one row per set, one line per method.",
        lambda measured, options: figures.error_curves(measured),
    ),
    Figure(
        "figure3", "Figure 3: decision boundaries on Banana",
        "Four panels: AdaBoost and rBoost, without noise and with 30 % asymmetric noise.",
        figures.decision_boundaries,
    ),
    Figure(
        "trusted", "Trusted rows: test error at 30 % asymmetric noise",
        "Test error over the number of trusted rows, one line per set, with standard deviations.",
        lambda measured, options: figures.trusted_sweep(measured),
    ),
]  # fmt: skip


def write_report(options: Options, measured: Measured, out: Path) -> list[Path]:
    """Write ``report.html``, ``report.md`` and the figures; return their paths."""
    tables = [table for name in TABLE_SETTINGS if (table := error_table(measured, name))]
    pictures = {
        figure: figures.to_png(drawn)
        for figure in FIGURES
        if (drawn := figure.draw(measured, options)) is not None
    }
    written = []
    for figure, png in pictures.items():
        written.append(out / "figures" / f"{figure.name}.png")
        write_atomically(written[-1], png)
    context = {
        "summary": _summary(options, len(measured)),
        "claims": verdicts(measured),
        "tables": [(title_of(table), table) for table in tables],
        "methods": METHODS,
        "distances": distances(tables),
        "characteristics": characteristics(),
        "figures": [(figure, base64.b64encode(png).decode()) for figure, png in pictures.items()],
        "assumptions": _resource("assumptions.txt").splitlines(),
    }
    for name in ("report.html", "report.md"):
        written.append(out / name)
        write_atomically(written[-1], rendered(f"{name}.jinja", context))
    return written


def title_of(table: ErrorTable) -> str:
    """What the paper calls the table."""
    setting = SETTINGS[table.setting]
    return f"Table {setting.table}: test error in % at {setting.rate} % {setting.kind} noise"


def distances(tables: list[ErrorTable]) -> list[list[str]]:
    """The rows All of AdaBoost, measured and published, which say how close the protocol is."""
    rows = []
    for table in tables:
        for method in ("AdaBoost LR", "AdaBoost rLR"):
            cell = table.cells[ALL][method]
            if cell.published is not None:
                difference = f"{cell.mean - cell.published:+.2f}"
                values = [f"{cell.mean:.2f}", f"{cell.published:.2f}", difference]
                rows.append([title_of(table).split(":")[0], method, *values])
    return rows


def _summary(options: Options, n_measured: int) -> str:
    n_jobs = len(jobs(options))
    unfinished = "" if n_measured == n_jobs else f"UNFINISHED, {n_measured} of {n_jobs} fits: "
    return (
        f"{unfinished}{options.repeats} repeats of {options.rounds} rounds, protocol "
        f"“{options.protocol}”, seed {options.seed}, on {', '.join(options.datasets)}"
    )


def rendered(template: str, context: dict[str, Any]) -> str:
    """Fill in one of the templates beside this file."""
    environment = package("jinja2").Environment(
        autoescape="html" in template, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_resource(template)).render(context) + "\n"


def _resource(name: str) -> str:
    return files("benchmarks.paper").joinpath(name).read_text(encoding="utf-8")
