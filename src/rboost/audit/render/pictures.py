"""The pictures of a report: drawn always alike, and packed into the page."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from rboost.audit.insight.summary import AuditSummary
from rboost.audit.insight.suspects import Suspects
from rboost.audit.render import findings
from rboost.audit.render.group_plot import GroupNoiseDisplay
from rboost.audit.render.plots import (
    IssueDistributionDisplay,
    NoiseMatrixDisplay,
    ReviewGainDisplay,
)
from rboost.audit.render.projection_plot import ProjectionDisplay
from rboost.audit.render.promise_plot import PromiseDisplay
from rboost.packages import package


class Displays(NamedTuple):
    """What the report draws."""

    matrix: NoiseMatrixDisplay
    distribution: IssueDistributionDisplay
    gain: ReviewGainDisplay
    projection: ProjectionDisplay
    groups: GroupNoiseDisplay | None
    promises: PromiseDisplay | None

    @classmethod
    def from_audit(cls, audit: Any, suspects: Suspects) -> Self:
        """All of an audit."""
        return cls(
            NoiseMatrixDisplay.from_audit(audit),
            IssueDistributionDisplay.from_audit(audit),
            ReviewGainDisplay.from_audit(audit, suspects),
            ProjectionDisplay.from_audit(audit, suspects),
            None if audit.groups is None else GroupNoiseDisplay.from_audit(audit),
            PromiseDisplay.from_audit(audit) if audit.promises else None,
        )


@dataclass(frozen=True)
class Picture:
    """A picture as the address of an image, the finding in words, and its width in inches."""

    address: str
    alt: str
    width: float

    @property
    def is_wide(self) -> bool:
        """Whether it would become illegible on a telephone, and is moved about there instead."""
        return self.width > 6


def draw_pictures(displays: Displays, summary: AuditSummary) -> dict[str, Picture]:
    """All pictures of the report by their names."""
    matrix, distribution, gain, projection, groups, promises = displays
    n_classes = len(summary.classes)
    side = 4.2 if n_classes <= 4 else 7.2
    pictures = {
        "matrix": _draw(matrix.plot, side + 0.6, 0.85 * side, findings.of_matrix(summary)),
        "distribution": _draw(
            distribution.plot,
            5.2,
            0.8 + (1.2 if n_classes <= 4 else 0.62) * len(distribution.classes),
            findings.of_distribution(summary, distribution.n_left_out),
        ),
        "gain": _draw(gain.plot, 5.2, 3.6, findings.of_gain(summary)),
        "projection": _draw(
            projection.plot,
            5.2,
            4.6 if n_classes <= 4 else 5.4,
            findings.of_projection(summary, projection.projection),
        ),
    }
    if groups is not None:
        height = 1.0 + 0.34 * len(groups.names)
        pictures["groups"] = _draw(groups.plot, 5.2, height, findings.of_group_picture(summary))
    if promises is not None:
        alt = findings.of_promises(tuple(promises.promises))
        pictures["promises"] = _draw(promises.plot, 5.2, 3.4, alt)
    return pictures


def _draw(plot: Callable[[Any], Any], width: float, height: float, alt: str) -> Picture:
    """Draw on a figure of this size in inches, untouched by the settings of the user.

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
        plot(figure.subplots())
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Picture(f"data:image/svg+xml;base64,{encoded}", alt, width)
