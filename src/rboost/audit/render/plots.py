"""Pictures of an audit: how labels flip, how doubtful they are, what a review would find, and more.

Each display keeps the arrays that it draws. ``from_audit`` takes them from a
:class:`rboost.LabelAudit`, ``plot`` draws them on ``ax_`` of ``figure_``; matplotlib is
imported only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit.insight.checked import CalibrationBin
from rboost.audit.insight.summary import (
    BUDGETS,
    MOST_SUSPECTS,
    Budget,
    Suspects,
    expected_flips,
    expected_rates,
    project,
    review_gain,
)
from rboost.audit.wording import cut_middle, format_count, format_estimate, percent, with_noun
from rboost.packages import package

# Colour-blind people can tell these apart; the contrast to white is at least 4.5.
DOUBT, TRUST, INK, GREY = "#b3440a", "#0b64a8", "#1c1c1c", "#6b6b6b"
# Colours of classes, which differ in lightness too, with a contrast to white of at least 3, and
# shapes: 10 and 9 have no common divisor, so that 90 classes look different.
COLORS = (
    "#0b64a8", "#d55e00", "#117733", "#aa4499", "#a07800", "#4a90c2", "#882255", "#333333",
    "#8a8a8a", "#5b3db5",
)  # fmt: skip
MARKERS = ("o", "^", "s", "v", "P", "X", "D", "<", "*")
# Characters of the name of a class, and of a group: ranges of dates have long names. Classes that
# would then look alike have longer names.
LONGEST_CLASS, LONGEST_GROUP = (16, 24, 36, 60), 30


class _Display:
    """A picture on axes of its own, or on those that it is given."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any, hidden: Sequence[str] = ("right", "top")) -> Any:
        """The axes to draw on, with these sides of their frame hidden; new ones if need be."""
        if ax is None:
            _, ax = package("matplotlib.pyplot", extra="plots").subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        for side in hidden:
            ax.spines[side].set_visible(False)
        return ax


@dataclass(eq=False, repr=False)
class NoiseMatrixDisplay(_Display):
    """How often each true class carries each label, in percent, with 90 % intervals.

    Of more than 10 classes without the intervals, of more than 20 the largest confusions.

    Parameters
    ----------
    noise_matrix : ndarray of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(given k | true j)``.
    noise_interval : ndarray of shape (2, n_classes, n_classes)
        Lower and upper ends.
    classes : sequence of n_classes
        Names of the classes.
    expected_rows : ndarray of shape (n_classes, n_classes), default=None
        How many rows of class j are expected to carry the label k.
    """

    noise_matrix: Floats
    noise_interval: Floats
    classes: Any
    expected_rows: Floats | None = None

    # With more classes the intervals in the cells, or the numbers, would be too small to read; how
    # many confusions are then drawn.
    MOST_INTERVALS, MOST_CELLS, MOST_CONFUSIONS = 10, 20, 20

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The rates of an audit, as they agree with the wrong labels that it expects."""
        rows = expected_flips(audit.inference.posterior, audit.labels)
        return cls(*expected_rates(audit.inference.noise), audit.classes, rows)

    def plot(self, ax: Any = None) -> Self:
        """Draw: rows are true classes, columns are given labels; the redder, the more flips."""
        n_classes = len(self.classes)
        if n_classes > self.MOST_CELLS:
            return self._plot_largest(ax)
        ax = self._begin(ax, ("left", "right", "top", "bottom"))
        flips = np.ma.array(self.noise_matrix, mask=np.eye(n_classes, dtype=bool))
        largest = max(0.3 if n_classes <= self.MOST_INTERVALS else 0.02, float(flips.max()))
        drawn = ax.pcolormesh(
            flips, cmap="Oranges", vmin=0, vmax=largest, edgecolors="white", linewidth=1
        )
        ax.set_facecolor("#dfe7ee")
        self._write_numbers(drawn)
        names, places = _class_names(self.classes), np.arange(n_classes) + 0.5
        has_intervals = n_classes <= self.MOST_INTERVALS
        style: dict[str, Any] = {"parse_math": False, "fontsize": 10 if has_intervals else 8.5}
        ax.set_yticks(places, names, **style)
        if n_classes * max(map(len, names)) > 36:  # side by side they would overlap
            slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
            style |= slanted if has_intervals else {"rotation": 90}
        ax.set_xticks(places, names, **style)
        ax.set(xlabel="label given", ylabel="true class", ylim=(n_classes, 0))
        ax.tick_params(length=0)
        return self

    def _plot_largest(self, ax: Any) -> Self:
        """Draw the confusions with the most rows, or with the highest rates, as bars."""
        ax = self._begin(ax, ("left", "right", "top"))
        size = self.noise_matrix if self.expected_rows is None else self.expected_rows
        flips = np.where(np.eye(len(size), dtype=bool), 0, size).ravel()
        order = np.argsort(-flips, kind="stable")[: self.MOST_CONFUSIONS]
        true, given = np.divmod(order[flips[order] > 0], len(size))
        drawn = np.union1d(true, given).tolist()
        own = dict(zip(drawn, _class_names([self.classes[k] for k in drawn]), strict=True))
        names = [f"{own[j]} → {own[k]}" for j, k in zip(true, given, strict=True)]
        share, interval = self.noise_matrix[true, given], self.noise_interval[:, true, given]
        notes = [percent(one) for one in share]
        if self.expected_rows is not None:
            rows = map(format_estimate, self.expected_rows[true, given])
            notes = [f"{one}, {number} rows" for one, number in zip(notes, rows, strict=True)]
        _draw_shares(ax, names, share, interval, [DOUBT] * len(names), notes)
        ax.set_xlabel("share of the true class that carries the label")
        return self

    def _write_numbers(self, drawn: Any) -> None:
        """The rates, if they are not nearly zero, and of few classes the intervals."""
        n_classes, (low, high) = len(self.classes), self.noise_interval
        is_small, has_intervals = n_classes > 4, n_classes <= self.MOST_INTERVALS
        large, small, unit = (9.0, 6.5, "") if is_small else (13.0, 9.5, " %")
        for (j, k), rate in np.ndenumerate(self.noise_matrix):
            if not has_intervals and rate < 0.005:
                continue
            # White is easier to read than black on colours darker than this.
            lightness = np.dot(drawn.to_rgba(rate)[:3], (0.3, 0.59, 0.11))
            color = "white" if j != k and lightness < 0.45 else INK
            style = {"color": color, "ha": "center", "va": "center"}
            if not has_intervals:
                self.ax_.text(k + 0.5, j + 0.5, f"{100 * rate:.0f}", fontsize=8, **style)
                continue
            text = _digits(rate) if is_small else percent(rate)
            self.ax_.text(k + 0.5, j + 0.4, text, fontsize=large, **style)
            interval = f"{_digits(low[j, k])}–{_digits(high[j, k])}{unit}"
            self.ax_.text(k + 0.5, j + 0.7, interval, fontsize=small, **style)


@dataclass(eq=False, repr=False)
class IssueDistributionDisplay(_Display):
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

    counts: Integers
    classes: Any
    n_left_out: int = 0

    @classmethod
    def from_audit(cls, audit: Any, n_bins: int = 10, most_classes: int = 12) -> Self:
        """The distribution of an audit; of many classes, those with the most wrong labels."""
        labels, n_classes = audit.labels, len(audit.classes)
        given, wrong = (x[labels.is_observed] for x in (labels.given, audit.issue_probability))
        place = np.minimum((wrong * n_bins).astype(np.intp), n_bins - 1)
        counts = np.bincount(given * n_bins + place, minlength=n_classes * n_bins)
        expected = np.bincount(given, wrong, n_classes)
        shown = np.sort(np.argsort(-expected, kind="stable")[:most_classes])
        counts = counts.reshape(n_classes, n_bins)[shown]
        return cls(counts, audit.classes[shown], n_classes - len(shown))

    def plot(self, ax: Any = None) -> Self:
        """Draw one lane of bars for each label, as high as their numbers.

        The first bin, of labels that are probably right, has a number without a bar: next to its
        bar the others would not be seen.
        """
        ax = self._begin(ax, ("left", "right", "top"))
        n_classes, n_bins = self.counts.shape
        height = (0.72 if n_classes <= 4 else 0.6) * self.counts / max(1, self.counts[:, 1:].max())
        height[:, 0] = 0.0
        middle = (np.arange(n_bins) + 0.5) / n_bins
        colors = [DOUBT if 2 * k >= n_bins else TRUST for k in range(n_bins)]
        ax.axvspan(0, 1 / n_bins, color="#e9edf1", linewidth=0, zorder=0)
        for lane, base in enumerate(range(n_classes - 1, -1, -1)):
            ax.bar(middle, height[lane], 0.9 / n_bins, base, color=colors, linewidth=0)
            ax.axhline(base, color=GREY, linewidth=0.8)
            for k in np.flatnonzero(self.counts[lane]):
                ax.text(
                    middle[k], base + height[lane, k] + 0.03,
                    format_count(int(self.counts[lane, k])), ha="center", va="bottom", fontsize=8.5,
                    color=INK,
                )  # fmt: skip
        names = _class_names(self.classes)
        ax.set_yticks(n_classes - 0.65 - np.arange(n_classes), names, parse_math=False)
        _label_shares(ax.set_xticks, np.linspace(0, 1, 6))
        ax.set(xlim=(0, 1), ylim=(0, n_classes), xlabel="probability that the label is wrong")
        ax.set_ylabel("label given")
        ax.tick_params(axis="y", length=0)
        return self


@dataclass(eq=False, repr=False)
class ReviewGainDisplay(_Display):
    """How many wrong labels one finds by checking rows in order of suspicion.

    Parameters
    ----------
    expected_found : ndarray of shape (n_rows + 1,)
        Expected wrong labels among the most suspicious rows, none of them to all.
    n_suspects : int
        How many rows are on the list.
    budgets : sequence of Budget, default=()
        Numbers of rows to mark, with the interval of what is found.
    is_known : bool, default=True
        Whether it is roughly known how many of the list are wrong; else intervals are named, and
        no number.
    """

    expected_found: Floats
    n_suspects: int
    budgets: Sequence[Budget] = ()
    is_known: bool = True

    @classmethod
    def from_audit(cls, audit: Any, suspects: Suspects | None = None) -> Self:
        """The gain of an audit, with a mark at the suspects."""
        chosen = audit.suspects() if suspects is None else suspects
        gain = review_gain(audit.issue_probability[audit.labels.is_observed])
        return cls(gain, len(chosen), audit.budgets, audit.summary(chosen).is_list_known)

    def plot(self, ax: Any = None) -> Self:
        """Draw the gain, what random checking finds, and marks at a few budgets."""
        ax = self._begin(ax)
        gain, n_rows = self.expected_found, len(self.expected_found) - 1
        # All rows, or in a large table as many as anybody would check.
        enough = max(BUDGETS[-1], 4 * self.n_suspects)
        n_shown = n_rows if n_rows <= 2 * enough else enough
        checked = np.unique(np.linspace(0, n_shown, 400).astype(np.intp))
        ax.plot(
            checked, gain[checked], color=TRUST, linewidth=2.2,
            label="most suspicious first (expected)",
        )  # fmt: skip
        at_random = gain[-1] * n_shown / max(1, n_rows)
        ax.plot([0, n_shown], [0, at_random], "--", color=GREY, label="in any order")
        if 0 < self.n_suspects <= n_shown:
            found = float(gain[self.n_suspects])
            number = f" → {format_estimate(found, self.n_suspects)}" if self.is_known else ""
            ax.plot(
                self.n_suspects, found, "D", color=DOUBT, markersize=9, zorder=4,
                label=f"{with_noun(self.n_suspects, 'suspect')}{number}",
            )  # fmt: skip
        self._mark_budgets(n_shown)
        highest = max([gain[n_shown], *(one.found_high for one in self._shown(n_shown))])
        ax.set(xlabel="rows checked", ylabel="wrong labels found")
        ax.set(xlim=(0, 1.02 * max(1, n_shown)), ylim=(0, 1.12 * max(0.1, highest)))
        ax.grid(color="#e3e3e3", linewidth=0.8)
        ax.set_axisbelow(True)
        below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
        ax.legend(frameon=False, fontsize=9, **below)
        return self

    def _mark_budgets(self, n_shown: int) -> None:
        """Intervals at the budgets; words at those that leave room for them."""
        budgets = self._shown(n_shown)
        if not budgets:
            return
        self.ax_.vlines(
            [one.n_rows for one in budgets], [one.found_low for one in budgets],
            [one.found_high for one in budgets], color=INK, linewidth=1.4, label="90 % interval",
        )  # fmt: skip
        last = 0.0
        for one in budgets:
            room = min(one.n_rows - last, abs(one.n_rows - self.n_suspects) * 2)
            if room >= 0.14 * n_shown:
                ends = f"{format_estimate(one.found_low)}–{format_estimate(one.found_high)}"
                said = format_estimate(one.expected_found) if self.is_known else ends
                self.ax_.annotate(
                    f"{one.n_rows} → {said}",
                    (one.n_rows, one.found_high), (0, 5), textcoords="offset points",
                    ha="center", fontsize=9, color=INK,
                )  # fmt: skip
                last = one.n_rows

    def _shown(self, n_shown: int) -> list[Budget]:
        return [one for one in self.budgets if one.n_rows <= n_shown]


@dataclass(eq=False, repr=False)
class ProjectionDisplay(_Display):
    """Some labelled rows in the plane of their first two principal components.

    Parameters
    ----------
    points : ndarray of shape (n_points, 2)
        Where the rows lie.
    label : ndarray of shape (n_points,)
        Position of the class whose label each row carries.
    is_suspect : ndarray of shape (n_points,)
        Which of them are suspects.
    explained : float
        The share of all variance that is seen in this plane.
    classes : sequence of n_classes
        Names of the classes.
    """

    points: Floats
    label: Integers
    is_suspect: NDArray[np.bool_]
    explained: float
    classes: Any

    # A legend of more classes than this would hide the rows.
    MOST_NAMED = 12

    @classmethod
    def from_audit(cls, audit: Any, suspects: Suspects | None = None) -> Self:
        """Project the rows of an audit."""
        chosen, labels = audit.suspects() if suspects is None else suspects, audit.labels
        rows, points, explained = project(audit.standardized, labels, chosen)
        is_suspect = np.isin(rows, chosen.rows[:MOST_SUSPECTS])
        return cls(points, labels.current[rows], is_suspect, explained, audit.classes)

    def plot(self, ax: Any = None) -> Self:
        """Draw; a ring marks a suspect, whose colour and shape are those of its doubtful label."""
        ax = self._begin(ax, ())
        size = 26 if len(self.points) < 400 else 12
        # As pixels very many points take less room in the file.
        crowded = {"rasterized": len(self.points) > 1000}
        handles = [
            ax.scatter(
                *self.points[self.label == k].T,
                s=np.where(self.is_suspect[self.label == k], 2 * size, size),
                color=COLORS[k % len(COLORS)], marker=MARKERS[k % len(MARKERS)], alpha=0.75,
                linewidths=0, **crowded,
            )
            for k in range(len(self.classes))
        ]  # fmt: skip
        suspects = self.points[self.is_suspect].T
        ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.9}
        rings = ax.scatter(*suspects, s=6 * size, **ring, **crowded)
        names = _class_names(self.classes[: self.MOST_NAMED])
        self._add_legend(
            [*handles[: self.MOST_NAMED], rings],
            [*names, with_noun(suspects.shape[1], "suspect")],
        )
        ax.set(xticks=[], yticks=[])
        ax.set(xlabel="first principal component", ylabel="second principal component")
        ax.set_title(f"this plane shows {percent(self.explained)} of the variance", fontsize=10)
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


@dataclass(eq=False, repr=False)
class GroupNoiseDisplay(_Display):
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

    share: Floats
    interval: Floats
    names: Sequence[str]
    overall: float

    # Groups that are drawn at most, those with the largest shares.
    MOST_SHOWN = 20

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
        ax = self._begin(ax, ("left", "right", "top"))
        # Orange bars are clearly above the share of the whole table.
        colors = [DOUBT if end > self.overall else TRUST for end in self.interval[0]]
        names = [cut_middle(name, LONGEST_GROUP) for name in self.names]
        notes = list(map(percent, self.share))
        _draw_shares(ax, names, self.share, self.interval, colors, notes, self.overall)
        ax.set_xlabel(f"share of wrong labels (dashed: {percent(self.overall)} of all)")
        return self


@dataclass(eq=False, repr=False)
class AnnotatorDisplay(_Display):
    """How often annotators are right, with 90 % intervals.

    Parameters
    ----------
    accuracy : ndarray of shape (n_annotators,)
        The share of right labels in the long run.
    interval : ndarray of shape (2, n_annotators)
        Lower and upper ends.
    n_labels : sequence of n_annotators
        How many labels each gave.
    names : sequence of n_annotators
        What annotators are called.
    overall : float
        The share of right labels among those of all annotators.
    """

    accuracy: Floats
    interval: Floats
    n_labels: Sequence[int]
    names: Sequence[str]
    overall: float

    # Annotators that are drawn at most, the least accurate of all.
    MOST_SHOWN = 20

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The annotators of an audit with several labels a row."""
        found = audit.of_annotators["annotators"]
        counts = [one.n_labels for one in found]
        overall = np.average([one.accuracy for one in found], weights=np.maximum(counts, 1))
        shown = found[: cls.MOST_SHOWN]
        return cls(
            np.array([one.accuracy for one in shown]),
            np.array([[one.low for one in shown], [one.high for one in shown]]),
            counts[: cls.MOST_SHOWN],
            [one.name for one in shown],
            float(overall),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw a bar for each annotator, its interval, and the share among all labels."""
        ax = self._begin(ax, ("left", "right", "top"))
        # Orange bars are clearly below the share among all labels.
        colors = [DOUBT if end < self.overall else TRUST for end in self.interval[1]]
        names = [cut_middle(name, LONGEST_GROUP) for name in self.names]
        notes = [
            f"{percent(share)}, {with_noun(n, 'label')}"
            for share, n in zip(self.accuracy, self.n_labels, strict=True)
        ]
        _draw_shares(ax, names, self.accuracy, self.interval, colors, notes, self.overall)
        ax.set_xlabel(f"share of right labels (dashed: {percent(self.overall)} of all)")
        return self


def _draw_shares(
    ax: Any,
    names: Sequence[str],
    share: Floats,
    interval: Floats,
    colors: Sequence[str],
    notes: Sequence[str],
    overall: float | None = None,
) -> None:
    """A bar for each share with its interval; notes stand in a column beside all of them.

    ``overall``, where it is given, is a line across the bars.
    """
    places, (low, high) = np.arange(len(names)), interval
    ax.barh(places, share, 0.62, color=colors, alpha=0.55, linewidth=0)
    ax.hlines(places, low, high, color=INK, linewidth=1.6)
    ax.plot(share, places, "|", color=INK, markersize=9)
    ticker = package("matplotlib.ticker", extra="plots")
    widest = max(0.05, float(high.max(initial=0)), overall or 0.0)
    ticks = ticker.MaxNLocator(5).tick_values(0, widest)
    widest = min(float(ticks[-1]), 1.0)
    if overall is not None:
        ax.axvline(overall, color=GREY, linestyle="--", linewidth=1)
    for place, note in zip(places, notes, strict=True):
        ax.text(1.03 * widest, place, note, va="center", fontsize=9, color=INK)
    room = widest * (1.07 + 0.02 * max(map(len, notes), default=0))
    ax.set_yticks(places, names, parse_math=False)
    ax.set(xlim=(0, room), ylim=(max(len(places), 1) - 0.5, -0.5))
    _label_shares(ax.set_xticks, ticks[ticks <= 1.001 * widest])
    ax.spines["bottom"].set_bounds(0, widest)  # shares end at 100 %, the column of notes does not
    ax.tick_params(axis="y", length=0)


@dataclass(eq=False, repr=False)
class CalibrationDisplay(_Display):
    """Predicted and found shares of wrong labels among checked ones, with 90 % intervals.

    Parameters
    ----------
    bins : sequence of CalibrationBin
        Checked labels by their predicted probability of being wrong.
    """

    bins: Sequence[CalibrationBin]

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """The bins of an audit; none where no row was checked."""
        return cls(audit.calibration)

    def plot(self, ax: Any = None) -> Self:
        """Draw, for each bin, the share found as a bar, its interval, and the mean prediction."""
        ax, places = self._begin(ax), np.arange(len(self.bins))
        found, low, high, predicted = np.array(
            [(one.found, one.found_low, one.found_high, one.predicted) for one in self.bins]
        ).T
        colors = [TRUST if one.is_consistent else DOUBT for one in self.bins]
        ax.bar(places, found, 0.6, color=colors, alpha=0.55, linewidth=0, label="found wrong")
        ax.vlines(places, low, high, color=INK, linewidth=1.4)
        ax.plot(
            places, predicted, "D", color=INK, markersize=7, markerfacecolor="white",
            linestyle="none", label="predicted",
        )  # fmt: skip
        names = [
            f"{100 * one.low:.0f}–{100 * one.high:.0f} %\n{format_count(one.n_checked)} checked"
            for one in self.bins
        ]
        ax.set_xticks(places, names, fontsize=8.5)
        _label_shares(ax.set_yticks, np.linspace(0, 1, 5))
        ax.set(ylim=(0, 1.02), ylabel="share wrong")
        ax.set_xlabel("predicted probability that the label is wrong")
        ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(frameon=False, loc="upper left", fontsize=9)
        return self


def _label_shares(set_ticks: Any, ticks: Floats) -> None:
    set_ticks(ticks, [f"{100 * tick:g} %" for tick in ticks])


def _digits(share: float) -> str:
    """A percentage with as many digits as :func:`percent` gives it, where there is little room."""
    is_plain = share in (0, 1) or 0.0995 <= share < 0.985
    return f"{100 * share:.0f}" if is_plain else f"{100 * share:.1f}"


def _class_names(labels: Any) -> list[str]:
    """Classes in a picture: short lines, as long as it takes to tell them apart."""
    for longest in LONGEST_CLASS:
        names = [cut_middle(label, longest) for label in labels]
        if len(set(names)) == len(names):
            break
    return names
