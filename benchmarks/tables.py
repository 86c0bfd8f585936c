"""Tables of the leaderboards; nothing is computed here but means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.literature import LITERATURE
from benchmarks.markdown import number, table
from benchmarks.measure import ESTIMATORS, Job
from benchmarks.methods import METHODS, OURS
from benchmarks.store import Record

Results = dict[Job, Record]
Read = Callable[[Record], float | None]
# What stands in a row or column: whose records, and what is read in them.
Reader = tuple[str, Read]


def mean(results: Results, read: Read, keep: Callable[[Job], bool]) -> float:
    """Mean over jobs of what ``read`` finds in their records; NaN where it finds nothing."""
    values = [read(record) for job, record in results.items() if keep(job)]
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if found else float("nan")


def by_setting(
    results: Results, reader: Reader, settings: Iterable[str], dataset: str | None = None
) -> list[float]:
    """Means of one method, one for each setting; sets count alike."""
    method, read = reader
    return [
        mean(
            results,
            read,
            lambda job, setting=setting: (  # type: ignore[misc]
                job.method == method and job.setting == setting and dataset in (None, job.dataset)
            ),
        )
        for setting in settings
    ]


def entry(method: str, name: str) -> Reader:
    """One number of a method's records."""
    return method, lambda record: record.get(name)


def compared(results: Results, kind: str, name: str) -> dict[str, Reader]:
    """One number of all methods and of all that is compared on one forest."""
    readers = {method: entry(method, name) for method in METHODS}
    shared = (record for job, record in results.items() if job.method == ESTIMATORS)
    for one in dict.fromkeys(one for record in shared for one in record[kind]):
        readers[f"{one} (forest)"] = of_forest(kind, one, name)
    return readers


def of_forest(kind: str, one: str, name: str) -> Reader:
    """One number of an estimator of noise, or of a ranking, by the shared forest."""
    return ESTIMATORS, lambda record: record[kind].get(one, {}).get(name)


def _rows(
    results: Results, readers: dict[str, Reader], settings: Sequence[str]
) -> list[tuple[str, list[float]]]:
    """Means by setting of all that have any."""
    rows = [(label, by_setting(results, reader, settings)) for label, reader in readers.items()]
    return [(label, values) for label, values in rows if not np.isnan(values).all()]


def ranked(rows: list[Any]) -> list[Any]:
    """Rows by their first entry; those without a number come last."""
    return sorted(rows, key=lambda row: (np.isnan(row[0]), row[0]))


def error_table(
    results: Results,
    name: str,
    methods: Iterable[str],
    settings: Sequence[str],
    averaged: Sequence[str],
) -> str:
    """Mean errors of methods; sorted by the mean of the averaged settings, which come first."""
    n_first = len(averaged)
    found = _rows(results, {method: entry(method, name) for method in methods}, settings)
    rows = [(float(np.mean(errors[:n_first])), method, errors) for method, errors in found]
    head = ["", *averaged, "mean", *settings[n_first:], "seconds"]
    return table(
        head,
        (
            [
                _emphasised(method),
                *map(number, errors[:n_first]),
                number(average),
                *map(number, errors[n_first:]),
                number(_seconds(results, method, settings), 2),
            ]
            for average, method, errors in ranked(rows)
        ),
    )


def _seconds(results: Results, method: str, settings: Sequence[str]) -> float:
    return mean(
        results,
        lambda record: record.get("seconds"),
        lambda job: job.method == method and job.setting in settings,
    )


def _emphasised(method: str) -> str:
    """Our methods in bold; those of other papers that the package implements in italics."""
    marks = "**" if method in OURS else "*" if method in LITERATURE else ""
    return f"{marks}{method}{marks}"


def dataset_table(results: Results, method: str, settings: Sequence[str]) -> str:
    """Errors of one method, set by set."""
    datasets = dict.fromkeys(job.dataset for job in results if job.setting in settings)
    rows = [
        [name, *map(number, by_setting(results, entry(method, "error"), settings, name))]
        for name in datasets
    ]
    return table(["", *settings], rows)


def noise_table(results: Results, settings: Sequence[str]) -> str:
    """Mean absolute error of the flip rates of every estimator, and coverage of intervals."""
    covered = compared(results, "noise", "covered")
    rows = []
    for label, errors in _rows(results, compared(results, "noise", "noise error"), settings):
        method, read = covered[label]
        coverage = mean(
            results,
            read,
            lambda job, method=method: job.method == method and job.setting in settings,  # type: ignore[misc]
        )
        share = "–" if np.isnan(coverage) else f"{coverage:.0%}"
        rows.append((float(np.nanmean(errors)), label, errors, share))
    return table(
        ["", *settings, "mean", "90 % intervals cover"],
        (
            [label, *(number(e, 3) for e in errors), number(average, 3), share]
            for average, label, errors, share in sorted(rows)
        ),
    )


def ranking_table(results: Results, measure: str, settings: Sequence[str]) -> str:
    """How well wrong labels are ranked before right ones, where there are any."""
    noisy = [setting for setting in settings if setting != "clean"]
    found = _rows(results, compared(results, "rankings", measure), noisy)
    rows = [(float(np.nanmean(values)), label, values) for label, values in found]
    return table(
        ["", *noisy, "mean"],
        (
            [label, *(number(v, 3) for v in values), number(average, 3)]
            for average, label, values in sorted(rows, reverse=True)
        ),
    )


def calibration_table(results: Results, settings: Sequence[str]) -> str:
    """Expected calibration error of the probabilities against true labels."""
    found = _rows(results, {m: entry(m, "calibration") for m in METHODS}, settings)
    rows = [(float(np.mean(values)), method, values) for method, values in found]
    return table(
        ["", *settings],
        ([method, *(number(v, 3) for v in values)] for _, method, values in ranked(rows)),
    )
