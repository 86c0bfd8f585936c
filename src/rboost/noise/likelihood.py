"""The likelihood of an observed label when a logistic model describes the true one, eq. (1)–(4).

With margin m, p(y = 1) = σ(m), and the observed label follows

    P̃¹ = γ11·σ(m) + γ01·σ(−m),    P̃⁰ = γ10·σ(m) + γ00·σ(−m).        eq. (3)

Everything is computed from logarithms: at γ01 = γ10 = 0 it is the ordinary logistic loss and as
stable as that, however large the margin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_expit

from rboost.noise.matrix import Floats


class NoisyLogisticLoss(NamedTuple):
    """The loss of each row with its derivatives; a row's target may lie between 0 and 1."""

    loss: Floats
    by_margin: Floats
    """Derivative with respect to the margin, shape (n_rows,)."""
    by_rates: Floats
    """Derivatives with respect to γ01 and γ10, shape (2, n_rows)."""
    curvature: Floats
    """Expected second derivative with respect to the margin, never negative."""


def noisy_logistic_loss(margin: Floats, target: Floats, noise_matrix: Floats) -> NoisyLogisticLoss:
    """Evaluate −(t·log P̃¹ + (1 − t)·log P̃⁰) for each row, eq. (2), and its derivatives, eq. (4)."""
    log_positive, log_negative = log_expit(margin), log_expit(-margin)
    with np.errstate(divide="ignore"):  # log 0 = −inf is the right answer for a rate of 0
        log_noise = np.log(noise_matrix)
    log_observed_1 = np.logaddexp(log_noise[1, 1] + log_positive, log_noise[0, 1] + log_negative)
    log_observed_0 = np.logaddexp(log_noise[1, 0] + log_positive, log_noise[0, 0] + log_negative)

    informative = noise_matrix[1, 1] - noise_matrix[0, 1]  # = γ00 − γ10
    log_slope = log_positive + log_negative  # dσ/dm = σ(m)·σ(−m)
    by_margin = informative * (
        (1 - target) * np.exp(log_slope - log_observed_0)
        - target * np.exp(log_slope - log_observed_1)
    )
    curvature = informative**2 * np.exp(2 * log_slope - log_observed_0 - log_observed_1)
    return NoisyLogisticLoss(
        loss=-(target * log_observed_1 + (1 - target) * log_observed_0),
        by_margin=by_margin,
        by_rates=np.stack(
            [
                (1 - target) * np.exp(log_negative - log_observed_0)
                - target * np.exp(log_negative - log_observed_1),
                target * np.exp(log_positive - log_observed_1)
                - (1 - target) * np.exp(log_positive - log_observed_0),
            ]
        ),
        curvature=curvature,
    )
