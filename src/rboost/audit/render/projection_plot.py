"""Picture of the rows of an audit in two dimensions, suspects marked."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from rboost.audit.insight.projection import Projection, project
from rboost.audit.insight.suspects import Suspects
from rboost.audit.numbers import percent
from rboost.audit.render.plots import INK, axes_for, name_of
from rboost.audit.render.wording import with_noun

# Colours that differ in lightness too, with a contrast to white of at least 3, and shapes: 10 and 9
# have no common divisor, so that 90 classes look different.
COLORS = (
    "#0b64a8", "#d55e00", "#117733", "#aa4499", "#a07800", "#4a90c2", "#882255", "#333333",
    "#8a8a8a", "#5b3db5",
)  # fmt: skip
MARKERS = ("o", "^", "s", "v", "P", "X", "D", "<", "*")


class ProjectionDisplay:
    """Rows in the plane in which they differ most, by the label that they carry.

    Parameters
    ----------
    projection : Projection
        The points.
    classes : sequence of n_classes
        Names of the classes.
    """

    # A legend of more classes than this would hide the rows.
    MOST_NAMED = 12

    def __init__(self, projection: Projection, classes: Any) -> None:
        self.projection = projection
        self.classes = classes

    @classmethod
    def from_audit(cls, audit: Any, suspects: Suspects | None = None) -> Self:
        """Project the rows of an audit."""
        chosen = audit.suspects() if suspects is None else suspects
        return cls(project(audit.standardized, audit.labels, chosen), audit.classes)

    def plot(self, ax: Any = None) -> Self:
        """Draw; a ring marks a suspect, whose colour and shape are those of its doubtful label."""
        self.ax_, self.figure_ = axes_for(ax)
        projection = self.projection
        size = 26 if len(projection.rows) < 400 else 12
        is_crowded = len(projection.rows) > 1000  # as pixels they then take less room in the file
        handles, names = [], []
        for k, name in enumerate(self.classes):
            own = projection.label == k
            sizes = np.where(projection.is_suspect[own], 2 * size, size)
            drawn = self.ax_.scatter(
                *projection.points[own].T, s=sizes, color=COLORS[k % len(COLORS)],
                marker=MARKERS[k % len(MARKERS)], alpha=0.75, linewidths=0,
                rasterized=is_crowded,
            )  # fmt: skip
            if k < self.MOST_NAMED:
                handles.append(drawn)
                names.append(name_of(name))
        suspects = projection.points[projection.is_suspect]
        rings = self.ax_.scatter(
            *suspects.T,
            s=6 * size,
            facecolors="none",
            edgecolors=INK,
            linewidths=0.9,
            rasterized=is_crowded,
        )
        self._add_legend([*handles, rings], [*names, with_noun(len(suspects), "suspect")])
        self.ax_.set_xticks([])
        self.ax_.set_yticks([])
        self.ax_.set(xlabel="first principal component", ylabel="second principal component")
        self.ax_.set_title(
            f"this plane shows {percent(projection.explained)} of the variance", fontsize=10
        )
        return self

    def _add_legend(self, handles: list[Any], names: list[str]) -> None:
        # The names are set afterwards: matplotlib leaves out labels that begin with an underscore
        # and reads formulas between dollar signs.
        n_columns = int(np.clip(60 // (max(map(len, names)) + 6), 1, 4))
        legend = self.figure_.legend(
            handles, ["name"] * len(names), loc="outside lower center", ncols=n_columns,
            frameon=False, markerscale=1.4,
        )  # fmt: skip
        for text, name in zip(legend.get_texts(), names, strict=True):
            text.set_parse_math(False)
            text.set_text(name)
