"""Engine "logistic": robust logistic regression of K classes, for texts and wide or sparse tables.

It has the model of rLR, eq. (1)–(4): p(y = j | x) = softmax(xW + b)ⱼ, and L says what was said of
the rows. The gradient of its likelihood is p − q, with q ∝ p·L. If p is that of training rows, a
model with more columns than rows follows wrong labels, and then q believes them. Here q is made of
held-out scores, and then fixed while W is fitted:

    fit      W of each fold minimises −Σ qᵢ·log softmax(xᵢW + b) + |W|²/2C on the other rows, by
             L-BFGS along a path of C, which is chosen by the likelihood of the rows left out
    infer    L, from the held-out scores z and the labels
    renew    q ∝ softmax(s·z')·L, with the likeliest slope s

The scores z' of a row for the model of another fold come from models of pairs of folds, which saw
neither the row nor the rows that this model is to score. So the likelihood of held-out scores stays
honest, and decides which fit is kept. The member is the mean of the models of all folds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import expit
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer
from rboost.engines.learners import in_blocks
from rboost.engines.trees import stratified_folds
from rboost.noise.inference import ScoredRows
from rboost.noise.likelihood import Likelihood
from rboost.table.features import by_table_column, for_sparse, source_of

Singles = NDArray[np.float32]
# Folds of the rows; the first one alone chooses C where a matrix has many entries × classes.
N_FOLDS, MANY_PRODUCTS = 4, 30_000_000
# C, from the strongest penalty to the weakest; rows have squared lengths of 2 in the mean. The
# intercept is all but free: its C is a million divided by the number of rows.
PATH, INTERCEPT_PENALTY = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0), 1e-6
MEAN_SQUARE = 2.0
# L-BFGS: the most steps, the pairs of changes that it remembers, and the relative gain of a step
# that is too small to go on. More steps fit more closely, but no better.
MAX_STEPS, MEMORY, ENOUGH = 25, 6, 2e-3
# A step along a direction is shortened by this factor until it gains this share of what the slope
# promises, but no further than to the last number.
SHORTER, GAINED, SHORTEST = 0.4, 1e-4, 1e-4
# The most fits to renewed targets; the gain of likelihood, in nats a row, below which a fit is no
# better than an earlier one; how many such fits in a row end the search.
MAX_FITS, SMALLEST_GAIN, PATIENCE = 6, 0.003, 2
# Targets that change less than this in the mean are not worth another fit.
SMALLEST_CHANGE = 0.005
# No label is less likely than this, whatever the class, where fits are compared.
LEAST_LIKELIHOOD = 1e-4
# The range of the logarithm of the slope of scores.
LOG_SLOPES = (-1.0, 3.0)


def fit_logistic(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Fit logistic regression to soft labels, which are renewed while that helps."""
    with threadpool_limits(1, "blas"):
        table, scaling = scaled(for_sparse(rows.X))
        folds = FoldRegressions(table, rows.likelihood, rows.shares, settings.seed)
        return _fit(folds, scaling, rows, infer, settings)


def _fit(
    folds: FoldRegressions,
    scaling: Scaling,
    rows: EngineRows,
    infer: Infer | None,
    settings: EngineSettings,
) -> EngineFit:
    best: _Fit | None = None
    without_gain, reason = 0, "all fits made"
    likelihood = rows.likelihood
    n_fits = min(settings.max_iter or MAX_FITS, MAX_FITS)
    for number in settings.track(range(1, n_fits + 1), n_fits, "Fitting logistic regressions"):
        scores = folds.fit(likelihood)
        if infer is not None:
            scored = ScoredRows(scores, likelihood.code, likelihood.weight)
            likelihood = rows.likelihood.with_columns(infer(scored))
        slope, loss = steepest(likelihood, scores)
        if best is None or loss < best.loss - SMALLEST_GAIN:
            without_gain, best = 0, _Fit(number, folds.mean_weights, scores, likelihood, loss)
        else:
            without_gain += 1
        if without_gain == PATIENCE:
            reason = "no gain in held-out likelihood"
            break
        if number < n_fits and not folds.renew(likelihood, slope):
            reason = "labels hardly change"
            break
    assert best is not None
    if number == 1:  # the targets of all folds were the same, so that all rows can be fitted to
        best = replace(best, weights=folds.fitted_to_all())
    source, n_columns = source_of(rows.X, "sparse"), rows.X.shape[1]
    member = scaling.member(best.weights, n_columns, source)
    scored = ScoredRows(best.scores, likelihood.code, likelihood.weight)
    return EngineFit(member, best.scores, scored, best.likelihood.columns, best.number, reason)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Weights and held-out scores of a fit, L inferred from them, and its loss."""

    number: int
    weights: Singles
    scores: Floats
    likelihood: Likelihood
    loss: float


# --- the model of new rows


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores xW + b: ``weights`` (d + 1, S) have b last; S = 1 for two classes, else K.

    ``center`` (d,) replaces missing numbers, None where rows have none. The table has
    ``n_columns``, and ``source[c]`` is the one from which column c was made; None where rows are
    the table's own columns.
    """

    weights: Singles
    n_columns: int
    source: Integers | None = None
    center: Floats | None = None

    def __len__(self) -> int:
        return 1

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Log-odds of class 1; of more classes one score for each."""
        return in_blocks(self._scores, for_sparse(X), n_jobs)

    def _scores(self, X: Any) -> Floats:
        found = products(completed(X, self.center), self.weights).astype(np.float64)
        return found[:, 0] if found.shape[1] == 1 else found

    def feature_importances(self) -> Floats:
        """The share of each column in the squared weights."""
        squares = np.square(self.weights[:-1], dtype=np.float64).sum(axis=1)
        if self.source is not None:
            squares = by_table_column(squares, self.source, self.n_columns)
        return squares / (squares.sum() or 1.0)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Columns were made (x − center) / scale; sparse ones have no ``center``."""

    center: Floats | None
    scale: Floats

    def member(self, weights: Singles, n_columns: int, source: Integers | None) -> LinearScores:
        """The model for rows as they were before."""
        own = weights[:-1] / self.scale[:, np.newaxis]
        intercept = weights[-1].astype(np.float64)
        if self.center is not None:
            intercept -= self.center @ own
        joined = np.vstack([own, intercept]).astype(np.float32)
        return LinearScores(joined, n_columns, source, self.center)


def scaled(X: Any) -> tuple[Any, Scaling]:
    """Rows in float32 whose squared length is ``MEAN_SQUARE`` in the mean.

    Dense columns get mean 0 and equal variances; sparse ones, which stay sparse, one unit for all.
    """
    n_columns = X.shape[1]
    if sparse.issparse(X):
        X = completed(X, None)
        square = float(X.multiply(X).sum()) / X.shape[0]
        unit = np.sqrt(square / MEAN_SQUARE) or 1.0
        made = sparse.csr_matrix(X / unit, dtype=np.float32)
        return made, Scaling(None, np.full(n_columns, unit))
    X = np.asarray(X, dtype=np.float64)
    known = np.isfinite(X)
    n_known = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, X, 0.0).sum(axis=0) / n_known
    made = completed(X, center) - center
    scale = np.sqrt(np.square(made).sum(axis=0) / n_known)
    used = np.count_nonzero(scale) or 1
    scale = np.where(scale > 0, scale * np.sqrt(used / MEAN_SQUARE), 1.0)
    return (made / scale).astype(np.float32), Scaling(center, scale)


def completed(X: Any, center: Floats | None) -> Any:
    """Rows in which the ``center`` of a column, or 0, stands for missing numbers."""
    if sparse.issparse(X):
        if np.isnan(X.data).any():
            X = X.copy()
            X.data = np.nan_to_num(X.data)
        return X
    return np.where(np.isnan(X), 0.0 if center is None else center, X)


def products(X: Any, weights: Singles) -> Singles:
    """The scores xW + b."""
    return np.asarray(X @ weights[:-1] + weights[-1])


# --- regressions in folds


@dataclass(frozen=True, eq=False)
class Targets:
    """Soft labels of rows, (n, S): of two classes the probability of class 1 alone."""

    q: Singles
    weight: Singles

    @classmethod
    def of(cls, posterior: Floats, weight: Floats) -> Targets:
        """From p(y = j | all that is known), (n, K)."""
        own = posterior[:, 1:] if posterior.shape[1] == 2 else posterior
        return cls(own.astype(np.float32), weight.astype(np.float32))

    def take(self, rows: NDArray[np.bool_]) -> Targets:
        """Some of the rows."""
        return Targets(self.q[rows], self.weight[rows])

    def cost(self, scores: Singles) -> tuple[float, Singles]:
        """The cross-entropy −Σ w·q·log p, and its gradient w·(p − q) by the scores."""
        if scores.shape[1] == 1:
            loss = np.logaddexp(0, scores) - self.q * scores
            gradient = expit(scores) - self.q
        else:
            logs = log_softmax(scores)
            loss = -self.q * logs
            gradient = np.exp(logs) - self.q
        return float(self.weight @ loss.sum(axis=1)), self.weight[:, np.newaxis] * gradient


class FoldRegressions:
    """The models of all folds, each fitted to the rows of the others."""

    def __init__(self, X: Any, start: Likelihood, shares: Floats, seed: int) -> None:
        n_folds, n_classes = min(N_FOLDS, len(start)), start.n_classes
        likeliest = start.columns.argmax(axis=0)[start.code]
        self.X, self.fold = X, stratified_folds(likeliest, n_folds, seed)
        prior = np.log(np.maximum(shares, LEAST_LIKELIHOOD))
        first = posterior(np.broadcast_to(prior, (len(start), n_classes)), start)
        self.first = Targets.of(first, start.weight)
        self.targets, self.are_renewed = [self.first] * n_folds, False
        n_entries = X.nnz if sparse.issparse(X) else X.size
        self.n_choosing = 1 if n_entries * n_classes > MANY_PRODUCTS else n_folds
        self.C = PATH[0]
        self.path: dict[float, Floats] = {}  # held-out scores of the last fit, by C
        self.weights: list[Singles] = []
        self.pairs: dict[tuple[int, int], Singles] = {}  # weights without two of the folds

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return len(self.targets)

    @property
    def mean_weights(self) -> Singles:
        """The mean of the models."""
        return np.mean(self.weights, axis=0, dtype=np.float32)

    def fitted_to_all(self) -> Singles:
        """The weights of all rows, with their first targets."""
        every = np.ones(len(self.fold), dtype=bool)
        return Regression.of(self.X, every, self.first).fitted(self.C, self.mean_weights)

    def fit(self, likelihood: Likelihood) -> Floats:
        """Fit all models, C chosen by the likelihood of left-out rows; return their scores."""
        choosing = range(self.n_choosing)
        chosen = [Regression.of(self.X, self.fold != f, self.targets[f]) for f in choosing]
        before = self.weights or [own.zero for own in chosen] * self.n_folds
        weights = before[: self.n_choosing]
        best, lowest = weights, np.inf
        self.path.clear()
        for C in PATH:
            if self.are_renewed and C < self.C / 4:
                continue
            weights = [own.fitted(C, before) for own, before in zip(chosen, weights, strict=True)]
            self.path[C] = self._scores(weights)
            loss = self._loss(likelihood, self.path[C])
            if loss >= lowest:
                break
            best, lowest, self.C = weights, loss, C
        for f in range(self.n_choosing, self.n_folds):
            own = Regression.of(self.X, self.fold != f, self.targets[f])
            best.append(own.fitted(self.C, before[f]))
        self.weights = best
        return self._scores(self.weights)

    def _loss(self, likelihood: Likelihood, scores: Floats) -> float:
        """The loss of left-out rows; with renewed targets that of the likeliest slope."""
        rows = self.fold < self.n_choosing
        own, left_out = likelihood.take(rows), scores[rows]
        return steepest(own, left_out)[1] if self.are_renewed else own.loss(left_out)

    def _scores(self, weights: list[Singles]) -> Floats:
        """Scores of the rows of the first folds, each by its model; 0 of the rows of others."""
        found = np.zeros((len(self.fold), weights[0].shape[1]))
        for f, own in enumerate(weights):
            rows = self.fold == f
            found[rows] = products(self.X[rows], own)
        return found[:, 0] if found.shape[1] == 1 else found

    def renew(self, likelihood: Likelihood, slope: float) -> bool:
        """Make targets of scores by models of pairs of folds; return whether they changed."""
        if likelihood.are_targets or self.n_folds < 3:
            return False
        rows = self.fold < self.n_choosing
        self.C = min(
            self.path, key=lambda C: steepest(likelihood.take(rows), self.path[C][rows])[1]
        )
        scores = [np.zeros((len(self.fold), own.shape[1])) for own in self.weights]
        for f, g in permutations(range(self.n_folds), 2):
            if f > g and not self.are_renewed:
                continue  # the first targets of all folds are the same, and so is the model
            model = Regression.of(self.X, (self.fold != f) & (self.fold != g), self.targets[f])
            weights = self.pairs[f, g] = model.fitted(self.C, self.pairs.get((f, g), model.zero))
            for one, other in [(f, g)] if self.are_renewed else [(f, g), (g, f)]:
                rows = self.fold == other
                scores[one][rows] = products(self.X[rows], weights)
        renewed = [
            Targets.of(posterior(slope * both_classes(own), likelihood), likelihood.weight)
            for own in scores
        ]
        change = 0.0
        for f, (old, new) in enumerate(zip(self.targets, renewed, strict=True)):
            # The model of fold f is not fitted to its rows, which have no scores either.
            rows = self.fold != f
            change += float(np.abs(new.q[rows] - old.q[rows]).sum(axis=1).mean()) / self.n_folds
        self.targets, self.are_renewed = renewed, True
        return change * (1 if renewed[0].q.shape[1] == 1 else 0.5) > SMALLEST_CHANGE


@dataclass(frozen=True, eq=False)
class Regression:
    """Logistic regression on some rows; ``curvature`` (d + 1, 1) is that of the cost, roughly."""

    X: Any
    transposed: Any
    targets: Targets
    curvature: Singles

    @classmethod
    def of(cls, X: Any, rows: NDArray[np.bool_], targets: Targets) -> Regression:
        """On the rows of a mask."""
        own, targets = X[rows], targets.take(rows)
        weight = targets.weight
        squares = own.multiply(own) if sparse.issparse(own) else own * own
        by_column = np.append(np.asarray(weight @ squares).ravel(), weight.sum())
        curvature = by_column[:, np.newaxis] / max(targets.q.shape[1], 4)
        transposed = own.T.tocsr() if sparse.issparse(own) else own.T
        return cls(own, transposed, targets, curvature.astype(np.float32))

    @property
    def zero(self) -> Singles:
        """Weights of 0."""
        return np.zeros((len(self.curvature), self.targets.q.shape[1]), dtype=np.float32)

    def fitted(self, C: float, weights: Singles) -> Singles:
        """The weights of least cost, from the weights given."""
        penalty = np.full((len(weights), 1), 1 / C, dtype=np.float32)
        penalty[-1] = INTERCEPT_PENALTY * len(self.targets.weight)

        def cost(weights: Singles) -> tuple[float, Singles]:
            loss, by_scores = self.targets.cost(products(self.X, weights))
            pull = penalty * weights
            gradient = np.vstack([self.transposed @ by_scores, by_scores.sum(axis=0)]) + pull
            return loss + 0.5 * float(np.vdot(pull, weights)), gradient

        return descend(cost, weights, np.reciprocal(self.curvature + penalty))


def descend(
    cost: Callable[[Singles], tuple[float, Singles]], weights: Singles, inverse: Singles
) -> Singles:
    """Minimise by L-BFGS; ``inverse`` is roughly the reciprocal of the second derivatives."""
    value, gradient = cost(weights)
    changes: list[tuple[Singles, Singles]] = []
    for _ in range(MAX_STEPS):
        direction = _direction(gradient, changes, inverse)
        slope, length = float(np.vdot(gradient, direction)), np.float32(1)
        new_value, new_gradient = cost(weights - direction)
        while new_value > value - GAINED * float(length) * slope:
            length *= np.float32(SHORTER)
            if length < SHORTEST:
                return weights
            new_value, new_gradient = cost(weights - length * direction)
        step, turn = -length * direction, new_gradient - gradient
        if float(np.vdot(step, turn)) > 0:
            changes = [*changes, (step, turn)][-MEMORY:]
        gain, value = value - new_value, new_value
        weights, gradient = weights + step, new_gradient
        if gain < ENOUGH * abs(value):
            break
    return weights


def _direction(
    gradient: Singles, changes: list[tuple[Singles, Singles]], inverse: Singles
) -> Singles:
    """The gradient times the inverse Hessian that recent changes imply (two-loop recursion)."""
    direction, shares = gradient.copy(), []
    for step, turn in reversed(changes):
        share = np.vdot(step, direction) / np.vdot(step, turn)
        direction -= share * turn
        shares.append(share)
    direction *= inverse
    if changes:
        step, turn = changes[-1]
        direction *= np.vdot(step, turn) / np.vdot(turn, inverse * turn)
    for (step, turn), share in zip(changes, reversed(shares), strict=True):
        direction += (share - np.vdot(turn, direction) / np.vdot(step, turn)) * step
    return direction


# --- likelihoods of scores


def both_classes(scores: Floats) -> Floats:
    """Scores of all classes, (n, K); of two, 0 and the log-odds."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    return np.column_stack([np.zeros(len(scores)), scores])


def log_softmax(scores: Any) -> Any:
    """Logarithms of probabilities, (n, K)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def posterior(scores: Floats, likelihood: Likelihood) -> Floats:
    """q ∝ softmax(scores)·L, (n, K); of rows with targets, these."""
    said = likelihood.columns.T[likelihood.code]
    if likelihood.are_targets:
        return said
    joint = np.exp(log_softmax(scores)) * said
    total = joint.sum(axis=1, keepdims=True)
    return np.where(
        total > 0, joint / np.where(total > 0, total, 1), said / said.sum(axis=1)[:, None]
    )


def steepest(likelihood: Likelihood, scores: Floats) -> tuple[float, float]:
    """The slope of scores with which the labels are likeliest, and the loss with it."""
    if not likelihood.are_targets:
        columns = np.maximum(likelihood.columns, LEAST_LIKELIHOOD)
        likelihood = replace(likelihood, columns=columns)
    found = minimize_scalar(
        lambda log_slope: likelihood.loss(np.exp(log_slope) * scores),
        bounds=LOG_SLOPES,
        method="bounded",
        options={"xatol": 0.03},
    )
    return float(np.exp(found.x)), float(found.fun)
