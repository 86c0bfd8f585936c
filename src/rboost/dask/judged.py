"""What an audit says of the rows of a block: kept where they lie, and summed up for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from rboost._typing import Floats, Integers
from rboost.audit.inference import issue_probability, suggested_classes
from rboost.audit.insight.summary import (
    OVERLAP,
    PROBABLY,
    WIDE,
    AuditSummary,
    ClassSummary,
    FlipRate,
    expected_flips,
    expected_rates,
)
from rboost.dask.blocks import Block
from rboost.dask.checks import Summary
from rboost.dask.fitting import TableFit
from rboost.dask.outputs import unchecked_labels
from rboost.io.packages import package

sizes = package("dask.sizeof", "dask")
# What is told of each row: its number, its label, the likeliest other class, and how likely the
# label is to be wrong.
TOLD = ("row", "label", "suggested", "probability")


@dataclass(frozen=True, eq=False)
class Judged:
    """How likely each label of a block is to be wrong, NaN where there is none, and sums of that.

    ``suggested`` are the positions of the likeliest other classes. ``flips[j, k]`` is how many rows
    of class j are expected to carry the label k, ``probably_wrong[k]`` how many labels k are more
    likely wrong than right.
    """

    issue: Floats
    suggested: NDArray[np.int16]
    flips: Floats
    probably_wrong: Integers


def _size(judged: Judged) -> int:
    return judged.issue.nbytes + judged.suggested.nbytes


sizes.sizeof.register(Judged, _size)


def judge(block: Block, posterior: Floats, summary: Summary) -> Judged:
    """Judge the labels of a block; ``posterior[i, j]`` = p(true class j | row i, its label)."""
    labels = unchecked_labels(block.observed, summary)
    issue = issue_probability(posterior, labels)
    suspicious = labels.given[issue >= PROBABLY]  # NaN is not
    return Judged(
        issue,
        suggested_classes(posterior, posterior, labels).astype(np.int16),
        expected_flips(posterior, labels),
        np.bincount(suspicious, minlength=len(summary.classes)),
    )


def issues_in(judged: Judged) -> Floats:
    """How likely each label is to be wrong."""
    return judged.issue


def sums_in(judged: Judged) -> tuple[Floats, Integers]:
    """What is added up over all blocks."""
    return judged.flips, judged.probably_wrong


def issue_frame(block: Block, judged: Judged, summary: Summary) -> Any:
    """One row a row of a block: its number, its label, another class, and whether that is right.

    Rows are counted from 1, as elsewhere. The probability is that of a wrong label, and missing
    where there is no label.
    """
    first = block.first_row + 1
    names = np.array([*summary.classes.tolist(), None], dtype=object)
    numbers = np.arange(first, first + len(block.observed))
    told = numbers, names[block.observed], names[judged.suggested], judged.issue
    return pandas.DataFrame(dict(zip(TOLD, told, strict=True)))


def summed_up(
    summary: Summary,
    fit: TableFit,
    sums: Sequence[tuple[Floats, Integers]],
    share: tuple[float, float],
    suspected: Floats,
    label: str,
) -> AuditSummary:
    """The numbers of an audit; ``suspected`` are the probabilities of the rows that are listed.

    ``share`` is an interval of the share of wrong labels.
    """
    flips, probably = (np.sum(one, axis=0) for one in zip(*sums, strict=True))
    total, found = float(flips.sum()), float(suspected.sum())
    wrong = total - float(np.trace(flips))
    names = [str(name) for name in summary.classes]
    rates, interval = expected_rates(fit.noise)
    noise = tuple(
        FlipRate(names[j], names[k], *map(float, (rates[j, k], *interval[:, j, k], flips[j, k])))
        for j, k in np.ndindex(flips.shape)
    )
    n_labelled, (low, high) = round(total), share
    return AuditSummary(
        label,
        n_rows=summary.n_rows,
        n_missing=summary.n_rows - n_labelled,
        n_checked=0,
        n_corrected=0,
        n_unchecked=n_labelled,
        classes=_class_summaries(names, flips, probably),
        noise=noise,
        expected_wrong=wrong,
        expected_share=wrong / total,
        share_low=low,
        share_high=high,
        probably_wrong=int(probably.sum()),
        n_suspects=len(suspected),
        expected_precision=found / max(len(suspected), 1),
        expected_recall=found / max(wrong, found, 1e-9),
        expected_found=found,
        budgets=(),
        is_uncertain=_is_uncertain(fit, low, fit.noise.interval()),
    )


def _class_summaries(
    names: Sequence[str], flips: Floats, probably_wrong: Integers
) -> tuple[ClassSummary, ...]:
    given, true, right = flips.sum(axis=0), flips.sum(axis=1), np.diag(flips)
    return tuple(
        ClassSummary(
            name,
            n_rows=round(given[k]),
            n_unchecked=round(given[k]),
            expected_wrong=float(given[k] - right[k]),
            probably_wrong=int(probably_wrong[k]),
            expected_rows=float(true[k]),
            expected_lost=float(true[k] - right[k]),
        )
        for k, name in enumerate(names)
    )


def _is_uncertain(fit: TableFit, lowest_share: float, interval: Floats) -> bool:
    """Whether all labels might be right although classes overlap, or a rate be anything."""
    rows = fit.stand_ins
    surest = fit.noise.probability(rows.scores).max(axis=1)
    overlap = 1 - np.average(surest, weights=rows.weight)
    might_be_right = lowest_share == 0 and overlap > OVERLAP
    return bool(might_be_right or (interval[1] - interval[0] > WIDE).any())
