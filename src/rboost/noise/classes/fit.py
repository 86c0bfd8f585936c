"""The best calibration and rates of one kind of noise, and the evidence for that kind.

Fisher scoring, damped until it ascends (Levenberg–Marquardt). The evidence is the likelihood
integrated over all parameters by Laplace's approximation at the best of them: a kind of noise with
many rates has to explain the labels that much better than one with few. The density of a rate
falls linearly from 0 to the largest, where two classes would be one.

A trusted row has the likelihood p(y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from rboost._typing import Floats
from rboost.noise.classes.frequencies import (
    frequency_jacobian,
    label_frequencies,
    log_density,
    log_density_derivatives,
)
from rboost.noise.classes.kinds import Kind
from rboost.noise.classes.model import Layout, Rows

# A fit ends when a step gains no more nats, or after so many steps.
ENOUGH, MAX_STEPS = 1e-2, 40
# No step changes a parameter by more than this.
LARGEST_STEP = 2.0
# The probability of a label that the model rules out: it costs 28 nats, not infinitely many.
FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a fit ended; ``covariance`` is that of the rates."""

    layout: Layout
    parameters: Floats
    log_evidence: float
    covariance: Floats

    @property
    def noise_matrix(self) -> Floats:
        """T at the best parameters."""
        return self.layout.noise_matrix(self.parameters)

    def true_probability(self, scores: Floats) -> Floats:
        """p(y = j) of rows with these standardised scores."""
        return self.layout.true_probability(self.parameters, scores)


def start(layout: Layout, rate: float, like: Fit | None = None, steeper: float = 1.0) -> Floats:
    """Parameters to start from: the calibration of another fit, or none; all rates alike."""
    parameters = layout.center.copy()
    if like is not None and steeper == 1.0:
        parameters[: layout.n_calibration] = like.parameters[: layout.n_calibration]
    elif like is not None:
        parameters[0] = like.parameters[0] + np.log(steeper)
    parameters[layout.rates] = rate
    return parameters


def fit_kind(rows: Rows, kind: Kind, starts: list[Floats]) -> Fit:
    """The best of several starts."""
    layout = Layout(rows.n_classes, rows.overlapping, kind)
    found = [_ascend(_Posterior(rows, layout), first) for first in starts]
    return max(found, key=lambda pair: pair[0])[1]


def _ascend(posterior: _Posterior, parameters: Floats) -> tuple[float, Fit]:
    """Damped Fisher scoring; rates that push against a limit stay there for a step."""
    layout = posterior.layout
    parameters = layout.clip(parameters)
    value, damping = posterior.value(parameters), 1e-3
    gradient, information = posterior.derivatives(parameters)
    for _ in range(MAX_STEPS):
        free = np.flatnonzero(~_stuck(layout, parameters, gradient))
        damped = information[np.ix_(free, free)]
        damped = damped + damping * np.diag(np.diag(damped) + 1e-9)
        step = np.zeros(len(parameters))
        step[free] = np.linalg.solve(damped, gradient[free])
        moved = layout.clip(parameters + np.clip(step, -LARGEST_STEP, LARGEST_STEP))
        new_value = posterior.value(moved)
        if new_value >= value:
            gain, parameters, value = new_value - value, moved, new_value
            damping = max(damping / 5, 1e-6)
            gradient, information = posterior.derivatives(parameters)
            if gain < ENOUGH:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return value, _summed_up(layout, parameters, value, gradient, information)


def _stuck(layout: Layout, parameters: Floats, gradient: Floats) -> NDArray[np.bool_]:
    """Rates at 0 that would fall further."""
    stuck = np.zeros(len(parameters), dtype=bool)
    stuck[layout.rates] = (parameters[layout.rates] <= 0) & (gradient[layout.rates] < 0)
    return stuck


def _summed_up(
    layout: Layout, parameters: Floats, value: float, gradient: Floats, information: Floats
) -> Fit:
    precision = layout.precision[: layout.n_calibration]
    covariance = np.asarray(np.linalg.inv(information)[layout.rates, layout.rates], np.float64)
    rates, largest = parameters[layout.rates], layout.kind.largest
    inside = _log_mass_inside(rates, gradient[layout.rates], np.diag(covariance), largest)
    evidence = (
        value
        - np.linalg.slogdet(information)[1] / 2
        + np.log(precision).sum() / 2
        + len(rates) * (np.log(2 * np.pi) / 2 + np.log(2 / largest))
        + inside.sum()
    )
    return Fit(layout, parameters, float(evidence), covariance)


def _log_mass_inside(rates: Floats, push: Floats, variance: Floats, largest: float) -> Floats:
    """What Laplace's approximation must be corrected by for rates that end at 0 and ``largest``.

    A density exp(g·x − x²/2v), x the distance from the rate that was found, is integrated over
    what is left between the ends, as a share of √(2πv). The slope g is 0 but for a rate stuck at 0.
    """
    deviation = np.sqrt(variance)
    center = np.minimum(push, 0.0) * variance
    low, high = (-rates - center) / deviation, (largest - rates - center) / deviation
    # Φ(high) − Φ(low), from the tail that is the smaller one
    upper, lower = log_ndtr(-low), log_ndtr(-high)
    mass = upper + np.log1p(-np.exp(np.minimum(lower - upper, -1e-12)))
    return mass + center**2 / (2 * variance)


class _Posterior:
    """Log-likelihood of the labels plus log prior of the calibration, with derivatives."""

    def __init__(self, rows: Rows, layout: Layout) -> None:
        self.rows, self.layout = rows, layout
        self._places = np.arange(len(rows)), rows.observed
        self._share = rows.weight / rows.weight.sum()
        self._labels = label_frequencies(rows)

    def value(self, parameters: Floats) -> float:
        """−∞ where a class would mostly lose its label, or a label mostly be another class's."""
        noise = self.layout.noise_matrix(parameters)
        kept = np.diag(noise)
        flipped = noise - np.diag(kept)
        if self.layout.kind.n_rates and np.any(np.maximum(flipped.max(0), flipped.max(1)) >= kept):
            return -np.inf
        true = self.layout.true_probability(parameters, self.rows.scores)
        observed = self._observed(true, noise)
        deviation = parameters - self.layout.center
        value = self.rows.weight @ np.log(observed[self._places])
        value += log_density(self._share @ true, self._labels)
        if self.layout.kind.n_rates:
            value += np.log1p(-parameters[self.layout.rates] / self.layout.kind.largest).sum()
        value -= self.layout.precision @ deviation**2 / 2
        return float(value)

    def derivatives(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Gradient, and expected second derivative with the sign turned."""
        layout, rows = self.layout, self.rows
        noise = layout.noise_matrix(parameters)
        true = layout.true_probability(parameters, rows.scores)
        observed = self._observed(true, noise)
        jacobian = self._jacobian(parameters, true, observed, noise)
        at_label = jacobian[:, self._places[0], self._places[1]] / observed[self._places]
        gradient = at_label @ rows.weight
        gradient -= layout.precision * (parameters - layout.center)
        # Σ_i w_i Σ_k (∂p_ik)(∂p_ik)ᵀ / p_ik
        jacobian *= np.sqrt(rows.weight[:, np.newaxis] / observed)
        flat = jacobian.reshape(len(jacobian), -1)
        information = flat @ flat.T + np.diag(layout.precision)
        by_frequencies, of_frequencies = log_density_derivatives(
            self._share @ true, self._labels, frequency_jacobian(layout, parameters, rows, true)
        )
        gradient, information = gradient + by_frequencies, information + of_frequencies
        if layout.kind.n_rates:
            steepness = 1 / (layout.kind.largest - parameters[layout.rates])  # of their density
            gradient[layout.rates] -= steepness
            information[layout.rates, layout.rates] += np.diag(steepness**2)
        return gradient, information

    def _observed(self, true: Floats, noise: Floats) -> Floats:
        observed = true @ noise
        observed[self.rows.trusted] = true[self.rows.trusted]
        return np.maximum(observed, FLOOR)

    def _jacobian(
        self, parameters: Floats, true: Floats, observed: Floats, noise: Floats
    ) -> Floats:
        """∂p(ỹ = k) by each parameter, shape (n_parameters, n_rows, K)."""
        layout, trusted = self.layout, self.rows.trusted
        n_rows, n_classes = true.shape
        by_score = true.T[:, :, np.newaxis] * (noise[:, np.newaxis, :] - observed)
        if trusted.any():
            certain = np.eye(n_classes)[:, np.newaxis, :] - observed[trusted]
            by_score[:, trusted] = true[trusted].T[:, :, np.newaxis] * certain
        found = np.empty((len(parameters), n_rows, n_classes))
        found[layout.offsets] = by_score
        stretched = layout.stretched(parameters, self.rows.scores)
        mixed = np.tensordot(layout.mixing(parameters), by_score, 1)
        found[layout.deviations] = mixed * stretched.T[:, :, np.newaxis]
        found[0] = found[layout.deviations].sum(axis=0)
        if len(layout.overlapping):
            gaps = layout.differences @ stretched.T
            apart = np.tensordot(layout.differences, by_score, 1)
            found[layout.overlaps] = -gaps[:, :, np.newaxis] * apart
        if layout.kind.n_rates:
            found[layout.rates] = np.tensordot(layout.kind.directions, true, (1, 1)).transpose(
                0, 2, 1
            )
            found[layout.rates, trusted] = 0.0
        return found
