"""Rows in NumPy, and any scikit-learn classifier as base learner."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from rboost._typing import Floats, Integers
from rboost.boosting.checked_rows import CheckedRows
from rboost.boosting.engine import Start
from rboost.boosting.learners import BaseLearner, scaled_weights
from rboost.boosting.noise_updates import calibrate, updated_by_paper
from rboost.boosting.parameters import BoostingParameters
from rboost.boosting.sampling import NEGATIVE_WEIGHTS, Copies, draw_uniformly, n_uniform
from rboost.boosting.votes import VOTES, coded, expanded
from rboost.losses import Loss, Sums, Terms

# Above this share of the rows a vote on all of them is faster than taking them out.
MOST = 0.8


class LearnerEngine:
    """An :class:`rboost.boosting.engine.Engine` that takes the base learners of a pool in turn."""

    def __init__(
        self, parameters: BoostingParameters, loss: Loss, pool: list[BaseLearner], start: Start
    ) -> None:
        self._parameters, self._loss, self._random = parameters, loss, start.random
        self._rows, self._checked, self._number = start.rows, start.checked, start.n_rounds
        self._pool = pool
        self._table = CheckedRows(start.rows.X)
        self.votes, self.out_of_bag = start.votes.copy(), start.votes.steps is not None
        self.checked_scores = start.checked_scores
        self._kept: list[Any] = []

    def fit_learner(self, noise_matrix: Floats) -> None:
        """Fit a fresh copy of a base learner to rows drawn by ``sampling``."""
        rows = self._rows
        self._terms: Terms = self._loss.terms(
            rows.observed,
            expanded(self.votes.scores),
            noise_matrix,
            rows.sample_weight,
            rows.trusted,
            rows.known,
        )
        base = self._pool[self._number % len(self._pool)]
        self._number += 1
        copies, total = self._draw(base.max_rows)
        learner = base.new(self._random.seed)
        self._unseen = self._left_out(copies) if self.out_of_bag else None
        targets, weights = copies.targets, None
        if copies.weights is not None:
            weights = scaled_weights(copies.weights, rows.sample_weight[copies.rows], total)
        if np.ptp(targets if weights is None else targets[weights > 0]) == 0:
            learner = DummyClassifier(strategy="prior")  # one class leaves nothing else to learn
        weighted = {} if weights is None else {"sample_weight": weights}
        self._learner = self._table.fit(learner, copies.rows, targets, **weighted)

    def _draw(self, max_rows: int | None) -> tuple[Copies, float]:
        """What the next learner is given, and the total weight of the rows that it is drawn from.

        Weights are scaled to that total, so that a penalty such as ``C`` means the same as in a fit
        of the estimator alone.
        """
        rows, parameters = self._rows, self._parameters
        n_rows = len(rows.observed)
        drawn: Integers | slice = slice(None)
        if parameters.sampling == "uniform":
            drawn = np.sort(draw_uniformly(n_rows, parameters.max_samples, self._random, max_rows))
        ways = NEGATIVE_WEIGHTS[parameters.negative_weights]
        copies = ways(self._terms.class_weights[drawn], rows.observed[drawn])
        if parameters.sampling == "weights":
            n_drawn = n_uniform(n_rows, parameters.max_samples)
            copies = copies.drawn(min(n_drawn, max_rows or n_drawn), self._random)
        if not isinstance(drawn, slice):
            copies = replace(copies, rows=drawn[copies.rows])
        return copies, float(rows.sample_weight[drawn].sum())

    def _left_out(self, copies: Copies) -> Integers:
        unseen = np.ones(len(self._rows.observed), dtype=bool)
        unseen[copies.rows] = False
        return np.flatnonzero(unseen)

    def judge(self) -> Sums:
        """Ask the learner about all rows, or about those that it has not seen."""
        self._said = self._probability()
        return self._terms.judge(self._said, self._unseen)

    def _probability(self) -> Floats:
        n_classes, unseen = self._rows.n_classes, self._unseen
        said = partial(self._table.votes, self._learner, self._parameters.votes, n_classes)
        if unseen is None:
            return said()
        if len(unseen) > MOST * len(self._rows.observed):
            return said()[unseen]
        return said(unseen) if len(unseen) else np.zeros((0, n_classes))

    def move(self, step: float) -> None:
        """Keep the learner and count its votes."""
        judges = slice(None) if self._unseen is None else self._unseen
        self.votes.add(step, coded(self._said), judges)
        if self._checked is not None and self.checked_scores is not None:
            said = VOTES[self._parameters.votes](
                self._learner, self._checked.X, self._rows.n_classes
            )
            self.checked_scores = self.checked_scores + step * coded(said)
        self._kept.append(self._learner)

    def finish(self) -> list[Any]:
        """The learners that were kept."""
        return self._kept

    def paper_noise(self, noise_matrix: Floats) -> Floats:
        """Calibrate on the checked rows where there are any, then update the noise matrix."""
        clean, scores = np.eye(self._rows.n_classes), self.votes.scores
        rows, known = self._rows, scores
        if self._checked is not None and self.checked_scores is not None:
            rows, known = self._checked, self.checked_scores
        name = self._parameters.calibration
        calibration = calibrate(self._loss, name, known, rows, clean, clean)  # (5)
        return updated_by_paper(noise_matrix, calibration, scores, self._rows)  # (6)
