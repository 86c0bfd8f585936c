"""Scores become probabilities of the true class: the three ways of section 3.4.

The noise is given; :func:`rboost.noise.infer_noise` infers it as well.

A calibration of two classes is fitted to scores H, observed labels (0 or 1), the noise matrix of
those labels (the identity stands for labels that can be trusted) and the link matrix of the scores.
It is then a function from scores to p(y = 1), and never decreases.

The link matrix is the noise that the loss leaves in the score: with infinitely many rows σ(2H) is
not p(y = 1) but p(y = 1) seen through it. For a noise matrix γ and mixing coefficients c it is γ·c;
without noise the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, softmax
from sklearn.isotonic import IsotonicRegression

from rboost._typing import Floats, Integers
from rboost.noise import true_probability
from rboost.noise.likelihood import NoisySoftmaxLoss

__all__ = [
    "CALIBRATIONS",
    "IsotonicCalibration",
    "LogisticCalibration",
    "PlattCalibration",
    "fit_isotonic",
    "fit_logistic",
    "fit_platt",
]
Calibration = Callable[[Floats], Floats]

# Weight of a Gaussian prior on the slope, for scores of unit variance: a slope of 30 costs as much
# as one nat. It decides only where the likelihood does not: separable, constant or few scores.
SLOPE_PENALTY = 2 / 30**2
# Bounds of the scale of more than two classes, for scores of unit variance.
SCALES = (1e-3, 100.0)


@dataclass(frozen=True)
class LogisticCalibration:
    """σ(2H) with the noise of the link taken out: the loss's minimiser inverted, nothing fitted.

    Section 3.4 prints σ(H), but the minimiser of eq. (9) is *half* the log-odds (Friedman, Hastie &
    Tibshirani 1998).
    """

    link_matrix: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        return _without_noise(expit(2 * scores), self.link_matrix)


@dataclass(frozen=True)
class PlattCalibration:
    """p(y = 1) = σ(slope·H + offset) (Platt 1999), with slope ≥ 0."""

    slope: float
    offset: float

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        return expit(self.slope * scores + self.offset)


@dataclass(frozen=True)
class IsotonicCalibration:
    """Any non-decreasing curve, fitted to the observed labels, with the noise then taken out.

    The curve has ``levels`` at some scores, and is linear between them.
    """

    scores: Floats
    levels: Floats
    noise_matrix: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        return _without_noise(np.interp(scores, self.scores, self.levels), self.noise_matrix)


def _without_noise(observed: Floats, noise_matrix: Floats) -> Floats:
    return true_probability(np.column_stack([1 - observed, observed]), noise_matrix)[:, 1]


def fit_logistic(
    scores: Floats, labels: Floats, sample_weight: Floats, noise_matrix: Floats, link_matrix: Floats
) -> LogisticCalibration:
    """Return the logistic calibration, which looks at no row."""
    return LogisticCalibration(link_matrix)


def fit_platt(
    scores: Floats, labels: Floats, sample_weight: Floats, noise_matrix: Floats, link_matrix: Floats
) -> PlattCalibration:
    """Fit slope and offset by maximum likelihood of the observed labels, the noise being known.

    With the identity as noise matrix this is Platt's method, his smoothed targets included. With
    noise the likelihood may have several local maxima; this finds one.
    """
    n_positive = sample_weight @ labels
    n_negative = sample_weight @ (1 - labels)
    target = np.where(labels > 0, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    weight_sum = sample_weight.sum()
    center = sample_weight @ scores / weight_sum
    spread = float(np.sqrt(sample_weight @ (scores - center) ** 2 / weight_sum))
    if spread <= 1e-12 * max(1.0, abs(center)):  # constant scores: only the offset means anything
        spread = 1.0
    slope, offset = _fit_line((scores - center) / spread, target, sample_weight, noise_matrix)
    if slope < 0:  # the scores contradict the labels: trust neither, keep the class frequency
        slope, offset = _fit_line(np.zeros_like(scores), target, sample_weight, noise_matrix)
    return PlattCalibration(slope / spread, offset - slope * center / spread)


def _fit_line(
    scores: Floats, target: Floats, sample_weight: Floats, noise_matrix: Floats
) -> tuple[float, float]:
    """Minimise the noisy logistic loss of slope·scores + offset, which noise makes non-convex."""
    design = np.column_stack([scores, np.ones_like(scores)])
    share = sample_weight / sample_weight.sum()
    penalty = np.array([SLOPE_PENALTY, 1e-10]) / sample_weight.sum()
    labels = [np.full(len(scores), label) for label in (0, 1)]

    def evaluate(line: Floats) -> tuple[float, Floats]:
        margin = design @ line
        both = np.column_stack([np.zeros_like(margin), margin])
        value, by_margin = 0.5 * penalty @ line**2, np.zeros_like(margin)
        for label, weight in zip(labels, (share * (1 - target), share * target), strict=True):
            rows = NoisySoftmaxLoss(both, label, noise_matrix)
            value += weight @ rows.loss()
            by_margin += weight * rows.by_scores()[:, 1]
        return value, design.T @ by_margin + penalty * line

    start = np.array([1.0, 0.0])
    found = minimize(evaluate, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(found.x[0]), float(found.x[1])


def fit_isotonic(
    scores: Floats, labels: Floats, sample_weight: Floats, noise_matrix: Floats, link_matrix: Floats
) -> IsotonicCalibration:
    """Fit a non-decreasing curve to the observed labels by least squares."""
    curve = IsotonicRegression(y_min=0, y_max=1, increasing=True)
    curve.fit(scores, labels, sample_weight)
    return IsotonicCalibration(curve.X_thresholds_, curve.y_thresholds_, noise_matrix)


CALIBRATIONS: dict[str, Callable[[Floats, Floats, Floats, Floats, Floats], Calibration]] = {
    "logistic": fit_logistic,
    "platt": fit_platt,
    "isotonic": fit_isotonic,
}


def agree_with_decision(probability: Floats, decisions: Floats) -> Floats:
    """Keep p(y = 1) on the side of ½ that the sign of the decision function has decided.

    In Algorithm 1 that is the sign of the score. A calibration may cross ½ elsewhere, and then
    reports the least certainty that does not contradict the prediction.
    """
    above = np.nextafter(0.5, 1.0)
    return np.where(decisions > 0, np.maximum(probability, above), np.minimum(probability, 0.5))


@dataclass(frozen=True)
class SoftmaxCalibration:
    """The softmax of the scores of more than two classes, times a scale, less what noise is in it.

    ``link_matrix`` is the noise that the loss leaves in the scores.
    """

    scale: float
    link_matrix: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = j) for each score, (n_rows, K)."""
        return true_probability(softmax(self.scale * scores, axis=1), self.link_matrix)


def fit_scale(
    scores: Floats, observed: Integers, sample_weight: Floats, noise_matrix: Floats
) -> float:
    """The scale of scores of maximum likelihood: Platt's method with one number for all classes."""
    spread = float(np.sqrt(np.average((scores**2).mean(axis=1), weights=sample_weight)))
    standard, (least, most) = scores / (spread or 1.0), SCALES

    def slope(scale: float) -> float:
        by_scores = NoisySoftmaxLoss(scale * standard, observed, noise_matrix).by_scores()
        cost = sample_weight @ (by_scores * standard).sum(axis=1)
        return float(cost) + SLOPE_PENALTY * scale

    if slope(least) >= 0 or slope(most) <= 0:
        scale = least if slope(least) >= 0 else most
    else:
        scale = float(brentq(slope, least, most, xtol=1e-13))
    return scale / (spread or 1.0)
