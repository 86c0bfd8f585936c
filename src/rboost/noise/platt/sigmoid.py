"""Sigmoids seen through noise: slope and offset for many noise matrices at once.

Shapes: ``rates`` (n_points, 2) holds γ01 and γ10 of each noise matrix, ``lines`` (n_points, 2) the
slope a and the offset b of p(y = 1 | s) = σ(a·s + b). Scores have mean 0 and variance 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit

from rboost import native
from rboost._typing import Floats
from rboost.noise.platt.binning import LabelCounts

# The prior of a line, for scores of unit variance: a slope of any order of magnitude, its logarithm
# being uniform, but hardly above this; a Gaussian offset of this size. They decide only where the
# likelihood does not: separable, constant or few scores.
SLOPE_SCALE, OFFSET_SCALE = 10.0, 3.0
SMALLEST_SLOPE = 1e-3
# Fisher scoring takes about ten steps, more where a line is hardly determined.
MAX_STEPS = 200
LONGEST_STEP = 10.0
# A line is good enough when a step gains no more nats.
ENOUGH = 1e-5


def line_prior() -> tuple[float, float, float, int, float]:
    """What the compiled twin has to know of this module."""
    return SLOPE_SCALE, OFFSET_SCALE, SMALLEST_SLOPE, MAX_STEPS, ENOUGH


def fit_lines(counts: LabelCounts, rates: Floats) -> tuple[Floats, Floats]:
    """Slope ≥ 0 and offset for each noise matrix, and the log-evidence for the noise matrix.

    The evidence is the likelihood integrated over slope and offset, by Laplace's approximation at
    the best of them. A single best line would favour little noise and much overlap: where noise is
    high the slope is known less well, and many steep lines explain the labels nearly as well.

    Fisher scoring, damped until it ascends (Levenberg–Marquardt), for all noise matrices at once. A
    noise matrix is done when its step gains nothing.
    """
    compiled = native.compiled()
    if compiled is None:
        return fit_lines_slowly(counts, rates)
    return compiled.fit_lines(
        counts.scores, counts.observed, counts.trusted, rates, _start(rates), line_prior()
    )


def _start(rates: Floats) -> Floats:
    """Where the search for each line begins: slope 1, offset 0."""
    return np.tile([1.0, 0.0], (len(rates), 1))


def fit_lines_slowly(counts: LabelCounts, rates: Floats) -> tuple[Floats, Floats]:
    """What :func:`fit_lines` has to find."""
    lines = _start(rates)
    value, gradient, information = _evaluate(counts, rates, lines)
    damping = np.full(len(rates), 1e-3)
    active = np.arange(len(rates))
    for _ in range(MAX_STEPS):
        damped = information[active] * (1 + damping[active, np.newaxis, np.newaxis] * np.eye(2))
        step = np.linalg.solve(damped, gradient[active, :, np.newaxis])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        moved = lines[active] + step * (LONGEST_STEP / np.maximum(longest, LONGEST_STEP))
        moved[:, 0] = np.maximum(moved[:, 0], 0)
        new_value, new_gradient, new_information = _evaluate(counts, rates[active], moved)
        better = new_value >= value[active]
        won = active[better]
        gain = np.where(better, new_value - value[active], np.inf)
        lines[won], value[won] = moved[better], new_value[better]
        gradient[won], information[won] = new_gradient[better], new_information[better]
        damping[active] *= np.where(better, 0.2, 10.0)
        active = active[(gain >= ENOUGH) & (damping[active] <= 1e8)]
        if not len(active):
            break
    slope = np.maximum(lines[:, 0], SMALLEST_SLOPE)
    return lines, value - np.linalg.slogdet(information)[1] / 2 - np.log(slope)


def _evaluate(counts: LabelCounts, rates: Floats, lines: Floats) -> tuple[Floats, Floats, Floats]:
    """Penalised log-likelihood of each line, its gradient and its expected curvature."""
    penalty = 1 / np.array([SLOPE_SCALE, OFFSET_SCALE]) ** 2
    scores = counts.scores
    margins = lines[:, :1] * scores + lines[:, 1:]
    positive, negative = expit(margins), expit(-margins)
    into_1, into_0 = rates[:, :1], rates[:, 1:]
    informative = 1 - into_1 - into_0
    # The floor stands for a row that the model rules out; it costs 690 nats, not infinitely many.
    observed_1 = np.maximum(into_1 + informative * positive, 1e-300)
    observed_0 = np.maximum(into_0 + informative * negative, 1e-300)
    (n_0, n_1), (t_0, t_1) = counts.observed, counts.trusted

    value = np.log(observed_1) @ n_1 + np.log(observed_0) @ n_0
    value += log_expit(margins) @ t_1 + log_expit(-margins) @ t_0
    value -= 0.5 * lines**2 @ penalty
    slope = informative * positive * negative  # of p(ỹ = 1) in the margin
    by_margin = slope * (n_1 / observed_1 - n_0 / observed_0) + t_1 * negative - t_0 * positive
    curvature = (n_0 + n_1) * slope**2 / (observed_0 * observed_1)
    curvature += (t_0 + t_1) * positive * negative
    gradient = np.column_stack([by_margin @ scores, by_margin.sum(axis=1)]) - penalty * lines
    first, mixed, last = curvature @ scores**2, curvature @ scores, curvature.sum(axis=1)
    information = np.stack([first, mixed, mixed, last], axis=-1).reshape(-1, 2, 2)
    return value, gradient, information + np.diag(penalty)
