"""What robust logistic regression minimises, the noisy logistic loss, eq. (2)–(4), and how.

The mean over rows of −log p(ỹᵢ | xᵢ), plus ‖coef‖² / (2·C·Σ sample_weight). There is one score for
two classes, the margin βᵀx, or one for each class, βⱼᵀx. Parameters are packed into one vector
(direction, level, noise):

    direction   the coefficients, for columns scaled to unit variance; (n_features,) for one score,
                else (n_features, n_scores)
    level       the scores at the column means; absent without an intercept
    noise       logits of the noise matrix, which need no bounds; absent when it is fixed

Centring and scaling make the problem well conditioned whatever the units of the columns; they act
on the parameters, never on X, which may be sparse. Solvers take an objective and a start and return
a :class:`Solution`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from rboost import native
from rboost._typing import Floats, Integers
from rboost.noise import multiplicative_update
from rboost.noise.likelihood import NoisySoftmaxLoss
from rboost.noise.matrix import keep_informative, rates_of, with_rates

# Lower bound of rates, of which logarithms are taken.
SMALLEST = 1e-300


@dataclass(frozen=True)
class FlipRates:
    """Two classes: (γ01, γ10, 1 − γ01 − γ10) = softmax(u, v, 0), so that γ01 + γ10 < 1 holds."""

    def matrix(self, logits: Floats) -> Floats:
        """The noise matrix of its logits."""
        return with_rates(*softmax(np.append(logits, 0.0))[:2])

    def logits(self, matrix: Floats) -> Floats:
        """The logits of a noise matrix, pulled back where its rates sum to 1 or more."""
        rates = np.maximum(rates_of(keep_informative(matrix)), SMALLEST)
        return np.log(rates) - np.log(1 - rates.sum())

    def by_logits(self, matrix: Floats, by_noise: Floats) -> Floats:
        """Derivative by the logits of what has this derivative by the entries of the matrix."""
        rates, by_rates = rates_of(matrix), rates_of(by_noise) - np.diag(by_noise)
        return rates * (by_rates - rates @ by_rates)


@dataclass(frozen=True)
class FreeRows:
    """Any number of classes: each row is a softmax in which the diagonal has the logit 0."""

    n_classes: int

    @property
    def _others(self) -> NDArray[np.bool_]:
        return ~np.eye(self.n_classes, dtype=bool)

    def matrix(self, logits: Floats) -> Floats:
        """The noise matrix of its logits."""
        rows = np.zeros((self.n_classes, self.n_classes))
        rows[self._others] = logits
        return softmax(rows, axis=1)

    def logits(self, matrix: Floats) -> Floats:
        """The logits of a noise matrix."""
        logs = np.log(np.maximum(matrix, SMALLEST))
        return (logs - np.diag(logs)[:, np.newaxis])[self._others]

    def by_logits(self, matrix: Floats, by_noise: Floats) -> Floats:
        """Derivative by the logits of what has this derivative by the entries of the matrix."""
        weighed = matrix * by_noise
        return (weighed - matrix * weighed.sum(axis=1, keepdims=True))[self._others]


class Columns(NamedTuple):
    """Weighted mean and standard deviation of each column of X; 1 for those that are constant."""

    mean: Floats
    scale: Floats
    constant: NDArray[np.bool_]


def columns_of(X: Any, share: Floats, negligible: float = 1e-12) -> Columns:
    """Measure columns; one whose variance is ``negligible`` beside its squared mean is constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.T @ share
        if sparse.issparse(X):
            variance = X.multiply(X).T @ share - mean**2
        else:
            variance = share @ (X - mean) ** 2
        if not np.all(np.isfinite(variance)):
            raise ValueError(
                f"Column {int(np.argmin(np.isfinite(variance)))} of X holds values too large "
                "to square; divide it by a constant first."
            )
        constant = variance <= negligible * mean**2
    return Columns(mean, np.sqrt(np.where(constant, 1.0, variance)), constant)


@dataclass(frozen=True)
class NoisyLogisticObjective:
    """The objective as a function of the packed parameters.

    ``observed`` holds the position of each label among the classes. ``fixed_noise`` is the noise
    matrix when it is known, None when it is to be estimated.
    """

    X: Any
    observed: Floats
    sample_weight: Floats
    C: float | None
    fit_intercept: bool
    fixed_noise: Floats | None
    n_scores: int = 1

    @property
    def n_linear(self) -> int:
        """Number of parameters before those of the noise: coefficients and intercepts."""
        return (int(self.X.shape[1]) + self.fit_intercept) * self.n_scores

    @property
    def noise_parameters(self) -> FlipRates | FreeRows:
        """How an estimated noise matrix is packed."""
        return FlipRates() if self.n_scores == 1 else FreeRows(self.n_scores)

    @cached_property
    def labels(self) -> Integers:
        """The observed labels as whole numbers."""
        return self.observed.astype(np.intp)

    @cached_property
    def weight_sum(self) -> float:
        """Total weight of the rows."""
        return float(self.sample_weight.sum())

    @cached_property
    def share(self) -> Floats:
        """The weight of each row as a share of the total."""
        return self.sample_weight / self.weight_sum

    @cached_property
    def penalty(self) -> float:
        """Factor on ½·‖coef‖²."""
        return 0.0 if self.C is None else 1 / (self.C * self.weight_sum)

    @cached_property
    def columns(self) -> Columns:
        """What the parameters are centred and scaled by."""
        return columns_of(self.X, self.share)

    def linear(self, parameters: Floats) -> Floats:
        """Direction and level: a vector for one score, else one column per score."""
        linear = parameters[: self.n_linear]
        return linear if self.n_scores == 1 else linear.reshape(-1, self.n_scores)

    def linear_model(self, linear: Floats) -> tuple[Floats, Any]:
        """Coefficients and intercepts in the units of X."""
        mean, scale, _ = self.columns
        coef = (linear[: self.X.shape[1]].T / scale).T
        intercept = linear[-1] - mean @ coef if self.fit_intercept else np.zeros(linear.shape[1:])
        return coef, intercept

    def margins(self, linear: Floats) -> Floats:
        """The scores βⱼᵀxᵢ of each row; linear in ``linear``."""
        coef, intercept = self.linear_model(linear)
        return self.X @ coef + intercept

    def class_scores(self, linear: Floats) -> Floats:
        """One score per class; a lone score is that of the second class against 0."""
        margins = self.margins(linear)
        return margins if margins.ndim == 2 else np.column_stack([np.zeros_like(margins), margins])

    def linear_gradient(self, by_margin: Floats, coef: Floats) -> Floats:
        """Gradient by direction and level of a loss, given that by margins, and of the penalty."""
        mean, scale, _ = self.columns
        by_coef = self.X.T @ by_margin + self.penalty * coef
        if not self.fit_intercept:
            return (by_coef.T / scale).T
        total = by_margin.sum(axis=0)
        by_direction = ((by_coef - np.multiply.outer(mean, total)).T / scale).T
        return np.concatenate([by_direction, total[np.newaxis]])

    def noise_matrix(self, parameters: Floats) -> Floats:
        """The noise matrix, fixed or packed into the parameters."""
        if self.fixed_noise is not None:
            return self.fixed_noise
        return self.noise_parameters.matrix(parameters[self.n_linear :])

    def at(self, parameters: Floats) -> Point:
        """Evaluate the objective."""
        return Point(self, parameters, self.noise_matrix(parameters))


@dataclass(frozen=True)
class Point:
    """The objective and its derivatives at one value of the packed parameters."""

    objective: NoisyLogisticObjective
    parameters: Floats
    noise_matrix: Floats

    def moved(self, step: Floats) -> Point:
        """The point a step of coefficients and intercept away; the noise stays."""
        parameters = self.parameters.copy()
        parameters[: len(step)] += step
        return Point(self.objective, parameters, self.noise_matrix)

    @cached_property
    def _linear(self) -> Floats:
        return self.objective.linear(self.parameters)

    @cached_property
    def _coef(self) -> Floats:
        return self.objective.linear_model(self._linear)[0]

    @cached_property
    def rows(self) -> NoisySoftmaxLoss:
        """The loss of each row and its derivatives."""
        scores = self.objective.class_scores(self._linear)
        return NoisySoftmaxLoss(scores, self.objective.labels, self.noise_matrix)

    @cached_property
    def value(self) -> float:
        """The objective."""
        penalty = 0.5 * self.objective.penalty * np.sum(self._coef**2)
        return float(self.objective.share @ self.rows.loss() + penalty)

    @cached_property
    def linear_gradient(self) -> Floats:
        """Gradient by coefficients and intercepts, eq. (4)."""
        by_margin = (self.rows.by_scores().T * self.objective.share).T
        by_margin = by_margin if self._linear.ndim == 2 else by_margin[:, 1]
        return self.objective.linear_gradient(by_margin, self._coef).ravel()

    @cached_property
    def gradient(self) -> Floats:
        """Gradient by all packed parameters."""
        if self.objective.fixed_noise is not None:
            return self.linear_gradient
        by_noise = self.rows.by_noise(self.objective.share)
        by_logits = self.objective.noise_parameters.by_logits(self.noise_matrix, by_noise)
        return np.concatenate([self.linear_gradient, by_logits])

    def curvature(self, direction: Floats) -> float:
        """Expected second derivative along a change of coefficients and intercepts."""
        linear = self.objective.linear(direction)
        coef, _ = self.objective.linear_model(linear)
        expected = self.objective.share @ self.rows.curvature(self.objective.class_scores(linear))
        return float(expected + self.objective.penalty * np.sum(coef**2))


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
