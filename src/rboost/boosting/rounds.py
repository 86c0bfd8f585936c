"""Algorithm 1 of the paper, one round as a function from state to state.

Signs and shapes: observed labels ỹ, votes h(x) and the sign of the scores H(x) are −1 or +1; all
have shape (n_rows,). ``noise_matrix`` is the paper's γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rboost.losses import loss_terms, mixing_coefficients, step_size
from rboost.noise.matrix import Floats
from rboost.tables import Table

# Base learners may be random, so one that fails says little; this many in a row end the boosting.
USELESS_LEARNERS = 10


@dataclass(frozen=True)
class State:
    """What one round hands to the next: the scores of the ensemble so far, and the noise matrix."""

    scores: Floats
    noise_matrix: Floats
    trusted_scores: Floats | None = None


@dataclass(frozen=True)
class Round:
    """What one round adds to the ensemble."""

    learner: Any
    step: float
    error: float
    noise_matrix: Floats


@dataclass(frozen=True)
class Algorithm:
    """The parts of Algorithm 1 that a user chooses.

    ``fit_learner(targets, weights)`` fits a base learner to all training rows or a sample of them.
    ``update_noise(state)`` returns the next noise matrix.
    """

    fit_learner: Callable[[Floats, Floats], Any]
    update_noise: Callable[[State], Floats]
    mixing: str
    learning_rate: float


def boost_round(
    state: State, train: Table, trusted: Table | None, algorithm: Algorithm
) -> tuple[State, Round]:
    """Run one round of Algorithm 1; its step numbers are on the right.

    ``error`` is the share of the loss that grows with the step. For noise-free labels that is the
    weighted error of AdaBoost. A useless learner, with an error of ½ or more, gets the step 0.
    """
    coefficients = mixing_coefficients(state.noise_matrix, algorithm.mixing)
    terms = loss_terms(train.labels, state.scores, coefficients, train.sample_weight)  # eq. (13)
    weights = terms.row_weights  # eq. (12)

    # A negative weight asks for the opposite label: Σ wᵢ·1(h ≠ ỹᵢ) = const + Σ |wᵢ|·1(h ≠ tᵢ)
    # with tᵢ = sign(wᵢ)·ỹᵢ, so a learner that minimises the right side minimises the left.
    targets = np.where(weights < 0, -train.labels, train.labels)
    learner = algorithm.fit_learner(targets, np.abs(weights))  # (1)
    votes = vote(learner, train.X)

    falling, rising = terms.split(votes == train.labels)  # (2)
    step = algorithm.learning_rate * step_size(falling, rising)  # (3) eq. (14)

    moved = State(  # (4) eq. (15)–(18): new scores are new weights
        scores=state.scores + step * votes,
        noise_matrix=state.noise_matrix,
        trusted_scores=_add_votes(state.trusted_scores, step, learner, trusted),
    )
    noise_matrix = algorithm.update_noise(moved)  # (5), (6)
    error = rising / (falling + rising)
    return (
        State(moved.scores, noise_matrix, moved.trusted_scores),
        Round(learner, step, error, noise_matrix),
    )


def _add_votes(
    scores: Floats | None, step: float, learner: Any, table: Table | None
) -> Floats | None:
    """Scores of rows that there may not be any of."""
    return None if scores is None or table is None else scores + step * vote(learner, table.X)


def vote(learner: Any, X: Any) -> Floats:
    """h(x): the prediction of a base learner, trained on classes 0 and 1, as −1 or +1."""
    return 2.0 * np.asarray(learner.predict(X)) - 1.0


@dataclass(frozen=True)
class Boosted:
    """Where boosting ended and why. ``finished`` says that further rounds could add nothing."""

    rounds: list[Round]
    state: State
    n_rounds: int
    stop_reason: str
    finished: bool


def boost(
    state: State,
    train: Table,
    trusted: Table | None,
    algorithm: Algorithm,
    round_numbers: Iterable[int],
) -> Boosted:
    """Repeat rounds until the numbers run out or nothing more can be learnt."""
    rounds: list[Round] = []
    useless = 0
    number = 0
    for number in round_numbers:
        next_state, new = boost_round(state, train, trusted, algorithm)
        if new.step <= 0:
            useless += 1
            if useless == USELESS_LEARNERS:
                reason = f"round {number}: {useless} base learners in a row no better than chance"
                return Boosted(rounds, state, number, reason, finished=True)
            continue
        useless = 0
        state = next_state
        rounds.append(new)
        if new.error <= 0:
            reason = f"round {number}: a base learner without errors leaves nothing to boost"
            return Boosted(rounds, state, number, reason, finished=True)
    return Boosted(rounds, state, number, f"all {number} rounds done", finished=False)
