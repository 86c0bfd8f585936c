"""How the scores of a fitted ensemble become decisions and probabilities.

In the paper the sign of the score decides. Out-of-bag scores allow better: noise-aware Platt
scaling finds the score at which the true classes are equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rboost._typing import Floats
from rboost.boosting.noise_updates import calibrate, infer_noise, vote_log_odds
from rboost.boosting.rounds import State
from rboost.calibration import Calibration, agree_with_decision
from rboost.losses import mixing_coefficients
from rboost.noise.platt.posterior import NoiseAwarePlatt
from rboost.noise.scores import probability_of
from rboost.tables import Table


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
        """p(y = 1) for each decision, on its side of ½."""
        return agree_with_decision(self.calibration(decisions + self.threshold), decisions)


@dataclass(frozen=True)
class VoteCalibration:
    """Noise-aware Platt scaling of mean votes, for scores: votes times ``total_step``.

    ``prevalence`` is the share of label 1 in training.
    """

    platt: NoiseAwarePlatt
    total_step: float
    prevalence: float

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score."""
        return self.platt(self.log_odds(scores))

    def issue_probability(self, scores: Floats, labels: ArrayLike) -> Floats:
        """p(y ≠ ỹ) for scores of rows with these labels, 0 or 1."""
        return self.platt.issue_probability(self.log_odds(scores), labels)

    def log_odds(self, scores: Floats) -> Floats:
        """Log-odds of the mean votes behind these scores, before the noise is accounted for."""
        return vote_log_odds(scores / (self.total_step or 1.0), self.prevalence)

    def threshold(self) -> float:
        """The score at which both classes are equally likely."""
        # Where one class is always likelier the threshold lies beyond what any vote reaches.
        lowest, highest = (2 * vote_log_odds(np.array([-1.0, 1.0]), self.prevalence)).tolist()
        log_odds = np.array(self.platt.threshold(lowest, highest))
        return self.total_step * float(2 * probability_of(log_odds, self.prevalence) - 1)


def decide_by_sign(
    state: State, train: Table, trusted: Table | None, calibration: str, mixing: str
) -> Decision:
    """Decide as in Algorithm 1."""
    return Decision(_calibrate(state, train, trusted, calibration, mixing))


def decide_by_votes(
    state: State, train: Table, calibration: str, mixing: str, noise_matrix: Floats | None
) -> tuple[Decision, VoteCalibration]:
    """Decide by out-of-bag votes, and infer the noise unless it is given."""
    assert state.out_of_bag is not None
    platt = infer_noise(state, train, noise_matrix)
    total = state.out_of_bag.total
    votes = VoteCalibration(platt, total, train.prevalence)
    to_probability: Calibration = votes
    if calibration != "platt":
        to_probability = _calibrate(
            state, train, None, calibration, mixing, noise_matrix=platt.noise_matrix
        )
    return Decision(to_probability, votes.threshold(), total), votes


def _calibrate(
    state: State,
    train: Table,
    trusted: Table | None,
    calibration: str,
    mixing: str,
    noise_matrix: Floats | None = None,
) -> Calibration:
    noise = state.noise_matrix if noise_matrix is None else noise_matrix
    link = noise @ mixing_coefficients(state.noise_matrix, mixing)
    return calibrate(state, train, trusted, calibration, noise, link)
