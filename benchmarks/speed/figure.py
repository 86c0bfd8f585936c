"""Time over rows on two logarithmic axes, beside the time that reading the rows alone takes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from benchmarks.speed.bandwidth import STREAM
from benchmarks.speed.data import N_FEATURES
from benchmarks.speed.groups import Results
from benchmarks.speed.methods import (
    ADABOOST,
    ADABOOST_NATURAL,
    HISTOGRAM,
    LIGHTGBM,
    LINEAR,
    PAPER,
    POOL,
    XGBOOST,
)
from benchmarks.speed.readings import entry_of, times_by_rows

OURS_COLOUR, PEER_COLOUR, LIMIT_COLOUR = "#c4570e", "#1f5a99", "#777777"
STYLES: dict[str, dict[str, Any]] = {
    LINEAR: {"marker": "o", "linestyle": "-", "linewidth": 2.2},
    PAPER: {"marker": "^", "linestyle": "--"},
    POOL: {"marker": "D", "linestyle": ":"},
    ADABOOST: {"marker": "s", "linestyle": "-"},
    ADABOOST_NATURAL: {"marker": "s", "linestyle": ":", "markerfacecolor": "white"},
    LIGHTGBM: {"marker": "v", "linestyle": "-"},
    XGBOOST: {"marker": "x", "linestyle": "--"},
    HISTOGRAM: {"marker": "P", "linestyle": "-."},
}


def bandwidth(results: Results) -> float | None:
    """Bytes per second of one thread, at the largest table: there it is memory that limits."""
    groups = [group for group in results if group.part == "pass" and group.threads == 1]
    if not groups:
        return None
    entry = entry_of(results[max(groups, key=lambda group: group.rows)], STREAM)
    return None if entry is None else float(entry["bytes_per_second"])


def draw(results: Results, rounds: int) -> bytes:
    """A panel for each number of threads."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    threads = sorted({group.threads for group in results if group.part in ("fit", "trees")}) or [1]
    figure, axes = plt.subplots(
        1, len(threads), figsize=(2 + 5 * len(threads), 6.2), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    handles: dict[str, Any] = {}
    for axis, number in zip(axes[0], threads, strict=True):
        for name in STYLES:
            part = "trees" if name == POOL else "fit"
            points = times_by_rows(results, part, name, number, rounds)
            if points:
                colour = PEER_COLOUR if "rBoost" not in name else OURS_COLOUR
                (handles[name],) = axis.plot(
                    *zip(*points, strict=True), color=colour, label=name, **STYLES[name]
                )
        speed = bandwidth(results)
        if number == 1 and speed is not None and handles:
            ends = np.array(axis.dataLim.intervalx)
            label = f"limit of memory: {rounds} × X read once"
            (handles[label],) = axis.plot(
                ends, rounds * 4 * N_FEATURES * ends / speed, color=LIMIT_COLOUR, linewidth=3,
                alpha=0.6, label=label,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        sizes = sorted({group.rows for group in results if group.part in ("fit", "trees")})
        axis.set_xticks(sizes, [f"{rows:,}" for rows in sizes])
        axis.minorticks_off()
        axis.set_title("1 thread" if number == 1 else f"{number} threads", fontsize=11)
        axis.set_xlabel("training rows")
        axis.grid(color="#dddddd")
    axes[0, 0].set_ylabel(f"seconds to fit {rounds} rounds")
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False
        )
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()
