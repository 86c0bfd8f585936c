"""CPU time over rows on two logarithmic axes, beside the time that reading the rows alone takes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from benchmarks.speed.data import N_FEATURES
from benchmarks.speed.groups import Results
from benchmarks.speed.methods import ADABOOST, DEFAULT, HISTOGRAM, LIGHTGBM, LINEAR, XGBOOST
from benchmarks.speed.readings import best_stream, bytes_per_second, times_by_rows

OURS_COLOUR, PEER_COLOUR, LIMIT_COLOUR = "#c4570e", "#1f5a99", "#777777"
STYLES: dict[str, dict[str, Any]] = {
    DEFAULT: {"marker": "D", "linestyle": "-", "linewidth": 2.2},
    LINEAR: {"marker": "o", "linestyle": "-", "linewidth": 2.2},
    ADABOOST: {"marker": "s", "linestyle": ":", "markerfacecolor": "white"},
    LIGHTGBM: {"marker": "v", "linestyle": "-"},
    XGBOOST: {"marker": "x", "linestyle": "--"},
    HISTOGRAM: {"marker": "P", "linestyle": "-."},
}
PANELS = {"default": "the default, curved truth", "pair": "the paper's pair, linear truth"}


def bandwidth(results: Results) -> float | None:
    """Bytes per second of one thread, at the largest table: there it is memory that limits."""
    groups = [group for group in results if group.part == "pass" and group.threads == 1]
    if not groups:
        return None
    entry = best_stream(results[max(groups, key=lambda group: group.rows)])
    return None if entry is None else bytes_per_second(entry)


def draw(results: Results, rounds: int) -> bytes:
    """A panel for the default, one for the pair; times on one thread."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(PANELS), figsize=(12, 6.2), sharey=True, squeeze=False, layout="constrained"
    )
    handles: dict[str, Any] = {}
    speed = bandwidth(results)
    for axis, (part, title) in zip(axes[0], PANELS.items(), strict=True):
        sizes: set[int] = set()
        for name, style in STYLES.items():
            points = times_by_rows(results, part, name, 1, rounds)
            if points:
                colour = OURS_COLOUR if name in (DEFAULT, LINEAR) else PEER_COLOUR
                (handles[name],) = axis.plot(
                    *zip(*points, strict=True), color=colour, label=name, **style
                )
                sizes |= {rows for rows, _ in points}
        if part == "pair" and speed is not None and sizes:
            ends = np.array(axis.dataLim.intervalx)
            label = f"limit of memory: {rounds} × X read once"
            (handles[label],) = axis.plot(
                ends, rounds * 4 * N_FEATURES * ends / speed, color=LIMIT_COLOUR, linewidth=3,
                alpha=0.6, label=label,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(sorted(sizes), [f"{rows:,}" for rows in sorted(sizes)])
        axis.minorticks_off()
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("training rows")
        axis.grid(color="#dddddd")
    axes[0, 0].set_ylabel("CPU seconds to fit, one thread")
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
        )
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()
