"""The leaderboard as Markdown and as a figure; nothing is computed here but means."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.literature import LITERATURE
from benchmarks.markdown import number, table
from benchmarks.measure import ESTIMATORS, Job
from benchmarks.methods import INFORMED, METHODS, OURS
from benchmarks.suites import FIVE, SETTINGS
from rboost.io.files import write_atomically
from rboost.paper.store import Record

Results = dict[Job, Record]
Read = Callable[[Job, Record], float | None]


def mean(results: Results, read: Read, keep: Callable[[Job], bool]) -> float:
    """Mean over jobs of what ``read`` finds in their records; NaN where it finds nothing."""
    values = [read(job, record) for job, record in results.items() if keep(job)]
    found = [value for value in values if value is not None]
    return float(np.mean(found)) if found else float("nan")


def by_setting(
    results: Results,
    method: str,
    read: Read,
    settings: Sequence[str] = tuple(SETTINGS),
    dataset: str | None = None,
) -> list[float]:
    """Means of one method, one for each setting; sets count alike."""
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


def reader(name: str) -> Read:
    """Read one number of a record."""
    return lambda job, record: record.get(name)


def error_table(results: Results, name: str, methods: Iterable[str]) -> str:
    """Mean errors of methods; sorted by the mean of five settings."""
    rows = []
    for method in methods:
        errors = by_setting(results, method, reader(name))
        if not np.isnan(errors).all():
            rows.append((float(np.mean(errors[: len(FIVE)])), method, errors))
    head = ["", *FIVE, "mean", *list(SETTINGS)[len(FIVE) :], "seconds"]
    return table(
        head,
        (
            [
                _emphasised(method),
                *map(number, errors[: len(FIVE)]),
                number(average),
                *map(number, errors[len(FIVE) :]),
                number(mean(results, reader("seconds"), lambda job, m=method: job.method == m), 2),  # type: ignore[misc]
            ]
            for average, method, errors in _ranked(rows)
        ),
    )


def _emphasised(method: str) -> str:
    """Our methods in bold; those of other papers that the package implements in italics."""
    marks = "**" if method in OURS else "*" if method in LITERATURE else ""
    return f"{marks}{method}{marks}"


def _ranked(rows: list[Any]) -> list[Any]:
    """Rows by their first entry; those without a number come last."""
    return sorted(rows, key=lambda row: (np.isnan(row[0]), row[0]))


def dataset_table(results: Results, method: str) -> str:
    """Errors of one method, set by set."""
    datasets = dict.fromkeys(job.dataset for job in results)
    rows = [
        [name, *map(number, by_setting(results, method, reader("error"), dataset=name))]
        for name in datasets
    ]
    return table(["", *SETTINGS], rows)


def _true_rates(job: Job) -> tuple[float, float]:
    return SETTINGS[job.setting]


def _rate_error(rates: Any, job: Job) -> float:
    return float(np.abs(np.subtract(rates, _true_rates(job))).mean())


def _covered(intervals: Any, job: Job) -> float:
    low, high = np.asarray(intervals)
    truth = np.array(_true_rates(job))
    return float(np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9)))


def _compared(results: Results, what: str) -> dict[str, None]:
    """Names of the estimators of noise, or of the rankings, that share one forest."""
    records = (record for job, record in results.items() if job.method == ESTIMATORS)
    return dict.fromkeys(name for record in records for name in record[what])


def noise_table(results: Results) -> str:
    """Mean absolute error of the flip rates of every estimator, and coverage of intervals."""
    readers: dict[str, tuple[str, Read]] = {}
    for method in METHODS:
        readers[method] = (
            method,
            lambda job, record: _rate_error(record["rates"], job) if "rates" in record else None,
        )
    for name in _compared(results, "rates"):
        readers[f"{name} (forest)"] = (
            ESTIMATORS,
            lambda job, record, name=name: _rate_error(record["rates"][name], job),  # type: ignore[misc]
        )
    rows = []
    for label, (method, read) in readers.items():
        errors = by_setting(results, method, read)
        if not np.isnan(errors).all():
            covers = label in OURS or label.startswith(("noise-aware", "noise-calibrated"))
            coverage = mean(
                results,
                lambda job, record: (
                    _covered(record["intervals"], job) if "intervals" in record else None
                ),
                lambda job, method=method: job.method == method,  # type: ignore[misc]
            )
            rows.append((float(np.nanmean(errors)), label, errors, coverage if covers else np.nan))
    return table(
        ["", *SETTINGS, "mean", "90 % intervals cover"],
        (
            [
                label,
                *(number(e, 3) for e in errors),
                number(average, 3),
                "–" if np.isnan(coverage) else f"{coverage:.0%}",
            ]
            for average, label, errors, coverage in sorted(rows, key=lambda row: row[0])
        ),
    )


def ranking_table(results: Results, measure: str) -> str:
    """How well wrong labels are ranked before right ones."""
    noisy = list(SETTINGS)[1:]
    readers: dict[str, tuple[str, Read]] = {m: (m, reader(measure)) for m in METHODS}
    for name in _compared(results, "rankings"):
        readers[f"{name} (forest)"] = (
            ESTIMATORS,
            lambda job, record, name=name: record["rankings"][name].get(measure),  # type: ignore[misc]
        )
    rows = []
    for label, (method, read) in readers.items():
        values = by_setting(results, method, read, noisy)
        if not np.isnan(values).all():
            rows.append((float(np.nanmean(values)), label, values))
    return table(
        ["", *noisy, "mean"],
        (
            [label, *(number(v, 3) for v in values), number(average, 3)]
            for average, label, values in sorted(rows, reverse=True)
        ),
    )


def calibration_table(results: Results) -> str:
    """Expected calibration error of the probabilities against true labels."""
    rows = []
    for method in METHODS:
        values = by_setting(results, method, reader("calibration"))
        if not np.isnan(values).all():
            rows.append((float(np.mean(values)), method, values))
    return table(
        ["", *SETTINGS],
        ([method, *(number(v, 3) for v in values)] for _, method, values in _ranked(rows)),
    )


def _error_if_told(results: Results, method: str, setting: str) -> float:
    """The error with the noise known; NaN for methods that have no such row."""
    if METHODS[method].oracle is None:
        return float("nan")
    return by_setting(results, method, reader("oracle"), [setting])[0]


def draw(results: Results) -> bytes:
    """Errors of every method, one panel for each setting."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D

    rows = {m: by_setting(results, m, reader("error")) for m in METHODS if m not in INFORMED}
    rows = {m: errors for m, errors in rows.items() if not np.isnan(errors).all()}
    order = sorted(rows, key=lambda m: -float(np.mean(rows[m][: len(FIVE)])))
    figure, axes = plt.subplots(
        1, len(SETTINGS), figsize=(12, 2 + 0.27 * len(order)), sharey=True, layout="constrained"
    )
    positions = np.arange(len(order))
    for column, (axis, setting) in enumerate(zip(axes, SETTINGS, strict=True)):
        for position, method in zip(positions, order, strict=True):
            ours = method in OURS
            axis.plot(
                rows[method][column], position, "o" if ours else "s",
                color="#c4570e" if ours else "#1f5a99", markersize=7 if ours else 5,
            )  # fmt: skip
        told = [_error_if_told(results, method, setting) for method in order]
        axis.plot(told, positions, "|", color="#777777", markersize=9)
        axis.set_ylim(-0.7, len(order) - 0.3)
        axis.set_title(setting, fontsize=10)
        axis.grid(axis="x", color="#dddddd")
        axis.set_xlabel("error %")
    axes[0].set_yticks(positions, order)
    handles = [
        Line2D([], [], marker=m, linestyle="", color=c)
        for m, c in (("o", "#c4570e"), ("s", "#1f5a99"), ("|", "#777777"))
    ]
    figure.legend(
        handles, ["ours", "others", "the same, told the noise"],
        loc="outside lower center", ncols=3, frameon=False,
    )  # fmt: skip
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    return buffer.getvalue()


def write_report(results: Results, out: Path, title: str) -> list[Path]:
    """Write leaderboard.md and leaderboard.png, and return their paths."""
    parts = [
        "# Accuracy beside peers\n",
        f"{title}. symNN: NN % of each class flipped; asymNN: NN % of the negatives. "
        "Bold: methods of this package; italics: methods of other papers as it implements them. "
        "Written by `python -m benchmarks.accuracy`.\n",
        "![Test error of every method, one panel for each kind of noise.](leaderboard.png)\n",
        "## Test error in percent, nothing known of the noise\n",
        error_table(results, "error", [method for method in METHODS if method not in INFORMED]),
        "## For reference: the same methods told the true noise\n",
        "Methods that take a noise matrix are given it; the probabilities of the others are cut at "
        "the threshold that it asks for.\n",
        error_table(results, "oracle", [m for m in METHODS if METHODS[m].oracle is not None]),
        "## For reference: rBoost told something else\n",
        "Twenty training rows with their true labels, or that all labels are right.\n",
        error_table(results, "error", INFORMED),
        "## Mean absolute error of the two flip rates\n",
        noise_table(results),
        "## Ranking of wrong labels: average precision\n",
        ranking_table(results, "average precision"),
        "## Ranking of wrong labels: area under the ROC curve\n",
        ranking_table(results, "ROC-AUC"),
        "## Expected calibration error against true labels\n",
        calibration_table(results),
    ]
    if any(job.method == "rBoost" for job in results):
        parts += ["## rBoost, table by table\n", dataset_table(results, "rBoost")]
    paths = [out / "leaderboard.md", out / "leaderboard.png"]
    write_atomically(paths[0], "\n".join(parts))
    write_atomically(paths[1], draw(results))
    return paths
