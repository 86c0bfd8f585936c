"""Logistic regression on random kernel features: a smooth and cheap base learner.

z(x)ᵢ = √(2/D)·cos(wᵢ·x + uᵢ) with Gaussian wᵢ and uniform uᵢ has the inner product of a Gaussian
kernel, on average (Rahimi & Recht 2007). A linear model of D such features is a kernel machine that
costs the same for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dposv
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.impute import SimpleImputer
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.validation import check_is_fitted

from rboost._typing import Floats, Integers
from rboost._validation import Number, Requirements
from rboost.fitting import Rows, RowsClassifier, ScoreClassifier
from rboost.labels import class_probabilities

# Tolerance of the scaled gradient: probabilities then have two digits, and more would not make a
# better member of an ensemble.
TOLERANCE = 5e-4
# Ridge, as a share of the mean curvature, for features that are nearly collinear.
RIDGE = 1e-8
# Newton's method for two classes: its tolerance, the most steps, and the most halvings of a step
# that does not lower the loss.
TOLERANCE_OF_TWO, MOST_STEPS, MOST_HALVINGS = 1e-3, 100, 20
# Standardised values beyond this are outliers, to a kernel nearly orthogonal to everything else.
FARTHEST = 4.0
# Rows predicted at a time; a call with few rows has one small block. Blocks are filled up, so that
# rounding hardly depends on which other rows there are.
BLOCK_ROWS, FEW_ROWS = 256, 16
# Numbers that several machines make at a time, about what fits into the cache.
AT_ONCE = 2**17
# Sparse rows that are made dense at a time, where a machine was fitted to dense ones.
SPARSE_ROWS = 4096


@dataclass(eq=False, repr=False, kw_only=True)
class RandomKernelClassifier(ScoreClassifier, RowsClassifier):
    """Logistic regression on random Fourier features of the standardised columns.

    The width of the kernel is drawn too, so that an ensemble of these needs no search for it. A
    missing value counts as the median of its column.

    Parameters
    ----------
    n_components : int, default=100
        Number of random features.
    C : float, default=10.0
        Inverse of the penalty on the squared coefficients, as in scikit-learn.
    narrowest : float, default=2.0
        The kernel is exp(−g·‖x − x'‖² / n_features), with log g uniform between the logarithms of
        ``widest`` and ``narrowest``.
    widest : float, default=0.25
        See ``narrowest``; the same value for both fixes the kernel.
    max_rows : int, default=2048
        A larger table is represented by this many rows, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Seed of the features and of the rows drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from rboost.learners import RandomKernelClassifier
    >>> X, y = make_circles(200, noise=0.1, factor=0.5, random_state=0)
    >>> float(RandomKernelClassifier(random_state=0).fit(X, y).score(X, y))
    1.0
    """

    n_components: int = 100
    C: float = 10.0
    narrowest: float = 2.0
    widest: float = 0.25
    max_rows: int = 2048
    random_state: int | RandomState | None = None

    _accepted: ClassVar[dict[str, Any]] = {
        "accept_sparse": "csr", "ensure_all_finite": "allow-nan"
    }  # fmt: skip
    _requirements: ClassVar[Requirements] = {
        "n_components": Number(1, integer=True, closed=True),
        "C": Number(0),
        "narrowest": Number(0),
        "widest": Number(0),
        "max_rows": Number(2, integer=True, closed=True),
    }

    def fit_validated(self, X: Floats, y: Integers, sample_weight: Floats, medians: Floats) -> Self:
        """Fit to rows of floats that were validated before; ``y`` are positions of classes.

        Missing values were replaced by the ``medians`` of the columns of their table.
        """
        used = sample_weight > 0
        if not used.all():
            X, y, sample_weight = X[used], y[used], sample_weight[used]
        self.classes_, observed = np.unique(y, return_inverse=True)
        self.n_features_in_ = X.shape[1]
        self._fit_used(X, observed, sample_weight, medians)
        return self

    def _fit(self, rows: Rows) -> None:
        rows = rows.used()
        self._fit_used(rows.X, rows.observed, rows.sample_weight)

    def _fit_used(
        self, X: Any, observed: Integers, weight: Floats, medians: Floats | None = None
    ) -> None:
        """Fit to rows that all have a weight; ``medians`` where nothing is missing."""
        random = check_random_state(self.random_state)
        width = np.exp(random.uniform(np.log(self.widest), np.log(self.narrowest)))
        if len(observed) > self.max_rows:
            some = _some_rows(observed, self.max_rows, random)
            X, observed, weight = X[some], observed[some], weight[some]
        if medians is None:
            medians = medians_of(X)
            X = filled(X, medians)
        center, scale = _center_and_scale(X, weight)
        seed = random.randint(np.iinfo(np.int32).max)
        no_coef = np.zeros(self.n_components), np.zeros(())
        machine = KernelMachine(medians, center, scale, width, seed, *no_coef)
        fit = fit_softmax if len(self.classes_) > 2 else fit_logistic
        coef, intercept = fit(machine.features(X), observed, weight, self.C)
        self.machine_ = replace(machine, coef=coef, intercept=intercept)
        self.machine_.__dict__["drawn"] = machine.drawn  # to draw them again takes as long as a fit

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of ``classes_[1]``; of more than two classes one score for each."""
        check_is_fitted(self)
        return self.machine_.decisions(self._check_X(X))

    def predict_proba(self, X: Any, check_input: bool = True) -> Floats:
        """Probability of each class; rows of floats that were checked before need no check."""
        if check_input:
            return super().predict_proba(X)
        return class_probabilities(self.machine_.decisions(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "machine_")


@dataclass(frozen=True, eq=False)
class KernelMachine:
    """A fitted random kernel machine: how rows are scaled, its features, and their coefficients.

    ``coef`` is (D,) and ``intercept`` () for two classes, (D, K) and (K,) for more. Directions and
    phases of the features are not kept with a model: they are drawn from ``seed`` again.
    """

    medians: Floats
    center: Floats
    scale: Floats
    width: float
    seed: int
    coef: Floats
    intercept: Floats

    @cached_property
    def drawn(self) -> tuple[Floats, Floats]:
        """Directions w (n_columns, D), of variance 2·width / n_columns, and phases u (D,).

        The stream of ``RandomState`` is frozen: every version of NumPy draws the same.
        """
        random, n_columns, n_components = RandomState(self.seed), len(self.scale), len(self.coef)
        normal = random.normal(size=(n_columns, n_components))
        phases = random.uniform(0, 2 * np.pi, size=n_components)
        return np.sqrt(2 * self.width / n_columns) * normal, phases

    def features(self, X: Any) -> Floats:
        """z(x) of each row, in float64; for sparse rows the center must be 0."""
        if sparse.issparse(X):
            scaled = sparse.csr_matrix(X.multiply(1 / self.scale))
            np.clip(scaled.data, -FARTHEST, FARTHEST, out=scaled.data)
        else:
            scaled = np.clip((X - self.center) / self.scale, -FARTHEST, FARTHEST)
        directions, phases = self.drawn
        return np.sqrt(2 / len(phases)) * np.cos(scaled @ directions + phases)

    def decisions(self, X: Any) -> Floats:
        """Log-odds of class 1; of more than two classes one score for each."""
        if not sparse.issparse(X):
            return self._of_dense(X)
        if self.center.any():  # it was fitted to rows that were not sparse
            blocks = [self._of_dense(X[b].toarray()) for b in gen_batches(X.shape[0], SPARSE_ROWS)]
            return np.concatenate(blocks)
        return self.features(filled(X, self.medians)) @ self.coef + self.intercept

    def _of_dense(self, X: NDArray[Any]) -> Floats:
        medians, center, scale = self.medians[None], self.center[None], self.scale[None]
        coef = self.coef.reshape(1, len(self.coef), -1)
        (found,) = decisions_of_dense(X, medians, center, scale, directions_of([self]), coef)
        return found.reshape(len(X), *self.coef.shape[1:]) + self.intercept


def directions_of(machines: Sequence[KernelMachine]) -> NDArray[np.float32]:
    """Directions of several machines, (L, n_columns + 1, D); the last of each are the phases."""
    return np.stack([np.vstack(own.drawn).astype(np.float32) for own in machines])


def machines_at_once(n_rows: int, n_columns: int, n_components: int) -> int:
    """How many machines are best evaluated together."""
    rows = FEW_ROWS if n_rows <= FEW_ROWS else BLOCK_ROWS
    return max(1, AT_ONCE // (rows * max(n_columns, n_components)))


def decisions_of_dense(
    X: NDArray[Any],
    medians: Floats,
    center: Floats,
    scale: Floats,
    directions: NDArray[np.float32],
    coef: Floats,
) -> Floats:
    """Scores of rows by L machines less their intercepts, (L, n_rows, S), from (L, D, S).

    They are computed in blocks of float32, which is far faster on many rows.
    """
    X = X if X.dtype.kind == "f" else X.astype(np.float64)
    n_machines, _, n_components = directions.shape
    # In the precision of X, which may need all of it to tell its values apart.
    medians, center, scale = (a[:, np.newaxis].astype(X.dtype) for a in (medians, center, scale))
    coefficients = (coef * np.sqrt(2 / n_components)).astype(np.float32)
    n_rows = FEW_ROWS if len(X) <= FEW_ROWS else BLOCK_ROWS
    decisions = np.empty((n_machines, len(X), coef.shape[2]))
    # The last column of the rows is 1, so that one product adds the phases as well.
    scaled = np.ones((n_machines, n_rows, X.shape[1] + 1), dtype=np.float32)
    features = np.empty((n_machines, n_rows, n_components), dtype=np.float32)
    for begin in range(0, len(X), n_rows):
        block = slice(begin, begin + n_rows)
        rows, missing = X[block], np.isnan(X[block])
        if missing.any():
            rows = np.where(missing, medians, rows)
        with np.errstate(over="ignore"):  # what is too large for float32 is an outlier
            rows = (rows - center) / scale
        np.clip(rows, -FARTHEST, FARTHEST, out=scaled[:, : rows.shape[1], :-1])
        np.matmul(scaled, directions, out=features)
        np.cos(features, out=features)
        decisions[:, block] = np.matmul(features, coefficients)[:, : rows.shape[1]]
    return decisions


def filled(X: Any, medians: Floats) -> Any:
    """Rows with the median of the column where a value is missing."""
    if not sparse.issparse(X):
        missing = np.isnan(X)
        return np.where(missing, medians.astype(X.dtype), X) if missing.any() else X
    missing = np.isnan(X.data)
    if missing.any():
        X = X.copy()
        X.data[missing] = medians[X.indices[missing]]
    return X


def _some_rows(observed: Integers, n_drawn: int, random: RandomState) -> Integers:
    """Draw rows, one of each class at least, however rare it is."""
    order = random.permutation(len(observed))
    _, first = np.unique(observed[order], return_index=True)
    return np.unique(np.append(order[:n_drawn], order[first]))


def _center_and_scale(X: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; of sparse ones 0, of constant ones 1."""
    share = weight / weight.sum()
    mean = X.T @ share
    if sparse.issparse(X):
        variance = np.maximum(X.multiply(X).T @ share - mean**2, 0)
    else:
        variance = ((X - mean) ** 2).T @ share
    # What rounding alone leaves of a constant column.
    rounding = len(share) * np.finfo(np.float64).eps
    is_constant = variance <= rounding * variance + (rounding * mean) ** 2
    scale = np.where(is_constant, 1.0, np.sqrt(variance))
    return (np.zeros_like(mean) if sparse.issparse(X) else mean), scale


def medians_of(X: Any) -> Floats:
    """The median of each column without its missing values; 0 where nothing else is there."""
    if not sparse.issparse(X) and not np.isnan(X).any():
        return np.median(X, axis=0)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(X)
    return imputer.transform(np.full((1, X.shape[1]), np.nan))[0]


# --- logistic regression of a few hundred features, of two and of more classes, in milliseconds


def fit_logistic(
    features: Floats, observed: Integers, sample_weight: Floats, C: float
) -> tuple[Floats, Floats]:
    """Coefficients (n_features,) and intercept of two classes, penalised as scikit-learn does.

    Newton's method from 0 until neither gradient nor step matter, as its solver
    "newton-cholesky", without the checks that take longer than a fit.
    """
    share = sample_weight / sample_weight.sum()
    Z = np.column_stack([features, np.ones(len(features))])
    penalty = np.append(np.full(features.shape[1], 1 / (C * sample_weight.sum())), 0.0)
    signs = np.where(observed > 0, 1.0, -1.0)

    def loss_of(parameters: Floats) -> float:
        losses = np.logaddexp(0.0, -signs * (Z @ parameters))
        return float(share @ losses + 0.5 * penalty @ parameters**2)

    def gradient_of(probability: Floats, parameters: Floats) -> Floats:
        return Z.T @ (share * (probability - (observed > 0))) + penalty * parameters

    parameters = np.zeros(Z.shape[1])
    probability, loss = np.full(len(Z), 0.5), loss_of(parameters)
    gradient = gradient_of(probability, parameters)
    for _ in range(MOST_STEPS):
        half = Z.T * np.sqrt(share * probability * (1 - probability))
        curvature = half @ half.T  # of a matrix and itself half the products are enough
        diagonal = curvature.reshape(-1)[:: len(curvature) + 1]
        diagonal += penalty
        diagonal += RIDGE * diagonal.mean()
        _, step, failed = dposv(curvature, -gradient)
        if failed:
            raise np.linalg.LinAlgError("The curvature must be positive definite.")
        length, slope = 1.0, float(gradient @ step)
        for _ in range(MOST_HALVINGS):
            after = loss_of(parameters + length * step)
            if after <= loss + 1e-4 * length * slope + 1e-14:
                break
            length /= 2
        else:
            break  # rounding leaves nothing to gain
        parameters, loss = parameters + length * step, after
        probability = expit(Z @ parameters)
        gradient = gradient_of(probability, parameters)
        if np.abs(gradient).max() <= TOLERANCE_OF_TWO and -slope / 2 <= TOLERANCE_OF_TWO:
            break
    return parameters[:-1], parameters[-1]


def fit_softmax(
    features: Floats, observed: Integers, sample_weight: Floats, C: float
) -> tuple[Floats, Floats]:
    """Coefficients (n_features, n_classes) and intercepts, penalised as scikit-learn does.

    No curvature of the loss is larger than A = ½·ZᵀWZ for any class (Böhning 1992), Z being the
    features and a column of ones. L-BFGS in coordinates in which A and the penalty are the identity
    needs a third of the steps.
    """
    n_rows, n_features = features.shape
    share = sample_weight / sample_weight.sum()
    Z = np.column_stack([features, np.ones(n_rows)])
    penalty = np.append(np.full(n_features, 1 / (C * sample_weight.sum())), 0.0)
    bound = (Z.T * (share / 2)) @ Z + np.diag(penalty)
    bound[np.diag_indices_from(bound)] += RIDGE * np.trace(bound) / len(bound)
    # The coefficients are scaling @ parameters.
    scaling = solve_triangular(cholesky(bound, lower=True), np.eye(len(bound)), lower=True).T
    Z, penalty = Z @ scaling, (scaling.T * penalty) @ scaling
    labels = np.eye(observed.max() + 1)[observed]

    def value_and_gradient(packed: Floats) -> tuple[float, Floats]:
        parameters = packed.reshape(Z.shape[1], -1)
        scores = Z @ parameters
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        total = powers.sum(axis=1)
        shrinkage = penalty @ parameters
        loss = share @ (np.log(total) - np.sum(scores * labels, axis=1))
        residuals = (powers.T * (share / total)).T - (labels.T * share).T
        gradient = Z.T @ residuals + shrinkage
        return loss + 0.5 * np.vdot(parameters, shrinkage), gradient.ravel()

    start = np.zeros(Z.shape[1] * labels.shape[1])
    options = {"gtol": TOLERANCE, "ftol": 0.0, "maxiter": 200}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    coefficients = scaling @ found.x.reshape(Z.shape[1], -1)
    return coefficients[:-1], coefficients[-1]
