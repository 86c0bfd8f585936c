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
from scipy.optimize import brentq
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
    """Minimise the noisy logistic loss of slope·scores + offset by Fisher scoring.

    Fisher scoring replaces the second derivative by its expectation, which is never negative, so
    each direction descends although the loss is not convex under noise; without noise it is
    Newton's method.
    """
    design = np.column_stack([scores, np.ones_like(scores)])
    penalty = np.array([SLOPE_PENALTY, 1e-10])
    weight = sample_weight * np.array([1 - target, target])  # of a row as either label
    is_clean = np.array_equal(noise_matrix, np.eye(2))

    def evaluate(line: Floats) -> tuple[float, Floats, Floats]:
        margin = design @ line
        if is_clean:  # many times faster than the same by the general formula
            positive = expit(margin)
            value = sample_weight @ (np.logaddexp(0.0, margin) - target * margin)
            by_margin = sample_weight * (positive - target)
            curvature = sample_weight * positive * (1 - positive)
        else:
            scores = np.column_stack([np.zeros_like(margin), margin])
            rows = [NoisySoftmaxLoss(scores, np.full(len(margin), k), noise_matrix) for k in (0, 1)]
            value = sum(weight[k] @ rows[k].loss() for k in (0, 1))
            by_margin = sum(weight[k] * rows[k].by_scores()[:, 1] for k in (0, 1))
            curvature = sample_weight * rows[0].curvature(np.array([0.0, 1.0]))
        value += 0.5 * penalty @ line**2
        gradient = design.T @ by_margin + penalty * line
        hessian = (design.T * curvature) @ design + np.diag(penalty)
        return float(value), gradient, hessian

    line = np.array([1.0, 0.0])
    value, gradient, hessian = evaluate(line)
    for _ in range(100):
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]  # it may be singular
        scale = min(1.0, 10.0 / np.abs(step).max()) if step.any() else 1.0
        while scale > 1e-10:
            candidate = evaluate(line - scale * step)
            if candidate[0] <= value:
                break
            scale /= 2
        else:
            break
        gain, line = value - candidate[0], line - scale * step
        value, gradient, hessian = candidate
        if gain <= 1e-12 * max(1.0, abs(value)):
            break
    return float(line[0]), float(line[1])


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
