"""The noise of one group of rows, given p(y | score) of all groups: its mode, spread and evidence.

Rows i of a group have the classes j with p(y = j | sᵢ, g) ∝ p(y = j | sᵢ)·exp(bⱼ) and then the
label k with T[j, k]. Beforehand b ~ N(0, shift²), and each row of T ~ Dirichlet(strength·C[j]), C
being a matrix that is expected. What is sought is the mode in b and in logarithms of T, where the
density of a Dirichlet distribution is Π T^α and has its mode at its mean: the M-step of EM is
T ∝ α + N, N being the expected numbers of rows [class, label].

Information of the data is that of complete data less what is lost because classes are not seen
(Louis 1982). For a row with the label k, the complete-data score is a function of its class alone,
so that the loss is Σ_k Sₖᵀ·Vₖ·Sₖ with Vₖ = Σ (diag(r) − r·rᵀ) over rows with that label, r = p(y |
s, ỹ). The evidence is that of complete data, which for a Dirichlet distribution is exact, times the
ratio of likelihoods (Cheeseman & Stutz 1996) and the root of the ratio of informations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaln, logsumexp, softmax

from rboost._typing import Floats, Integers

MOST_STEPS, TOLERANCE = 200, 1e-7


class GroupRows(NamedTuple):
    """Rows of one group, (n_classes, n_rows): in blocks of one label and one known class each.

    A block is the place of its rows, their label, and their class; −1 where there is none.
    """

    probability: Floats
    weight: Floats
    blocks: list[tuple[slice, int, int]]

    @classmethod
    def of(cls, probability: Floats, label: Integers, weight: Floats, known: Integers) -> GroupRows:
        """From p(y | s), (n_rows, n_classes), labels, weights and classes that are known."""
        if probability.shape[1] == 2:  # rows that are nearly alike are one
            log_odds = np.log(probability[:, 1] / probability[:, 0])
            keys = np.stack([label, known, np.round(log_odds, 1)])
            unique, place = np.unique(keys, axis=1, return_inverse=True)
            label, known = unique[0].astype(np.intp), unique[1].astype(np.intp)
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
    """The expected matrix C; how strongly T is drawn to it (inf: T = C); how large b may be."""

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


def mixed(fits: Sequence[GroupFit], log_prior: Floats) -> GroupFit:
    """The average of fits under several priors, by their evidence."""
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


class _Expectation(NamedTuple):
    """What rows say at some T and b; ``lost`` is Vₖ for each label k."""

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


def _expect(rows: GroupRows, matrix: Floats, offsets: Floats) -> _Expectation:
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
    return _Expectation(log_likelihood, counts[:, :-1], lost, by_offsets, twice, wrong)


def _log_posterior(
    found: _Expectation, matrix: Floats, offsets: Floats, prior: GroupPrior
) -> float:
    """Up to what does not depend on T and b."""
    value = found.log_likelihood - offsets @ offsets / (2 * prior.shift**2)
    if np.isinf(prior.strength):
        return float(value)
    return float(value + prior.strength * np.sum(prior.matrix * np.log(matrix)))


def _em(
    found: _Expectation, matrix: Floats, offsets: Floats, prior: GroupPrior
) -> tuple[Floats, Floats]:
    """One step of EM, which never makes the rows less likely."""
    n_classes = len(matrix)
    gradient = found.by_offsets - offsets / prior.shift**2
    curvature = found.by_offsets_twice + np.eye(n_classes) / prior.shift**2
    offsets = offsets + np.linalg.solve(curvature, gradient)
    if np.isinf(prior.strength):
        return matrix, offsets
    total = prior.strength * prior.matrix + found.counts
    return total / total.sum(axis=1, keepdims=True), offsets


def _newton(
    found: _Expectation, matrix: Floats, offsets: Floats, prior: GroupPrior
) -> tuple[Floats, Floats]:
    """One step of Newton's method, which is much faster near the mode."""
    _, observed = _informations(found, matrix, prior)
    by_offsets = found.by_offsets - offsets / prior.shift**2
    gradient = by_offsets
    if not np.isinf(prior.strength):
        total = prior.strength * prior.matrix + found.counts
        by_logs = total - total.sum(axis=1, keepdims=True) * matrix
        gradient = np.append(by_logs, by_offsets)
    step = np.linalg.solve(observed, gradient)
    size = np.abs(step).max()
    step = step / max(1.0, size / 2)
    offsets = offsets + step[-len(matrix) :]
    if np.isinf(prior.strength):
        return matrix, offsets
    logs = np.log(matrix) + step[: matrix.size].reshape(matrix.shape)
    return softmax(np.maximum(logs, -100), axis=1), offsets


def _informations(found: _Expectation, matrix: Floats, prior: GroupPrior) -> tuple[Floats, Floats]:
    """Of complete data and of the data, in log T (row by row) and b; where T = C, in b alone.

    A constant added to the logarithms of a row changes nothing; information on it is made up, so
    that both can be inverted.
    """
    n_classes = len(matrix)
    by_class = np.eye(n_classes)
    of_offsets = found.by_offsets_twice + by_class / prior.shift**2
    if np.isinf(prior.strength):
        return of_offsets, of_offsets - found.lost.sum(axis=0)
    n = n_classes * n_classes
    complete = np.zeros((n + n_classes,) * 2)
    complete[n:, n:] = of_offsets
    sizes = (prior.strength * prior.matrix + found.counts).sum(axis=1)
    for j, size in enumerate(sizes):
        block = slice(j * n_classes, (j + 1) * n_classes)
        row = matrix[j]
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


def _summary(found: _Expectation, matrix: Floats, offsets: Floats, prior: GroupPrior) -> GroupFit:
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
        for j in range(n_classes):
            block = slice(j * n_classes, (j + 1) * n_classes)
            slopes = np.diag(matrix[j]) - np.outer(matrix[j], matrix[j])
            variance[j] = np.diag(slopes @ covariance[block, block] @ slopes)
    return GroupFit(
        matrix, offsets, variance, float(wrong / asked), float(share_variance), float(evidence)
    )


def _log_beta(parameters: Floats) -> float:
    """Σ over rows of the logarithm of the beta function of many variables."""
    return float(np.sum(gammaln(parameters)) - np.sum(gammaln(parameters.sum(axis=1))))
