"""What is to be boosted, and how: the parameters of the classifier become rounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.base import clone

from rboost import native
from rboost.boosting.learners import fit_learner, prepare_pool
from rboost.boosting.native_rounds import NativeLearner, boost_natively, native_options
from rboost.boosting.noise_updates import NOISE_UPDATES
from rboost.boosting.rounds import Boosted, Choices, State, boost
from rboost.boosting.sampling import Randomness
from rboost.boosting.votes import VOTES
from rboost.tables import Table


@dataclass(frozen=True)
class Plan:
    """The parameters of the rounds; ``noise_estimator`` is "none" where the noise is known."""

    pool: list[Any]
    learning_rate: float
    sampling: str
    max_samples: float
    out_of_bag: bool
    votes: str
    noise_estimator: str
    mixing: str
    negative_weights: str
    calibration: str
    random: Randomness
    n_threads: int

    def boost(
        self, state: State, train: Table, trusted: Table | None, round_numbers: Iterable[int]
    ) -> Boosted:
        """Run the rounds, in the native core where they are for it."""
        choices = self._choices(train, trusted)
        native = self._native_learner(train, trusted)
        if native is None:
            return boost(state, train, trusted, choices, round_numbers)
        return boost_natively(state, train, choices, native, round_numbers)

    def _choices(self, train: Table, trusted: Table | None) -> Choices:
        """The parts of Algorithm 1 that the parameters name."""
        update = NOISE_UPDATES[self.noise_estimator]
        return Choices(
            fit_learner=partial(
                fit_learner,
                prepare_pool(self.pool, train.X),
                train,
                sampling=self.sampling,
                max_samples=self.max_samples,
                random=self.random,
            ),
            vote=VOTES[self.votes],
            update_noise=partial(
                update, train=train, trusted=trusted, calibration=self.calibration
            ),
            mixing=self.mixing,
            learning_rate=self.learning_rate,
            negative_weights=self.negative_weights,
        )

    def _native_learner(self, train: Table, trusted: Table | None) -> NativeLearner | None:
        """How the native core is to run the rounds; None when they are not for it."""
        by_the_paper = not self.out_of_bag and trusted is None and self.calibration == "platt"
        if self.noise_estimator == "paper" and not by_the_paper:
            return None
        options = native_options(self.pool, self.sampling)
        rows = None if options is None else native.rows_for_native(train.X)
        if options is None or rows is None:
            return None
        return NativeLearner(
            estimator=clone(self.pool[0]),
            options=options,
            rows=rows,
            votes=self.votes,
            noise_estimator=self.noise_estimator,
            sampling=self.sampling,
            max_samples=self.max_samples,
            random=self.random,
            n_threads=self.n_threads,
        )
