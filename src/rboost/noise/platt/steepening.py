"""Scores whose log-odds is no straight line.

Votes of learners that saw wrong labels are never unanimous: the log-odds of a mean vote levels off
where the true classes are sure, and log p(y = 1) / p(y = 0) grows faster than the score. A
straight line through that leaves rows doubtful that are not, and takes part of the noise for
overlap. On large tables this error is larger than what chance leaves open. So scores are made
steeper away from their middle,

    z → sinh(k·z) / k,    z = (score − center) / spread,

which is z itself for k = 0; k grows as long as the evidence does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats

# On fewer rows (by weight) no steepening can be told from another, and scores stay as they are.
MANY_ROWS = 2000
# Tried in this order, as long as the evidence grows.
STRENGTHS = (1.0, 1.5, 2.0)
# Scores farther out, in standard deviations, are moved here, so that sinh stays finite.
FARTHEST = 20.0


@dataclass(frozen=True)
class Steepening:
    """The map from scores to steeper ones; constant beyond ``FARTHEST``."""

    strength: float = 0.0
    center: float = 0.0
    spread: float = 1.0

    def __call__(self, scores: Floats) -> Floats:
        """Make scores steeper."""
        if self.strength == 0:
            return scores
        z = np.clip((scores - self.center) / self.spread, -FARTHEST, FARTHEST)
        return np.sinh(self.strength * z) / self.strength

    def inverse(self, steeper: float) -> float:
        """The score that becomes this."""
        if self.strength == 0:
            return steeper
        z = float(np.arcsinh(self.strength * steeper)) / self.strength
        return self.center + self.spread * z


UNCHANGED = Steepening()
