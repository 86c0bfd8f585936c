"""The two figures: methods beside each other, and quality over the number of answers."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from benchmarks.real_noise.jobs import Results
from benchmarks.real_noise.methods import (
    FOREST,
    FOREST_RANKINGS,
    FOREST_VERIFIED,
    METHODS,
    RANKINGS,
    RBOOST,
    RBOOST_NO_NOISE,
    RBOOST_TOLD,
    RBOOST_VERIFIED,
)
from benchmarks.real_noise.review import CLEANLAB, OURS, PROTOTYPE, RANDOM, STAGES
from benchmarks.real_noise.summary import curve, mean

OURS_COLOUR, PEER_COLOUR, INFORMED_COLOUR = "#c4570e", "#1f5a99", "#999999"
# Told something: true rates, that nothing is wrong, or verified labels.
INFORMED = (RBOOST_TOLD, RBOOST_NO_NOISE, FOREST_VERIFIED, RBOOST_VERIFIED)
ORDER_STYLES = {
    OURS: (OURS_COLOUR, "o-"),
    RANDOM: (PEER_COLOUR, "s-"),
    CLEANLAB: ("#3c8d5a", "^-"),
    PROTOTYPE: (INFORMED_COLOUR, "d:"),
}
REVIEW_MEASURES = {
    "log loss": "log loss on verified labels",
    "MCC": "Matthews correlation",
    "average precision": "average precision, unchecked rows",
    "found": "wrong labels found, a table",
}


def ranked(results: Results, collection: str) -> dict[str, float]:
    """Average precision of every ranking of given labels."""
    found = {
        RBOOST: mean(results, collection, RBOOST, "average precision"),
        **{name: mean(results, collection, FOREST_RANKINGS, name) for name in RANKINGS},
        RBOOST_TOLD: mean(results, collection, RBOOST_TOLD, "average precision"),
    }
    return {name: value for name, value in found.items() if np.isfinite(value)}


def _bars(axis: Any, found: dict[str, float], start: float, title: str) -> None:
    names = list(found)[::-1]
    for place, name in enumerate(names):
        colour = OURS_COLOUR if name == RBOOST else PEER_COLOUR
        colour = INFORMED_COLOUR if name in INFORMED else colour
        axis.barh(place, found[name] - start, left=start, color=colour, height=0.7)
        axis.text(found[name], place, f" {found[name]:.3f}", va="center", fontsize=8)
    axis.set_yticks(range(len(names)), names, fontsize=9)
    axis.set_xlim(start, start + 1.22 * (max(found.values()) - start))
    axis.set_title(title, fontsize=10)
    axis.spines[["top", "right"]].set_visible(False)


def draw_methods(results: Results, collections: tuple[str, ...]) -> bytes:
    """Bars of all methods, one row of panels for each collection."""
    plt = _pyplot()
    figure, axes = plt.subplots(
        len(collections), 4, figsize=(15, 3.4 * len(collections)), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    starts = {"log loss": 0.0, "AUC": 0.5, "MCC": 0.0}
    titles = ("log loss (less is better)", "area under the ROC curve", "Matthews correlation")
    names = [name for name in METHODS if name != FOREST_RANKINGS]
    for row, collection in zip(axes, collections, strict=True):
        for axis, (measure, start), title in zip(row, starts.items(), titles, strict=False):
            found = {name: mean(results, collection, name, measure) for name in names}
            _bars(axis, found, start, f"{collection}: {title}")
            if axis is not row[0]:
                axis.set_yticklabels([])
        _bars(row[3], ranked(results, collection), 0.0, f"{collection}: ranking of wrong labels")
    figure.supxlabel(
        "orange: ours, blue: others, grey: told something. Ranking: average precision.",
        fontsize=9,
    )
    return _as_png(figure)


def draw_review(results: Results, collections: tuple[str, ...]) -> bytes:
    """Quality over the number of answers, a line for each order."""
    plt = _pyplot()
    figure, axes = plt.subplots(
        len(collections), len(REVIEW_MEASURES), figsize=(15, 3.3 * len(collections)),
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for row, collection in zip(axes, collections, strict=True):
        for axis, (measure, title) in zip(row, REVIEW_MEASURES.items(), strict=True):
            for order, (colour, style) in ORDER_STYLES.items():
                found = curve(results, collection, order, measure)
                axis.plot(STAGES, found, style, color=colour, label=order, markersize=5)
            if measure in ("log loss", "MCC"):
                for name, dash in {FOREST: "--", FOREST_VERIFIED: "-."}.items():
                    value = mean(results, collection, name, measure)
                    axis.axhline(value, color="#555555", linestyle=dash, linewidth=1, label=name)
            axis.set_title(f"{collection}: {title}", fontsize=10)
            axis.set_xticks(STAGES)
            axis.grid(color="#e5e5e5")
            axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    for axis in axes[-1]:
        axis.set_xlabel("answers", fontsize=9)
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    return _as_png(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _as_png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    _pyplot().close(figure)
    return buffer.getvalue()
