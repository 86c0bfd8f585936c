"""Steps 5 and 6 of Algorithm 1: how the noise matrix changes from round to round.

Each function takes the state after a round and returns the next noise matrix.
"""

from __future__ import annotations

import numpy as np

from rboost.boosting.rounds import State
from rboost.calibration import CALIBRATIONS, Calibration
from rboost.noise import multiplicative_update
from rboost.noise.matrix import Floats, keep_informative
from rboost.tables import Table


def calibrate(
    state: State, train: Table, trusted: Table | None, calibration: str, noise_matrix: Floats
) -> Calibration:
    """Fit a calibration on the trusted rows where there are any, else on the training rows.

    ``noise_matrix`` describes the labels of the training rows; those of trusted rows have none.
    """
    if trusted is None or state.trusted_scores is None:
        table, scores = train, state.scores
    else:
        table, scores, noise_matrix = trusted, state.trusted_scores, np.eye(2)
    labels = (table.labels > 0).astype(np.float64)
    return CALIBRATIONS[calibration](scores, labels, table.sample_weight, noise_matrix)


def keep_noise(state: State, train: Table, trusted: Table | None, calibration: str) -> Floats:
    """The noise matrix is known."""
    return state.noise_matrix


def paper_update(state: State, train: Table, trusted: Table | None, calibration: str) -> Floats:
    """Calibrate as if the labels were clean, then one multiplicative update, eq. (19)–(22).

    Without a trusted set the calibration explains the wrong labels too, which leaves nothing for
    the noise matrix: the rates shrink towards 0. That is the paper's way, and its open problem.
    """
    positive = calibrate(state, train, trusted, calibration, np.eye(2))(state.scores)  # (5)
    updated = multiplicative_update(  # (6)
        state.noise_matrix,
        np.column_stack([1 - positive, positive]),
        (train.labels > 0).astype(np.intp),
        train.sample_weight,
    )
    return keep_informative(updated)


NOISE_UPDATES = {"paper": paper_update}
