"""Noise that differs between groups of rows: who labelled them, where they come from, when.

The true classes of rows do not depend on the group, apart from their frequencies; labels do. Row i
of group g has the class j with

    p(y = j | sᵢ, g) ∝ p(y = j | sᵢ)·exp(b_gj),        b_g ~ N(0, shift²),

and the label k with T_g[j, k]. p(y | s) is that of the common posterior, inferred from all rows.
The prior of the rows of T_g is centred on the common matrix C with the odds of a wrong label
multiplied by f, as a careless annotator is so in all classes: T_g[j] ~ Dirichlet(strength·C_f[j]).
Each group has its own f, uniform over ``FACTORS``. How alike groups are is inferred: each pair of
(strength, shift) is weighted by its marginal likelihood, the product of those of the groups, each
the mean over f, and results are averages over all these. A strength of ∞ means one matrix for all
groups, C itself. A group with few rows stays near C.

**Noise or frequency.** Groups that differ in class frequencies move all their scores by b_g: rows
with large scores keep their labels. Groups that differ in noise have wrong labels also where the
score is certain. ``log_evidence`` compares matrices that differ with one matrix, *both* with
offsets b_g of any size, so that a difference of frequencies is evidence for neither. Where scores
are never certain the two cannot be distinguished, and ``log_evidence`` stays near 0.

**One group.** The mode is taken in b and in logarithms of T, where the density of a Dirichlet
distribution is Π T^α and has its mode at its mean: the M-step of EM is T ∝ α + N, N being the
expected numbers of rows [class, label]. The observed information is that of complete data less what
is lost because classes are not observed (Louis 1982). For a row with the label k the complete-data
score is a function of its class alone, so that the loss is Σ_k Sₖᵀ·Vₖ·Sₖ with Vₖ = Σ (diag(r) −
r·rᵀ) over rows with that label, r = p(y | s, ỹ). The marginal likelihood is that of complete data,
which for a Dirichlet distribution is exact, times the ratio of likelihoods (Cheeseman & Stutz 1996)
and the root of the ratio of informations.

Shapes: G groups, K classes; ``group`` (n_rows,) has positions 0 to G − 1, −1 for rows of none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, gammaln, logsumexp, softmax
from scipy.stats import norm

from rboost._typing import Floats, Integers
from rboost.noise.matrix import keep_informative
from rboost.noise.posterior import NoisePosterior, beta_interval

# Factors of the odds of a wrong label in a group relative to the common matrix.
FACTORS = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
# Strengths of the Dirichlet prior around the common matrix, as pseudo-counts per class, and the
# prior probability that groups differ at all.
STRENGTHS, DIFFER = (6.0, 30.0, 150.0), 0.5
# Standard deviations of the difference in log-odds of classes between groups, with their prior
# probabilities: nearly 0, as true classes should not depend on the context of a label, or large.
SHIFTS = {0.05: 0.7, 1.0: 0.3}
# A group with fewer labels has the common matrix.
FEWEST_LABELS = 10
# A factor whose log marginal likelihood is this many nats below the largest ends the search.
NEGLIGIBLE = 10.0
# A group with more rows is thinned to every second, third, ... row.
MOST_ROWS = 10_000
# The rate of wrong labels that is added to the common matrix, so that no label is impossible.
SLIPS = 0.002
# The floor of class probabilities, whatever the scores.
LEAST_PROBABILITY = 1e-12
# The largest number of steps to the mode of a group, and the gain in nats at which they stop.
MOST_STEPS, TOLERANCE = 200, 1e-7


@dataclass(frozen=True, eq=False)
class GroupedNoise:
    """The noise of each group; intervals are credible intervals of probability .9.

    Attributes
    ----------
    common : NoisePosterior
        What was inferred from all rows; it holds for rows of no group.
    noise_matrix : ndarray of shape (n_groups, n_classes, n_classes)
        ``noise_matrix[g, j, k] = p(observed k | true j, group g)``.
    interval : ndarray of shape (2, n_groups, n_classes, n_classes)
        Lower and upper ends for its entries.
    offsets : ndarray of shape (n_groups, n_classes)
        b_g: the differences of log-probabilities of classes from the common ones.
    wrong_share : ndarray of shape (n_groups,)
        The share of wrong labels in each group, among those nobody checked.
    wrong_share_interval : ndarray of shape (2, n_groups)
        Lower and upper ends for these.
    log_evidence : float
        The log Bayes factor of matrices that differ against one matrix for all groups.
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
        common = self.common.posterior(scores, observed)
        observed, n_groups = np.asarray(observed, dtype=np.intp), len(self.noise_matrix)
        matrices = [*self.noise_matrix, _with_slips(self.common.flips.noise_matrix)]
        offsets = [*self.offsets, np.zeros(common.shape[1])]  # of rows in no group
        factors = np.exp(np.stack(offsets))[:, :, np.newaxis] * np.stack(matrices) / matrices[-1]
        place = np.asarray(group, dtype=np.intp)
        place = np.where((place >= 0) & (place < n_groups), place, n_groups)
        found = common * factors[place, :, observed]
        return found / found.sum(axis=1, keepdims=True)

    def issue_probability(self, scores: Floats, observed: Integers, group: Integers) -> Floats:
        """p(y ≠ ỹ | score, ỹ, group): the probability that each label is wrong."""
        posterior = self.posterior(scores, observed, group)
        return np.clip(1 - posterior[np.arange(len(posterior)), observed], 0.0, 1.0)


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
        The number of groups; None means up to the last that has a row.
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
    parts = []
    for g in range(max(int(place.max(initial=-1)) + 1, n_groups or 0)):
        rows = np.flatnonzero((place == g) & (weight > 0))
        few = np.count_nonzero(label[rows] >= 0) < FEWEST_LABELS
        rows = rows[:0] if few else rows[:: -(-len(rows) // MOST_ROWS)]
        parts.append(GroupRows.of(probability[rows], label[rows], weight[rows], known[rows]))
    slipped = _with_slips(noise.noise_matrix)
    fits, log_evidence = _fit_groups(parts, slipped)
    shape = (len(parts), *slipped.shape)
    mean = np.array([fit.noise_matrix for fit in fits]).reshape(shape)
    mean[[not len(rows.weight) for rows in parts]] = slipped
    # The uncertainty of the common matrix adds to that of each group's.
    variance = np.array([fit.variance for fit in fits]).reshape(shape) + noise.standard_error**2
    offsets = np.array([fit.offsets for fit in fits]).reshape(shape[:2])
    interval, later = beta_interval(mean, variance), np.zeros(0)
    found = GroupedNoise(common, mean, interval, offsets, log_evidence, later, later)
    share, interval = _shares(found, fits, scores, label, place, weight * ~trust)
    return replace(found, wrong_share=share, wrong_share_interval=interval)


def _fit_groups(groups: Sequence[GroupRows], common: Floats) -> tuple[list[GroupFit], float]:
    """Fits of all groups, averaged over priors, and the log Bayes factor that matrices differ."""
    by_prior, log_prior = [], []
    for shift, chance in SHIFTS.items():
        by_prior.append([fit_group(rows, GroupPrior(common, np.inf, shift)) for rows in groups])
        log_prior.append(np.log(chance * (1 - DIFFER)))
        for strength in STRENGTHS:
            priors = [GroupPrior(_multiplied(common, by), strength, shift) for by in FACTORS]
            by_prior.append([_fit_any(rows, priors) for rows in groups])
            log_prior.append(np.log(chance * DIFFER / len(STRENGTHS)))
    logs = np.array([sum(fit.log_evidence for fit in fits) for fits in by_prior]) + log_prior
    differ = np.arange(len(logs)) % (1 + len(STRENGTHS)) > 0
    log_evidence = logsumexp(logs[differ]) - logsumexp(logs[~differ])
    found = [
        _mixed(fits, logs - [fit.log_evidence for fit in fits])
        for fits in zip(*by_prior, strict=True)
    ]
    return found, float(log_evidence - np.log(DIFFER / (1 - DIFFER)))


def _fit_any(rows: GroupRows, priors: Sequence[GroupPrior]) -> GroupFit:
    """The average over equally probable priors, from the middle one to negligible ones.

    The marginal likelihood has one peak along the factors.
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
    return _mixed(fits, np.full(len(fits), -np.log(len(priors))))


def _shares(
    found: GroupedNoise,
    fits: Sequence[GroupFit],
    scores: Floats,
    label: Integers,
    place: Integers,
    weight: Floats,
) -> tuple[Floats, Floats]:
    """The share of wrong labels in each group, with intervals; checked rows have weight 0."""
    mean, variance = np.zeros(len(fits)), np.zeros(len(fits))
    for g, fit in enumerate(fits):
        rows = np.flatnonzero((place == g) & (weight > 0))
        if not len(rows):
            continue
        issues = found.issue_probability(scores[rows], label[rows], place[rows])
        mean[g] = np.average(issues, weights=weight[rows])
        _, low, high = found.common.wrong_share_interval(scores[rows], label[rows])
        variance[g] = fit.share_variance + ((high - low) / (2 * norm.ppf(0.95))) ** 2
        # Calibration is not exact: at least the binomial variance of as many labels drawn.
        variance[g] = max(variance[g], mean[g] * (1 - mean[g]) / weight[rows].sum())
    return mean, beta_interval(mean, variance)


def _with_slips(noise_matrix: Floats) -> Floats:
    """The matrix with the probability ``SLIPS`` spread over all labels."""
    return (1 - SLIPS) * noise_matrix + SLIPS / len(noise_matrix)


def _multiplied(noise_matrix: Floats, factor: float) -> Floats:
    """The matrix with the odds of a wrong label multiplied by a factor, in every class."""
    flips = factor * noise_matrix
    np.fill_diagonal(flips, noise_matrix.diagonal())
    return keep_informative(flips / flips.sum(axis=1, keepdims=True), 0.95)


class GroupRows(NamedTuple):
    """Rows of one group, (n_classes, n_rows): in blocks of one label and one known class each.

    A block has the slice of its rows, their label, and their class; −1 where there is none.
    """

    probability: Floats
    weight: Floats
    blocks: list[tuple[slice, int, int]]

    @classmethod
    def of(cls, probability: Floats, label: Integers, weight: Floats, known: Integers) -> GroupRows:
        """From p(y | s), (n_rows, n_classes), labels, weights and classes that are known."""
        if probability.shape[1] == 2:  # rows of nearly equal log-odds are merged
            log_odds = np.log(probability[:, 1] / probability[:, 0])
            keys = np.stack([label, known, np.round(log_odds, 1)])
            unique, place = np.unique(keys, axis=1, return_inverse=True)
            label, known = unique[:2].astype(np.intp)
            together = np.asarray(np.bincount(place.ravel(), weight), dtype=np.float64)
            mean = np.bincount(place.ravel(), weight * log_odds) / together
            probability, weight = expit(np.column_stack([-mean, mean])), together
        n_codes = probability.shape[1] + 1
        code = (label + 1) * n_codes + known + 1
        order = np.argsort(code, kind="stable")
        codes, starts = np.unique(code[order], return_index=True)
        ends = np.append(starts, len(code))[1:]
        blocks = [
            (slice(start, end), both // n_codes - 1, both % n_codes - 1)
            for both, start, end in zip(codes.tolist(), starts, ends, strict=True)
        ]
        return cls(np.ascontiguousarray(probability[order].T), weight[order], blocks)


class GroupPrior(NamedTuple):
    """C, the strength of the Dirichlet prior around it (inf: T = C), and the scale of b."""

    matrix: Floats
    strength: float
    shift: float


@dataclass(frozen=True, eq=False)
class GroupFit:
    """The mode, the variance of T's entries around it, and that of the share of wrong labels."""

    noise_matrix: Floats
    offsets: Floats
    variance: Floats
    wrong_share: float
    share_variance: float
    log_evidence: float


def _mixed(fits: Sequence[GroupFit], log_prior: Floats) -> GroupFit:
    """The average of fits under several priors, by their marginal likelihood."""
    logs = log_prior + np.array([fit.log_evidence for fit in fits])
    evidence = logsumexp(logs)
    weights = np.exp(logs - evidence)

    def moments(means: Sequence[Any], variances: Sequence[Any]) -> tuple[Any, Any]:
        mean = np.tensordot(weights, np.array(means), 1)
        spread = np.array(variances) + (np.array(means) - mean) ** 2
        return mean, np.tensordot(weights, spread, 1)

    matrix, variance = moments([f.noise_matrix for f in fits], [f.variance for f in fits])
    share, its_variance = moments([f.wrong_share for f in fits], [f.share_variance for f in fits])
    offsets = np.tensordot(weights, np.array([fit.offsets for fit in fits]), 1)
    return GroupFit(matrix, offsets, variance, float(share), float(its_variance), float(evidence))


class _EStep(NamedTuple):
    """The E-step at some T and b: ``counts`` is N, ``lost`` is Vₖ for each label k."""

    log_likelihood: float
    counts: Floats
    lost: Floats
    by_offsets: Floats
    by_offsets_twice: Floats
    wrong: Floats


def fit_group(rows: GroupRows, prior: GroupPrior, start: GroupFit | None = None) -> GroupFit:
    """Fit the noise matrix and the offsets of a group, from those of a fit with another prior."""
    matrix, offsets = prior.matrix, np.zeros(len(prior.matrix))
    if start is not None:
        offsets = start.offsets
        matrix = matrix if np.isinf(prior.strength) else start.noise_matrix
    found = _expect(rows, matrix, offsets)
    best = _log_posterior(found, matrix, offsets, prior)
    for _ in range(MOST_STEPS):
        for step in (_newton, _em):
            new_matrix, new_offsets = step(found, matrix, offsets, prior)
            new = _expect(rows, new_matrix, new_offsets)
            value = _log_posterior(new, new_matrix, new_offsets, prior)
            if value > best:
                break
        else:
            break
        gain, best = value - best, value
        matrix, offsets, found = new_matrix, new_offsets, new
        if gain < TOLERANCE:
            break
    return _summary(found, matrix, offsets, prior)


def _expect(rows: GroupRows, matrix: Floats, offsets: Floats) -> _EStep:
    n_classes = len(matrix)
    probability = np.exp(offsets)[:, np.newaxis] * rows.probability
    probability /= probability.sum(axis=0)
    log_likelihood, wrong = 0.0, np.zeros(3)
    counts, lost = np.zeros((n_classes, n_classes + 1)), np.zeros((n_classes,) * 3)
    for place, label, known in rows.blocks:
        weight, chances = rows.weight[place], np.ones(n_classes) if label < 0 else matrix[:, label]
        if known >= 0:
            log_likelihood += float(weight @ np.log(chances[known] * probability[known, place]))
            counts[known, label] += weight.sum()
            continue
        posterior = chances[:, np.newaxis] * probability[:, place]
        total = np.maximum(posterior.sum(axis=0), 1e-300)
        posterior /= total
        weighted = weight * posterior
        log_likelihood += float(weight @ np.log(total))
        expected = weighted.sum(axis=1)
        counts[:, label] += expected
        lost[label] = np.diag(expected) - weighted @ posterior.T
        right = posterior[label]
        wrong += weight @ (1 - right), weight @ (right * (1 - right)), weight.sum()
    expected = probability @ rows.weight
    twice = np.diag(expected) - (rows.weight * probability) @ probability.T
    by_offsets = counts.sum(axis=1) - expected
    return _EStep(log_likelihood, counts[:, :-1], lost, by_offsets, twice, wrong)


def _log_posterior(found: _EStep, matrix: Floats, offsets: Floats, prior: GroupPrior) -> float:
    """Up to a constant in T and b."""
    value = found.log_likelihood - offsets @ offsets / (2 * prior.shift**2)
    if np.isinf(prior.strength):
        return float(value)
    return float(value + prior.strength * np.sum(prior.matrix * np.log(matrix)))


def _em(found: _EStep, matrix: Floats, offsets: Floats, prior: GroupPrior) -> tuple[Floats, Floats]:
    """One step of EM, which never decreases the posterior density."""
    gradient = found.by_offsets - offsets / prior.shift**2
    curvature = found.by_offsets_twice + np.eye(len(matrix)) / prior.shift**2
    offsets = offsets + np.linalg.solve(curvature, gradient)
    if np.isinf(prior.strength):
        return matrix, offsets
    total = prior.strength * prior.matrix + found.counts
    return total / total.sum(axis=1, keepdims=True), offsets


def _newton(
    found: _EStep, matrix: Floats, offsets: Floats, prior: GroupPrior
) -> tuple[Floats, Floats]:
    """One step of Newton's method, which converges much faster near the mode."""
    gradient = found.by_offsets - offsets / prior.shift**2
    if not np.isinf(prior.strength):
        total = prior.strength * prior.matrix + found.counts
        gradient = np.append(total - total.sum(axis=1, keepdims=True) * matrix, gradient)
    step = np.linalg.solve(_informations(found, matrix, prior)[1], gradient)
    step = step / max(1.0, np.abs(step).max() / 2)
    offsets = offsets + step[-len(matrix) :]
    if np.isinf(prior.strength):
        return matrix, offsets
    logs = np.log(matrix) + step[: matrix.size].reshape(matrix.shape)
    return softmax(np.maximum(logs, -100), axis=1), offsets


def _informations(found: _EStep, matrix: Floats, prior: GroupPrior) -> tuple[Floats, Floats]:
    """Complete-data and observed information, in log T (row by row) and b; where T = C, in b alone.

    A constant added to the logarithms of a row is not identified; 1 is added to the information on
    it, so that both matrices are invertible.
    """
    n_classes = len(matrix)
    of_offsets = found.by_offsets_twice + np.eye(n_classes) / prior.shift**2
    if np.isinf(prior.strength):
        return of_offsets, of_offsets - found.lost.sum(axis=0)
    complete = np.zeros((matrix.size + n_classes,) * 2)
    complete[matrix.size :, matrix.size :] = of_offsets
    sizes = (prior.strength * prior.matrix + found.counts).sum(axis=1)
    for j, (size, row) in enumerate(zip(sizes, matrix, strict=True)):
        block = slice(j * n_classes, (j + 1) * n_classes)
        complete[block, block] = size * (np.diag(row) - np.outer(row, row)) + 1.0
    observed = complete.copy()
    for k, lost in enumerate(found.lost):
        scores = _scores(matrix, k)
        observed -= scores.T @ lost @ scores
    return complete, observed


def _scores(matrix: Floats, label: int) -> Floats:
    """Complete-data scores of a row with this label, [class, parameter], up to a constant."""
    n_classes = len(matrix)
    scores = np.zeros((n_classes, n_classes, n_classes))
    j = np.arange(n_classes)
    scores[j, j] = np.eye(n_classes)[label] - matrix
    return np.hstack([scores.reshape(n_classes, -1), np.eye(n_classes)])


def _summary(found: _EStep, matrix: Floats, offsets: Floats, prior: GroupPrior) -> GroupFit:
    """Variances and the marginal likelihood at the mode."""
    n_classes = len(matrix)
    complete, observed = _informations(found, matrix, prior)
    covariance = np.linalg.inv(observed)
    wrong, uncertain, asked = found.wrong
    gradient = np.zeros(len(observed))
    for k, lost in enumerate(found.lost):
        gradient -= lost[k] @ _scores(matrix, k)[:, -len(observed) :]
    asked = asked or 1.0
    share_variance = (gradient @ covariance @ gradient + uncertain) / asked**2
    evidence = (
        found.log_likelihood
        - offsets @ offsets / (2 * prior.shift**2)
        - n_classes * np.log(prior.shift)
        - np.linalg.slogdet(observed)[1] / 2
    )
    variance = np.zeros_like(matrix)
    if not np.isinf(prior.strength):
        before, n = prior.strength * prior.matrix, matrix.size
        after = before + found.counts
        evidence += _log_beta(after) - _log_beta(before) - np.sum(found.counts * np.log(matrix))
        evidence += np.linalg.slogdet(complete[:n, :n])[1] / 2
        for j, row in enumerate(matrix):
            block = slice(j * n_classes, (j + 1) * n_classes)
            slopes = np.diag(row) - np.outer(row, row)
            variance[j] = np.diag(slopes @ covariance[block, block] @ slopes)
    share = float(wrong / asked), float(share_variance)
    return GroupFit(matrix, offsets, variance, *share, float(evidence))


def _log_beta(parameters: Floats) -> float:
    """The sum over rows of the log multivariate beta function."""
    return float(np.sum(gammaln(parameters)) - np.sum(gammaln(parameters.sum(axis=1))))
