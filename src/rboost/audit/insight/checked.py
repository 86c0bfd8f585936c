"""What checked labels say without a model, and whether they agree with its predictions.

Labels drawn for the check at random need no model: how many of them are wrong gives an exact
interval for the share of wrong labels. And whichever rows were checked, the noise as inferred
without the answers says how many of their labels it expected to be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL, TableLabels
from rboost.noise import NoisePosterior

LEVEL = 0.9
# Answers contradict the predictions if their p-value is below this.
SIGNIFICANCE = 0.01
# The error rate of people: no checked label is wrong with a probability nearer to 0 or 1.
MISTAKES = 0.01
# Quantiles that represent the posterior of the share of wrong labels; bins of rows with nearly the
# same probability.
N_SHARES, N_BINS = 32, 64
# Bins of predicted probabilities, of which each is compared with what people found.
BIN_EDGES = (0.1, 0.3, 0.5, 0.7, 0.9)


class AnswersContradictWarning(UserWarning):
    """Answers contradict the noise that was inferred without them."""


@dataclass(frozen=True)
class RandomChecks:
    """Of labels drawn at random, how many were wrong; ``low`` to ``high`` holds the share by .9."""

    n_checked: int
    n_wrong: int
    low: float
    high: float


@dataclass(frozen=True)
class PredictiveCheck:
    """Wrong labels among the checked ones, and how many were expected without the answers.

    ``p_value`` is the two-sided one of their number, under the noise inferred without answers.
    """

    n_checked: int
    n_wrong: int
    expected: float
    p_value: float
    contradicts: bool


@dataclass(frozen=True)
class CalibrationBin:
    """Checked labels that were predicted to be wrong with probabilities from ``low`` to ``high``.

    ``predicted`` is the mean of these probabilities, as they were without any answer;
    ``found_low`` to ``found_high`` holds the share that is wrong with probability .9.
    """

    low: float
    high: float
    n_checked: int
    n_wrong: int
    predicted: float
    found_low: float
    found_high: float

    @property
    def found(self) -> float:
        """The share of wrong labels that people found."""
        return self.n_wrong / self.n_checked

    @property
    def is_consistent(self) -> bool:
        """Whether what was predicted lies in the interval of what was found."""
        return self.found_low <= self.predicted <= self.found_high


def check_calibration(
    before: NoisePosterior, scores: Floats, labels: TableLabels
) -> tuple[CalibrationBin, ...]:
    """Predicted shares of wrong labels, ``before`` any answer, and what people found, in bins."""
    rows = np.flatnonzero(labels.is_checked & (labels.given != NO_LABEL))
    if not len(rows):
        return ()
    predicted = before.issue_probability(scores[rows], labels.given[rows])
    is_wrong = labels.checked[rows] != labels.given[rows]
    place = np.searchsorted(BIN_EDGES, predicted, side="right")
    ends, found = (0.0, *BIN_EDGES, 1.0), []
    for k in np.unique(place).tolist():
        own = place == k
        n_checked, n_wrong = int(own.sum()), int(is_wrong[own].sum())
        interval = _exact_interval(n_wrong, n_checked)
        mean = float(predicted[own].mean())
        found.append(CalibrationBin(ends[k], ends[k + 1], n_checked, n_wrong, mean, *interval))
    return tuple(found)


def count_random_checks(labels: TableLabels) -> RandomChecks | None:
    """The exact interval (Clopper and Pearson) of checked labels that were drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from rboost.audit.insight.checked import count_random_checks
    >>> from rboost.audit.labels import table_labels
    >>> checked = np.array([0, 0, 1, 1, -1])
    >>> labels = table_labels(np.array(["a", "b"]), np.array([0, 0, 1, 0, 1]), checked)
    >>> found = count_random_checks(labels.with_checked(checked, checked >= 0))
    >>> found.n_checked, found.n_wrong, round(found.low, 3), round(found.high, 3)
    (4, 1, 0.013, 0.751)
    """
    drawn = labels.at_random & (labels.given != NO_LABEL)
    n_checked = int(np.count_nonzero(drawn))
    if not n_checked:
        return None
    n_wrong = int(np.count_nonzero(drawn & (labels.checked != labels.given)))
    return RandomChecks(n_checked, n_wrong, *_exact_interval(n_wrong, n_checked))


def _exact_interval(n_wrong: int, n_checked: int) -> tuple[float, float]:
    """Clopper's and Pearson's interval of a share."""
    low, high = binomtest(n_wrong, n_checked).proportion_ci(LEVEL, "exact")
    return float(low), float(high)


def check_predictions(
    before: NoisePosterior, scores: Floats, labels: TableLabels
) -> PredictiveCheck | None:
    """Compare checked labels with what was expected of them ``before`` the answers.

    The number of wrong ones has a Poisson binomial distribution, whose mean is itself uncertain:
    probabilities are scaled to every share of wrong labels that was thought possible.
    """
    rows = np.flatnonzero(labels.is_checked & (labels.given != NO_LABEL))
    if not len(rows):
        return None
    scores, given = scores[rows], labels.given[rows]
    n_wrong = int(np.count_nonzero(labels.checked[rows] != given))
    wrong = before.issue_probability(scores, given)
    low, high, weight = before.wrong_share_cells(scores, given)
    shares = _equally_likely((low + high) / 2, weight)
    numbers = np.mean([_distribution(_scaled(wrong, share)) for share in shares], axis=0)
    tails = numbers[n_wrong:].sum(), numbers[: n_wrong + 1].sum()
    p_value = float(np.clip(2 * min(tails), 0.0, 1.0))
    return PredictiveCheck(
        len(rows), n_wrong, float(wrong.sum()), p_value, contradicts=p_value < SIGNIFICANCE
    )


def _equally_likely(values: Floats, weight: Floats) -> Floats:
    """Some of the values, such that each stands for the same probability."""
    order = np.argsort(values, kind="stable")
    up_to = np.cumsum(weight[order])
    middles = (np.arange(N_SHARES) + 0.5) / N_SHARES * up_to[-1]
    return values[order][np.minimum(np.searchsorted(up_to, middles), len(values) - 1)]


def _scaled(probability: Floats, mean: float) -> Floats:
    """Probabilities in the same proportions with another mean."""
    present = probability.mean()
    scaled = probability * mean / present if present else np.full(len(probability), mean)
    return np.clip(scaled, MISTAKES, 1 - MISTAKES)


def _distribution(probability: Floats) -> Floats:
    """How likely each number of successes is, 0 to n, of events with these probabilities.

    The product of their characteristic functions, transformed back.
    """
    n_events = len(probability)
    bins = np.array_split(np.sort(probability), min(N_BINS, n_events))
    turns = np.exp(2j * np.pi * np.arange(n_events + 1) / (n_events + 1)) - 1
    product = np.ones(n_events + 1, dtype=complex)
    for each in bins:
        product *= (1 + each.mean() * turns) ** len(each)
    return np.fft.fft(product).real / (n_events + 1)
