"""What an audit of several labels a row says of annotators: quality, copies, whom to ask next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost._validation import Number
from rboost.audit.labels import NO_LABEL
from rboost.labels import ANNOTATOR
from rboost.noise.annotators import AnnotatorNoise, Statements, annotator_table
from rboost.noise.crowd import accuracy_by_labels, copying_pairs, next_questions
from rboost.packages import package
from rboost.table.delimited import reprs

# Questions that terminal and report show.
MOST_ASKED = 5
COUNT = Number(1, integer=True, closed=True)


@dataclass(frozen=True)
class AnnotatorSummary:
    """One of several annotators: the share of right labels in the long run, with its interval."""

    name: str
    n_labels: int
    accuracy: float
    low: float
    high: float
    kind: str


@dataclass(frozen=True)
class CopySummary:
    """Two annotators who agree on ``n_same`` of their ``n_rows`` common rows, too often for chance.

    ``copied_share`` of these labels are likely to be copied. ``p_value`` allows for all pairs.
    """

    first: str
    second: str
    n_rows: int
    n_same: int
    expected_same: float
    copied_share: float
    p_value: float


@dataclass(frozen=True)
class Question:
    """Ask this annotator about this row, which is now most probably of the class ``consensus``.

    ``gain`` is the expected decrease of the entropy of its class, in bits.
    """

    row: str
    annotator: str
    consensus: str
    probability: float
    gain: float


@dataclass(frozen=True)
class LabelsSummary:
    """How often the consensus of as many labels a row would be right."""

    n_labels: int
    accuracy: float


def summarize_annotators(audit: Any) -> dict[str, Any]:
    """Fields of the summary about annotators; none where rows have one label each."""
    noise, labels = audit.inference.noise, audit.labels
    if not isinstance(noise, AnnotatorNoise):
        return {}
    said = Statements.of(labels)
    names = _names(audit)
    found = [AnnotatorSummary(**record) for record in annotator_table(labels, noise)]
    copies = [
        CopySummary(names[pair.first], names[pair.second], *pair[2:])
        for pair in copying_pairs(noise, audit.scores, said)
    ]
    shares = accuracy_by_labels(noise, audit.scores, said)
    asked = ask_next(audit, MOST_ASKED).itertuples(index=False, name=None)
    return {
        "annotators": tuple(sorted(found, key=lambda one: one.accuracy)),
        "copies": tuple(copies),
        "questions": tuple(Question(str(row), *others) for row, *others in asked),
        "labels_a_row": tuple(
            LabelsSummary(m, float(share)) for m, share in enumerate(shares, start=1)
        ),
        "mean_labels": len(said.row) / len(np.unique(said.row)),
    }


def ask_next(
    audit: Any, n: int, annotators: Iterable[str] | None = None, most_each: int | None = None
) -> Any:
    """The frame of :meth:`rboost.audit.LabelAudit.ask_next`."""
    noise, labels, names = audit.inference.noise, audit.labels, _names(audit)
    if not isinstance(noise, AnnotatorNoise):
        raise ValueError("Each row has one label; ask_next is for labels of several annotators.")
    for title, value in (("n", n), ("most_each", n if most_each is None else most_each)):
        if not COUNT.accepts(value):
            raise ValueError(f"{title} must be {COUNT}, not {value!r}.")
    asked = names if annotators is None else [str(name) for name in annotators]
    unknown = [name for name in asked if name not in names]
    if unknown or not asked:
        raise ValueError(f"annotators must name some of {reprs(names, 5)}, not {reprs(unknown)}.")
    is_open = (labels.checked == NO_LABEL) & (np.arange(len(audit)) < len(audit) - audit.n_extra)
    posterior = audit.inference.posterior
    found = next_questions(
        noise, posterior, Statements.of(labels), int(n),
        np.unique([names.index(name) for name in asked]), np.flatnonzero(is_open),
        int(n if most_each is None else most_each),
    )  # fmt: skip
    best = posterior[found.row].argmax(axis=1)
    return package("pandas").DataFrame(
        {
            audit.id_name: audit.ids[found.row],
            "annotator": [names[a] for a in found.annotator],
            "consensus": labels.names(best),
            "probability": posterior[found.row, best].round(4),
            "gain": found.gain.round(4),
        }
    )


def _names(audit: Any) -> list[str]:
    return [own.name for own in audit.labels.sources if own.kind == ANNOTATOR]
