"""Labels that were guessed from what the columns show, beside labels that were flipped.

A flip has a rate that depends on the class alone, and shows: p(ỹ | x) levels off before any label
is certain. Real labels are also wrong where a row looks like another class. Say that of the labels
k a share ρ_k was not known but guessed by whoever looked at the row: it says no more of the true
class than the columns do. With c_k = p(ỹ = k | x),

    p(y = j | x, ỹ = k) = (1 − ρ_k)·1(j = k) + ρ_k·c_j,
    p(y = j | x) = c_j·(1 − ρ_j) + c_j·Σ_k ρ_k·c_k ≈ c_j,

equal where all ρ are alike, and in the mean over what they may be. So nothing in scores and labels
tells how large the ρ are; there is nothing to correct in the model of the labels either, and a
label is suspicious as far as the scores speak against it. How often labels were guessed is left to
the prior, each ρ_k uniform from 0 to 1: intervals are as wide as that, until people check rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from rboost._typing import Floats, Integers
from rboost.noise.interval import Cells
from rboost.noise.posterior import NoisePosterior

# The mean share of labels that are guessed, and how many draws stand for what the shares may be.
MEAN_SHARE, N_DRAWS = 0.5, 256
# Shares that are assumed in turn where answers can tell them apart.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
# No assumption is less likely than this before people are asked: they may contradict it.
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class FlippedOrGuessed(NoisePosterior):
    """Flips with probability 1 − ``guessed``, else guesses.

    ``flipped`` knows the flips and how scores are to be read if that is what happened; ``overlap``
    has the curve of the observed labels if it is not. ``together[j, k]`` is the mean over the rows
    of p(y = j)·p(y = k) by that curve.
    """

    flipped: NoisePosterior
    overlap: NoisePosterior
    guessed: float
    together: Floats

    @property
    def noise_matrix(self) -> Floats:
        """What is likelier: the mean of the flips, or that no class is flipped as such."""
        return self.flipped.noise_matrix if self.guessed <= 0.5 else np.eye(self.n_classes)

    @property
    def flips(self) -> NoisePosterior:
        """What is known if labels were flipped."""
        return self.flipped

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.together)

    def rate_cells(self, true: int, observed: int) -> Cells:
        """Where p(observed | true) lies with which probability."""
        shares = _draws(self.n_classes)
        joint = self.together[true] * shares  # p(true, guessed as k)
        kept = self.together[true].sum() * (1 - shares[:, true])
        joint[:, true] += kept
        rate = joint[:, observed] / joint.sum(axis=1)
        return self._mixed(self.flipped.rate_cells(true, observed), rate)

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """Where the share of labels that are wrong lies with which probability."""
        n_classes, observed = self.n_classes, np.asarray(observed).astype(np.intp)
        curve = self.overlap.observed_probability(scores)
        doubt = 1 - curve[np.arange(len(curve)), observed]
        by_label = np.bincount(observed, doubt, minlength=n_classes) / len(curve)
        return self._mixed(
            self.flipped.wrong_share_cells(scores, observed), _draws(n_classes) @ by_label
        )

    def _mixed(self, flipped: Cells, guessed: Floats) -> Cells:
        low, high, weight = flipped
        atoms = np.full(len(guessed), self.guessed / len(guessed))
        return (
            np.append(low, guessed),
            np.append(high, guessed),
            np.append((1 - self.guessed) * weight, atoms),
        )

    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row."""
        curve = self.overlap.observed_probability(scores)
        return (1 - self.guessed) * self.flipped.probability(scores) + self.guessed * curve

    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row."""
        flipped, curve = (
            reading.observed_probability(scores) for reading in (self.flipped, self.overlap)
        )
        return (1 - self.guessed) * flipped + self.guessed * curve

    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""
        flipped = self.flipped.posterior(scores, observed)
        if not self.guessed:
            return flipped
        guessed = self._if_guessed(MEAN_SHARE, scores, observed)
        return (1 - self.guessed) * flipped + self.guessed * guessed

    def assumptions(self, scores: Floats, observed: Integers) -> list[Floats]:
        """p(y = j | score, ỹ) of each row if labels were flipped, and for shares of guesses."""
        guessed = [self._if_guessed(share, scores, observed) for share in SHARES]
        return [self.flipped.posterior(scores, observed), *guessed]

    def assumption_weights(self) -> Floats:
        """How likely each of the assumptions is, at least a little."""
        weights = np.array([1 - self.guessed, *[self.guessed / len(SHARES)] * len(SHARES)])
        return np.maximum(weights, LEAST_WEIGHT)

    def _if_guessed(self, share: float, scores: Floats, observed: Integers) -> Floats:
        found = share * self.overlap.observed_probability(scores)
        found[np.arange(len(found)), np.asarray(observed).astype(np.intp)] += 1 - share
        return found


def _draws(n_classes: int) -> Floats:
    """What the shares of guessed labels may be: evenly spread over the unit cube."""
    return qmc.Halton(n_classes, scramble=False).random(N_DRAWS + 1)[1:]


def seen_together(curve: Floats, weight: Floats | None = None) -> Floats:
    """The mean over rows of p(y = j)·p(y = k), shape (K, K)."""
    weighted = curve if weight is None else curve * weight[:, np.newaxis]
    return weighted.T @ curve / weighted.sum()
