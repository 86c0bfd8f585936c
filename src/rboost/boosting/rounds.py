"""Algorithm 1 of the paper, one round as a function from state to state.

Signs and shapes: observed labels ỹ, votes h(x) and the sign of the scores H(x) are −1 or +1; all
have shape (n_rows,). ``noise_matrix`` is the paper's γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rboost._typing import Floats
from rboost.losses import loss_terms, mixing_coefficients, step_size
from rboost.tables import Table

# Base learners may be random, so one that fails says little; this many in a row end the boosting.
USELESS_LEARNERS = 10


def flip_negative(labels: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """A negative weight asks for the opposite label, exactly.

    Σ wᵢ·1(h ≠ ỹᵢ) = const + Σ |wᵢ|·1(h ≠ tᵢ) with tᵢ = sign(wᵢ)·ỹᵢ, so a learner that minimises the
    right side minimises the left.
    """
    return np.where(weights < 0, -labels, labels), np.abs(weights)


def keep_labels(labels: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The label as observed, with |wᵢ|: not what eq. (11) asks for, but nearer to the paper."""
    return labels, np.abs(weights)


# What a base learner is given for a row with a negative weight; the paper does not say.
NEGATIVE_WEIGHTS = {"flip": flip_negative, "keep": keep_labels}


@dataclass(frozen=True)
class State:
    """What one round hands to the next.

    ``scores`` are H of the training rows so far, ``trusted_scores`` those of rows with known
    labels, if there are any; ``useless`` counts the learners in a row that were of no use.
    """

    scores: Floats
    noise_matrix: Floats
    trusted_scores: Floats | None = None
    useless: int = 0


@dataclass(frozen=True)
class Round:
    """What one round adds to the ensemble; a learner that is None had nothing left to learn."""

    learner: Any
    step: float
    error: float
    noise_matrix: Floats
    perfect: bool = False


@dataclass(frozen=True)
class Choices:
    """The parts of Algorithm 1 that a user chooses.

    ``fit_learner(targets, weights)`` fits a base learner to all training rows or a sample of them.
    ``update_noise(state)`` is steps (5) and (6): it returns the next noise matrix.
    """

    fit_learner: Callable[[Floats, Floats], Any]
    update_noise: Callable[[State], Floats]
    mixing: str
    learning_rate: float
    negative_weights: str = "flip"


def initial_state(train: Table, trusted: Table | None, noise_matrix: Floats) -> State:
    """Give every row the score 0, so that the weights start as w_jk = γ_jk."""
    trusted_scores = None if trusted is None else np.zeros(len(trusted.labels))
    return State(np.zeros(len(train.labels)), noise_matrix, trusted_scores)


def boost_round(
    state: State, train: Table, trusted: Table | None, choices: Choices
) -> tuple[State, Round]:
    """Run one round of Algorithm 1; its step numbers are on the right.

    ``error`` is the share of the loss that grows with the step. For noise-free labels that is the
    weighted error of AdaBoost. A useless learner, with an error of ½ or more, gets the step 0.
    """
    coefficients = mixing_coefficients(state.noise_matrix, choices.mixing)
    terms = loss_terms(train.labels, state.scores, coefficients, train.sample_weight)  # eq. (13)
    if terms.at_minimum:
        return state, Round(None, 0.0, 0.5, state.noise_matrix)

    targets, weights = NEGATIVE_WEIGHTS[choices.negative_weights](train.labels, terms.row_weights)
    learner = choices.fit_learner(targets, weights)  # (1), on the weights of eq. (12)

    votes = vote(learner, train.X)
    agrees = votes == train.labels
    falling, rising = terms.split(agrees)
    error = rising / (falling + rising)  # (2)
    step = choices.learning_rate * step_size(falling, rising)  # (3) eq. (14)
    if step == 0:
        useless = replace(state, useless=state.useless + 1)
        return useless, Round(learner, step, error, state.noise_matrix)

    moved = State(  # (4) eq. (15)–(18): new scores are new weights
        scores=state.scores + step * votes,
        noise_matrix=state.noise_matrix,
        trusted_scores=_add_votes(state.trusted_scores, step, learner, trusted),
    )
    noise_matrix = choices.update_noise(moved)  # (5), (6)
    perfect = bool(rising == 0 and agrees.all())
    return (
        replace(moved, noise_matrix=noise_matrix),
        Round(learner, step, error, noise_matrix, perfect),
    )


def vote(learner: Any, X: Any) -> Floats:
    """h(x): the prediction of a base learner, trained on classes 0 and 1, as −1 or +1."""
    return 2.0 * np.asarray(learner.predict(X)) - 1.0


def _add_votes(
    scores: Floats | None, step: float, learner: Any, table: Table | None
) -> Floats | None:
    """Scores of rows that there may not be any of."""
    return None if scores is None or table is None else scores + step * vote(learner, table.X)


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
    choices: Choices,
    round_numbers: Iterable[int],
) -> Boosted:
    """Repeat rounds until the numbers run out or nothing more can be learnt."""
    rounds: list[Round] = []
    skipped = number = 0

    def ended(because: str, finished: bool = True) -> Boosted:
        return Boosted(rounds, state, number, because, finished)

    for number in round_numbers:
        state, new = boost_round(state, train, trusted, choices)
        if new.learner is None:
            return ended(f"round {number}: every row is at the minimum of its loss")
        if new.step == 0:
            skipped += 1
            if state.useless == USELESS_LEARNERS:
                return ended(
                    f"round {number}: {state.useless} base learners in a row no better than chance"
                )
            continue
        rounds.append(new)
        if new.perfect:
            return ended(f"round {number}: a base learner without errors leaves nothing to boost")
    without = f", {skipped} of them without a learner better than chance" if skipped else ""
    return ended(f"all {number} rounds done{without}", finished=False)
