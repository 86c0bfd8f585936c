"""Probabilities of classes as scores that a calibration is linear in.

Two classes have one score a row, the log-odds of class 1; more have one for each class, the
logarithms of their probabilities. ``prevalence`` is the share of each label, shape (K,).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from rboost._typing import Floats, Integers

# Unanimity of a few hundred votes is not certainty: it is read as if this share more votes had been
# cast, for all classes in proportion to their frequency. A rare class has small probabilities,
# which must not all be smoothed to the same.
SMOOTHING = 0.01


def prevalence_of(observed: Integers, n_classes: int, weight: Floats | None = None) -> Floats:
    """The share of each label."""
    counts = np.bincount(observed, weight, n_classes)
    return counts / counts.sum()


def smoothed_scores(probability: Floats, prevalence: Floats) -> Floats:
    """Scores of smoothed probabilities of K classes: (n,) for two, else (n, K)."""
    logarithms = np.log(probability + SMOOTHING * prevalence)
    if logarithms.shape[1] > 2:
        return logarithms
    return logarithms[:, 1] - logarithms[:, 0]


def smoothed_log_odds(probability: Floats, prevalence: float) -> Floats:
    """The same of two classes, from the probability and the prevalence of class 1."""
    more, less = SMOOTHING * prevalence, SMOOTHING * (1 - prevalence)
    return np.log(probability + more) - np.log(1 - probability + less)


def probability_of(log_odds: Floats, prevalence: float) -> Floats:
    """The inverse of :func:`smoothed_log_odds`."""
    return (1 + SMOOTHING) * expit(log_odds) - SMOOTHING * prevalence
