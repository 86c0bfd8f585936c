"""How the scores of a fitted ensemble become decisions and probabilities.

In the paper the sign of the score decides. Out-of-bag scores allow better: noise-aware Platt
scaling finds the score at which the true classes are equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from rboost._typing import Floats
from rboost.boosting.noise_updates import calibrate, infer, vote_scores
from rboost.boosting.rows import Rows
from rboost.boosting.votes import RowVotes
from rboost.calibration import Calibration, NoiseAwarePlatt, agree_with_decision, probability_of
from rboost.losses import Loss


class DecisionRule(Protocol):
    """Turns scores into what ``decision_function`` returns, and that into probabilities."""

    def __call__(self, scores: Floats, total_step: float) -> Floats:
        """Turn scores of learners whose steps sum to ``total_step`` into decisions."""

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class, (n_rows, K), largest for the class that is decided for."""


@dataclass(frozen=True)
class Decision:
    """A score decides for class 1 above ``threshold``; ``calibration`` says how probable that is.

    ``total_step`` is the Σ α that both refer to, or None where the scale of scores does not matter.
    """

    calibration: Calibration
    threshold: float = 0.0
    total_step: float | None = None

    def __call__(self, scores: Floats, total_step: float) -> Floats:
        """Turn scores of learners whose steps sum to ``total_step`` into decisions."""
        if not self.total_step or not total_step:
            return scores - self.threshold
        return scores * (self.total_step / total_step) - self.threshold

    def probability(self, decisions: Floats) -> Floats:
        """Probability of both classes, that of class 1 on its side of ½."""
        found = self.calibration(decisions + self.threshold)
        positive = agree_with_decision(found, decisions)
        return np.column_stack([1 - positive, positive])


@dataclass(frozen=True)
class VoteCalibration:
    """Noise-aware Platt scaling of mean votes, for scores: votes times ``total_step``.

    ``prevalence`` is the share of each label in training.
    """

    platt: NoiseAwarePlatt
    total_step: float
    prevalence: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        return self.platt(self.row_scores(scores))

    def issue_probability(self, scores: Floats, observed: ArrayLike) -> Floats:
        """p(y ≠ ỹ) for scores of rows with these labels."""
        return self.platt.issue_probability(self.row_scores(scores), observed)

    def row_scores(self, scores: Floats) -> Floats:
        """The mean votes behind these scores, as the noise is inferred from them."""
        return vote_scores(scores / (self.total_step or 1.0), self.prevalence)

    def threshold(self) -> float:
        """The score at which both classes are equally likely."""
        # Where one class is always likelier the threshold lies beyond what any vote reaches.
        lowest, highest = (2 * vote_scores(np.array([-1.0, 1.0]), self.prevalence)).tolist()
        log_odds = np.array(self.platt.threshold(lowest, highest))
        return self.total_step * float(2 * probability_of(log_odds, self.prevalence[1]) - 1)


def decide_by_sign(
    loss: Loss, name: str, scores: Floats, rows: Rows, noise_matrix: Floats
) -> DecisionRule:
    """Decide as in Algorithm 1; ``rows`` are those to calibrate on, checked ones where possible."""
    labels_noise = np.eye(rows.n_classes) if rows.trusted.all() else noise_matrix
    link = loss.link_matrix(noise_matrix, noise_matrix)
    return Decision(calibrate(name, scores, rows, labels_noise, link))


def decide_by_votes(
    loss: Loss,
    name: str,
    votes: RowVotes,
    rows: Rows,
    boosted_with: Floats,
    known_noise: Floats | None,
) -> tuple[DecisionRule, VoteCalibration]:
    """Decide by out-of-bag votes, and infer the noise unless it is known.

    ``boosted_with`` is the noise matrix of the last round, which the scores have seen.
    """
    platt = infer(votes, rows, known_noise)
    reading = VoteCalibration(platt, votes.total, rows.prevalence)
    calibration: Calibration = reading
    if name != "platt":
        link = loss.link_matrix(platt.noise_matrix, boosted_with)
        calibration = calibrate(name, votes.scores, rows, platt.noise_matrix, link)
    return Decision(calibration, reading.threshold(), votes.total), reading
