"""Means over tables, and what follows from them: gaps closed, answers needed.

A curve has one value for each stage of a review.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from benchmarks.real_noise.jobs import Results
from benchmarks.real_noise.review import STAGES
from rboost._typing import Floats


def values(results: Results, collection: str, name: str, measure: str) -> Floats:
    """A measure of one method on every cut of every table."""
    found = [
        record[measure]
        for job, record in results.items()
        if (job.collection, job.name) == (collection, name)
    ]
    return np.array(found, dtype=float)


def mean(results: Results, collection: str, name: str, measure: str) -> float:
    """The mean over tables; NaN where nothing was measured."""
    found = values(results, collection, name, measure)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")


def difference(
    results: Results, collection: str, names: tuple[str, str], measures: tuple[str, str]
) -> tuple[float, float]:
    """Mean of first − second over the same cuts, and its standard error."""
    first, second = (
        values(results, collection, name, measure)
        for name, measure in zip(names, measures, strict=True)
    )
    gaps = first - second
    gaps = gaps[np.isfinite(gaps)]
    if len(gaps) < 2:
        return float(gaps.mean()) if len(gaps) else float("nan"), float("nan")
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def curve(results: Results, collection: str, order: str, measure: str) -> Floats:
    """The mean over tables at every stage of a review; NaN where nothing was measured."""
    found = [
        [stage.get(measure, np.nan) for stage in record["stages"]]
        for job, record in results.items()
        if (job.collection, job.name) == (collection, order)
    ]
    stages = np.array(found, dtype=float)
    measured = np.isfinite(stages).any(axis=0) if found else np.zeros(len(STAGES), dtype=bool)
    means = np.full(len(STAGES), np.nan)
    means[measured] = np.nanmean(stages[:, measured], axis=0) if measured.any() else []
    return means


def gap_closed(value: float, without: float, with_all: float) -> float:
    """The share of the way from what is reached without answers to what all answers would buy."""
    return (without - value) / (without - with_all)


def answers_needed(
    reached: Sequence[float] | Floats,
    target: float,
    *,
    less_is_better: bool,
    stages: Sequence[int] = STAGES,
) -> float:
    """After how many answers a curve is first as good as the target, interpolated; ∞ if never.

    Examples
    --------
    >>> from benchmarks.real_noise.summary import answers_needed
    >>> answers_needed([0.4, 0.3, 0.2], 0.25, less_is_better=True, stages=(0, 50, 100))
    75.0
    """
    sign = 1 if less_is_better else -1
    losses, aim = [sign * float(value) for value in reached], sign * target
    if losses[0] <= aim:
        return 0.0
    for (start, end), (before, after) in zip(pairwise(stages), pairwise(losses), strict=True):
        if after <= aim:
            return start + (end - start) * (before - aim) / (before - after)
    return float("inf")
