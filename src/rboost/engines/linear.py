"""Rounds of Algorithm 1 in the native core, with one linear base learner of two classes.

The core reads the rows once a round: the votes of a learner are added in the pass that judges the
next one. It computes what :class:`rboost.engines.learners.LearnerRounds` does; both are tested to
agree. A learner that it fits has ``native_options()``, ``starts(n_features, random_state)`` and
``set_fitted(...)``, as :class:`rboost.RobustLogisticRegression` does.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning

from rboost import native
from rboost._typing import Floats
from rboost.engines.learners import BaseLearner, Randomness, RoundSettings, draw_uniformly
from rboost.engines.rounds import ExponentialLoss, ExponentialSums, Loss, RowVotes
from rboost.noise.likelihood import Likelihood

# Class weights and steps below these are rounding errors of float32.
ROUNDING, SMALLEST_STEP = 4e-7, 1e-7


def native_rounds(
    X: Any,
    likelihood: Likelihood,
    loss: Loss,
    pool: list[BaseLearner],
    votes: RowVotes,
    random: Randomness,
    settings: RoundSettings,
    certain: NDArray[np.bool_],
) -> NativeRounds | None:
    """The rounds in the native core, or None when they are not for it.

    It takes one linear learner of two classes and the exponential loss, draws no rows by their
    weights, and knows patterns 0 and 1, of labels 0 and 1, and 2 and 3, of labels that are certain.
    """
    learner = pool[0].estimator
    has_options = hasattr(learner, "native_options")
    if len(pool) > 1 or not has_options or not isinstance(loss, ExponentialLoss):
        return None
    if likelihood.n_classes > 2 or settings.sampling == "weights":
        return None
    used = likelihood.code.max() + 1
    if used > 4 or certain[:2].any() or not certain[2:used].all():
        return None
    options, rows = learner.native_options(), native.rows_for_native(X)
    if options is None or rows is None:
        return None
    return NativeRounds(rows, likelihood, learner, options, votes, random, settings)


class NativeRounds:
    """:class:`rboost.engines.rounds.Rounds` in the native core."""

    def __init__(
        self,
        X: NDArray[Any],
        likelihood: Likelihood,
        learner: Any,
        options: dict[str, Any],
        votes: RowVotes,
        random: Randomness,
        settings: RoundSettings,
    ) -> None:
        module, votes = native.compiled(), votes.copy()
        assert module is not None
        self._settings, self._random, self._learner = settings, random, clone(learner)
        self._shape, self._n_unconverged = X.shape, 0
        self.out_of_bag = votes.steps is not None
        # The core changes these in place.
        self._votes = votes.sums
        self._missed = None if votes.steps is None else votes.total - votes.steps
        kind = module.FloatRounds if X.dtype == np.float32 else module.DoubleRounds
        certain = likelihood.code >= 2
        self._rounds = kind(
            X,
            2.0 * (likelihood.code % 2) - 1,
            None if np.all(likelihood.weight == 1) else likelihood.weight,
            certain if certain.any() else None,
            self._votes,
            self._missed,
            np.zeros(len(X), dtype=np.float32),
            **options,
            probability=settings.votes == "probability",
            flip_negative=settings.negative_weights == "flip",
            total_step=votes.total,
            n_threads=effective_n_jobs(settings.n_jobs),
        )
        self._lone_start: Floats | None = None

    def fit_learner(self, columns: Floats) -> None:
        """Fit the learner to rows drawn by ``sampling``."""
        sample = None
        if self._settings.sampling == "uniform":
            n_rows, max_rows = self._shape[0], self._learner.max_rows
            sample = draw_uniformly(n_rows, self._settings.max_samples, self._random, max_rows)
        seed = self._random.seed()
        starts = self._lone_start
        if starts is None:
            starts = self._learner.starts(self._shape[1], seed)
            if len(starts) == 1:  # the same for every seed
                self._lone_start = starts
        mixing = np.ascontiguousarray(columns[:, :2].T)
        self._n_unconverged += not self._rounds.fit_learner(mixing, sample, starts)

    def judge(self) -> ExponentialSums:
        """Add the votes of the learner before, and judge this one, in one pass over the rows."""
        falling, rising, total, net, least_agreement = self._rounds.judge()
        perfect = rising == 0 and least_agreement > 0
        sums = ExponentialSums(falling, rising, total, net, perfect, 2, ROUNDING, SMALLEST_STEP)
        return sums.with_one_more_row(self._shape[0]) if self.out_of_bag else sums

    def move(self, step: float) -> None:
        """Keep the learner and count its votes."""
        self._rounds.move(step)

    @property
    def votes(self) -> RowVotes:
        """What the learners so far say of each row."""
        self._rounds.settle()
        total = self._rounds.total_step
        return RowVotes(self._votes, None if self._missed is None else total - self._missed, total)

    def finish(self) -> list[Any]:
        """The learners that were kept; those that did not converge are reported in one warning."""
        if self._n_unconverged:
            warnings.warn(
                f"{self._n_unconverged} base learners stopped at max_iter before they converged; "
                "raise their max_iter or tol, or penalise more with a smaller C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        both = zip(*self._rounds.kept(), strict=True)
        return [self._fitted(coef, *numbers) for coef, numbers in both]

    def _fitted(self, coef: Floats, intercept: float, *found: float) -> Any:
        """A fitted learner; an infinite intercept is the constant one of a sample of one class."""
        if np.isinf(intercept):
            constant = [int(intercept > 0)]
            return DummyClassifier(strategy="prior").fit(coef[np.newaxis], constant)
        learner = copy.copy(self._learner)
        learner.set_fitted(coef, intercept, *found)
        return learner
