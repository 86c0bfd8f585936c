"""Algorithm 1 with a linear base learner, run by the native core.

What :func:`rboost.boosting.rounds.boost` does round by round, done in stretches of rounds between
two updates of the noise matrix. The rounds there are the specification; both are tested to agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rboost import native
from rboost._typing import Floats
from rboost.boosting.ensemble import Ensemble
from rboost.boosting.linear_learners import LinearLearners
from rboost.boosting.noise_updates import rounds_to_update
from rboost.boosting.rounds import (
    AT_MINIMUM,
    PERFECT,
    USELESS,
    USELESS_LEARNERS,
    Boosted,
    Choices,
    OutOfBag,
    State,
    all_done,
)
from rboost.boosting.sampling import Randomness, draw_uniformly, n_uniform
from rboost.losses import MAX_STEP
from rboost.tables import Table

# Why the native core says that boosting has ended, by number.
ENDINGS = ("", AT_MINIMUM, USELESS, PERFECT)
# A smaller step is what float32 rounding makes of a learner that cannot improve anything.
SMALLEST_STEP = 1e-7
# Rounds in a stretch, at most; a progress bar moves after each.
STRETCH = 25
# Rows drawn for the learners of a stretch, at most: they are kept until it ends.
STRETCH_ROWS = 2**19


@dataclass(frozen=True)
class NativeLearner:
    """A linear base learner and how the native core is to fit it; the rest as in ``fit_learner``.

    ``rows`` come from :func:`rboost.native.rows_for_native`, ``votes`` is the parameter of the
    classifier. With "paper" as ``noise_estimator`` steps 5 and 6 of Algorithm 1 follow every round;
    the core does these too.
    """

    estimator: Any
    options: dict[str, Any]
    rows: NDArray[Any]
    votes: str
    noise_estimator: str
    sampling: str
    max_samples: float
    random: Randomness
    n_threads: int


def native_options(pool: list[Any], sampling: str) -> dict[str, Any] | None:
    """How the native core would fit the base learner; None when the rounds are not for it.

    It takes one linear learner, and draws no rows by their weights.
    """
    options_of = getattr(pool[0], "native_options", None)
    if options_of is None or len(pool) > 1 or sampling == "weights":
        return None
    return options_of()


def boost_natively(
    state: State,
    train: Table,
    choices: Choices,
    learner: NativeLearner,
    round_numbers: Iterable[int],
) -> Boosted:
    """Repeat rounds until the numbers run out or nothing more can be learnt."""
    run = _Run(state, train, choices, learner)
    numbers, reason = iter(round_numbers), ""
    while not reason and (stretch := list(islice(numbers, run.n_next()))):
        reason = run.stretch(stretch)
    if run.n_unconverged:
        warnings.warn(
            f"{run.n_unconverged} base learners stopped at max_iter before they converged; raise "
            "their max_iter or tol, or penalise more with a smaller C.",
            ConvergenceWarning,
            stacklevel=5,
        )
    state, ensemble = run.state(), run.ensemble()
    n_rounds = run.number
    finished = bool(reason)
    return Boosted(ensemble, state, n_rounds, reason or all_done(n_rounds, run.n_skipped), finished)


class _Run:
    """The rows with their scores in the native core, and what the rounds so far have found."""

    def __init__(
        self, state: State, train: Table, choices: Choices, learner: NativeLearner
    ) -> None:
        self._last, self._choices, self._learner = state, choices, learner
        self._found: list[tuple[Floats, ...]] = []
        self._max_rows: int | None = learner.estimator.max_rows
        self.number = self.n_skipped = self.n_unconverged = 0
        X = learner.rows
        self._shape = X.shape
        # They are changed in place.
        self._missed = None
        if state.out_of_bag is None:
            self._votes = state.scores.copy()
        else:
            self._votes = state.out_of_bag.votes.copy()
            self._missed = state.out_of_bag.total - state.out_of_bag.steps
        module = native.compiled()
        assert module is not None
        kind = module.FloatRounds if X.dtype == np.float32 else module.DoubleRounds
        self._rounds = kind(
            X,
            train.labels,
            None if np.all(train.sample_weight == 1) else train.sample_weight,
            train.trusted if train.trusted.any() else None,
            self._votes,
            self._missed,
            np.zeros(len(X), dtype=np.float32),
            **learner.options,
            probability=learner.votes == "probability",
            flip_negative=choices.negative_weights == "flip",
            update_noise=learner.noise_estimator == "paper",
            paper_mixing=choices.mixing == "paper",
            learning_rate=choices.learning_rate,
            max_step=MAX_STEP,
            min_step=SMALLEST_STEP,
            useless_learners=USELESS_LEARNERS,
            n_threads=learner.n_threads,
        )
        total = 0.0 if state.out_of_bag is None else state.out_of_bag.total
        self._rounds.resume(total, state.useless)

    def n_next(self) -> int:
        """How many rounds to run at once: no further than to the next update of the noise."""
        n_rows = STRETCH_ROWS // max(1, self._n_drawn)
        return max(1, min(STRETCH, n_rows, rounds_to_update(self._last.n_rounds) or STRETCH))

    @property
    def _n_drawn(self) -> int:
        if self._learner.sampling == "none":
            return 0
        n_drawn = n_uniform(self._shape[0], self._learner.max_samples)
        return n_drawn if self._max_rows is None else min(n_drawn, self._max_rows)

    def stretch(self, numbers: list[int]) -> str:
        """Run so many rounds; return why boosting has ended, if it has."""
        samples, starts = self._draw(len(numbers))
        self._rounds.set_noise(self._last.noise_matrix)
        *found, noise, ending, n_unconverged = self._rounds.run(len(numbers), samples, starts)
        self.n_unconverged += n_unconverged
        n_run, noise = len(noise), noise.reshape(-1, 2, 2)
        # A round that finds all rows at their minimum is named, but not counted.
        self.number = numbers[n_run if ending == 1 else n_run - 1]
        self._last = replace(self._last, n_rounds=self._last.n_rounds + n_run)
        if n_run and self._learner.noise_estimator == "paper":
            self._last = replace(self._last, noise_matrix=noise[-1])
        elif n_run and rounds_to_update(self._last.n_rounds) == 0:
            updated = self._choices.update_noise(self._voted())
            self._last, noise[-1] = replace(self._last, noise_matrix=updated), updated
        kept = found[2] > 0
        self.n_skipped += int(n_run - kept.sum())
        self._found.append(tuple(values[kept] for values in (*found, noise)))
        return ENDINGS[ending].format(self.number, USELESS_LEARNERS)

    def _draw(self, n_rounds: int) -> tuple[NDArray[np.int64] | None, Floats]:
        """For each round the rows that its learner sees, and where its fit starts."""
        learner, (n_rows, n_features) = self._learner, self._shape
        samples = None
        if learner.sampling == "uniform":
            samples = np.empty((n_rounds, self._n_drawn), dtype=np.int64)
        seeds = []
        for k in range(n_rounds):
            if samples is not None:
                samples[k] = draw_uniformly(
                    n_rows, learner.max_samples, learner.random, self._max_rows
                )
            seeds.append(learner.random.seed())
        return samples, learner.estimator.starts(n_features, seeds)

    def state(self) -> State:
        """The state after the rounds so far."""
        state = self._voted()
        if state.out_of_bag is None:
            return replace(state, scores=self._votes)
        scores = state.out_of_bag.mean_votes
        scores *= state.out_of_bag.total
        return replace(state, scores=scores)

    def _voted(self) -> State:
        """The same with the votes of the rows, but scores of before."""
        self._rounds.settle()
        state = replace(self._last, useless=self._rounds.useless)
        if self._missed is None:
            return state
        total = self._rounds.total_step
        return replace(state, out_of_bag=OutOfBag(self._votes, total - self._missed, total))

    def ensemble(self) -> Ensemble:
        """The learners that were kept."""
        if not self._found:
            return Ensemble()
        coefs, intercepts, steps, errors, rates, losses, iterations, noise = (
            np.concatenate(parts) for parts in zip(*self._found, strict=True)
        )
        learners = LinearLearners(
            self._learner.estimator,
            coefs,
            intercepts,
            rates,
            losses,
            iterations,
            self._rounds.center,
        )
        return Ensemble(learners, steps, errors, noise)
