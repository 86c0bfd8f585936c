"""Typical values of a column in each class, and which values are evidence for one of two classes.

A value is evidence for one class against another only if it is not typical of the other class and
clearly more frequent in the first. Missing values are values like any other.

Rows of a class are those that carry its label, probably rightly; ``label`` holds their classes.
Values are those of :attr:`rboost.table.features.Features.values`: numbers, dates in seconds, codes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit.wording import format_range, format_value, percent
from rboost.table.columns import CATEGORY, DATE
from rboost.table.features import DAY, ColumnEncoder

# The most rows of a class that are counted; of classes with fewer than the second nothing is said.
MOST_ROWS, FEWEST_ROWS = 20_000, 5
# A number is evidence for a class if its distance from the interquartile range of that class is at
# most this share of its distance from that of the other one.
NEARER = 0.5
# Ranges in which numbers are counted, words that are counted one by one, and the number of distinct
# values up to which numbers are counted like words.
N_RANGES, MOST_WORDS, FEW_VALUES = 16, 200, 5
# Least ratio of the frequencies of a value in two classes, and least difference for words.
LEAST_RATIO, LEAST_DIFFERENCE = 1.5, 0.05
# Pseudo-count: rows that are added to each class, distributed like those of all classes.
PRIOR_ROWS = 5.0
# The least frequency of a word that is called usual; longer words are cut.
USUAL_SHARE, LONGEST_WORD = 0.1, 40


def usual_values(own: ColumnEncoder, values: Floats, members: Sequence[Integers]) -> Usual:
    """Count a column among rows of each class, of which ``members`` has positions."""
    some = [rows[:: len(rows) // MOST_ROWS + 1] for rows in members]
    label = np.repeat(np.arange(len(members)), [len(rows) for rows in some])
    sample = values[np.concatenate(some)]
    distinct = np.unique(sample[~np.isnan(sample)])
    if own.kind != CATEGORY and len(distinct) > FEW_VALUES:
        unit = DAY if own.kind == DATE else None
        return UsualNumbers(sample, label, len(members), unit)
    return UsualWords(sample, label, len(members), own)


class UsualNumbers:
    """Numbers and dates: the interquartile range of each class, and how many are missing.

    ``unit`` is a day in seconds for dates, whose days are counted, and None for numbers.
    """

    def __init__(self, sample: Floats, label: Integers, n_classes: int, unit: float | None) -> None:
        self._unit = unit
        numbers = self._read(sample)
        present = ~np.isnan(numbers)
        self._edges = range_edges(numbers[present], N_RANGES)
        self._logs, self._shares = _frequencies(
            self._place(numbers), label, n_classes, len(self._edges) + 2
        )
        by_class = [numbers[present & (label == k)] for k in range(n_classes)]
        self._middle = np.array([_quantiles(own, np.array([0.25, 0.75])) for own in by_class])

    def _read(self, values: Floats) -> Floats:
        return values if self._unit is None else np.floor(values / self._unit)

    def _write(self, low: float, high: float) -> tuple[str, str]:
        if self._unit is None:
            return format_range(low, high)
        first, last = (
            "unknown" if np.isnan(day) else str(np.datetime64(int(day), "D")) for day in (low, high)
        )
        return first, last

    def _shown(self) -> Floats:
        """The interquartile ranges, rounded as they are shown."""
        if self._unit is not None:
            return self._middle
        return np.array([[float(end) for end in format_range(*ends)] for ends in self._middle])

    def _place(self, numbers: Floats) -> Integers:
        """The range of each number; the last place is that of missing ones."""
        found = np.searchsorted(self._edges, numbers, side="right")
        return np.where(np.isnan(numbers), len(self._edges) + 1, found)

    def evidence(self, values: Floats, given: Integers, suggested: Integers) -> Floats:
        """Evidence of each value for the suggested class against the given one, in nats, or 0."""
        numbers = self._read(values)
        place, missing = self._place(numbers), np.isnan(numbers)
        never = self._shares[:, -1]
        low = np.minimum(self._middle, self._shown())[:, 0]
        high = np.maximum(self._middle, self._shown())[:, 1]
        mostly_missing = never > 0.5
        rounded = np.array([float(format_value(number)) for number in numbers])
        above = np.minimum(numbers, rounded) > high[given]
        below = np.maximum(numbers, rounded) < low[given]
        off = np.maximum(low[:, np.newaxis] - numbers, numbers - high[:, np.newaxis]).clip(0)
        each = np.arange(len(numbers))
        is_near = off[suggested, each] <= NEARER * off[given, each]
        leans = is_near & (
            (above & (high[suggested] > high[given])) | (below & (low[suggested] < low[given]))
        )
        is_evidence = np.where(
            missing,
            ~mostly_missing[given] & (never[suggested] >= never[given] + LEAST_DIFFERENCE),
            (mostly_missing[given] | leans) & ~mostly_missing[suggested],
        )
        return _clear(self._logs[suggested, place] - self._logs[given, place], is_evidence)

    def in_words(self, value: float, given: int, suggested: int) -> tuple[str, str]:
        """What rows of the two classes usually have where this row has this value."""
        is_missing = bool(np.isnan(value))
        return self._of_class(given, is_missing), self._of_class(suggested, is_missing)

    def _of_class(self, k: int, is_missing: bool) -> str:
        share = self._shares[k, -1]
        if share > 0.5:
            return f"missing ({percent(share)})"
        low, high = self._write(*self._middle[k])
        middle = low if low == high else f"{low} to {high}"
        return f"{middle}, missing in {percent(share)}" if is_missing else middle


class UsualWords:
    """Categories, and numbers of few values: how frequent each is in each class."""

    def __init__(self, sample: Floats, label: Integers, n_classes: int, own: ColumnEncoder) -> None:
        values, counts = np.unique(sample, return_counts=True)
        # NaN comes last; other values share the last place, and are no evidence.
        self._values = values[np.argsort(-counts, kind="stable")[:MOST_WORDS]]
        self._names = [value_in_words(own, value) for value in self._values]
        self._logs, self._shares = _frequencies(
            self._place(sample), label, n_classes, len(self._names) + 1
        )
        self._usual = self._shares[:, :-1].argmax(axis=1)

    def _place(self, values: Floats) -> Integers:
        order = np.argsort(self._values)
        found = np.searchsorted(self._values[order], values)
        place = order[np.minimum(found, len(order) - 1)]
        same = (self._values[place] == values) | (np.isnan(self._values[place]) & np.isnan(values))
        return np.where(same, place, len(self._values))

    def evidence(self, values: Floats, given: Integers, suggested: Integers) -> Floats:
        """Evidence of each value for the suggested class against the given one, in nats, or 0."""
        place = self._place(values)
        more = self._shares[suggested, place] - self._shares[given, place]
        is_other = (place < len(self._names)) & (place != self._usual[given])
        is_evidence = is_other & (more >= LEAST_DIFFERENCE)
        return _clear(self._logs[suggested, place] - self._logs[given, place], is_evidence)

    def in_words(self, value: float, given: int, suggested: int) -> tuple[str, str]:
        """What rows of the two classes usually have where this row has this value."""
        place = int(self._place(np.array([value]))[0])
        usual = int(self._usual[suggested])
        of_suggested = self._counted(suggested, usual)
        if place != usual:
            of_suggested += f" or {self._counted(suggested, place, least=0)}"
        return self._counted(given, int(self._usual[given])), of_suggested

    def _counted(self, k: int, place: int, least: float = USUAL_SHARE) -> str:
        share, word = float(self._shares[k, place]), self._names[place]
        cut = word if len(word) <= LONGEST_WORD else f"{word[: LONGEST_WORD - 1]}…"
        return f"{cut} ({percent(share)})" if share >= least else "various values"


Usual = UsualNumbers | UsualWords


def value_in_words(own: ColumnEncoder, value: float) -> str:
    """A value of :attr:`Features.values` as people write it."""
    if np.isnan(value):
        return "missing"
    if own.levels is not None:
        words = own.levels.words
        return words[int(value)] if value < len(words) else "(another value)"
    if own.kind == DATE:
        return str(np.datetime64(int(value // DAY), "D"))
    return str(bool(value)) if own.is_truth else f"{value:.6g}"


def _clear(ratio: Floats, is_evidence: NDArray[np.bool_]) -> Floats:
    return np.where(is_evidence & (ratio >= np.log(LEAST_RATIO)), ratio, 0.0)


def _frequencies(
    place: Integers, label: Integers, n_classes: int, n_places: int
) -> tuple[Floats, Floats]:
    """Logarithms of how likely each place is in each class, and the shares as they are counted.

    Both are NaN in classes of too few rows.
    """
    counts = np.zeros((n_classes, n_places))
    np.add.at(counts, (label, place), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    everywhere = (counts.sum(axis=0) + 1) / (counts.sum() + n_places)
    logs = np.log((counts + PRIOR_ROWS * everywhere) / (total + PRIOR_ROWS))
    shares = counts / np.maximum(total, 1.0)
    few = total[:, 0] < FEWEST_ROWS
    logs[few], shares[few] = np.nan, np.nan
    return logs, shares


def range_edges(numbers: Floats, n_ranges: int) -> Floats:
    """Where ranges of about as many numbers each begin; a frequent number is a range of its own."""
    shares = np.arange(1, n_ranges) / n_ranges
    edges, times = np.unique(_quantiles(numbers, shares), return_counts=True)
    return np.unique(np.append(edges, np.nextafter(edges[times > 1], np.inf)))


def _quantiles(numbers: Floats, shares: Floats) -> Floats:
    """Quantiles that are themselves among the numbers; NaN without any."""
    if not len(numbers):
        return np.full(len(shares), np.nan)
    return np.asarray(np.quantile(numbers, shares, method="inverted_cdf"), dtype=np.float64)
