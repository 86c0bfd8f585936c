"""The page about large tables, and the one about sizes up to them: whether targets are met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.markdown import number, table
from benchmarks.methods import ENGINES, LARGE, METHODS
from benchmarks.suites import SIZES, Suite
from benchmarks.tables import Results, by_setting, entry, error_table, noise_table, ranking_table

# In points of test error: what rBoost may be behind the best in any setting, and is to be ahead of
# the best in the mean; and how far flip rates may be off.
MOST_BEHIND, LEAST_AHEAD, RATES_OFF = 0.1, 1.0, 0.015
PEERS = tuple(name for name in LARGE if METHODS[name].package != "rboost")
WRAPPERS = tuple(name for name in LARGE if name.startswith("noise-calibrated"))
NOISES = "sym20: 20 % of each class flipped; asym30: 30 % of the negatives."
# Mean errors of a method by setting, on all tables or on some.
Errors = dict[str, list[float]]


def _errors(
    results: Results, methods: Sequence[str], settings: Sequence[str], dataset: str | None = None
) -> Errors:
    """Those of the methods that were measured."""
    found = {m: by_setting(results, entry(m, "error"), settings, dataset) for m in methods}
    return {method: errors for method, errors in found.items() if not np.isnan(errors).any()}


def _is_met(met: bool) -> str:
    return "yes" if met else "**no**"


def _against(ours: Sequence[float], others: Errors, whom: str, settings: Sequence[str]) -> str:
    """How far behind the best of the others in the worst setting, and ahead of it in the mean."""
    best = [min(others, key=lambda m, k=k: others[m][k]) for k in range(len(settings))]  # type: ignore[misc]
    behind = [mine - others[m][k] for k, (mine, m) in enumerate(zip(ours, best, strict=True))]
    worst = int(np.argmax(behind))
    single = min(others, key=lambda m: np.mean(others[m]))
    ahead = float(np.mean(others[single]) - np.mean(ours))
    return (
        f"- Beside {whom}: {behind[worst]:+.2f} above the best in the worst setting "
        f"({settings[worst]}, {best[worst]}), ≤ {MOST_BEHIND} asked: "
        f"{_is_met(behind[worst] <= MOST_BEHIND)}. In the mean {ahead:+.2f} below the best single "
        f"one ({single}), ≥ {LEAST_AHEAD} asked: {_is_met(ahead >= LEAST_AHEAD)}.\n"
    )


def verdicts(results: Results, settings: Sequence[str]) -> str:
    """Whether rBoost does what is asked of it on large tables."""
    ours = _errors(results, ["rBoost"], settings).get("rBoost")
    peers, wrappers = (_errors(results, names, settings) for names in (PEERS, WRAPPERS))
    if ours is None or not peers:
        return "Not measured.\n"
    lines = _against(ours, peers, "methods of other packages", settings)
    if wrappers:
        whom = "these and the wrappers of this package"
        lines += _against(ours, peers | wrappers, whom, settings)
    off = float(np.mean(by_setting(results, entry("rBoost", "noise error"), settings)))
    verdict = _is_met(off <= RATES_OFF)
    return lines + f"- Flip rates are off by {off:.3f}, ≤ {RATES_OFF} asked: {verdict}.\n"


def by_table(results: Results, settings: Sequence[str]) -> str:
    """rBoost and its engines on every table in every setting, beside the best of the others."""
    ours = ("rBoost", *ENGINES)
    rows = []
    for dataset in dict.fromkeys(job.dataset for job in results):
        found = _errors(results, LARGE, settings, dataset)
        for k, setting in enumerate(settings):
            errors = [number(found[m][k] if m in found else np.nan) for m in ours]
            best = [_best(found, names, k) for names in (WRAPPERS, PEERS)]
            rows.append([f"{dataset}, {setting}", *errors, *best])
    return table(["", *ours, "best wrapper", "best of other packages"], rows)


def _best(found: Errors, names: Sequence[str], k: int) -> str:
    errors = {name: found[name][k] for name in names if name in found}
    best = min(errors, key=errors.__getitem__, default=None)
    return "–" if best is None else f"{number(errors[best])} ({best})"


def large_page(results: Results, suite: Suite, title: str) -> str:
    """The page of the suites of large tables."""
    settings = tuple(suite.settings)
    parts = [
        "# Large tables beside peers\n",
        f"{title}. {NOISES} Bold: methods of this package; rBoost pool and rBoost trees are the "
        "engines of rBoost alone.\n",
        "![Test error of every method, one panel for each kind of noise.](large.png)\n",
        "## Test error in percent, and seconds of a fit by one thread\n",
        error_table(results, "error", LARGE, settings, suite.averaged),
        "## What is asked of rBoost\n",
        verdicts(results, settings),
        "## Mean absolute error of the two flip rates\n",
        noise_table(results, settings),
        "## Ranking of wrong labels: average precision\n",
        ranking_table(results, "average precision", settings),
        "## Table by table\n",
        by_table(results, settings),
    ]
    return "\n".join(parts)


def sizes_page(results: Results, suite: Suite, title: str) -> str:
    """The page of the suite of sizes: rBoost beside each of its engines."""
    settings = tuple(suite.settings)
    parts = [
        "# rBoost beside its engines\n",
        f"{title}. {NOISES}\n",
        "![Test error of each, one panel for each kind of noise.](sizes.png)\n",
    ]
    for size in SIZES:
        of_size = {job: record for job, record in results.items() if _has_size(job.dataset, size)}
        parts += [
            f"## {size} rows: test error in percent\n",
            error_table(of_size, "error", ("rBoost", *ENGINES), settings, suite.averaged),
            _behind_engines(_errors(of_size, ("rBoost", *ENGINES), settings), settings),
        ]
    return "\n".join(parts)


def _has_size(dataset: str, size: int) -> bool:
    return dataset.endswith(f" {size}")


def _behind_engines(errors: Errors, settings: Sequence[str]) -> str:
    if set(errors) != {"rBoost", *ENGINES}:
        return ""
    behind = np.array(errors["rBoost"]) - np.min([errors[name] for name in ENGINES], axis=0)
    worst = int(np.argmax(behind))
    return (
        f"At most {behind[worst]:+.2f} above the better engine ({settings[worst]}), "
        f"≤ {MOST_BEHIND} asked: {_is_met(behind[worst] <= MOST_BEHIND)}.\n"
    )
