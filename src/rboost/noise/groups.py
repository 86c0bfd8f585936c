"""Noise that differs between groups of rows: who labelled them, where they come from, when.

The classes of rows do not depend on the group, apart from how frequent they are; labels do. Row i
of group g has the class j with

    p(y = j | sᵢ, g) ∝ p(y = j | sᵢ)·exp(b_gj),        b_g ~ N(0, shift²),

and the label k with T_g[j, k]. p(y | s) is that of the common posterior, inferred from all rows.
The rows of T_g are drawn around those of the common matrix C: T_g[j] ~ Dirichlet(strength·C[j]).
How alike groups are, the data say: each pair of (strength, shift) counts by its evidence, the
product of those of the groups (``noise/group_fit.py``), and results are averages over these pairs.
A strength of ∞ means one matrix for all groups. Few rows say little against C.

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
from rboost.noise.group_fit import GroupFit, GroupPrior, GroupRows, fit_group
from rboost.noise.inference import NoisePosterior

# How strongly groups may be drawn to the common matrix, as if by so many rows of each class, and
# what part of the prior says that they differ at all.
STRENGTHS, DIFFER = (2.0, 6.0, 20.0, 60.0, 200.0), 0.5
# How much log-odds of classes may differ between groups, with prior probabilities: hardly, as their
# class should not depend on what is asked for here; somewhat; a lot.
SHIFTS = {0.05: 0.7, 0.5: 0.2, 2.0: 0.1}
# A group of fewer labels has the common matrix.
FEWEST_LABELS = 10
# A label is taken to be wrong at least this often: one slip must not be impossible.
SLIPS = 0.002
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
        matrices = [*self.noise_matrix, with_slips(self.common.noise_matrix)]
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
    log_probability = np.log(np.maximum(noise.probability(scores), 1e-12))
    number = max(int(place.max(initial=-1)) + 1, n_groups or 0)
    parts = [
        GroupRows(log_probability[rows], label[rows], weight[rows], known[rows])
        for rows in (_rows_of(place, g, label, weight) for g in range(number))
    ]
    matrix = with_slips(noise.noise_matrix)
    priors = [GroupPrior(matrix, c, shift) for c in (np.inf, *STRENGTHS) for shift in SHIFTS]
    fits = [[fit_group(rows, prior) for rows in parts] for prior in priors]
    weights, log_evidence = _compare(priors, fits)
    found = GroupedNoise(
        noise, *_average(fits, weights, noise, len(matrix)), log_evidence, np.zeros(0), np.zeros(0)
    )
    mean, interval = _shares(found, fits, weights, scores, label, place, weight * ~trust)
    return replace(found, wrong_share=mean, wrong_share_interval=interval)


def _compare(
    priors: Sequence[GroupPrior], fits: Sequence[Sequence[GroupFit]]
) -> tuple[Floats, float]:
    """Posterior probability of each prior, and the log evidence of matrices that differ."""
    same = np.array([np.isinf(prior.strength) for prior in priors])
    log_weights = np.array([
        np.log(SHIFTS[prior.shift] / (1 if np.isinf(prior.strength) else len(STRENGTHS)))
        + sum(fit.log_evidence for fit in of_groups)
        for prior, of_groups in zip(priors, fits, strict=True)
    ])  # fmt: skip
    log_evidence = logsumexp(log_weights[~same]) - logsumexp(log_weights[same])
    log_weights += np.log(np.where(same, 1 - DIFFER, DIFFER))
    return np.exp(log_weights - logsumexp(log_weights)), float(log_evidence)


def _average(
    fits: Sequence[Sequence[GroupFit]], weights: Floats, noise: NoisePosterior, n_classes: int
) -> tuple[Floats, Floats, Floats]:
    """Matrices of all groups, their intervals, and offsets, averaged over priors.

    What is not known of the common matrix, as calibrated scores may be a little off, is not known
    of any group's either.
    """
    shape = (len(fits), -1, n_classes, n_classes)
    matrices = np.array([[f.noise_matrix for f in of_groups] for of_groups in fits]).reshape(shape)
    variances = np.array([[f.variance for f in of_groups] for of_groups in fits]).reshape(shape)
    offsets = np.array([[f.offsets for f in of_groups] for of_groups in fits]).reshape(shape[:-1])
    mean = np.tensordot(weights, matrices, 1)
    variance = np.tensordot(weights, variances + (matrices - mean) ** 2, 1)
    variance += noise.standard_error**2
    return mean, beta_interval(mean, variance), np.tensordot(weights, offsets, 1)


def _shares(
    found: GroupedNoise,
    fits: Sequence[Sequence[GroupFit]],
    weights: Floats,
    scores: Floats,
    label: Integers,
    place: Integers,
    weight: Floats,
) -> tuple[Floats, Floats]:
    """The share of wrong labels in each group, with intervals; checked rows have no weight."""
    n_groups = len(found.noise_matrix)
    mean, variance = np.zeros(n_groups), np.zeros(n_groups)
    for g in range(n_groups):
        rows = np.flatnonzero((place == g) & (weight > 0))
        if not len(rows):
            continue
        issues = found.issue_probability(scores[rows], label[rows], place[rows])
        mean[g] = np.average(issues, weights=weight[rows])
        shares = np.array([of_groups[g].wrong_share for of_groups in fits])
        spread = np.array([of_groups[g].share_variance for of_groups in fits])
        variance[g] = weights @ (spread + (shares - weights @ shares) ** 2)
        _, low, high = found.common.wrong_share_interval(scores[rows], label[rows])
        variance[g] += ((high - low) / (2 * norm.ppf(0.95))) ** 2
    return mean, beta_interval(mean, variance)


def _rows_of(place: Integers, group: int, label: Integers, weight: Floats) -> Integers:
    """The rows of a group; none where it has too few labels to say anything."""
    rows = np.flatnonzero((place == group) & (weight > 0))
    return rows if np.count_nonzero(label[rows] >= 0) >= FEWEST_LABELS else rows[:0]


def with_slips(noise_matrix: Floats) -> Floats:
    """The matrix with hardly any entry at 0: slips to all classes alike come on top."""
    n_classes = len(noise_matrix)
    return (1 - SLIPS) * noise_matrix + SLIPS / n_classes


def known_groups(group: ArrayLike, n_groups: int) -> Integers:
    """Positions of groups, with ``n_groups`` for rows of none or of an unknown one."""
    place = np.asarray(group, dtype=np.intp)
    return np.where((place >= 0) & (place < n_groups), place, n_groups)


def beta_interval(mean: Floats, variance: Floats, level: float = 0.9) -> Floats:
    """Shortest intervals of beta distributions with these moments, lower ends and upper ends."""
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    # No wider than a distribution that falls from one end on.
    rarer = np.minimum(mean, 1 - mean)
    widest = rarer**2 * (1 - rarer) / (1 + rarer)
    size = mean * (1 - mean) / np.clip(variance, 1e-12, widest) - 1
    values = beta_distribution.ppf(
        _QUANTILES.reshape(-1, *[1] * mean.ndim), mean * size, (1 - mean) * size
    )
    inside = int(np.ceil(level * len(values)))
    low, high = values[:-inside], values[inside:]
    narrowest = np.argmin(high - low, axis=0)[np.newaxis]
    lower, upper = (np.take_along_axis(end, narrowest, axis=0)[0] for end in (low, high))
    return np.stack([
        np.where(narrowest[0] == 0, 0.0, lower),
        np.where(narrowest[0] == len(low) - 1, 1.0, upper),
    ])  # fmt: skip
