"""One piece of work: fit a method, or estimate the noise, on one trial.

A result depends on the job and on the code behind its key alone, so pieces can be run in any order,
in parallel, killed and resumed.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cleanlab.count import estimate_latent
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score, roc_auc_score
from threadpoolctl import threadpool_limits

import rboost
from benchmarks.methods import METHODS, N_TRUSTED, Method, forest, package_version
from benchmarks.suites import draw_trial
from rboost._typing import Floats
from rboost.noise import threshold
from rboost.noise.counting import anchor_points, confident_learning, trusted_counting
from rboost.noise.inference import infer_noise
from rboost.noise.matrix import rates_of
from rboost.noise.scores import prevalence_of
from rboost.paper.fingerprint import fingerprint_of
from rboost.paper.protocol import Trial
from rboost.paper.store import Record
from rboost.wrappers.out_of_fold import model_outputs, out_of_fold_outputs, outputs_as_scores

# The job that compares ways to estimate noise and to rank labels, on one forest's scores.
ESTIMATORS = "estimators of noise"
# Modules whose changes leave every result valid.
PACKAGE = Path(rboost.__file__).parent
UNMEASURED = ("cli", "paper")


@dataclass(frozen=True)
class Job:
    """A method, or all estimators of noise, on one trial."""

    dataset: str
    setting: str
    repeat: int
    method: str

    def key(self, seed: int) -> str:
        """Everything that the result depends on."""
        package = "rboost" if self.method == ESTIMATORS else METHODS[self.method].package
        own = code_fingerprint() if package == "rboost" else package_version(package)
        code = f"{package} {own} {protocol_fingerprint()}"
        return f"{seed}/{self.dataset}/{self.setting}/{self.repeat}/{self.method}/{code}"


@cache
def code_fingerprint() -> str:
    """A number that changes with what the package computes, not with its docs or its pages."""
    root = PACKAGE
    sources = [p for p in root.rglob("*.py") if p.relative_to(root).parts[0] not in UNMEASURED]
    versions = [package_version(name) for name in ("numpy", "scikit-learn", "cleanlab")]
    return fingerprint_of([*sources, root / "paper" / "methods.py"], versions)


@cache
def protocol_fingerprint() -> str:
    """A number that changes with the tables, the flips and the settings of the methods."""
    here = Path(__file__).parent
    protocol = PACKAGE / "paper" / "protocol.py"
    names = ("methods.py", "literature.py", "suites.py")
    return fingerprint_of([*(here / name for name in names), protocol])


def run_job(job: Job, seed: int) -> Record:
    """Fit and measure."""
    trial = draw_trial(job.dataset, job.setting, job.repeat, seed)
    # One thread: processes compete already, and results must not depend on the machine.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if job.method == ESTIMATORS:
            return compare_estimators(trial)
        return measure(METHODS[job.method], trial)


def measure(method: Method, trial: Trial) -> Record:
    """Errors in percent of a method and of its reference that knows the noise."""
    start = time.perf_counter()
    model = fit(method, trial, None)
    seconds = time.perf_counter() - start
    record: Record = {"seconds": seconds}
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(trial.X_test)[:, 1]
        record["error"] = _error(probability > 0.5, trial)  # what predict says, without its cost
        record["calibration"] = calibration_error(probability, trial.y_test)
        if method.oracle == "threshold":
            record["oracle"] = _error(probability > threshold(trial.noise_matrix), trial)
    else:
        record["error"] = _error(model.predict(trial.X_test), trial)
    if method.oracle == "told":
        told = fit(method, trial, trial.noise_matrix)
        record["oracle"] = _error(told.predict(trial.X_test), trial)
    record |= _noise_found(model, trial) | _ranking(_issues(model), trial)
    return record


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


def trusted_rows(trial: Trial, number: int) -> Any:
    """Training rows drawn at random, until there are as many as wanted and two of each class."""
    order = np.random.RandomState(trial.seed).permutation(len(trial.true))
    needed = [np.flatnonzero(trial.true[order] == k)[1] + 1 for k in (0, 1)]
    return order[: max(number, *needed)]


def _error(predicted: Any, trial: Trial) -> float:
    return 100 * float(np.mean(np.asarray(predicted).ravel().astype(int) != trial.y_test))


def calibration_error(probability: Floats, true: Any, n_bins: int = 10) -> float:
    """Expected calibration error: |mean probability − frequency|, averaged over bins by size."""
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, probability - true, n_bins)
    return float(np.abs(gaps).sum() / len(true))


def _noise_found(model: Any, trial: Trial) -> Record:
    last = model[-1] if hasattr(model, "steps") else model
    told = not isinstance(getattr(last, "noise_matrix", None), str)
    if told or not hasattr(last, "noise_matrix_"):
        return {}
    record: Record = {"rates": rates_of(last.noise_matrix_).tolist()}
    if hasattr(last, "noise_interval_"):
        record["intervals"] = [rates_of(end).tolist() for end in last.noise_interval_]
    return record


def _issues(model: Any) -> Floats | None:
    """How suspicious each training label is to the model, if it says so."""
    if hasattr(model, "label_issue_probability_"):
        return model.label_issue_probability_
    if hasattr(model, "get_label_issues"):
        return 1 - model.get_label_issues()["label_quality"].to_numpy()
    return None


def _ranking(issues: Floats | None, trial: Trial) -> Record:
    flipped = trial.observed != trial.true
    if issues is None or len(issues) != len(flipped) or not 0 < flipped.sum() < len(flipped):
        return {}
    return {
        "average precision": float(average_precision_score(flipped, issues)),
        "ROC-AUC": float(roc_auc_score(flipped, issues)),
    }


def compare_estimators(trial: Trial) -> Record:
    """Rates by every estimator and ranking by every score, from the same out-of-fold forest."""
    labels = trial.observed
    model = forest(trial.seed)
    observed = out_of_fold_outputs(model, trial.X, labels, random_state=trial.seed)
    scores = outputs_as_scores(model, observed, prevalence_of(labels, 2))
    of_labels = np.column_stack([1 - observed, observed])
    both = np.clip(of_labels, 1e-6, 1 - 1e-6)
    platt = infer_noise(scores, labels)
    trusted = trusted_rows(trial, N_TRUSTED)
    rest = np.setdiff1d(np.arange(len(labels)), trusted)
    on_trusted = model_outputs(model.fit(trial.X[rest], labels[rest]), trial.X[trusted], 2)
    on_trusted = np.column_stack([1 - on_trusted, on_trusted])
    cleanlab_joint = _cleanlab_noise(labels, both)
    rates = {
        "noise-aware Platt": platt.noise_matrix,
        "confident learning": confident_learning(of_labels, labels),
        "confident learning (cleanlab)": cleanlab_joint,
        "anchor points": anchor_points(of_labels, labels),
        f"counting on {N_TRUSTED} trusted rows": trusted_counting(on_trusted, trial.true[trusted]),
    }
    own = np.where(labels == 1, observed, 1 - observed)
    rankings = {
        "posterior, noise-aware Platt": platt.issue_probability(scores, labels),
        "self-confidence": 1 - own,
        "cleanlab normalised margin": 1
        - get_label_quality_scores(labels, both, method="normalized_margin"),
        "cleanlab adjusted": 1
        - get_label_quality_scores(labels, both, method="self_confidence", adjust_pred_probs=True),
    }
    return {
        "rates": {name: rates_of(matrix).tolist() for name, matrix in rates.items()},
        "intervals": [rates_of(end).tolist() for end in platt.interval()],
        "rankings": {name: _ranking(issues, trial) for name, issues in rankings.items()},
    }


def _cleanlab_noise(labels: Any, probability: Floats) -> Floats:
    """cleanlab's noise matrix; it is indexed [observed, true]."""
    from cleanlab.count import compute_confident_joint

    joint = compute_confident_joint(labels, probability)
    _, noise, _ = estimate_latent(joint, labels)
    return np.asarray(noise).T
