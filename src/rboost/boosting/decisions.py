"""How the scores of a fitted ensemble become decisions and probabilities.

In the paper the sign of the score decides, for more classes the largest score. Out-of-bag scores
allow better: the noise inferred from them says which true class is the likeliest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import softmax

from rboost._typing import Floats
from rboost.boosting.noise_updates import SoftmaxCalibration, calibrate, vote_scores
from rboost.boosting.votes import RowVotes
from rboost.calibration import Calibration, agree_with_decision
from rboost.losses import Loss
from rboost.noise import NoisePosterior
from rboost.noise.inference import probability_of
from rboost.tables import Rows


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
class LargestScore:
    """The class with the largest of more than two scores is decided for."""

    calibration: SoftmaxCalibration

    def __call__(self, scores: Floats, total_step: float) -> Floats:
        """Decide by the scores as they are."""
        return scores

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class; that of the class decided for is at least any other's."""
        found, places = self.calibration(decisions), np.arange(len(decisions))
        decided = decisions.argmax(axis=1)
        contradicts = found.argmax(axis=1) != decided
        raised = np.where(contradicts, 1.001 * found.max(axis=1), found[places, decided])
        found[places, decided] = raised
        return found / found.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class VoteCalibration:
    """What the votes say of the true class, for scores: votes times ``total_step``.

    ``prevalence`` is the share of each label in training.
    """

    posterior: NoisePosterior
    total_step: float
    prevalence: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return p(y = 1) for each score of two classes."""
        return self.posterior.probability(self.row_scores(scores))[:, 1]

    def row_scores(self, scores: Floats) -> Floats:
        """The mean votes behind these scores, as the noise is inferred from them."""
        return vote_scores(scores / (self.total_step or 1.0), self.prevalence)

    def threshold(self) -> float:
        """The score at which both of two classes are equally likely."""
        # Where one class is always likelier the threshold lies beyond what any vote reaches.
        lowest, highest = (2 * vote_scores(np.array([-1.0, 1.0]), self.prevalence)).tolist()
        log_odds = np.array(self.posterior.threshold(lowest, highest))
        return self.total_step * float(2 * probability_of(log_odds, self.prevalence[1]) - 1)


@dataclass(frozen=True)
class LikeliestClass:
    """The class that more than two votes make the likeliest is decided for.

    Decisions are logarithms of probabilities less their mean, as scores are of the likelihood.
    """

    votes: VoteCalibration

    def __call__(self, scores: Floats, total_step: float) -> Floats:
        """Turn scores of learners whose steps sum to ``total_step`` into decisions."""
        whole = scores * (self.votes.total_step / total_step) if total_step else scores
        logs = self.votes.posterior.log_odds(self.votes.row_scores(whole))
        return logs - logs.mean(axis=1, keepdims=True)

    def probability(self, decisions: Floats) -> Floats:
        """Probability of each class."""
        return softmax(decisions, axis=1)


def decide_by_sign(
    loss: Loss, name: str, scores: Floats, rows: Rows, noise_matrix: Floats
) -> DecisionRule:
    """Decide as in Algorithm 1; ``rows`` are those to calibrate on, checked ones where possible."""
    calibration = calibrate(loss, name, scores, rows, noise_matrix, noise_matrix)
    if isinstance(calibration, SoftmaxCalibration):
        return LargestScore(calibration)
    return Decision(calibration)


def decide_by_votes(
    loss: Loss,
    name: str,
    votes: RowVotes,
    rows: Rows,
    boosted_with: Floats,
    posterior: NoisePosterior,
) -> tuple[DecisionRule, VoteCalibration]:
    """Decide by out-of-bag votes and what was inferred from them.

    ``boosted_with`` is the noise matrix of the last round, which the scores have seen.
    """
    reading = VoteCalibration(posterior, votes.total, rows.prevalence)
    if rows.n_classes > 2:
        return LikeliestClass(reading), reading
    calibration: Calibration = reading
    if name != "platt":
        noise_matrix = posterior.noise_matrix
        calibration = calibrate(loss, name, votes.scores, rows, noise_matrix, boosted_with)
    return Decision(calibration, reading.threshold(), votes.total), reading
