"""Noise that differs between groups of rows: who labelled them, where they come from, when.

The classes of rows do not depend on the group, apart from how frequent they are; labels do. Row i
of group g has the class j with

    p(y = j | sᵢ, g) ∝ p(y = j | sᵢ)·exp(b_gj),        b_g ~ N(0, shift²),

and the label k with T_g[j, k]. p(y | s) is that of the common posterior, inferred from all rows.
The rows of T_g are drawn around those of the common matrix C, in which the odds of a wrong label
are f times as large, as who is careless is so in all classes: T_g[j] ~ Dirichlet(strength·C_f[j]).
Each group has its own f, any of ``FACTORS`` alike. How alike groups are, the data say: each pair of
(strength, shift) counts by its evidence, the product of those of the groups, each the mean over f
(``noise/group_fit.py``), and results are averages over all these. A strength of ∞ means one matrix
for all groups, C itself. Few rows say little against C.

**Noise or frequency.** Groups that differ in class frequencies move all their scores by b_g: rows
with large scores keep their labels. Groups that differ in noise have wrong labels also where the
score leaves no doubt. ``log_evidence`` compares matrices that differ with one matrix, *both* with
offsets b_g of any size, so that a difference of frequencies speaks for neither. Where scores are
never sure, the two look alike, and ``log_evidence`` stays near 0.

Shapes: G groups, K classes; ``group`` (n_rows,) has positions 0 to G − 1, −1 for rows of none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import beta as beta_distribution
from scipy.stats import norm

from rboost._typing import Floats, Integers
from rboost.noise.group_fit import GroupFit, GroupPrior, GroupRows, fit_group, mixed
from rboost.noise.matrix import keep_informative
from rboost.noise.posterior import NoisePosterior

# How many times as often as in the common matrix labels of a group may be wrong, in odds.
FACTORS = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
# How strongly a group is drawn to the common matrix so changed, as if by so many rows a class, and
# the prior probability that groups differ at all.
STRENGTHS, DIFFER = (6.0, 30.0, 150.0), 0.5
# How much log-odds of classes may differ between groups, with prior probabilities: hardly, as their
# class should not depend on what is asked for here, or a lot.
SHIFTS = {0.05: 0.7, 1.0: 0.3}
# A group of fewer labels has the common matrix.
FEWEST_LABELS = 10
# A prior that makes labels so many nats less likely than another need not be looked at.
NEGLIGIBLE = 10.0
# So many rows of a group say enough; of more, every second or third is looked at, and so on.
MOST_ROWS = 10_000
# A label is taken to be wrong at least this often: one slip must not be impossible.
SLIPS = 0.002
# No class is less likely than this, whatever the scores.
LEAST_PROBABILITY = 1e-12
_QUANTILES = (np.arange(199) + 0.5) / 199


@dataclass(frozen=True, eq=False)
class GroupedNoise:
    """What is known of the noise of each group; intervals hold with probability .9.

    Attributes
    ----------
    common : NoisePosterior
        What was inferred from all rows; it holds for rows of no group.
    noise_matrix : ndarray of shape (n_groups, n_classes, n_classes)
        ``noise_matrix[g, j, k] = p(observed k | true j, group g)``.
    interval : ndarray of shape (2, n_groups, n_classes, n_classes)
        Lower and upper ends for its entries.
    offsets : ndarray of shape (n_groups, n_classes)
        b_g: by how much the log-probabilities of classes differ from the common ones.
    wrong_share : ndarray of shape (n_groups,)
        The share of labels in each group that are wrong, of those nobody checked.
    wrong_share_interval : ndarray of shape (2, n_groups)
        Lower and upper ends for these.
    log_evidence : float
        Logarithm of how much likelier labels are if matrices differ than if all groups have one.
    """

    common: NoisePosterior
    noise_matrix: Floats
    interval: Floats
    offsets: Floats
    log_evidence: float
    wrong_share: Floats
    wrong_share_interval: Floats

    def posterior(self, scores: Floats, observed: Integers, group: Integers) -> Floats:
        """p(y = j | score, ỹ, group) of each row, (n_rows, K)."""
        return self._posterior(self.common.posterior(scores, observed), observed, group)

    def issue_probability(self, scores: Floats, observed: Integers, group: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ, group): how likely each label is to be wrong."""
        posterior = self.posterior(scores, observed, group)
        return np.clip(1 - posterior[np.arange(len(posterior)), observed], 0.0, 1.0)

    def _posterior(self, common: Floats, observed: Integers, group: Integers) -> Floats:
        """Weigh classes by what makes the group differ: b_g, and T_g where it is not C."""
        observed = np.asarray(observed, dtype=np.intp)
        matrices = [*self.noise_matrix, with_slips(self.common.flips.noise_matrix)]
        offsets = [*self.offsets, np.zeros(common.shape[1])]  # of rows in no group
        factors = np.exp(np.stack(offsets))[:, :, np.newaxis] * np.stack(matrices) / matrices[-1]
        place = known_groups(group, len(self.noise_matrix))
        found = common * factors[place, :, observed]
        return found / found.sum(axis=1, keepdims=True)


def infer_group_noise(
    scores: Floats,
    observed: ArrayLike,
    group: ArrayLike,
    *,
    noise: NoisePosterior,
    n_groups: int | None = None,
    sample_weight: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    before: ArrayLike | None = None,
) -> GroupedNoise:
    """Infer the noise matrix of each group of rows.

    Parameters
    ----------
    scores, observed, sample_weight, trusted
        What :func:`rboost.noise.infer_noise` was given.
    group : array-like of shape (n_rows,)
        The position of each row's group; −1 for rows of none, which have the common matrix.
    noise : NoisePosterior
        What :func:`rboost.noise.infer_noise` has found.
    n_groups : int, default=None
        How many groups there are; None means up to the last that has a row.
    before : array-like of shape (n_rows,), default=None
        The labels that trusted rows had before they were checked, −1 where they had none.

    Returns
    -------
    found : GroupedNoise
        Noise matrices with intervals, and shares of wrong labels.
    """
    label, place = np.array(observed, dtype=np.intp), np.asarray(group, dtype=np.intp)
    scores = np.asarray(scores)
    n_rows = len(label)
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    trust = np.zeros(n_rows, dtype=bool) if trusted is None else np.asarray(trusted, dtype=bool)
    if any(len(column) != n_rows for column in (scores, place, weight, trust)):
        raise ValueError("scores, observed, group, weights and trusted must have one entry a row.")
    known = np.where(trust, label, -1)
    label[trust] = -1 if before is None else np.asarray(before)[trust]
    common, noise = noise.for_groups, noise.flips  # guesses are alike in all groups
    probability = np.maximum(noise.probability(scores), LEAST_PROBABILITY)
    number = max(int(place.max(initial=-1)) + 1, n_groups or 0)
    parts = [
        GroupRows.of(probability[rows], label[rows], weight[rows], known[rows])
        for rows in (_rows_of(place, g, label, weight) for g in range(number))
    ]
    fits, log_evidence = _fit(parts, with_slips(noise.noise_matrix))
    shape = (number, *noise.noise_matrix.shape)
    mean, variance = (
        np.array([getattr(fit, name) for fit in fits]).reshape(shape)
        for name in ("noise_matrix", "variance")
    )
    few = [not len(rows.weight) for rows in parts]
    mean[few] = with_slips(noise.noise_matrix)
    # What is not known of the common matrix is not known of any group's either.
    interval = beta_interval(mean, variance + noise.standard_error**2)
    offsets = np.array([fit.offsets for fit in fits]).reshape(shape[:2])
    found = GroupedNoise(common, mean, interval, offsets, log_evidence, np.zeros(0), np.zeros(0))
    share, interval = _shares(found, fits, scores, label, place, weight * ~trust)
    return replace(found, wrong_share=share, wrong_share_interval=interval)


def _fit(groups: Sequence[GroupRows], common: Floats) -> tuple[list[GroupFit], float]:
    """Fits of all groups, averaged over priors, and the log evidence of matrices that differ."""
    by_prior, log_prior, same = [], [], []
    for shift, chance in SHIFTS.items():
        by_prior.append([fit_group(rows, GroupPrior(common, np.inf, shift)) for rows in groups])
        log_prior.append(np.log(chance * (1 - DIFFER)))
        for strength in STRENGTHS:
            priors = [GroupPrior(multiplied(common, by), strength, shift) for by in FACTORS]
            by_prior.append([_fit_any(rows, priors) for rows in groups])
            log_prior.append(np.log(chance * DIFFER / len(STRENGTHS)))
        same += [True] + [False] * len(STRENGTHS)
    logs = np.array([sum(fit.log_evidence for fit in fits) for fits in by_prior]) + log_prior
    differ = ~np.array(same)
    log_evidence = logsumexp(logs[differ]) - logsumexp(logs[~differ])
    found = [
        mixed(fits, logs - [fit.log_evidence for fit in fits])
        for fits in zip(*by_prior, strict=True)
    ]
    return found, float(log_evidence - np.log(DIFFER / (1 - DIFFER)))


def _fit_any(rows: GroupRows, priors: Sequence[GroupPrior]) -> GroupFit:
    """The average over priors that are equally likely, from the middle to where they do not count.

    Evidence has one peak along the factors.
    """
    middle = len(priors) // 2
    fits = [fit_group(rows, priors[middle])]
    for way in (priors[middle + 1 :], priors[:middle][::-1]):
        last = fits[0]
        for prior in way:
            last = fit_group(rows, prior, last)
            fits.append(last)
            if last.log_evidence < max(fit.log_evidence for fit in fits) - NEGLIGIBLE:
                break
    return mixed(fits, np.full(len(fits), -np.log(len(priors))))


def _shares(
    found: GroupedNoise,
    fits: Sequence[GroupFit],
    scores: Floats,
    label: Integers,
    place: Integers,
    weight: Floats,
) -> tuple[Floats, Floats]:
    """The share of wrong labels in each group, with intervals; checked rows have no weight."""
    mean, variance = np.zeros(len(fits)), np.zeros(len(fits))
    for g, fit in enumerate(fits):
        rows = np.flatnonzero((place == g) & (weight > 0))
        if not len(rows):
            continue
        issues = found.issue_probability(scores[rows], label[rows], place[rows])
        mean[g] = np.average(issues, weights=weight[rows])
        _, low, high = found.common.wrong_share_interval(scores[rows], label[rows])
        variance[g] = fit.share_variance + ((high - low) / (2 * norm.ppf(0.95))) ** 2
        # Scores are not calibrated as well as all that: no surer than if labels had been drawn.
        variance[g] = max(variance[g], mean[g] * (1 - mean[g]) / weight[rows].sum())
    return mean, beta_interval(mean, variance)


def _rows_of(place: Integers, group: int, label: Integers, weight: Floats) -> Integers:
    """The rows of a group; none where it has too few labels to say anything."""
    rows = np.flatnonzero((place == group) & (weight > 0))
    if np.count_nonzero(label[rows] >= 0) < FEWEST_LABELS:
        return rows[:0]
    return rows[:: -(-len(rows) // MOST_ROWS)]


def with_slips(noise_matrix: Floats) -> Floats:
    """The matrix with hardly any entry at 0: slips to all classes alike come on top."""
    n_classes = len(noise_matrix)
    return (1 - SLIPS) * noise_matrix + SLIPS / n_classes


def multiplied(noise_matrix: Floats, factor: float) -> Floats:
    """The matrix with the odds of a wrong label so many times as large, in every class."""
    flips = factor * noise_matrix
    np.fill_diagonal(flips, noise_matrix.diagonal())
    return keep_informative(flips / flips.sum(axis=1, keepdims=True), 0.95)


def known_groups(group: ArrayLike, n_groups: int) -> Integers:
    """Positions of groups, with ``n_groups`` for rows of none or of an unknown one."""
    place = np.asarray(group, dtype=np.intp)
    return np.where((place >= 0) & (place < n_groups), place, n_groups)


def beta_interval(mean: Floats, variance: Floats) -> Floats:
    """Shortest intervals of probability .9 of beta distributions, lower ends and upper ends.

    Where there are none with such moments, as they fall off from 0 or 1 on, the interval reaches at
    least as far from there as that of a normal distribution would.
    """
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    rarer = np.minimum(mean, 1 - mean)
    widest = rarer**2 * (1 - rarer) / (1 + rarer)
    size = mean * (1 - mean) / np.clip(variance, 1e-12, widest) - 1
    levels = _QUANTILES.reshape(-1, *[1] * mean.ndim)
    values = beta_distribution.ppf(levels, mean * size, (1 - mean) * size)
    values[0], values[-1] = (
        np.where(values[0] < 1e-4, 0, values[0]),
        np.where(values[-1] > 1 - 1e-4, 1, values[-1]),
    )
    inside = int(np.ceil(0.9 * len(levels)))
    low, high = values[:-inside], values[inside:]
    narrowest = np.argmin(high - low, axis=0)[np.newaxis]
    lower, upper = (np.take_along_axis(end, narrowest, axis=0)[0] for end in (low, high))
    reach = norm.ppf(0.95) * np.sqrt(variance)
    beyond = variance > widest
    lower = np.where(beyond, np.clip(mean - reach, 0, lower), lower)
    return np.stack([lower, np.where(beyond, np.clip(mean + reach, upper, 1), upper)])
