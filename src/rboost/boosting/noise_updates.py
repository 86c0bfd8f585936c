"""Steps 5 and 6 of Algorithm 1: how the noise matrix changes from round to round.

Each function takes the state after a round and returns the next noise matrix.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import gen_batches

from rboost._typing import Floats
from rboost.boosting.rounds import State
from rboost.calibration import CALIBRATIONS, Calibration
from rboost.noise import multiplicative_update
from rboost.noise.matrix import keep_informative
from rboost.noise.platt.posterior import NoiseAwarePlatt
from rboost.noise.platt.scaling import fit_noise_aware_platt
from rboost.noise.scores import smoothed_log_odds
from rboost.tables import Table

# The first round after which the noise is inferred; then again each time the rounds have doubled.
FIRST_UPDATE = 25
# Rows whose votes are read at a time.
BLOCK_ROWS = 2**16


def calibrate(
    state: State,
    train: Table,
    trusted: Table | None,
    calibration: str,
    noise_matrix: Floats,
    link_matrix: Floats,
) -> Calibration:
    """Fit a calibration on the trusted rows where there are any, else on the training rows.

    ``noise_matrix`` describes the labels of the training rows; those of trusted rows have none.
    ``link_matrix`` is the noise that the score itself has in it (see :mod:`rboost.calibration`).
    """
    if trusted is None or state.trusted_scores is None:
        table, scores = train, state.scores
    else:
        table, scores, noise_matrix = trusted, state.trusted_scores, np.eye(2)
    fit = CALIBRATIONS[calibration]
    return fit(scores, table.classes, table.sample_weight, noise_matrix, link_matrix)


def infer_noise(state: State, train: Table, noise_matrix: Floats | None = None) -> NoiseAwarePlatt:
    """Noise-aware Platt scaling of the mean out-of-bag votes; their noise may be known."""
    assert state.out_of_bag is not None
    judged, weight = state.out_of_bag.steps > 0, train.sample_weight
    if judged.any() and not judged.all():
        weight = weight * judged
    return fit_noise_aware_platt(
        vote_log_odds(state.out_of_bag.mean_votes, train.prevalence),
        train.labels > 0,
        weight,
        trusted=train.trusted,
        flip_counts=train.flip_counts,
        noise_matrix=noise_matrix,
    )


def vote_log_odds(mean_votes: Floats, prevalence: float) -> Floats:
    """The log-odds of a mean vote read as a probability, (1 + vote) / 2."""
    log_odds = np.empty_like(mean_votes)
    for block in gen_batches(len(mean_votes), BLOCK_ROWS):  # copies of all rows add up
        log_odds[block] = smoothed_log_odds((1 + mean_votes[block]) / 2, prevalence)
    return log_odds


def keep_noise(state: State, train: Table, trusted: Table | None, calibration: str) -> Floats:
    """The noise matrix is known."""
    return state.noise_matrix


def noise_aware_update(
    state: State, train: Table, trusted: Table | None, calibration: str
) -> Floats:
    """Infer the noise and the calibration together, from votes of learners not fitted to the row.

    Out-of-bag votes hardly explain a row's wrong label, which leaves it to the noise matrix.
    """
    is_due = rounds_to_update(state.n_rounds) == 0
    return infer_noise(state, train).noise_matrix if is_due else state.noise_matrix


def rounds_to_update(n_rounds: int) -> int:
    """After how many more rounds the noise is inferred next; 0 says now."""
    next_update = FIRST_UPDATE
    while next_update < n_rounds:
        next_update *= 2
    return next_update - n_rounds


def paper_update(state: State, train: Table, trusted: Table | None, calibration: str) -> Floats:
    """Calibrate as if the labels were clean, then one multiplicative update, eq. (19)–(22).

    Without a trusted set the calibration explains the wrong labels too, which leaves nothing for
    the noise matrix: the rates shrink towards 0. That is the paper's way, and its open problem.
    """
    clean = np.eye(2)
    to_probability = calibrate(state, train, trusted, calibration, clean, clean)  # (5)
    positive = to_probability(state.scores)
    updated = multiplicative_update(  # (6)
        state.noise_matrix,
        np.column_stack([1 - positive, positive]),
        train.classes.astype(np.intp),
        train.sample_weight,
    )
    return keep_informative(updated)


NOISE_UPDATES = {"none": keep_noise, "noise-aware": noise_aware_update, "paper": paper_update}
