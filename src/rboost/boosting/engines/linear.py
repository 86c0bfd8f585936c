"""Rows in the native core, and one linear base learner that it fits; two classes.

The core reads the rows once a round: the votes of a learner are added in the pass that judges the
next one. It computes what :class:`rboost.boosting.engines.learners.LearnerEngine` does; both are
tested to agree.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rboost import native
from rboost._typing import Floats
from rboost.boosting.engine import Start
from rboost.boosting.learners import BaseLearner, FittedNatively
from rboost.boosting.linear_learners import LinearLearners
from rboost.boosting.parameters import BoostingParameters, noise_update_name
from rboost.boosting.sampling import draw_uniformly
from rboost.boosting.votes import RowVotes
from rboost.losses import ExponentialLoss, ExponentialSums, Loss, mixing_coefficients

# Class weights and steps that are but rounding of float32.
ROUNDING, SMALLEST_STEP = 4e-7, 1e-7


def linear_engine(
    parameters: BoostingParameters, loss: Loss, pool: list[BaseLearner], start: Start
) -> LinearEngine | None:
    """The engine for these rounds, or None when they are not for it.

    It takes one linear learner of two classes and the paper's loss, and draws no rows by their
    weights. Of the paper's noise estimates it makes that from Platt's method without checked rows.
    """
    learner = pool[0].native
    if len(pool) > 1 or learner is None or not isinstance(loss, ExponentialLoss):
        return None
    if start.rows.n_classes > 2 or start.checked is not None or parameters.sampling == "weights":
        return None
    by_the_paper = not parameters.out_of_bag and parameters.calibration == "platt"
    if noise_update_name(parameters) == "paper" and not by_the_paper:
        return None
    options, X = learner.native_options(), native.rows_for_native(start.rows.X)
    if options is None or X is None:
        return None
    return LinearEngine(parameters, loss, learner, options, X, start)


class LinearEngine:
    """An :class:`rboost.boosting.engine.Engine` around the native rounds."""

    checked_scores: Floats | None = None

    def __init__(
        self,
        parameters: BoostingParameters,
        loss: ExponentialLoss,
        learner: FittedNatively,
        options: dict[str, Any],
        X: NDArray[Any],
        start: Start,
    ) -> None:
        module, rows, votes = native.compiled(), start.rows, start.votes.copy()
        assert module is not None
        self._parameters, self._loss, self._random = parameters, loss, start.random
        self._learner: FittedNatively = clone(learner)
        self._shape, self._n_unconverged = X.shape, 0
        self.out_of_bag = votes.steps is not None
        # The core changes these in place.
        self._votes = votes.sums
        self._missed = None if votes.steps is None else votes.total - votes.steps
        kind = module.FloatRounds if X.dtype == np.float32 else module.DoubleRounds
        self._rounds = kind(
            X,
            2.0 * rows.observed - 1,
            None if np.all(rows.sample_weight == 1) else rows.sample_weight,
            rows.trusted if rows.trusted.any() else None,
            self._votes,
            self._missed,
            np.zeros(len(X), dtype=np.float32),
            **options,
            probability=parameters.votes == "probability",
            flip_negative=parameters.negative_weights == "flip",
            total_step=votes.total,
            n_threads=effective_n_jobs(parameters.n_jobs),
        )
        self._noise_matrix: Floats | None = None
        self._lone_start: Floats | None = None

    def fit_learner(self, noise_matrix: Floats) -> None:
        """Fit the learner to rows drawn by ``sampling``."""
        if noise_matrix is not self._noise_matrix:
            self._coefficients = mixing_coefficients(noise_matrix, self._loss.mixing)
            self._noise_matrix = noise_matrix
        sample = None
        if self._parameters.sampling == "uniform":
            n_rows, max_rows = self._shape[0], self._learner.max_rows
            sample = draw_uniformly(n_rows, self._parameters.max_samples, self._random, max_rows)
        starts = self._starts(self._random.seed())
        converged = self._rounds.fit_learner(self._coefficients, sample, starts)
        self._n_unconverged += not converged

    def _starts(self, seed: int) -> Floats:
        """Where the fit starts; a lone start is the same for every seed."""
        if self._lone_start is not None:
            return self._lone_start
        (starts,) = self._learner.starts(self._shape[1], [seed])
        if len(starts) == 1:
            self._lone_start = starts
        return starts

    def judge(self) -> ExponentialSums:
        """Add the votes of the learner before, and judge this one, in one pass over the rows."""
        falling, rising, total, net, least_agreement = self._rounds.judge()
        perfect = rising == 0 and least_agreement > 0
        sums = ExponentialSums(falling, rising, total, net, perfect, 2, ROUNDING, SMALLEST_STEP)
        return sums.with_one_more_row(self._shape[0]) if self.out_of_bag else sums

    def move(self, step: float) -> None:
        """Keep the learner and count its votes."""
        self._rounds.move(step)

    def paper_noise(self, noise_matrix: Floats) -> Floats:
        """Platt's method and one multiplicative update, by the core."""
        return self._rounds.update_noise(np.ascontiguousarray(noise_matrix))

    @property
    def votes(self) -> RowVotes:
        """What the learners so far say of each row."""
        self._rounds.settle()
        total = self._rounds.total_step
        return RowVotes(self._votes, None if self._missed is None else total - self._missed, total)

    def finish(self) -> LinearLearners:
        """The learners that were kept; those that did not converge are named once."""
        if self._n_unconverged:
            warnings.warn(
                f"{self._n_unconverged} base learners stopped at max_iter before they converged; "
                "raise their max_iter or tol, or penalise more with a smaller C.",
                ConvergenceWarning,
                stacklevel=5,
            )
        coefs, numbers = self._rounds.kept()
        numbers = np.asfortranarray(numbers)  # each column is used by itself
        return LinearLearners(
            self._learner,
            coefs,
            intercepts=numbers[:, 0],
            rates=numbers[:, 1:3],
            losses=numbers[:, 3],
            iterations=numbers[:, 4],
            center=self._rounds.center,
        )
