"""XGBoost in one process beside the same on a Dask cluster: the same answers are asked for.

    python -m benchmarks.equality                # the suite "large", 1, 2 and 4 workers
    python -m benchmarks.equality --datasets hastie --settings sym20 --workers 2

writes ``equality.md`` to docs/scale. A run can be killed and resumed (build/scale). It needs the
extras ``dask`` and ``dev``. ``benchmarks.gpu`` compares a GPU with the CPU in the same way.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.code import code_fingerprint
from benchmarks.markdown import table
from benchmarks.pages import write_page
from benchmarks.paper.protocol import Trial
from benchmarks.store import Record, ResultStore
from benchmarks.suites import SUITES, draw_trial
from rboost import RBoostClassifier
from rboost._typing import Floats
from rboost.packages import package

SUITE = "large"
# Limits of the largest difference of a rate, of the correlation of rankings, and of the difference
# of test errors in points.
RATES_OFF, CORRELATION, ERROR_OFF = 0.003, 0.999, 0.1
# Into so many partitions rows are dealt, whatever the number of workers.
N_PARTITIONS = 8
PACKAGES = ("xgboost", "dask", "distributed")


@dataclass(frozen=True)
class Outcome:
    """What a fit found: the noise, which labels are wrong, and test errors in percent."""

    noise_matrix: Floats
    issues: Floats
    error: float


def outcome(model: Any, trial: Trial, X_test: Any) -> Outcome:
    """What a fitted model says, as arrays of NumPy wherever it keeps them."""
    predicted = np.asarray(model.predict(X_test))
    return Outcome(
        np.asarray(model.noise_matrix_),
        np.asarray(model.label_issue_probability_),
        100 * float(np.mean(predicted != trial.y_test)),
    )


def fit_alone(trial: Trial, **settings: Any) -> Outcome:
    """Fit by XGBoost in this process."""
    model = RBoostClassifier(engines="xgboost", random_state=0, **settings)
    return outcome(model.fit(trial.X, trial.observed), trial, trial.X_test)


def fit_together(trial: Trial) -> Outcome:
    """Fit on the workers of the current client."""
    da, distributed = package("dask.array", "dask"), package("rboost.dask", "dask")
    chunk = -(-len(trial.X) // N_PARTITIONS)
    X, observed = da.from_array(trial.X, (chunk, -1)), da.from_array(trial.observed, chunk)
    model = distributed.RBoostClassifier(random_state=0).fit(X, observed)
    return outcome(model, trial, da.from_array(trial.X_test, (chunk, -1)))


def compare(first: Outcome, second: Outcome) -> Record:
    """How far two fits are apart."""
    same = np.array_equal(first.issues, second.issues)  # constant ones have no correlation
    return {
        "rates": float(np.abs(first.noise_matrix - second.noise_matrix).max()),
        "correlation": 1.0 if same else float(spearmanr(first.issues, second.issues).statistic),
        "errors": [first.error, second.error],
    }


def is_equal(record: Record) -> bool:
    """Whether two fits are as near as is asked; rankings without a correlation are not."""
    first, second = record["errors"]
    return bool(
        record["rates"] <= RATES_OFF
        and record["correlation"] >= CORRELATION
        and abs(first - second) <= ERROR_OFF + 1e-9
    )


def differences(records: Sequence[Record], names: tuple[str, str]) -> str:
    """A table of differences, a line a table and setting, and how many are near enough."""
    rows = [
        [
            f"{record['table']}, {record['setting']}",
            f"{record['rates']:.4f}",
            f"{record['correlation']:.5f}",
            *(f"{error:.2f}" for error in record["errors"]),
            "yes" if is_equal(record) else "no",
        ]
        for record in records
    ]
    head = ["", "rates differ by", "correlation", *(f"error, {name}" for name in names), "equal"]
    asked = (
        f"Equal: rates within {RATES_OFF}, rank correlation of the probabilities that labels are "
        f"wrong at least {CORRELATION}, test errors within {ERROR_OFF} points. Folds are a hash of "
        f"the row's number. {sum(map(is_equal, records))} of {len(records)} are equal."
    )
    return f"{table(head, rows)}\n{asked}\n"


def measure(cases: Iterable[tuple[str, str]], workers: int, store: ResultStore) -> list[Record]:
    """Compare one process with so many workers, where that is not yet done."""
    code = code_fingerprint("benchmarks.equality")
    distributed, found = package("distributed", "dask"), []
    settings = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster):
        for dataset, setting in cases:
            key = f"equality/{dataset}/{setting}/{workers}/{code}"
            if key not in store.results:
                second = fit_together(draw_trial(SUITE, dataset, setting, 0, 0))
                compared = compare(reference(dataset, setting), second)
                store.add(key, {"table": dataset, "setting": setting, **compared})
                print(json.dumps({"workers": workers, **store.results[key]}), flush=True)
            found.append(store.results[key])
    return found


@cache
def reference(dataset: str, setting: str) -> Outcome:
    """One process, on the same rows for any number of workers."""
    return fit_alone(draw_trial(SUITE, dataset, setting, 0, 0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, and write the page after every number of workers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equality")
    suite = SUITES[SUITE]
    parser.add_argument("--datasets", nargs="+", choices=suite.names, default=suite.names)
    parser.add_argument("--settings", nargs="+", choices=suite.settings, default=[*suite.settings])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4], metavar="N")
    parser.add_argument("--out", type=Path, default=Path("docs/scale"), help="folder of the page")
    parser.add_argument("--store", type=Path, default=Path("build/scale"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    store = ResultStore(options.store / "equality.jsonl")
    cases = [(dataset, setting) for dataset in options.datasets for setting in options.settings]
    text = "# One process and several\n"
    for workers in options.workers:
        name = "1 worker" if workers == 1 else f"{workers} workers"
        records = measure(cases, workers, store)
        text += f"\n## One process beside {name}\n\n{differences(records, ('one process', name))}"
        path = options.out / "equality.md"
        write_page(path, text, "benchmarks.equality", arguments, PACKAGES)
    print(options.out / "equality.md")


if __name__ == "__main__":
    main()
