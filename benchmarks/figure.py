"""The leaderboard as a figure."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from benchmarks.methods import INFORMED, METHODS, OURS
from benchmarks.tables import Results, by_setting, entry


def _error_if_told(results: Results, method: str, setting: str) -> float:
    """The error with the noise known; NaN for methods that have no such row."""
    if METHODS[method].oracle is None:
        return float("nan")
    return by_setting(results, entry(method, "oracle"), [setting])[0]


def draw(results: Results, settings: Sequence[str], averaged: Sequence[str]) -> bytes:
    """Errors of every method, one panel for each setting."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    methods = [method for method in METHODS if method not in INFORMED]
    rows = {m: by_setting(results, entry(m, "error"), settings) for m in methods}
    rows = {m: errors for m, errors in rows.items() if not np.isnan(errors).all()}
    order = sorted(rows, key=lambda m: -float(np.mean(rows[m][: len(averaged)])))
    figure, axes = plt.subplots(
        1, len(settings), figsize=(12, 2 + 0.27 * len(order)), sharey=True, layout="constrained"
    )
    positions = np.arange(len(order))
    for column, (axis, setting) in enumerate(zip(axes, settings, strict=True)):
        for position, method in zip(positions, order, strict=True):
            ours = method in OURS
            axis.plot(
                rows[method][column], position, "o" if ours else "s",
                color="#c4570e" if ours else "#1f5a99", markersize=7 if ours else 5,
            )  # fmt: skip
        told = [_error_if_told(results, method, setting) for method in order]
        axis.plot(told, positions, "|", color="#777777", markersize=9)
        axis.set_ylim(-0.7, len(order) - 0.3)
        axis.set_title(setting, fontsize=10)
        axis.grid(axis="x", color="#dddddd")
        axis.set_xlabel("error %")
    axes[0].set_yticks(positions, order)
    known = any("oracle" in record for record in results.values())
    marks = [("o", "#c4570e", "ours"), ("s", "#1f5a99", "others")]
    marks += [("|", "#777777", "the same, told the noise")] if known else []
    handles = [Line2D([], [], marker=m, linestyle="", color=color) for m, color, _ in marks]
    figure.legend(
        handles, [label for _, _, label in marks],
        loc="outside lower center", ncols=3, frameon=False,
    )  # fmt: skip
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()
