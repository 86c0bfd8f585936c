"""How the objective of robust logistic regression is minimised.

Both solvers take an objective and a start and return a :class:`Solution`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from rboost import native
from rboost._typing import Floats
from rboost.learners.logistic_objective import NoisyLogisticObjective, Point
from rboost.noise import multiplicative_update

# Columns that vary less cannot be divided by that in float32.
SMALLEST_SCALE = 1e-30
# Conjugate-gradient steps between two updates of the noise matrix; the paper does not say how many.
STEPS_BETWEEN_UPDATES = 5


class Solution(NamedTuple):
    """Where a solver stopped."""

    parameters: Floats
    loss: float
    n_iter: int
    converged: bool


def solve_jointly(
    objective: NoisyLogisticObjective, start: Floats, max_iter: int, tol: float
) -> Solution:
    """Minimise over coefficients and noise together, by L-BFGS."""

    def value_and_gradient(parameters: Floats) -> tuple[float, Floats]:
        point = objective.at(parameters)
        return point.value, point.gradient

    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-15, "maxls": 50},
    )
    # Status 1 is the iteration limit; 2 is a line search that rounding stopped, near a minimum.
    return Solution(found.x, float(found.fun), int(found.nit), found.status != 1)


def solve_natively(
    objective: NoisyLogisticObjective, starts: Floats, options: dict[str, Any]
) -> Solution | None:
    """What ``solve_jointly`` finds, from the best of several starts; None without native core."""
    module, rows = native.compiled(), native.rows_for_native(objective.X)
    if module is None or rows is None or objective.columns.scale.min() < SMALLEST_SCALE:
        return None
    mean, scale, _ = objective.columns
    labels, weight = objective.observed, objective.sample_weight
    center, starts = mean * objective.fit_intercept, np.ascontiguousarray(starts)
    return Solution(*module.fit_logistic(rows, labels, weight, center, scale, starts, **options))


def solve_alternating(
    objective: NoisyLogisticObjective, start: Floats, max_iter: int, tol: float
) -> Solution:
    """Alternate conjugate-gradient steps on β with updates (5)–(7) of the noise matrix.

    The method of section 2. EM is slow near its end, so this usually stops short of the optimum.
    """
    point = objective.at(start.copy())
    n_iter = 0
    while n_iter < max_iter:
        n_steps = min(STEPS_BETWEEN_UPDATES, max_iter - n_iter)
        moved = _conjugate_gradient(point, n_steps, tol)
        if objective.fixed_noise is None:
            moved = _with_updated_noise(moved)
        n_iter += n_steps
        if moved.value >= point.value:  # rounding, or a rate that was pulled back
            return Solution(point.parameters, point.value, n_iter, converged=True)
        point = moved
        if np.abs(point.gradient).max() <= tol:
            return Solution(point.parameters, point.value, n_iter, converged=True)
    return Solution(point.parameters, point.value, n_iter, converged=False)


def _conjugate_gradient(point: Point, n_steps: int, tol: float) -> Point:
    """Take Polak–Ribière steps on the linear parameters, the noise matrix held fixed.

    The length of a step is Newton's, from the expected second derivative along the direction.
    """
    direction = -point.linear_gradient
    for _ in range(n_steps):
        gradient = point.linear_gradient
        if np.abs(gradient).max() <= tol:
            break
        if gradient @ direction >= 0:
            direction = -gradient
        slope = float(gradient @ direction)
        length = -slope / max(point.curvature(direction), 1e-300)
        moved = _descend(point, direction, slope, length)
        if moved is None:
            break
        change = moved.linear_gradient - gradient
        momentum = max(0.0, float(moved.linear_gradient @ change / (gradient @ gradient)))
        direction = momentum * direction - moved.linear_gradient
        point = moved
    return point


def _descend(point: Point, direction: Floats, slope: float, length: float) -> Point | None:
    """Shorten the step until the loss does not grow; None when rounding leaves no such step.

    Each time to the minimum of the parabola through what is known, but by a factor of 2 to 20.
    """
    while length > 1e-12:
        moved = point.moved(length * direction)
        if moved.value <= point.value:
            return moved
        excess = moved.value - point.value - slope * length
        length *= min(0.5, max(0.05, -slope * length / (2 * excess)))
    return None


def _with_updated_noise(point: Point) -> Point:
    """Apply eq. (5)–(7)."""
    objective = point.objective
    updated = multiplicative_update(
        point.noise_matrix, point.rows.true_probability, objective.labels, objective.sample_weight
    )
    logits = objective.noise_parameters.logits(updated)
    return objective.at(np.concatenate([point.parameters[: objective.n_linear], logits]))


SOLVERS = {"lbfgs": solve_jointly, "alternating": solve_alternating}
