"""Engine "logistic": robust logistic regression of K classes, for texts and wide or sparse tables.

It has the model of rLR, eq. (1)–(4): p(y = j | x) = softmax(xW + b)ⱼ, and L says what was said of
the rows. The gradient of its likelihood is p − q, with q ∝ p·L. If p is that of training rows, a
model with more columns than rows follows wrong labels, and then q believes them. Here q is made of
held-out scores, and then fixed while W is fitted:

    fit      W of each fold minimises −Σ qᵢ·log softmax(xᵢW + b) + |W|²/2C on the other rows, by
             L-BFGS along a path of C, which is chosen by the likelihood of the rows left out
    infer    L, from the held-out scores z and the labels
    renew    q ∝ softmax(s·z')·L, with the likeliest slope s

The scores z' of a row for the model of another fold come from models of pairs of folds, which are
fitted to neither the row nor the rows that this model is to score. So the likelihood of held-out
scores stays honest, and decides which fit is kept. (From the second renewal on, the targets of such
a model come from models that were fitted to the row: a second-order effect.) The member is the mean
of the models of all folds; if the targets never change it is fitted to all rows.
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

from rboost._typing import Floats, Integers
from rboost.engines.engine import EngineFit, EngineRows, EngineSettings, Infer
from rboost.engines.learners import in_blocks
from rboost.engines.trees import stratified_folds
from rboost.native.threads import one_blas_thread
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
# A column is constant if its standard deviation is below this share of its mean; where numbers are
# cut off, in standard deviations.
ROUNDING, MOST_DEVIATIONS = 1e-10, 5.0
# L-BFGS: the changes that it remembers; the most steps, and the gain of a step, as a share of the
# cost, that is too small to go on. Where rows have few entries, as of texts, more steps fit more
# closely, but no better; other columns may depend on each other, and need them.
MEMORY, FEW_ENTRIES = 6, 0.25
STEPS_OF_FEW, STEPS_OF_MANY = (25, 2e-3), (100, 1e-5)
# A step along a direction is shortened by this factor until it gains this share of what the slope
# promises, but no further than to the last number.
SHORTER, GAINED, SHORTEST = 0.4, 1e-4, 1e-4
# The most fits to renewed targets; the gain of likelihood, in nats a row, below which a fit is no
# better than an earlier one; how many such fits in a row end the search.
MAX_FITS, SMALLEST_GAIN, PATIENCE = 6, 0.003, 2
# The weights of models of pairs of folds are kept, to start from, up to this many numbers each.
MOST_KEPT = 2**23
# Targets that change less than this in the mean are not worth another fit.
SMALLEST_CHANGE = 0.005
# No label is less likely than this, whatever the class, where fits are compared.
LEAST_LIKELIHOOD = 1e-4
# The range of the logarithm of the slope of scores.
LOG_SLOPES = (-1.0, 3.0)


def fit_logistic(rows: EngineRows, infer: Infer | None, settings: EngineSettings) -> EngineFit:
    """Fit logistic regression to soft labels, which are renewed while that helps."""
    with one_blas_thread():
        X = for_sparse(rows.X)
        center, scale = scaling_of(X)
        table = scaled_rows(X, center, scale)
        folds = FoldRegressions(table, rows.likelihood, rows.shares, settings.seed)
        best, reason = _best_fit(folds, rows, infer, settings)
    source, n_columns = source_of(rows.X, "sparse"), rows.X.shape[1]
    member = LinearScores(best.weights, scale, n_columns, source, center)
    scored = ScoredRows(best.scores, rows.likelihood.code, rows.likelihood.weight)
    return EngineFit(member, best.scores, scored, best.likelihood.columns, best.number, reason)


def _best_fit(
    folds: FoldRegressions, rows: EngineRows, infer: Infer | None, settings: EngineSettings
) -> tuple[_Fit, str]:
    """The fit whose held-out scores make the labels likeliest, and why no more were made."""
    best: _Fit | None = None
    without_gain, reason = 0, "all fits made"
    likelihood = rows.likelihood
    n_fits = min(settings.max_iter or MAX_FITS, MAX_FITS)
    for number in settings.track(range(1, n_fits + 1), n_fits, "Fitting logistic regressions"):
        scores = folds.fit(likelihood)
        if infer is not None:
            scored = ScoredRows(scores, likelihood.code, likelihood.weight)
            likelihood = rows.likelihood.with_columns(infer(scored))
        loss = steepest(likelihood, scores)[1]
        if best is None or loss < best.loss - SMALLEST_GAIN:
            weights = folds.mean_weights
            without_gain, best = 0, _Fit(number, folds.C, weights, scores, likelihood, loss)
        else:
            without_gain += 1
        if without_gain == PATIENCE:
            reason = "no gain in held-out likelihood"
            break
        if number < n_fits and not folds.renew(likelihood):
            reason = "labels hardly change"
            break
    assert best is not None
    if number == 1:  # the targets of all folds were the same, so that all rows can be fitted to
        best = replace(best, weights=folds.fitted_to_all(best.C))
    return best, reason


@dataclass(frozen=True, eq=False)
class _Fit:
    """Weights and held-out scores of a fit with C, L inferred from them, and its loss."""

    number: int
    C: float
    weights: Singles
    scores: Floats
    likelihood: Likelihood
    loss: float


# --- the model of new rows


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores zW + b of scaled rows z = (x − center) / scale.

    ``weights`` (d + 1, S) have b last; S = 1 for two classes, else K. ``center`` (d,) is None for
    sparse rows, and for dense ones it stands for missing numbers. The table has ``n_columns``, and
    ``source[c]`` is the one from which column c was made; None where rows are the table's own
    columns.
    """

    weights: Singles
    scale: Floats
    n_columns: int
    source: Integers | None = None
    center: Floats | None = None

    def __len__(self) -> int:
        return 1

    def scores(self, X: Any, n_jobs: int | None) -> Floats:
        """Log-odds of class 1; of more classes one score for each."""
        return in_blocks(self._scores, for_sparse(X), n_jobs)

    def _scores(self, X: Any) -> Floats:
        rows = scaled_rows(X, self.center, self.scale).astype(np.float64)
        found = products(rows, self.weights.astype(np.float64))  # the same alone and among others
        return found[:, 0] if found.shape[1] == 1 else found

    def feature_importances(self) -> Floats:
        """The share of each column in the squared weights of scaled columns."""
        squares = np.square(self.weights[:-1], dtype=np.float64).sum(axis=1)
        if self.source is not None:
            squares = by_table_column(squares, self.source, self.n_columns)
        return squares / (squares.sum() or 1.0)


def scaling_of(X: Any) -> tuple[Floats | None, Floats]:
    """Center and scale, such that rows have ``MEAN_SQUARE`` as squared length in the mean.

    Dense columns get mean 0 and equal variances, sparse ones, which stay sparse, one unit for all.
    """
    n_rows, n_columns = X.shape
    if sparse.issparse(X):
        square = float(np.nansum(np.square(X.data, dtype=np.float64))) / n_rows
        return None, np.full(n_columns, np.sqrt(square / MEAN_SQUARE) or 1.0)
    known = ~np.isnan(X)
    n_known = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, X, 0.0).sum(axis=0) / n_known
    deviation = np.sqrt(np.square(np.where(known, X - center, 0.0)).sum(axis=0) / n_known)
    is_constant = deviation <= ROUNDING * np.abs(center)
    return center, np.where(is_constant, 1.0, deviation * np.sqrt(n_columns / MEAN_SQUARE))


def scaled_rows(X: Any, center: Floats | None, scale: Floats) -> Any:
    """Rows in float32; dense columns are cut off at ``MOST_DEVIATIONS`` from their mean."""
    if center is None:
        X = sparse.csr_matrix(X, dtype=np.float64)
        unit = (np.nan_to_num(X.data) / scale[X.indices]).astype(np.float32)
        return sparse.csr_matrix((unit, X.indices, X.indptr), shape=X.shape)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    made = np.nan_to_num((dense - center) / scale, nan=0.0)
    most = MOST_DEVIATIONS * np.sqrt(MEAN_SQUARE / made.shape[1])
    return np.clip(made, -most, most, out=made).astype(np.float32)


def products(X: Any, weights: NDArray[Any]) -> NDArray[Any]:
    """The scores zW + b."""
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

    def fitted_to_all(self, C: float) -> Singles:
        """The weights of all rows, with their first targets."""
        every = np.ones(len(self.fold), dtype=bool)
        return Regression.of(self.X, every, self.first).fitted(C, self.mean_weights)

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

    def renew(self, likelihood: Likelihood) -> bool:
        """Make targets of scores by models of pairs of folds; return whether they changed.

        C is chosen anew, by the likelihood with the noise that was found since the last fit.
        """
        if likelihood.are_targets or self.n_folds < 3:
            return False
        rows = self.fold < self.n_choosing
        slopes = {C: steepest(likelihood.take(rows), own[rows]) for C, own in self.path.items()}
        self.C = min(slopes, key=lambda C: slopes[C][1])
        slope = slopes[self.C][0]
        scores = [np.zeros((len(self.fold), own.shape[1])) for own in self.weights]
        for f, g in permutations(range(self.n_folds), 2):
            if f > g and not self.are_renewed:
                continue  # the first targets of all folds are the same, and so is the model
            model = Regression.of(self.X, (self.fold != f) & (self.fold != g), self.targets[f])
            start = self.pairs.get((f, g), self.pairs.get((g, f), model.zero))
            weights = model.fitted(self.C, start)
            if weights.size <= MOST_KEPT:
                self.pairs[f, g] = weights
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

        n_entries = self.X.nnz if sparse.issparse(self.X) else self.X.size
        has_few = n_entries < FEW_ENTRIES * np.prod(self.X.shape)
        steps = STEPS_OF_FEW if has_few else STEPS_OF_MANY
        return descend(cost, weights, np.reciprocal(self.curvature + penalty), *steps)


def descend(
    cost: Callable[[Singles], tuple[float, Singles]],
    weights: Singles,
    inverse: Singles,
    most_steps: int,
    enough: float,
) -> Singles:
    """Minimise by L-BFGS; ``inverse`` is roughly the reciprocal of the second derivatives."""
    value, gradient = cost(weights)
    changes: list[tuple[Singles, Singles]] = []
    for _ in range(most_steps):
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
        if gain < enough * abs(value):
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
