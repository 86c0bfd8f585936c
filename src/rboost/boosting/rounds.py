"""Algorithm 1 of the paper, one round as a function from state to state.

Signs and shapes: observed labels ỹ and the sign of the scores H(x) are −1 or +1, votes h(x) lie
between; all have shape (n_rows,). ``noise_matrix`` is the paper's γ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats
from rboost.boosting.ensemble import Ensemble
from rboost.boosting.learners import Learned, Vote
from rboost.losses import loss_terms, mixing_coefficients, step_size
from rboost.tables import Table

# Base learners may be random, so one that fails says little; this many in a row end the boosting.
USELESS_LEARNERS = 10

# Why boosting may end before its last round.
AT_MINIMUM = "round {}: every row is at the minimum of its loss"
USELESS = "round {}: {} base learners in a row no better than chance"
PERFECT = "round {}: a base learner without errors leaves nothing to boost"
# Above this share of the rows a vote on all of them is faster than taking them out.
MOST = 0.8


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
class OutOfBag:
    """For each row, the votes of the learners that were not fitted to it, and their steps.

    ``votes`` sums α·h over those learners, ``steps`` sums α; ``total`` sums α over all learners.
    """

    votes: Floats
    steps: Floats
    total: float = 0.0

    @property
    def mean_votes(self) -> Floats:
        """Σ α·h / Σ α, between −1 and +1; 0 for a row that every learner was fitted to."""
        return np.divide(
            self.votes, self.steps, out=np.zeros_like(self.votes), where=self.steps > 0
        )

    def add(self, step: float, votes: Floats, seen: NDArray[np.bool_]) -> OutOfBag:
        """Count the votes of one more learner on the rows that it has not seen."""
        steps = np.where(seen, 0.0, step)
        return OutOfBag(self.votes + steps * votes, self.steps + steps, self.total + step)


@dataclass(frozen=True)
class State:
    """What one round hands to the next.

    ``scores`` are H of the training rows so far. With ``out_of_bag`` they are what the learners
    that have not seen a row would sum up to, were they all. ``trusted_scores`` are those of rows
    with known labels that are not trained on, if there are any; ``useless`` counts the learners in
    a row that were of no use, ``n_rounds`` all rounds.
    """

    scores: Floats
    noise_matrix: Floats
    trusted_scores: Floats | None = None
    out_of_bag: OutOfBag | None = None
    useless: int = 0
    n_rounds: int = 0


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

    ``fit_learner(targets, weights, number)`` fits a base learner to all training rows or a sample
    of them, ``vote(learner, X)`` is its h. ``update_noise(state)`` is steps (5) and (6): it returns
    the next noise matrix.
    """

    fit_learner: Callable[[Floats, Floats, int], Learned]
    vote: Vote
    update_noise: Callable[[State], Floats]
    mixing: str
    learning_rate: float
    negative_weights: str = "flip"


def initial_state(
    train: Table, trusted: Table | None, noise_matrix: Floats, out_of_bag: bool
) -> State:
    """Give every row the score 0, so that the weights start as w_jk = γ_jk."""
    zeros = np.zeros(len(train.labels))
    return State(
        zeros,
        noise_matrix,
        trusted_scores=None if trusted is None else np.zeros(len(trusted.labels)),
        out_of_bag=OutOfBag(zeros, zeros) if out_of_bag else None,
    )


def boost_round(
    state: State, train: Table, trusted: Table | None, choices: Choices
) -> tuple[State, Round]:
    """Run one round of Algorithm 1; its step numbers are on the right.

    ``error`` is the share of the loss that grows with the step. For noise-free labels that is the
    weighted error of AdaBoost. A useless learner, with an error of ½ or more, gets the step 0.
    """
    coefficients = mixing_coefficients(state.noise_matrix, choices.mixing)
    terms = loss_terms(  # eq. (13)
        train.labels, state.scores, coefficients, train.sample_weight, train.trusted
    )
    if terms.at_minimum:
        return state, Round(None, 0.0, 0.5, state.noise_matrix)

    targets, weights = NEGATIVE_WEIGHTS[choices.negative_weights](train.labels, terms.row_weights)
    learned = choices.fit_learner(targets, weights, state.n_rounds)  # (1), on eq. (12)
    state = replace(state, n_rounds=state.n_rounds + 1)

    votes = _votes(learned, choices.vote, unseen_only=state.out_of_bag is not None)
    agreement = (1 + train.labels * votes) / 2
    if state.out_of_bag is None:
        falling, rising = terms.split(agreement)
    else:
        # Only rows that the learner has not seen tell how good it is. One more such row, half
        # right, keeps a few lucky ones from giving it an infinite step.
        falling, rising = terms.split(agreement, rows=~learned.seen)
        half = (terms.right + terms.wrong).mean() / 2
        falling, rising = falling + half, rising + half
    error = rising / (falling + rising)  # (2)
    step = choices.learning_rate * step_size(falling, rising)  # (3) eq. (14)
    if step == 0:
        useless = replace(state, useless=state.useless + 1)
        if state.out_of_bag is not None:
            useless = replace(useless, noise_matrix=choices.update_noise(useless))
        return useless, Round(learned.learner, step, error, state.noise_matrix)

    moved = _move(state, step, votes, learned, trusted, choices.vote)  # (4)
    noise_matrix = choices.update_noise(moved)  # (5), (6)
    perfect = bool(rising == 0 and agreement.all())
    return (
        replace(moved, noise_matrix=noise_matrix),
        Round(learned.learner, step, error, noise_matrix, perfect),
    )


def _votes(learned: Learned, vote: Vote, unseen_only: bool) -> Floats:
    """What the learner says of the training rows; 0 of those that are of no interest."""
    if not unseen_only:
        return vote(learned.learner, learned.X)
    unseen = np.flatnonzero(~learned.seen)
    if len(unseen) > MOST * len(learned.seen):
        return vote(learned.learner, learned.X)
    votes = np.zeros(len(learned.seen))
    if len(unseen):
        votes[unseen] = vote(learned.learner, learned.X[unseen])
    return votes


def _move(
    state: State, step: float, votes: Floats, learned: Learned, trusted: Table | None, vote: Vote
) -> State:
    """Step (4), eq. (15)–(18): new scores are new weights."""
    out_of_bag = state.out_of_bag
    if out_of_bag is None:
        scores = state.scores + step * votes
    else:
        out_of_bag = out_of_bag.add(step, votes, learned.seen)
        scores = out_of_bag.mean_votes * out_of_bag.total
    trusted_scores = state.trusted_scores
    if trusted is not None and trusted_scores is not None:
        trusted_scores = trusted_scores + step * vote(learned.learner, trusted.X)
    return replace(
        state, scores=scores, trusted_scores=trusted_scores, out_of_bag=out_of_bag, useless=0
    )


@dataclass(frozen=True)
class Boosted:
    """Where boosting ended and why. ``finished`` says that further rounds could add nothing."""

    ensemble: Ensemble
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
        return Boosted(_ensemble_of(rounds), state, number, because, finished)

    for number in round_numbers:
        state, new = boost_round(state, train, trusted, choices)
        if new.learner is None:
            return ended(AT_MINIMUM.format(number))
        if new.step == 0:
            skipped += 1
            # Learners judged on rows they have not seen come and go; averaging them is the point.
            if state.useless == USELESS_LEARNERS and state.out_of_bag is None:
                return ended(USELESS.format(number, state.useless))
            continue
        rounds.append(new)
        if new.perfect:
            return ended(PERFECT.format(number))
    return ended(all_done(number, skipped), finished=False)


def all_done(n_rounds: int, n_skipped: int) -> str:
    """The reason of an end after all rounds."""
    without = f", {n_skipped} of them without a learner better than chance" if n_skipped else ""
    return f"all {n_rounds} rounds done{without}"


def _ensemble_of(rounds: list[Round]) -> Ensemble:
    if not rounds:
        return Ensemble()
    return Ensemble(
        [new.learner for new in rounds],
        np.array([new.step for new in rounds]),
        np.array([new.error for new in rounds]),
        np.stack([new.noise_matrix for new in rounds]),
    )
