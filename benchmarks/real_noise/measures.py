"""What is measured: probabilities, rankings and intervals beside verified labels."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, log_loss, matthews_corrcoef, roc_auc_score

from benchmarks.store import Record
from rboost._typing import Floats, Integers

# A forest may say 0 or 1, which a single row could turn into an infinite loss.
MOST_CERTAIN = 0.001


def quality(probability: Floats, true: Integers) -> Record:
    """Log loss, area under the ROC curve and Matthews correlation of p(class 1)."""
    return {
        "log loss": float(log_loss(true, np.clip(probability, MOST_CERTAIN, 1 - MOST_CERTAIN))),
        "AUC": float(roc_auc_score(true, probability)),
        "MCC": float(matthews_corrcoef(true, as_many_as_believed(probability))),
    }


def as_many_as_believed(probability: Floats) -> Integers:
    """Decisions with as many positives as the probabilities sum to, the likeliest ones.

    At ½ decisions about a rare class say little of the probabilities.
    """
    decided = np.zeros(len(probability), dtype=int)
    decided[np.argsort(-probability, kind="stable")[: round(float(probability.sum()))]] = 1
    return decided


def average_precision(suspicion: Floats, wrong: Integers) -> float:
    """How well wrong labels come first; NaN where none is wrong."""
    return float(average_precision_score(wrong, suspicion)) if wrong.any() else float("nan")


def rates(noise_matrix: Floats, interval: Floats, true_noise: Floats) -> Record:
    """Flip rates as estimated and as they are, and whether the intervals hold them."""
    record: Record = {}
    for name, (j, k) in {"0 to 1": (0, 1), "1 to 0": (1, 0)}.items():
        record |= held(name, float(true_noise[j, k]), interval[0][j, k], interval[1][j, k])
        record[f"{name} estimated"] = float(noise_matrix[j, k])
    return record


def held(name: str, true: float, low: float, high: float) -> Record:
    """A true value, and whether an interval holds it."""
    return {f"{name} true": true, f"{name} held": bool(low <= true <= high)}
