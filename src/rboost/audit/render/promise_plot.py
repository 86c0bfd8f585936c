"""A picture of promises: how many checked labels were said to be wrong, and how many were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rboost.audit.insight.checked import Promise
from rboost.audit.numbers import format_count, percent
from rboost.audit.render.plots import DOUBT, GREY, INK, TRUST, axes_for


class PromiseDisplay:
    """What was promised of checked labels, and what people found, with 90 % intervals.

    Parameters
    ----------
    promises : sequence of Promise
        Checked labels by the probability with which they were said to be wrong.
    """

    def __init__(self, promises: Sequence[Promise]) -> None:
        self.promises = promises

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The promises of an audit, if rows were checked."""
        return cls(audit.promises)

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each group of labels: found, its interval, and a mark at the promise."""
        self.ax_, self.figure_ = axes_for(ax)
        places = np.arange(len(self.promises))
        found = [one.found for one in self.promises]
        colors = [TRUST if one.is_kept else DOUBT for one in self.promises]
        self.ax_.bar(places, found, 0.6, color=colors, alpha=0.55, linewidth=0, label="found wrong")
        self.ax_.vlines(
            places, [one.found_low for one in self.promises],
            [one.found_high for one in self.promises], color=INK, linewidth=1.4,
        )  # fmt: skip
        self.ax_.plot(
            places, [one.promised for one in self.promises], "D", color=INK, markersize=7,
            markerfacecolor="white", linestyle="none", label="promised",
        )  # fmt: skip
        names = [
            f"{100 * one.low:.0f}–{100 * one.high:.0f} %\n{format_count(one.n_checked)} checked"
            for one in self.promises
        ]
        self.ax_.set_xticks(places, names, fontsize=8.5)
        ticks = np.linspace(0, 1, 5)
        self.ax_.set_yticks(ticks, [percent(tick) for tick in ticks])
        self.ax_.set(
            ylim=(0, 1.02), xlabel="promised probability that the label is wrong",
            ylabel="share wrong",
        )  # fmt: skip
        self.ax_.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.ax_.spines[["right", "top"]].set_visible(False)
        self.ax_.legend(frameon=False, loc="upper left", fontsize=9)
        return self
