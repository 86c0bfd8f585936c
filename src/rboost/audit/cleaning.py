"""The labels of an audit, mended: what people said first, then what is probable enough.

Three ways: ``relabel`` writes the suggested label where it is probable enough, ``drop`` leaves out
rows whose labels are so likely wrong, ``weigh`` keeps every row and label with the probability that
the label is right as its weight. What a person said replaces the label in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Number
from rboost.audit.inference import Inference
from rboost.audit.insight.doubts import issue_probability
from rboost.audit.labels import NO_LABEL, Labels

# From which probability on a label is changed, or a row left out, unless it is said otherwise.
THRESHOLD = 0.9
# Where a label comes from.
GIVEN, ANSWER, SUGGESTED = "given", "answer", "suggested"


@dataclass(frozen=True, eq=False)
class CleanLabels:
    """For each row whether it is kept, its class or −1, where that comes from, and its weight."""

    is_kept: NDArray[np.bool_]
    label: Integers
    source: NDArray[np.str_]
    weight: Floats


def clean_labels(
    labels: Labels, found: Inference, how: str = "relabel", threshold: float = THRESHOLD
) -> CleanLabels:
    """Mend the labels; ``threshold`` is the probability from which on something is changed."""
    if how not in WAYS:
        raise ValueError(f"how must be one of {', '.join(WAYS)}, not {how!r}.")
    between = Number(0.5, closed=True, high=1)
    if not between.accepts(threshold):
        raise ValueError(f"threshold must be {between}, not {threshold!r}.")
    answered = np.where(labels.is_checked, ANSWER, GIVEN)
    as_it_is = CleanLabels(
        np.ones(len(labels), dtype=bool), labels.current, answered, np.ones(len(labels))
    )
    return WAYS[how](as_it_is, labels, found, threshold)


def _relabel(start: CleanLabels, labels: Labels, found: Inference, threshold: float) -> CleanLabels:
    likeliest, chance = found.posterior.argmax(axis=1), found.posterior.max(axis=1)
    is_changed = ~labels.is_checked & (chance >= threshold) & (likeliest != labels.current)
    return CleanLabels(
        start.is_kept,
        np.where(is_changed, likeliest, start.label),
        np.where(is_changed, SUGGESTED, start.source),
        start.weight,
    )


def _drop(start: CleanLabels, labels: Labels, found: Inference, threshold: float) -> CleanLabels:
    wrong = np.nan_to_num(issue_probability(found.posterior, labels), nan=0.0)
    return CleanLabels(wrong < threshold, start.label, start.source, start.weight)


def _weigh(start: CleanLabels, labels: Labels, found: Inference, threshold: float) -> CleanLabels:
    wrong = issue_probability(found.posterior, labels)
    weight = np.where(start.label == NO_LABEL, 0.0, 1 - np.nan_to_num(wrong, nan=0.0))
    return CleanLabels(start.is_kept, start.label, start.source, weight)


Way = Callable[[CleanLabels, Labels, Inference, float], CleanLabels]
WAYS: dict[str, Way] = {"relabel": _relabel, "drop": _drop, "weigh": _weigh}


def cleaned_frame(
    table: Any, label: str, labels: Labels, found: Inference, how: str, threshold: float
) -> Any:
    """A table with its labels mended, and columns that say what they were and where they come from.

    ``labels`` and ``found`` are of its rows, in order; trusted rows behind them are left out.
    """
    mended = clean_labels(labels, found, how, threshold)
    n_rows = len(table)
    # A label is written as it was unless it has changed, also one too rare to be a class.
    is_new = (mended.label != labels.given)[:n_rows]
    names = np.array(labels.names(mended.label[:n_rows]), dtype=object)
    written = labels.written[:n_rows]
    added = {
        "given_label": written,
        "label_source": mended.source[:n_rows],
        "probability_wrong": issue_probability(found.posterior, labels)[:n_rows].round(4),
    }
    if how == "weigh":
        added["weight"] = mended.weight[:n_rows].round(4)
    columns = {label: np.where(is_new, names, written)}
    for name, values in added.items():
        while name in table.columns or name in columns:
            name += "_"
        columns[name] = values
    frame = table.assign(**columns)
    return frame[mended.is_kept[:n_rows]].reset_index(drop=True)
