"""Labels corrected: by answers of people first, then where the posterior is high enough.

Three ways: ``relabel`` writes the suggested label where it is probable enough, ``drop`` leaves out
rows whose labels are so likely wrong, ``weigh`` keeps every row and label with the probability that
the label is right as its weight. An answer of a person replaces the label in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost._validation import Number
from rboost.audit.fit import issue_probability
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.noise.inference import wrong_probability

# Default of the probability from which on a label is changed, or a row left out.
THRESHOLD = 0.9
# Where a label comes from.
GIVEN, ANSWER, SUGGESTED, MISSING = "given", "answer", "suggested", "missing"
WAYS = ("relabel", "drop", "weigh")


@dataclass(frozen=True, eq=False)
class CleanLabels:
    """For each row whether it is kept, its class or −1, where that comes from, perhaps a weight."""

    is_kept: NDArray[np.bool_]
    label: Integers
    source: NDArray[np.str_]
    weight: Floats | None = None


def clean_labels(
    labels: TableLabels, posterior: Floats, how: str = "relabel", threshold: float = THRESHOLD
) -> CleanLabels:
    """Mend the labels; ``threshold`` is the probability from which on something is changed.

    ``posterior[i, j]`` = p(true class j | row i, its label).

    Weights need none. An answer "unsure" says nothing: such rows are as if nobody had looked.
    """
    if how not in WAYS:
        raise ValueError(f"how must be one of {', '.join(WAYS)}, not {how!r}.")
    between = Number(0.5, closed=True, high=1)
    if not between.accepts(threshold):
        raise ValueError(f"threshold must be {between}, not {threshold!r}.")
    is_answered, label = labels.said != "", labels.current
    source = np.where(is_answered, ANSWER, np.where(labels.written == "", MISSING, GIVEN))
    is_kept, weight = np.ones(len(labels), dtype=bool), None
    wrong = np.nan_to_num(issue_probability(posterior, labels), nan=0.0)
    if how == "relabel":
        likeliest = posterior.argmax(axis=1)
        is_changed = ~is_answered & (posterior.max(axis=1) >= threshold) & (likeliest != label)
        label = np.where(is_changed, likeliest, label)
        source = np.where(is_changed, SUGGESTED, source)
    elif how == "drop":
        is_kept = wrong < threshold
    else:
        weight = np.where(label == NO_LABEL, 0.0, 1 - wrong)
        weight[is_answered] = 1.0  # also of a class that is too rare to be learnt
    return CleanLabels(is_kept, label, source, weight)


def labelled_table(table: Any, labels: TableLabels, ids: NDArray[Any], id_name: str) -> Any:
    """A table with the names of its rows and its given labels as columns.

    Labels and names may have those of trusted rows behind them, which are left out.
    """
    if labels.name in table.columns:
        raise ValueError(
            f"X has a column called {labels.name!r} too; audit with another label_name."
        )
    classes = np.array([*labels.classes.tolist(), None], dtype=object)[labels.given]
    rare = (labels.given == NO_LABEL) & (labels.written != "")
    label = np.where(rare, labels.written, classes)[: len(table)]
    table = table.assign(**{labels.name: label})
    if id_name not in table.columns:
        table.insert(0, id_name, ids[: len(table)])
    return table


def cleaned_frame(
    table: Any,
    labels: TableLabels,
    posterior: Floats,
    mended: CleanLabels,
    spelled: list[Any] | None = None,
) -> Any:
    """A table with its column of labels mended, and columns that say what was done.

    All but the table may have trusted rows behind its own, which are left out. Classes are written
    as ``spelled`` says, otherwise as the table writes them most.
    """
    rows = slice(len(table))
    before = table[labels.name].to_numpy(dtype=object)
    names = _spelled(before, labels) if spelled is None else spelled
    written = np.array([*names, None], dtype=object)
    # Labels that are no class stay as they are written, unless a person answered.
    rare = np.where(labels.said[rows] != "", labels.said[rows], before)
    label = np.where(mended.label[rows] == NO_LABEL, rare, written[mended.label[rows]])
    added = {
        "given_label": labels.written[rows],
        "label_source": mended.source[rows],
        "probability_wrong": wrong_probability(posterior[rows], labels.given[rows]).round(4),
    }
    if mended.weight is not None:
        added["weight"] = mended.weight[rows].round(4)
    frame = table.assign(**{labels.name: label})
    for name, values in added.items():
        frame[name if name not in frame.columns else f"{name} by rboost"] = values
    return frame[mended.is_kept[rows]]


def _spelled(before: NDArray[Any], labels: TableLabels) -> list[Any]:
    """The classes as the first of the rows write them that write them like most."""
    rows, spelled = slice(len(before)), []
    for k, name in enumerate(labels.class_names):
        alike = np.flatnonzero((labels.given[rows] == k) & (labels.written[rows] == name))
        value = before[alike[0]] if len(alike) else name
        spelled.append(value.strip() if isinstance(value, str) else value)
    return spelled
