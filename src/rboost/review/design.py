"""Rows whose answers settle how labels go wrong.

Answers teach p(label is wrong | row) through a logistic regression, for each label given, on the
log-odds of that label by the columns (``noise/answers.py``). With the covariance S of its two
coefficients, the variance of all probabilities together is Σ_r w_r²·x_rᵀ·S·x_r, where x = (1,
log-odds) and w = p·(1 − p). Another answer adds w·x·xᵀ to the inverse of S, which takes

    w·xᵀ·S·M·S·x / (1 + w·xᵀ·S·x)   with   M = Σ_r w_r²·x_r·x_rᵀ

from it (optimal design, by which one row after the other is chosen): rows in the middle and at both
ends of the scores, of each label as often as it leaves open.
"""

from __future__ import annotations

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit import LabelAudit
from rboost.audit.labels import NO_LABEL

# Standard deviations of the two coefficients before any answer.
SCALES = np.array([1.5, 0.5])
# Nothing is taken to be surer than this, as long as it was not asked for.
LEAST_PROBABILITY = 0.01


def settling_rows(audit: LabelAudit, rows: Integers, n_chosen: int) -> Integers:
    """Of these rows those whose answers teach most, each given the ones before it."""
    labels, found = audit.labels, audit.inference
    labelled = np.flatnonzero(labels.given != NO_LABEL)
    given = labels.given[labelled]
    wrong = found.noise.issue_probability(audit.scores[labelled], given)
    wrong = np.clip(wrong, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    weight = wrong * (1 - wrong)
    right = found.probability[labelled, given].clip(LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    columns = np.column_stack([np.ones(len(right)), np.log(right) - np.log1p(-right)])
    is_open, is_checked = np.isin(labelled, rows), labels.is_checked[labelled]
    reductions: dict[int, Reduction] = {}
    for k in np.unique(given[is_open]).tolist():
        own = given == k
        known = own & is_checked
        reductions[k] = Reduction(
            np.flatnonzero(own & is_open),
            columns[own & is_open],
            weight[own & is_open],
            np.diag(SCALES**-2.0) + (columns[known].T * weight[known]) @ columns[known],
        )
    chosen = []
    for _ in range(min(n_chosen, int(is_open.sum()))):
        best = max(reductions.values(), key=lambda one: one.largest)
        chosen.append(best.take())
    return labelled[chosen]


class Reduction:
    """By how much an answer to each row of one label reduces the variance."""

    def __init__(self, places: Integers, columns: Floats, weight: Floats, precision: Floats):
        self.places, self.columns, self.weight = places, columns, weight
        self.precision = precision
        self.spread = (columns.T * weight**2) @ columns
        self.is_taken = np.zeros(len(places), dtype=bool)
        self._judge()

    def _judge(self) -> None:
        covariance = np.linalg.inv(self.precision)
        projected = self.columns @ covariance
        gained = ((projected @ self.spread) * projected).sum(axis=1)
        variance = (projected * self.columns).sum(axis=1)
        self.gain = self.weight * gained / (1 + self.weight * variance)
        self.gain[self.is_taken] = -1.0
        self.largest = float(self.gain.max())

    def take(self) -> int:
        """The place of the best row, which is not taken again."""
        best = int(self.gain.argmax())
        self.is_taken[best] = True
        x = self.columns[best]
        self.precision = self.precision + self.weight[best] * np.outer(x, x)
        self._judge()
        return int(self.places[best])
