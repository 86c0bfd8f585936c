"""Steps 5 and 6 of Algorithm 1: how the noise matrix changes from round to round."""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats
from rboost.boosting.engine import Engine
from rboost.boosting.rounds import NoiseUpdate
from rboost.boosting.rows import Rows
from rboost.boosting.votes import RowVotes
from rboost.calibration import (
    CALIBRATIONS,
    Calibration,
    NoiseAwarePlatt,
    fit_noise_aware_platt,
    smoothed_log_odds,
)
from rboost.noise import multiplicative_update
from rboost.noise.matrix import keep_informative

# The first round after which the noise is inferred; then again each time the rounds have doubled.
FIRST_UPDATE = 25
# Rows whose votes are read at a time.
BLOCK_ROWS = 2**16


def infer(votes: RowVotes, rows: Rows, noise_matrix: Floats | None = None) -> NoiseAwarePlatt:
    """What the noise may be, from votes of learners not fitted to the row; or it may be known.

    Such votes hardly explain a row's wrong label, which leaves it to the noise matrix.
    """
    weight = rows.sample_weight
    if votes.steps is not None:
        judged = votes.steps > 0
        if judged.any() and not judged.all():
            weight = weight * judged
    return fit_noise_aware_platt(
        vote_scores(votes.means, rows.prevalence),
        rows.observed,
        weight,
        trusted=rows.trusted,
        flip_counts=rows.flip_counts,
        noise_matrix=noise_matrix,
    )


def vote_scores(mean_votes: Floats, prevalence: Floats) -> Floats:
    """Mean votes read as probabilities: their log-odds, for more than two classes their logs.

    ``prevalence`` is the share of each label.
    """
    scores = np.empty_like(mean_votes)
    for begin in range(0, len(scores), BLOCK_ROWS):  # copies of all rows add up
        block = slice(begin, begin + BLOCK_ROWS)
        scores[block] = smoothed_log_odds((1 + mean_votes[block]) / 2, prevalence[1])
    return scores


def calibrate(
    name: str, scores: Floats, rows: Rows, noise_matrix: Floats, link_matrix: Floats
) -> Calibration:
    """Fit the calibration of this name; ``noise_matrix`` describes the labels of these rows.

    ``link_matrix`` is the noise that the score itself has in it (see :mod:`rboost.calibration`).
    """
    labels = rows.observed.astype(np.float64)
    return CALIBRATIONS[name](scores, labels, rows.sample_weight, noise_matrix, link_matrix)


def updated_by_paper(
    noise_matrix: Floats, calibration: Calibration, scores: Floats, rows: Rows
) -> Floats:
    """One multiplicative update, eq. (19)–(22), after a calibration as if labels were clean.

    Without a trusted set the calibration explains the wrong labels too, which leaves nothing for
    the noise matrix: the rates shrink towards 0. That is the paper's way, and its open problem.
    """
    positive = calibration(scores)
    probability = np.column_stack([1 - positive, positive])
    return keep_informative(
        multiplicative_update(noise_matrix, probability, rows.observed, rows.sample_weight)
    )


def rounds_to_update(n_rounds: int) -> int:
    """After how many more rounds the noise is inferred next; 0 says now."""
    next_update = FIRST_UPDATE
    while next_update < n_rounds:
        next_update *= 2
    return next_update - n_rounds


def noise_update(name: str, rows: Rows) -> NoiseUpdate:
    """Steps (5) and (6) as named: "none" where the noise is known, "noise-aware" or "paper"."""

    def keep(engine: Engine, noise_matrix: Floats, n_rounds: int) -> Floats:
        return noise_matrix

    def infer_when_due(engine: Engine, noise_matrix: Floats, n_rounds: int) -> Floats:
        is_due = rounds_to_update(n_rounds) == 0
        return infer(engine.votes, rows).noise_matrix if is_due else noise_matrix

    def by_the_paper(engine: Engine, noise_matrix: Floats, n_rounds: int) -> Floats:
        return engine.paper_noise(noise_matrix)

    return {"none": keep, "noise-aware": infer_when_due, "paper": by_the_paper}[name]
