"""Labels that were guessed from what the columns show, beside labels that were flipped.

A flip has a rate that depends on the class alone, and shows: p(ỹ | x) levels off before any label
is certain. Real labels are also wrong where a row looks like another class. Say that of the labels
k a share ρ_k was not known but guessed, drawn from p(y | x) by whoever looked at the row. Then

    p(ỹ = k | x) = p(y = k | x)·(1 − ρ_k) + p(y = k | x)·Σ_j ρ_j·p(y = j | x) ≈ p(y = k | x),
    p(y = j | x, ỹ = k) = (1 − ρ_k)·1(j = k) + ρ_k·p(y = j | x).

(They are equal where all ρ are, and in the mean over what the ρ may be.) So nothing in scores and
labels tells how large the ρ are; there is nothing to correct in p(y | x) either, and a label is
suspicious as far as the scores speak against it. How often labels were guessed is left to the
prior, each ρ_k uniform from 0 to 1: the intervals are as wide as that, until people check rows.
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
        return self.flipped.noise_matrix if self.guessed <= 0.5 else np.eye(len(self.together))

    def rate_cells(self, true: int, observed: int) -> Cells:
        """Where p(observed | true) lies with which probability."""
        shares = _draws(len(self.together))
        joint = self.together[true] * shares  # p(true, guessed as k)
        kept = self.together[true].sum() * (1 - shares[:, true])
        joint[:, true] += kept
        rate = joint[:, observed] / joint.sum(axis=1)
        return self._mixed(self.flipped.rate_cells(true, observed), rate)

    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """Where the share of labels that are wrong lies with which probability."""
        n_classes, observed = len(self.together), np.asarray(observed).astype(np.intp)
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
        observed = np.asarray(observed).astype(np.intp)
        guessed = MEAN_SHARE * self.overlap.observed_probability(scores)
        guessed[np.arange(len(guessed)), observed] += 1 - MEAN_SHARE
        flipped = self.flipped.posterior(scores, observed)
        return (1 - self.guessed) * flipped + self.guessed * guessed


def _draws(n_classes: int) -> Floats:
    """What the shares of guessed labels may be: evenly spread over the unit cube."""
    return qmc.Halton(n_classes, scramble=False).random(N_DRAWS + 1)[1:]


def seen_together(curve: Floats, weight: Floats | None = None) -> Floats:
    """The mean over rows of p(y = j)·p(y = k), shape (K, K)."""
    weighted = curve if weight is None else curve * weight[:, np.newaxis]
    return weighted.T @ curve / weighted.sum()
