"""Steps 5 and 6 of Algorithm 1: how the noise matrix changes from round to round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from rboost._typing import Floats, Integers
from rboost.boosting.engine import Engine
from rboost.boosting.rounds import NoiseUpdate, Progress
from rboost.boosting.votes import RowVotes
from rboost.calibration import CALIBRATIONS, SLOPE_PENALTY, Calibration
from rboost.losses import Loss
from rboost.noise import NoisePosterior, infer_noise, multiplicative_update, true_probability
from rboost.noise.inference import smoothed_log_odds, smoothed_scores
from rboost.noise.likelihood import NoisySoftmaxLoss
from rboost.noise.matrix import keep_informative
from rboost.tables import Rows

# The first round after which the noise is inferred; then again each time the rounds have doubled.
FIRST_UPDATE = 25
# Calibrations of more than two classes are no flatter and no steeper, for scores of unit variance.
SCALES = (1e-3, 100.0)
# Rows whose votes are read at a time.
BLOCK_ROWS = 2**16


def infer(
    votes: RowVotes,
    rows: Rows,
    noise_matrix: Floats | None = None,
    checked: Integers | None = None,
) -> NoisePosterior:
    """What the noise may be, from votes of learners not fitted to the row; or it may be known.

    Such votes hardly explain a row's wrong label, which leaves it to the noise matrix. What people
    said of ``checked`` rows counts at the end: flips that they find need not be of a kind that a
    loss can correct.
    """
    weight = rows.sample_weight
    if votes.steps is not None:
        judged = votes.steps > 0
        if judged.any() and not judged.all():
            weight = weight * judged
    return infer_noise(
        vote_scores(votes.means, rows.prevalence),
        rows.observed,
        sample_weight=weight,
        trusted=rows.trusted,
        checked=checked,
        noise_matrix=noise_matrix,
    )


def vote_scores(mean_votes: Floats, prevalence: Floats) -> Floats:
    """Mean votes read as probabilities: their log-odds, for more than two classes their logs.

    ``prevalence`` is the share of each label.
    """
    n_classes, scores = len(prevalence), np.empty_like(mean_votes)
    for begin in range(0, len(scores), BLOCK_ROWS):  # copies of all rows add up
        votes = mean_votes[begin : begin + BLOCK_ROWS]
        probability = (1 + (n_classes - 1) * votes) / n_classes
        scores[begin : begin + BLOCK_ROWS] = (
            smoothed_log_odds(probability, prevalence[1])
            if n_classes == 2
            else smoothed_scores(probability, prevalence)
        )
    return scores


@dataclass(frozen=True)
class SoftmaxCalibration:
    """The softmax of the scores of more than two classes, times a scale, less what noise is in it.

    ``link_matrix`` is the noise that the loss leaves in the scores.
    """

    scale: float
    link_matrix: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = j) for each score, (n_rows, K)."""
        return true_probability(softmax(self.scale * scores, axis=1), self.link_matrix)


def calibrate(
    loss: Loss,
    name: str,
    scores: Floats,
    rows: Rows,
    noise_matrix: Floats,
    boosted_with: Floats,
) -> Calibration | SoftmaxCalibration:
    """Fit the calibration of this name to rows with their scores.

    ``noise_matrix`` is that of the labels, but for rows that are all trusted; ``boosted_with`` is
    the one that the loss had.
    """
    known = np.eye(rows.n_classes) if rows.trusted.all() else noise_matrix
    if rows.n_classes == 2:
        link = loss.link_matrix(noise_matrix, boosted_with)
        labels = rows.observed.astype(np.float64)
        return CALIBRATIONS[name](scores, labels, rows.sample_weight, known, link)
    if name == "logistic":
        link = loss.link_matrix(noise_matrix, boosted_with)
        return SoftmaxCalibration(loss.score_scale(rows.n_classes), link)
    return SoftmaxCalibration(_likeliest(scores, rows, known), np.eye(rows.n_classes))


def _likeliest(scores: Floats, rows: Rows, noise_matrix: Floats) -> float:
    """The scale of scores with which the labels are likeliest: Platt's method with one number."""
    spread = float(np.sqrt(np.average((scores**2).mean(axis=1), weights=rows.sample_weight)))
    standard, (least, most) = scores / (spread or 1.0), SCALES

    def slope(scale: float) -> float:
        by_scores = NoisySoftmaxLoss(scale * standard, rows.observed, noise_matrix).by_scores()
        cost = rows.sample_weight @ (by_scores * standard).sum(axis=1)
        return float(cost) + SLOPE_PENALTY * scale

    if slope(least) >= 0 or slope(most) <= 0:
        scale = least if slope(least) >= 0 else most
    else:
        scale = float(brentq(slope, least, most, xtol=1e-13))
    return scale / (spread or 1.0)


def updated_by_paper(
    noise_matrix: Floats,
    calibration: Calibration | SoftmaxCalibration,
    scores: Floats,
    rows: Rows,
) -> Floats:
    """One multiplicative update, eq. (19)–(22), after a calibration as if labels were clean.

    Without a trusted set the calibration explains the wrong labels too, which leaves nothing for
    the noise matrix: the rates shrink towards 0. That is the paper's way, and its open problem.
    """
    probability = calibration(scores)
    if rows.n_classes == 2:
        probability = np.column_stack([1 - probability, probability])
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

    def keep(engine: Engine, progress: Progress) -> None:
        """Nothing to find out."""

    def infer_when_due(engine: Engine, progress: Progress) -> None:
        progress.inferred = None
        if rounds_to_update(progress.n_rounds) == 0:
            progress.inferred = infer(engine.votes, rows)
            progress.noise_matrix = progress.inferred.noise_matrix

    def by_the_paper(engine: Engine, progress: Progress) -> None:
        progress.noise_matrix = engine.paper_noise(progress.noise_matrix)

    return {"none": keep, "noise-aware": infer_when_due, "paper": by_the_paper}[name]
