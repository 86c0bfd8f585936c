"""Pictures of an audit: how labels flip, how doubtful they are, and what a review would find.

Each display keeps the arrays that it draws. ``from_audit`` takes them from a
:class:`rboost.audit.LabelAudit`, ``plot`` draws them on ``ax_`` of ``figure_``.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit.insight.gain import BUDGETS, ReviewGain, review_gain
from rboost.audit.insight.summary import expected_rates
from rboost.audit.insight.suspects import Suspects
from rboost.audit.numbers import format_count, percent
from rboost.audit.render.wording import one_line, with_noun
from rboost.packages import package

# Colour-blind people can tell these apart; the contrast to white is at least 4.5.
DOUBT, TRUST, INK, GREY = "#b3440a", "#0b64a8", "#1c1c1c", "#6b6b6b"
LONGEST_NAME = 16


class NoiseMatrixDisplay:
    """How often each true class carries each label, in percent, with 90 % intervals.

    Parameters
    ----------
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(given k | true j)``.
    noise_interval : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends.
    classes : sequence of n_classes
        Names of the classes.
    """

    # With more classes the numbers in the cells would be too small to read.
    MOST_NUMBERED = 10

    def __init__(self, noise_matrix: Floats, noise_interval: Floats, classes: Any) -> None:
        self.noise_matrix = noise_matrix
        self.noise_interval = noise_interval
        self.classes = classes

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The rates of an audit, as they agree with the wrong labels that it expects."""
        return cls(*expected_rates(audit.inference.noise), audit.classes)

    def plot(self, ax: Any = None) -> Self:
        """Draw: rows are true classes, columns are given labels; the redder, the more flips."""
        self.ax_, self.figure_ = axes_for(ax)
        n_classes = len(self.classes)
        flips = np.ma.array(self.noise_matrix, mask=np.eye(n_classes, dtype=bool))
        is_numbered = n_classes <= self.MOST_NUMBERED
        largest = max(0.3 if is_numbered else 0.02, float(flips.max()))
        drawn = self.ax_.pcolormesh(
            flips, cmap="Oranges", vmin=0, vmax=largest, edgecolors="white", linewidth=1
        )
        self.ax_.set_facecolor("#dfe7ee")
        if is_numbered:
            self._write_numbers(drawn)
        else:
            self.figure_.colorbar(
                drawn, ax=self.ax_, label="share of the true class",
                format=lambda share, _: percent(share),
            )  # fmt: skip
        self._write_names()
        self.ax_.set(xlabel="label given", ylabel="true class")
        self.ax_.set_ylim(n_classes, 0)
        self.ax_.tick_params(length=0)
        self.ax_.spines[:].set_visible(False)
        return self

    def _write_names(self) -> None:
        n_classes, names = len(self.classes), [name_of(name) for name in self.classes]
        places, size = np.arange(n_classes) + 0.5, 10 if n_classes <= 20 else 7
        self.ax_.set_yticks(places, names, parse_math=False, fontsize=size)
        self.ax_.set_xticks(places, names, parse_math=False, fontsize=size)
        if n_classes * max(map(len, names)) > 36:  # side by side they would overlap
            slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
            turned = {"rotation": 90}
            for text in self.ax_.get_xticklabels():
                text.set(**(slanted if n_classes <= self.MOST_NUMBERED else turned))

    def _write_numbers(self, drawn: Any) -> None:
        is_small = len(self.classes) > 4
        large, small, unit = (9.0, 6.5, "") if is_small else (13.0, 9.5, " %")
        low, high = 100 * self.noise_interval
        for (j, k), rate in np.ndenumerate(self.noise_matrix):
            # White is easier to read than black on colours darker than this.
            lightness = np.dot(drawn.to_rgba(rate)[:3], (0.3, 0.59, 0.11))
            color = "white" if j != k and lightness < 0.45 else INK
            style = {"color": color, "ha": "center", "va": "center"}
            text = _digits(100 * rate) if is_small else percent(rate)
            self.ax_.text(k + 0.5, j + 0.4, text, fontsize=large, **style)
            interval = f"{_digits(low[j, k])}–{_digits(high[j, k])}{unit}"
            self.ax_.text(k + 0.5, j + 0.7, interval, fontsize=small, **style)


class IssueDistributionDisplay:
    """How many labels are how likely to be wrong, by the label given.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_bins)
        Labels that nobody checked, by the probability that they are wrong.
    classes : sequence of n_classes
        Names of the classes.
    n_left_out : int, default=0
        Classes that are not shown.
    """

    def __init__(self, counts: Integers, classes: Any, n_left_out: int = 0) -> None:
        self.counts = counts
        self.classes = classes
        self.n_left_out = n_left_out

    @classmethod
    def from_audit(cls, audit: Any, n_bins: int = 10, most_classes: int = 12) -> Self:
        """The distribution of an audit; of many classes, those with the most wrong labels."""
        labels, n_classes = audit.labels, len(audit.classes)
        given, wrong = (x[labels.is_observed] for x in (labels.given, audit.issue_probability))
        place = np.minimum((wrong * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(given * n_bins + place, minlength=n_classes * n_bins)
        expected = np.bincount(given, wrong, n_classes)
        shown = np.sort(np.argsort(-expected, kind="stable")[:most_classes])
        return cls(
            counts.reshape(n_classes, n_bins)[shown], audit.classes[shown], n_classes - len(shown)
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw one lane of bars for each label, as high as their numbers.

        Next to labels of the first bin, which are hardly doubted, others would not be seen: these
        are a number without a bar.
        """
        self.ax_, self.figure_ = axes_for(ax)
        n_classes, n_bins = self.counts.shape
        height = (0.72 if n_classes <= 4 else 0.6) * self.counts / max(1, self.counts[:, 1:].max())
        height[:, 0] = 0.0
        left = np.arange(n_bins) / n_bins
        colors = [DOUBT if 2 * k >= n_bins else TRUST for k in range(n_bins)]
        self.ax_.axvspan(0, 1 / n_bins, color="#e9edf1", linewidth=0, zorder=0)
        for lane in range(n_classes):
            base = n_classes - 1 - lane
            self.ax_.bar(
                left + 0.5 / n_bins, height[lane], 0.9 / n_bins, base, color=colors, linewidth=0
            )
            self.ax_.axhline(base, color=GREY, linewidth=0.8)
            for k in np.flatnonzero(self.counts[lane]):
                self.ax_.text(
                    left[k] + 0.5 / n_bins, base + height[lane, k] + 0.03,
                    format_count(int(self.counts[lane, k])), ha="center", va="bottom", fontsize=8.5,
                    color=INK,
                )  # fmt: skip
        self.ax_.set_yticks(
            n_classes - 0.65 - np.arange(n_classes), [name_of(name) for name in self.classes],
            parse_math=False,
        )  # fmt: skip
        ticks = np.linspace(0, 1, 6)
        self.ax_.set_xticks(ticks, [f"{100 * tick:.0f} %" for tick in ticks])
        self.ax_.set(
            xlim=(0, 1), ylim=(0, n_classes), ylabel="label given",
            xlabel="probability that the label is wrong",
        )  # fmt: skip
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines[["left", "right", "top"]].set_visible(False)
        return self


class ReviewGainDisplay:
    """How many wrong labels one finds by checking rows in order of suspicion.

    Parameters
    ----------
    gain : ReviewGain
        Expected wrong labels among the most suspicious rows.
    n_suspects : int
        How many rows are on the list.
    """

    def __init__(self, gain: ReviewGain, n_suspects: int) -> None:
        self.gain = gain
        self.n_suspects = n_suspects

    @classmethod
    def from_audit(cls, audit: Any, suspects: Suspects | None = None) -> Self:
        """The gain of an audit, with a mark at the suspects."""
        chosen = audit.suspects() if suspects is None else suspects
        gain = review_gain(audit.issue_probability[audit.labels.is_observed])
        return cls(gain, len(chosen))

    def plot(self, ax: Any = None) -> Self:
        """Draw the gain, what random checking finds, and marks at a few budgets."""
        self.ax_, self.figure_ = axes_for(ax)
        gain, n_shown = self.gain, self._n_shown()
        checked = np.unique(np.linspace(0, n_shown, 400).astype(np.intp))
        self.ax_.plot(
            checked, gain.expected_found[checked], color=TRUST, linewidth=2.2,
            label="most suspicious first",
        )  # fmt: skip
        at_random = gain.expected_wrong * n_shown / max(1, gain.n_rows)
        self.ax_.plot([0, n_shown], [0, at_random], "--", color=GREY, label="in any order")
        if 0 < self.n_suspects <= n_shown:
            found = float(gain.expected_found[self.n_suspects])
            self.ax_.plot(
                self.n_suspects, found, "D", color=DOUBT, markersize=9, zorder=4,
                label=f"{with_noun(self.n_suspects, 'suspect')} → {format_count(found)}",
            )  # fmt: skip
        self._mark_budgets(n_shown)
        self.ax_.set(
            xlabel="rows checked", ylabel="wrong labels found (expected)",
            xlim=(0, 1.02 * max(1, n_shown)),
            ylim=(0, 1.12 * max(0.1, gain.expected_found[n_shown])),
        )  # fmt: skip
        self.ax_.spines[["right", "top"]].set_visible(False)
        self.ax_.grid(color="#e3e3e3", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.ax_.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="lower right")
        return self

    def _n_shown(self) -> int:
        """All rows, or in a large table as many as anybody would check."""
        enough = max(BUDGETS[-1], 4 * self.n_suspects)
        return self.gain.n_rows if self.gain.n_rows <= 2 * enough else enough

    def _mark_budgets(self, n_shown: int) -> None:
        """Points at the budgets; words at those that leave room for them."""
        budgets = [one for one in self.gain.budgets() if one.n_rows <= n_shown]
        if not budgets:
            return
        self.ax_.plot(
            [one.n_rows for one in budgets], [one.expected_found for one in budgets], "o",
            color=TRUST, markersize=6, markerfacecolor="white", zorder=3,
            label="rows → wrong among them",
        )  # fmt: skip
        last = 0.0
        for one in budgets:
            room = min(one.n_rows - last, abs(one.n_rows - self.n_suspects) * 2)
            if room >= 0.14 * n_shown:
                self.ax_.annotate(
                    f"{one.n_rows} → {format_count(one.expected_found)}",
                    (one.n_rows, one.expected_found), (0, 7), textcoords="offset points",
                    ha="center", fontsize=9, color=INK,
                )  # fmt: skip
                last = one.n_rows


def _digits(percentage: float) -> str:
    """A percentage with as many digits as :func:`percent` gives it, where there is little room."""
    is_plain = percentage in (0, 100) or 9.95 <= percentage < 98.5
    return f"{percentage:.0f}" if is_plain else f"{percentage:.1f}"


def axes_for(ax: Any) -> tuple[Any, Any]:
    """The axes to draw on and their figure; new ones if there are none."""
    if ax is not None:
        return ax, ax.figure
    figure, ax = package("matplotlib.pyplot", extra="plots").subplots(layout="constrained")
    return ax, figure


def name_of(label: Any) -> str:
    """A class in a picture: one short line."""
    text = one_line(label, longest=4 * LONGEST_NAME)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
