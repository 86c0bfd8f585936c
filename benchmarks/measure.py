"""One piece of work: fit a method, or estimate the noise, on one trial.

A result depends on the job and on the code behind its key alone, so pieces can be run in any order,
in parallel, killed and resumed.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.code import code_fingerprint, fingerprint_of
from benchmarks.estimators import compare_estimators, trusted_rows
from benchmarks.judge import calibration_error, error, judge_noise, judge_ranking
from benchmarks.methods import METHODS, Method, package_version
from benchmarks.paper.protocol import Trial
from benchmarks.store import Record
from benchmarks.suites import SUITES, draw_trial
from benchmarks.texts import data_fingerprint
from rboost._typing import Floats
from rboost.noise import threshold

# The job that compares ways to estimate noise and to rank labels, on one forest's scores.
ESTIMATORS = "estimators of noise"


@dataclass(frozen=True)
class Job:
    """A method, or all estimators of noise, on one trial."""

    suite: str
    dataset: str
    setting: str
    repeat: int
    method: str
    data: Path | None = None

    def key(self, seed: int) -> str:
        """Everything that the result depends on."""
        package = "rboost" if self.method == ESTIMATORS else METHODS[self.method].package
        is_ours = package == "rboost"
        own = code_fingerprint(__name__) if is_ours else package_version(package)
        code = f"{package} {own} {protocol_fingerprint()}"
        if self.suite == "texts" and self.data is not None:
            code += f" {data_fingerprint(self.data, self.dataset)}"
        trial = f"{seed}/{self.suite}/{self.dataset}/{self.setting}/{self.repeat}"
        return f"{trial}/{self.method}/{code}"


@cache
def protocol_fingerprint() -> str:
    """A number that changes with the tables, the flips, the settings and what is measured."""
    here = Path(__file__).parent
    names = (
        "methods",
        "literature",
        "suites",
        "generators",
        "mixed",
        "texts",
        "estimators",
        "judge",
    )
    return fingerprint_of(here / f"{name}.py" for name in (*names, "measure", "paper/protocol"))


def run_job(job: Job, seed: int) -> Record:
    """Fit and measure."""
    trial = draw_trial(job.suite, job.dataset, job.setting, job.repeat, seed, job.data)
    # One thread: processes compete already, and results must not depend on the machine.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if job.method == ESTIMATORS:
            return compare_estimators(trial)
        method = METHODS[job.method]
        if SUITES[job.suite].page != "leaderboard":  # the others show none of it
            method = replace(method, oracle=None)
        return measure(method, trial)


def measure(method: Method, trial: Trial) -> Record:
    """How a method does on test rows, and what it finds out about the labels."""
    start = time.perf_counter()
    model = fit(method, trial, None)
    record: Record = {"seconds": time.perf_counter() - start}
    if len(trial.y_test):
        record |= _on_test_rows(method, model, trial)
    return record | _about_labels(model, trial)


def fit(method: Method, trial: Trial, noise_matrix: Floats | None) -> Any:
    """Fit; trusted rows are training rows whose true labels are told."""
    model = method.build(noise_matrix, trial.seed)
    if not method.n_trusted:
        return model.fit(trial.X, trial.observed)
    trusted = trusted_rows(trial, method.n_trusted)
    rest = np.setdiff1d(np.arange(len(trial.true)), trusted)
    return model.fit(
        trial.X[rest],
        trial.observed[rest],
        X_trusted=trial.X[trusted],
        y_trusted=trial.true[trusted],
    )


def _on_test_rows(method: Method, model: Any, trial: Trial) -> Record:
    """Errors in percent; of two classes calibration too, and a reference that knows the noise."""
    if not hasattr(model, "predict_proba"):
        return {"error": error(model.predict(trial.X_test), trial)}
    probability = model.predict_proba(trial.X_test)
    record: Record = {"error": error(probability.argmax(axis=1), trial)}  # as predict, at no cost
    if probability.shape[1] > 2:
        return record
    record["calibration"] = calibration_error(probability[:, 1], trial.y_test)
    if method.oracle == "threshold":
        known = probability[:, 1] > threshold(trial.noise_matrix)
        record["oracle"] = error(known, trial)
    if method.oracle == "told":
        told = fit(method, trial, trial.noise_matrix)
        record["oracle"] = error(told.predict(trial.X_test), trial)
    return record


def _about_labels(model: Any, trial: Trial) -> Record:
    """The noise that a model finds, and which labels it suspects, if it says so."""
    last = model[-1] if hasattr(model, "steps") else model
    record: Record = {"true share": float(np.mean(trial.observed != trial.true))}
    if hasattr(model, "get_label_issues"):  # cleanlab, whose noise is indexed [observed, true]
        issues = model.get_label_issues()
        record["wrong share"] = float(issues["is_label_issue"].mean())
        ranking = judge_ranking(1 - issues["label_quality"].to_numpy(), trial)
        return record | judge_noise(np.asarray(model.noise_matrix).T, None, trial) | ranking
    if isinstance(getattr(last, "noise_matrix", None), str) and hasattr(last, "noise_matrix_"):
        interval = getattr(last, "noise_interval_", None)
        record |= judge_noise(last.noise_matrix_, interval, trial)
    if hasattr(last, "label_issue_probability_"):
        record["wrong share"] = float(last.label_issue_probability_.mean())
        record |= judge_ranking(last.label_issue_probability_, trial)
    return record
