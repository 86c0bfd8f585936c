"""NoisePosterior: what is known of the noise, and how scores are to be read."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.optimize import brentq

from rboost._typing import Floats, Integers
from rboost.noise.interval import Cells, lowest_interval, shortest_interval

# An interval for the share of wrong labels begins at 0 if it is then no more than this many times
# as long.
HARDLY_LONGER = 1.1


class NoisePosterior(ABC):
    """What is known of the noise, and how scores are to be read.

    Scores of two classes have shape (n_rows,), of more (n_rows, K).
    """

    @property
    @abstractmethod
    def noise_matrix(self) -> Floats:
        """``noise_matrix[j, k] = p(observed k | true j)``, as far as it can be inferred."""

    @property
    def flips(self) -> NoisePosterior:
        """What is known if labels were flipped at rates of their classes, and in no other way."""
        return self

    @property
    def for_groups(self) -> NoisePosterior:
        """What is known of rows of all groups, where groups differ in their flips."""
        return self.flips

    @abstractmethod
    def probability(self, scores: Floats) -> Floats:
        """p(y = j | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def observed_probability(self, scores: Floats) -> Floats:
        """p(ỹ = k | score) of each row, shape (n_rows, K)."""

    @abstractmethod
    def posterior(self, scores: Floats, observed: Integers) -> Floats:
        """p(y = j | score, ỹ) of each row."""

    @abstractmethod
    def rate_cells(self, true: int, observed: int) -> Cells:
        """Where p(observed | true) lies with which probability."""

    @abstractmethod
    def wrong_share_cells(self, scores: Floats, observed: Integers) -> Cells:
        """Where the share of labels that are wrong lies with which probability."""

    @property
    def standard_error(self) -> Floats:
        """Posterior standard deviation of each p(observed | true)."""
        n_classes = len(self.noise_matrix)
        found = np.empty((n_classes, n_classes))
        for j, k in np.ndindex(n_classes, n_classes):
            low, high, weight = self.rate_cells(j, k)
            middle, within = (low + high) / 2, (high - low) ** 2 / 12
            found[j, k] = np.sqrt(weight @ ((middle - weight @ middle) ** 2 + within))
        return found

    def interval(self, level: float = 0.9) -> Floats:
        """Shortest intervals that hold each p(observed | true) with this probability.

        Returns an array of shape (2, K, K): the matrix of lower ends, then that of upper ends.
        """
        n_classes = len(self.noise_matrix)
        found = np.empty((2, n_classes, n_classes))
        for j, k in np.ndindex(n_classes, n_classes):
            found[:, j, k] = shortest_interval(*self.rate_cells(j, k), level)
        # The shortest interval may leave out the estimate, which then is one of its ends.
        matrix = self.noise_matrix
        return np.stack([np.minimum(found[0], matrix), np.maximum(found[1], matrix)])

    def wrong_share_interval(
        self, scores: Floats, observed: Integers, level: float = 0.9
    ) -> tuple[float, float, float]:
        """Mean of the share of labels that are wrong, and an interval for it.

        The shortest of this probability, unless one that begins at the lowest possible share, where
        that is 0, is hardly longer.
        """
        mean = float(self.issue_probability(scores, observed).mean())
        cells = self.wrong_share_cells(scores, observed)
        shortest, lowest = shortest_interval(*cells, level), lowest_interval(*cells, level)
        if lowest[0] == 0 and lowest[1] <= HARDLY_LONGER * (shortest[1] - shortest[0]):
            return mean, *lowest
        return mean, *shortest

    def issue_probability(self, scores: Floats, observed: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ): how likely each label is to be wrong."""
        observed = np.asarray(observed).astype(np.intp)
        right = self.posterior(scores, observed)[np.arange(len(observed)), observed]
        return np.clip(1 - right, 0.0, 1.0)

    def log_odds(self, scores: Floats) -> Floats:
        """Log-odds of class 1, shape (n_rows,); of more classes log p(y = j), (n_rows, K)."""
        logs = np.log(np.maximum(self.probability(scores), 1e-300))
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    def threshold(self, lowest: float, highest: float) -> float:
        """The score between two others where two classes are equally likely, else the nearer."""
        ends = self.log_odds(np.array([lowest, highest]))
        if ends[0] >= 0:
            return lowest
        if ends[1] <= 0:
            return highest
        return float(brentq(lambda score: self.log_odds(np.array([score]))[0], lowest, highest))
