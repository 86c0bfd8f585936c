"""A picture of groups: what share of the labels of each is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from rboost._typing import Floats
from rboost.audit.numbers import percent
from rboost.audit.render.plots import DOUBT, GREY, INK, TRUST, axes_for
from rboost.audit.render.wording import one_line

# Ranges of dates have long names.
LONGEST_NAME = 30


class GroupNoiseDisplay:
    """The share of wrong labels in each group, with 90 % intervals.

    Parameters
    ----------
    share : ndarray of shape (n_groups,)
        The share of wrong labels.
    interval : ndarray of shape (2, n_groups)
        Lower and upper ends.
    names : sequence of n_groups
        What groups are called.
    overall : float
        The share of wrong labels in the whole table.
    """

    # Groups that are drawn at most, those with the largest shares.
    MOST_SHOWN = 20

    def __init__(
        self, share: Floats, interval: Floats, names: Sequence[str], overall: float
    ) -> None:
        self.share = share
        self.interval = interval
        self.names = names
        self.overall = overall

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The groups of an audit with a context."""
        found = audit.inference.by_group
        worst = np.sort(np.argsort(-found.wrong_share, kind="stable")[: cls.MOST_SHOWN])
        wrong = audit.issue_probability[audit.labels.is_observed]
        return cls(
            found.wrong_share[worst],
            found.wrong_share_interval[:, worst],
            [audit.groups.names[g] for g in worst],
            float(wrong.mean()) if len(wrong) else 0.0,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each group, its interval, and the share in the whole table."""
        self.ax_, self.figure_ = axes_for(ax)
        places, (low, high) = np.arange(len(self.names)), self.interval
        # Orange bars are clearly above the share of the whole table.
        colors = [DOUBT if end > self.overall else TRUST for end in low]
        self.ax_.barh(places, self.share, 0.62, color=colors, alpha=0.55, linewidth=0)
        self.ax_.hlines(places, low, high, color=INK, linewidth=1.6)
        self.ax_.plot(self.share, places, "|", color=INK, markersize=9)
        self.ax_.axvline(self.overall, color=GREY, linestyle="--", linewidth=1)
        widest = max(0.05, float(high.max(initial=0)))
        for place, share, end in zip(places, self.share, high, strict=True):
            self.ax_.text(
                end + 0.015 * widest, place, percent(share), va="center", fontsize=9, color=INK,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        names = [one_line(name, LONGEST_NAME) for name in self.names]
        self.ax_.set_yticks(places, names, parse_math=False)
        self.ax_.set(
            xlim=(0, 1.15 * widest), ylim=(len(places) - 0.5, -0.5),
            xlabel=f"share of wrong labels (dashed: {percent(self.overall)} of all)",
        )  # fmt: skip
        self.ax_.locator_params(axis="x", nbins=5)
        ticks = [tick for tick in self.ax_.get_xticks() if 0 <= tick <= 1.15 * widest]
        self.ax_.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines[["left", "right", "top"]].set_visible(False)
        return self
