"""What checked labels say without a model, and whether they agree with its predictions.

Labels drawn for the check at random need no model: how many of them are wrong gives an exact
interval for the share of wrong labels, and bounds the share of false alarms in a list. And
whichever rows were checked, the noise as inferred without the answers says how many of their labels
it expected to be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, hypergeom

from rboost._typing import Floats, Integers
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
# Random checks that may replace the model's interval of the share of wrong labels.
FEWEST_DRAWN = 10
# Where an interval of the share of wrong labels comes from.
MODEL, RANDOM_CHECKS = "model", "random checks"
# Lengths of the lists whose false alarms are tested, in expected numbers of wrong labels.
LENGTHS = (0.25, 0.5, 0.75, 1.0, 1.5)
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
        interval = exact_interval(n_wrong, n_checked)
        mean = float(predicted[own].mean())
        found.append(CalibrationBin(ends[k], ends[k + 1], n_checked, n_wrong, mean, *interval))
    return tuple(found)


def count_random_checks(
    labels: TableLabels, among: NDArray[np.bool_] | None = None
) -> RandomChecks | None:
    """The exact interval (Clopper and Pearson) of checked labels that were drawn at random.

    Of all labels, or of the rows ``among`` them; nearly exact if answers helped to choose these.

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
    if among is not None:
        drawn &= among
    n_checked = int(np.count_nonzero(drawn))
    if not n_checked:
        return None
    n_wrong = int(np.count_nonzero(drawn & (labels.checked != labels.given)))
    return RandomChecks(n_checked, n_wrong, *exact_interval(n_wrong, n_checked))


def interval_of_wrong(
    labels: TableLabels,
    by_model: tuple[float, float],
    error: float = 0.0,
    among: NDArray[np.bool_] | None = None,
) -> tuple[float, float, str]:
    """The 90 % interval of the share of wrong labels among those nobody checked, and its source.

    Of all labels, or of the rows ``among`` them that are as suspicious, checked or not. That of
    ``FEWEST_DRAWN`` random checks or more replaces that of the model if it is no wider, or if
    the two do not overlap. It is the exact interval of all labels given, less those that were
    checked and called wrong. Reviewers may err at a rate of up to ``error``: they call a share
    of d labels wrong where w are, and w·(1 − e) ≤ d ≤ w + (1 − w)·e whatever they take for
    what.
    """
    is_given = labels.given != NO_LABEL
    if among is not None:
        is_given &= among
    drawn = count_random_checks(labels, among)
    n_unchecked = int(np.count_nonzero(labels.is_observed & is_given))
    if drawn is None or drawn.n_checked < FEWEST_DRAWN or not n_unchecked:
        return (*by_model, MODEL)
    n_rows = np.count_nonzero(is_given)
    n_found = np.count_nonzero(is_given & labels.is_checked & (labels.checked != labels.given))
    low, high = (
        float(np.clip((share * n_rows - n_found) / n_unchecked, 0, 1))
        for share in ((drawn.low - error) / (1 - error), drawn.high / (1 - error))
    )
    if n_found > drawn.high * n_rows:  # more were found already than the interval allows
        return (*by_model, MODEL)
    is_apart = low > by_model[1] or high < by_model[0]
    if is_apart or high - low <= by_model[1] - by_model[0]:
        return low, high, RANDOM_CHECKS
    return (*by_model, MODEL)


def exact_interval(n_wrong: int, n_checked: int) -> tuple[float, float]:
    """Clopper's and Pearson's interval of a share."""
    low, high = binomtest(n_wrong, n_checked).proportion_ci(LEVEL, "exact")
    return float(low), float(high)


def controlled_list(issue: Floats, labels: TableLabels, false_alarms: float) -> Integers:
    """Unchecked rows of which at most the share ``false_alarms`` is right, with probability .9.

    ``issue`` is how likely each label is to be wrong, found without any answer. It orders the rows
    and presets the lengths of J lists, without a look at what was drawn. Of the k rows of a list,
    m were drawn; given m, they are a simple random sample of the list, so the number of right
    labels among them is hypergeometric. That too many labels are right is rejected if so few right
    ones among the m, or fewer, have a probability of at most .1 / J. By Bonferroni's inequality no
    list is taken wrongly with probability .9, whatever ``issue`` is, if answers are right. Rows
    that were checked for another reason are known, and change only what "too many" is. Refusing
    depends on no answer, so it costs nothing to ask again after more checks.

    Lists that are expected to hold too few random checks are not tested.

    Raises
    ------
    ValueError
        Where no list holds enough random checks to be taken, whatever they say.
    """
    rows = np.flatnonzero(labels.given != NO_LABEL)
    rows = rows[np.argsort(-issue[rows], kind="stable")]
    drawn, is_checked = labels.at_random[rows], labels.is_checked[rows]
    right = is_checked & (labels.checked[rows] == labels.given[rows])
    n_rows, n_drawn = len(rows), int(drawn.sum())
    expected = float(issue[rows].sum())
    lengths = np.unique(np.clip(np.round(np.array(LENGTHS) * expected), 1, n_rows).astype(int))
    fewest = _fewest_draws(false_alarms, 1)
    tested = [k for k in lengths.tolist() if k * n_drawn >= fewest * n_rows]
    n_taken, is_possible = 0, False
    for k in tested:
        m, n_right = int(drawn[:k].sum()), int((right & drawn)[:k].sum())
        n_left, level = k - int(is_checked[:k].sum()), (1 - LEVEL) / len(tested)
        too_many = int(false_alarms * n_left + 1e-9) + 1  # right labels among those not checked
        is_possible |= bool(n_left and hypergeom.cdf(0, k, too_many, m) <= level)
        if n_left and hypergeom.cdf(n_right, k, too_many + right[:k].sum(), m) <= level:
            n_taken = k
    if not is_possible:
        precise = lengths[[bool(issue[rows[:k]].mean() >= 1 - false_alarms) for k in lengths]]
        k = int(max(precise, default=lengths[0]))
        needed = _fewest_draws(false_alarms, len(lengths))
        more = int(np.clip(np.ceil(needed * n_rows / k) - n_drawn, 1, max(n_rows - n_drawn, 1)))
        raise ValueError(
            f"Of {n_drawn} labels drawn at random and checked, {int(drawn[:k].sum())} are among "
            f"the {k} most suspicious, too few to keep false alarms at {false_alarms:.0%}; "
            f"check about {more} more rows that are drawn at random."
        )
    return rows[:n_taken][~is_checked[:n_taken]]


def _fewest_draws(false_alarms: float, n_lists: int) -> int:
    """Draws within a long list that let it be taken if the labels of all of them are wrong."""
    return int(np.ceil(np.log((1 - LEVEL) / n_lists) / np.log1p(-false_alarms)))


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
    shares = _equally_likely(*before.wrong_shares(scores, given))
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
