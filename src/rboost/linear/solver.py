"""How the objective of robust logistic regression is minimised.

Both solvers take an objective and a start and return a :class:`Solution`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from rboost.linear.objective import NoisyLogisticObjective
from rboost.noise import multiplicative_update
from rboost.noise.matrix import Floats, keep_informative

# Conjugate-gradient steps between two updates of the noise matrix; the paper does not say how many.
STEPS_BETWEEN_UPDATES = 5


@dataclass(frozen=True)
class Solution:
    """Where a solver stopped."""

    parameters: Floats
    loss: float
    n_iter: int
    converged: bool


def solve_jointly(
    objective: NoisyLogisticObjective, start: Floats, max_iter: int, tol: float
) -> Solution:
    """Minimise over coefficients and flip rates together, by L-BFGS."""
    found = minimize(
        objective.value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-15, "maxls": 50},
    )
    # Status 1 is the iteration limit; 2 is a line search that rounding stopped, near a minimum.
    return Solution(found.x, float(found.fun), int(found.nit), found.status != 1)


def solve_alternating(
    objective: NoisyLogisticObjective, start: Floats, max_iter: int, tol: float
) -> Solution:
    """Alternate conjugate-gradient steps on β with updates (5)–(7) of the noise matrix.

    The method of section 2. EM is slow near its end, so this usually stops short of the optimum.
    """
    parameters = start.copy()
    loss, gradient = objective.value_and_gradient(parameters)
    n_linear = objective.n_features + objective.fit_intercept
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        rates = parameters[n_linear:]

        def linear_part(linear: Floats, rates: Floats = rates) -> tuple[float, Floats]:
            value, full_gradient = objective.value_and_gradient(np.concatenate([linear, rates]))
            return value, full_gradient[:n_linear]

        found = minimize(
            linear_part,
            parameters[:n_linear],
            jac=True,
            method="CG",
            options={"maxiter": STEPS_BETWEEN_UPDATES, "gtol": tol},
        )
        parameters = np.concatenate([found.x, rates])
        if objective.fixed_noise is None:
            parameters[n_linear:] = _updated_rates(objective, parameters)
        previous_loss = loss
        loss, gradient = objective.value_and_gradient(parameters)
        n_iter += max(int(found.nit), 1)
        converged = bool(loss >= previous_loss or np.abs(gradient).max() <= tol)
    return Solution(parameters, loss, n_iter, converged)


def _updated_rates(objective: NoisyLogisticObjective, parameters: Floats) -> Floats:
    """Apply eq. (5)–(7) and return the packed rates (u, v)."""
    _, _, noise_matrix = objective.unpack(parameters)
    positive = expit(objective.margin(parameters))
    updated = multiplicative_update(
        noise_matrix,
        np.column_stack([1 - positive, positive]),
        objective.observed.astype(np.intp),
        objective.sample_weight,
    )
    updated = keep_informative(updated)
    rates = np.clip([updated[0, 1], updated[1, 0]], 1e-300, None)  # a rate of 0 has no logarithm
    return np.log(rates) - np.log(1 - rates.sum())


SOLVERS = {"lbfgs": solve_jointly, "alternating": solve_alternating}
