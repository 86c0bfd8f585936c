"""Tables 2–5, measured beside published."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import mannwhitneyu

from benchmarks.paper.datasets import BENCHMARKS
from benchmarks.paper.methods import METHODS
from benchmarks.paper.protocol import SETTINGS
from benchmarks.paper.run import Job, methods_of
from benchmarks.store import Record
from rboost._typing import Floats

SIGNIFICANCE = 0.05
# With fewer repeats the rank-sum test has nothing to say.
MIN_REPEATS = 4
ALL = "All"
Measured = Mapping[Job, Record]


@dataclass(frozen=True)
class Cell:
    """Mean and standard deviation of the test error in percent, and what the paper has there.

    ``best`` marks errors that the Wilcoxon rank-sum test at 5 % does not find larger than the
    smallest of the paper's eight columns (in the row All: over all sets and repeats together); the
    paper does not say what its own bold numbers were compared with.
    """

    mean: float
    std: float
    best: bool
    published: float | None
    published_std: float | None
    published_bold: bool = False


@dataclass(frozen=True)
class ErrorTable:
    """One of Tables 2–5; ``cells[dataset][method]``, with the row All last."""

    setting: str
    methods: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Cell]]


@lru_cache(maxsize=1)
def published() -> dict[tuple[int, str, str], tuple[float, float, bool]]:
    """The paper's Tables 2–5: (table, dataset, method) → error, standard deviation, bold."""
    text = files("benchmarks.paper").joinpath("published.csv").read_text(encoding="utf-8")
    return {
        (int(row["table"]), row["dataset"], f"{row['booster']} {row['base']}"): (
            float(row["error"]),
            float(row["std"]),
            row["bold"] == "1",
        )
        for row in csv.DictReader(text.splitlines())
    }


def errors(measured: Measured, setting: str, dataset: str, method: str) -> Floats:
    """The test errors of all repeats, in the order of the repeats."""
    found = {
        job.repeat: result["error"]
        for job, result in measured.items()
        if (job.part, job.setting, job.dataset, job.method) == ("tables", setting, dataset, method)
    }
    return np.array([found[repeat] for repeat in sorted(found)])


def deviation(sample: ArrayLike) -> float:
    """Standard deviation of the repeats; 0 for a single one."""
    values = np.asarray(sample, dtype=np.float64)
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def significantly_lower(first: Floats, second: Floats) -> bool:
    """Whether the rank-sum test at 5 % finds the first errors smaller than the second."""
    if min(len(first), len(second)) < MIN_REPEATS:
        return False
    # The Wilcoxon rank-sum test in the form of Mann and Whitney, which knows about ties.
    return bool(mannwhitneyu(first, second, alternative="less").pvalue < SIGNIFICANCE / 2)


def complete_samples(
    measured: Measured, setting: str, methods: Sequence[str]
) -> dict[str, dict[str, Floats]]:
    """Errors by set and method; a set whose repeats are not all done would weigh differently."""
    found = {
        dataset: {method: errors(measured, setting, dataset, method) for method in methods}
        for dataset in BENCHMARKS
    }
    most = max(len(sample) for row in found.values() for sample in row.values())
    return {
        dataset: row
        for dataset, row in found.items()
        if most and all(len(sample) == most for sample in row.values())
    }


def error_table(measured: Measured, setting: str) -> ErrorTable | None:
    """Build a table from what was measured, or None when nothing was."""
    methods = methods_of(setting)
    samples = complete_samples(measured, setting, methods)
    if not samples:
        return None
    most = len(next(iter(samples.values()))[methods[0]])
    cells = {dataset: _row(setting, [dataset], row, most) for dataset, row in samples.items()}
    pooled = {
        method: np.concatenate([row[method] for row in samples.values()]) for method in methods
    }
    spread = {
        method: float(np.mean([row[method].std for row in cells.values()])) for method in methods
    }
    all_sets = [ALL] if len(samples) == len(BENCHMARKS) else list(samples)
    cells[ALL] = _row(setting, all_sets, pooled, most, spread)
    return ErrorTable(setting, tuple(methods), cells)


def _row(
    setting: str,
    datasets: Sequence[str],
    samples: Mapping[str, Floats],
    n_repeats: int,
    spread: Mapping[str, float] | None = None,
) -> dict[str, Cell]:
    """A row about one set or, with ``spread``, the row All of several.

    The published row All has the mean of the errors and of the standard deviations; so has ours,
    and where sets are missing the published numbers are those of the sets that are there.
    """
    table = SETTINGS[setting].table or 0
    compared = [sample for method, sample in samples.items() if not METHODS[method].ours]
    smallest = min(compared, key=lambda sample: float(sample.mean()))
    enough = n_repeats >= MIN_REPEATS
    row = {}
    for method, sample in samples.items():
        entries = [published().get((table, dataset, method)) for dataset in datasets]
        known = [entry for entry in entries if entry is not None]
        row[method] = Cell(
            mean=float(sample.mean()),
            std=deviation(sample) if spread is None else spread[method],
            best=enough and not significantly_lower(smallest, sample),
            published=float(np.mean([entry[0] for entry in known])) if known else None,
            published_std=float(np.mean([entry[1] for entry in known])) if known else None,
            published_bold=len(known) == 1 and known[0][2],
        )
    return row
