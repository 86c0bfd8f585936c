"""How many majorities of annotators are wrong: an interval of their number N.

N is uncertain because classes are, and because matrices, calibration and their prior θ are learnt
from the same labels. Its cumulant generating function given all labels and scores,

    K(λ) = log E[exp(λ·N)] ≈ max_θ log p(labels, λ | θ) − max_θ log p(labels | θ)

has p(labels, λ | θ) with each class but that of the majority multiplied by exp(λ) in the rows
counted. So K'(λ) is the expected N after EM with these factors, which learns θ anew, and K''(0) the
variance of N with that of θ (the delta method, without derivatives of θ). The ends of an interval
are saddlepoint approximations (Lugannani & Rice 1980): K'(λ) where the signed root of

    r²/2 = λ·K'(λ) − K(λ) = ∫ t dK'(t), from 0 to λ

is a quantile of a standard normal variable. They hold where the likelihood is far from a normal
density, for instance with one label a row: slopes of the calibration beyond some value are all as
likely there, those below it are not.

How far the accuracy of an annotator moves between these ends is what it has in common with N: its
covariance with N, divided by the deviation of N.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from rboost._typing import Floats, Integers
from rboost.labels import Labels, majority_of
from rboost.noise.annotators import (
    LARGEST_CORRELATION,
    AnnotatorFit,
    AnnotatorNoise,
    Statements,
    class_scores,
    counted,
    fit_annotators,
    run_em,
)
from rboost.noise.posterior import NORMAL_95

# Values of λ, in units of the one at which r would be the quantile if θ were known; as θ is not,
# the end lies before the last. N may jump between close values of λ.
STEPS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)


def wrong_majorities(scores: Floats, labels: Labels, rows: Integers) -> tuple[float, float]:
    """A 90 % interval of the share of wrong majorities among some rows that have one.

    It reaches from the lower end without correlation of annotators' errors to the upper end with
    the largest. All labels, answers and trusted rows say what annotators are like.
    """
    said, given = Statements.of(labels), labels.given[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of contradicting labels, of which the fit has warned
        fit = fit_annotators(said, scores)
    wrong = _wrong(fit, rows, given)
    expected, deviation = wrong.sum(), _deviation(wrong)
    if fit.is_majority:  # there is no θ to learn anew
        low, high = expected - NORMAL_95 * deviation, expected + NORMAL_95 * deviation
    else:
        F = class_scores(scores)
        low, high = (_end(fit, F, rows, given, side)[0] for side in (-1, 1))
    correlated = counted(fit.posterior, said, fit.is_informed, LARGEST_CORRELATION)
    more = (1 - correlated[rows, given]).sum() - expected
    return max(low / len(rows), 0.0), min((high + max(more, 0.0)) / len(rows), 1.0)


def annotator_noise(
    said: Statements, scores: Floats, weight: Floats | None = None
) -> AnnotatorNoise:
    """The noise of annotators, whose intervals of accuracy allow for what they have in common."""
    fit = fit_annotators(said, scores, weight)
    noise = AnnotatorNoise.of(fit)
    rows = np.flatnonzero(said.votes.any(axis=1) & (fit.weight > 0))
    if fit.is_majority or not len(rows):
        return noise
    F, given = class_scores(scores), majority_of(said.votes)[rows]
    low, high = (_end(fit, F, rows, given, side)[1] for side in (-1, 1))
    return replace(noise, accuracy=fit.accuracy_beside(((high - low) / (2 * NORMAL_95)) ** 2))


def _wrong(fit: AnnotatorFit, rows: Integers, given: Integers) -> Floats:
    return np.asarray(1 - fit.posterior[rows, given])


def _deviation(wrong: Floats) -> float:
    """The standard deviation of N, if θ were known."""
    return float(np.sqrt(max(np.sum(wrong * (1 - wrong)), 1e-9)))


def _end(
    fit: AnnotatorFit, F: Floats, rows: Integers, given: Integers, side: int
) -> tuple[float, Floats]:
    """K'(λ) and annotators' accuracies where r is that quantile, linearly between values of λ."""
    said, shape = fit.said, fit.posterior.shape
    is_other = np.zeros(shape)
    is_other[rows] = 1.0
    is_other[rows, given] = 0.0
    known = np.ones(shape) if said.known is None else said.known
    wrong = _wrong(fit, rows, given)
    last, reached, number = NORMAL_95 / _deviation(wrong), 0.0, float(wrong.sum())
    own, before, needed = fit, 0.0, NORMAL_95**2 / 2
    accuracy = fit.mean_accuracy
    for step in STEPS:
        now = side * step * last
        q = own.posterior * np.exp((now - before) * is_other)
        factors = said._replace(known=known * np.exp(now * is_other))
        own = run_em(factors, F, q / q.sum(axis=1, keepdims=True), fit.weight, None, own)
        found = float(_wrong(own, rows, given).sum())
        grown = (found - number) * (now + before) / 2
        if reached + grown >= needed:
            slope = (found - number) / (now - before)
            at = side * np.sqrt(before**2 + 2 * (needed - reached) / slope)
            part = (at - before) / (now - before)
            return number + slope * (at - before), accuracy + part * (own.mean_accuracy - accuracy)
        before, number, reached, accuracy = now, found, reached + grown, own.mean_accuracy
    return number, accuracy
