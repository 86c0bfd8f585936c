"""Answers beside the truth of a trial: errors, calibration, the noise, the ranking of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.paper.protocol import Trial
from benchmarks.store import Record
from rboost._typing import Floats


def error(predicted: Any, trial: Trial) -> float:
    """Percent of the test rows that are predicted wrong."""
    return 100 * float(np.mean(np.asarray(predicted).ravel().astype(int) != trial.y_test))


def calibration_error(probability: Floats, true: Any, n_bins: int = 10) -> float:
    """Expected calibration error: |mean probability − frequency|, averaged over bins by size."""
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, probability - true, n_bins)
    return float(np.abs(gaps).sum() / len(true))


def judge_noise(noise_matrix: Floats, interval: Floats | None, trial: Trial) -> Record:
    """Mean absolute error of the off-diagonal, and the share of it that the intervals hold."""
    flips = ~np.eye(len(trial.noise_matrix), dtype=bool)
    truth = trial.noise_matrix[flips]
    record: Record = {
        "noise_matrix": np.asarray(noise_matrix).tolist(),
        "noise error": float(np.abs(noise_matrix[flips] - truth).mean()),
    }
    if interval is not None:
        low, high = interval[:, flips]
        record["covered"] = float(np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9)))
    return record


def wrong_share(noise_matrix: Floats, trial: Trial) -> float:
    """The share of labels that are wrong, by a noise matrix and how frequent the labels are."""
    n_classes = len(noise_matrix)
    observed = np.bincount(trial.observed, minlength=n_classes) / len(trial.observed)
    true = np.clip(np.linalg.lstsq(noise_matrix.T, observed)[0], 0, None)
    return float(true / true.sum() @ (1 - np.diag(noise_matrix)))


def judge_ranking(issues: Floats | None, trial: Trial) -> Record:
    """How well wrong labels come before right ones; nothing where there are none."""
    flipped = trial.observed != trial.true
    if issues is None or len(issues) != len(flipped) or not 0 < flipped.sum() < len(flipped):
        return {}
    return {
        "average precision": float(average_precision_score(flipped, issues)),
        "ROC-AUC": float(roc_auc_score(flipped, issues)),
    }
