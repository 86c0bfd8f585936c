"""Steps 5 and 6 of Algorithm 1: how the noise matrix changes from round to round.

Each function takes the state after a round and returns the next noise matrix.
"""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats
from rboost.boosting.rounds import State
from rboost.calibration import CALIBRATIONS, Calibration
from rboost.noise import multiplicative_update
from rboost.noise.matrix import keep_informative
from rboost.tables import Table


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
    labels = (table.labels > 0).astype(np.float64)
    fit = CALIBRATIONS[calibration]
    return fit(scores, labels, table.sample_weight, noise_matrix, link_matrix)


def keep_noise(state: State, train: Table, trusted: Table | None, calibration: str) -> Floats:
    """The noise matrix is known."""
    return state.noise_matrix


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
        (train.labels > 0).astype(np.intp),
        train.sample_weight,
    )
    return keep_informative(updated)


NOISE_UPDATES = {"paper": paper_update}
