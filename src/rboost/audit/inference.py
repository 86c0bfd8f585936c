"""Which labels are wrong, from scores of rows that the scorer was not fitted to.

Pure functions from arrays to arrays: an audit runs them once, a review after every few answers.

Shapes: ``scores`` (n_rows, 1) for two classes, larger for the second; else (n_rows, n_classes), one
column for each class against the others. ``posterior[i, j]`` = p(true class j | row i, its label),
``probability[i, j]`` the same without its label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, Labels
from rboost.noise.platt.posterior import NoiseAwarePlatt
from rboost.noise.platt.scaling import fit_noise_aware_platt

# Steps of the fixed point that shares out the flips of a class among the others.
SHARING_STEPS = 50


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the noise and of every row; intervals hold with probability .9."""

    probability: Floats
    posterior: Floats
    noise_matrix: Floats
    noise_interval: Floats


def infer(scores: Floats, labels: Labels) -> Inference:
    """Find the noise, the true class of each row, and how sure that is."""
    if len(labels.classes) == 2:
        found = _infer_two(scores[:, 0], labels)
    else:
        found = _infer_several(scores, labels)
    checked = np.flatnonzero(labels.is_checked)
    found.posterior[checked] = 0.0
    found.posterior[checked, labels.checked[checked]] = 1.0
    return found


def _infer_two(scores: Floats, labels: Labels) -> Inference:
    platt = _fit(scores, labels, positive=1)
    positive = platt(scores)
    probability = np.column_stack([1 - positive, positive])
    posterior = probability.copy()
    observed = np.flatnonzero(labels.is_observed)
    given = labels.given[observed]
    wrong = platt.issue_probability(scores[observed], given)
    posterior[observed, given], posterior[observed, 1 - given] = 1 - wrong, wrong
    return Inference(probability, posterior, platt.noise_matrix, platt.interval())


def _fit(scores: Floats, labels: Labels, positive: int) -> NoiseAwarePlatt:
    """Noise-aware Platt scaling of one class against the others."""
    is_labelled = labels.current != NO_LABEL
    return fit_noise_aware_platt(
        scores[is_labelled],
        labels.current[is_labelled] == positive,
        trusted=labels.is_checked[is_labelled],
        flip_counts=labels.flip_counts_of(positive),
    )


def _infer_several(scores: Floats, labels: Labels) -> Inference:
    """One class against the others, for each class; then the flips of each are shared out.

    That a class keeps its label is inferred as for two classes. Which class it is flipped to is
    a matter of counting: the diagonal stays, the rest of each row follows the expected counts.
    """
    n_classes = len(labels.classes)
    platts = [_fit(scores[:, k], labels, positive=k) for k in range(n_classes)]
    probability = np.column_stack([platt(scores[:, k]) for k, platt in enumerate(platts)])
    probability /= np.maximum(probability.sum(axis=1, keepdims=True), 1e-300)
    kept = np.array([platt.noise_matrix[1, 1] for platt in platts])
    noise = np.tile(((1 - kept) / (n_classes - 1))[:, np.newaxis], n_classes)
    np.fill_diagonal(noise, kept)
    observed = labels.is_observed
    given = labels.given[observed]
    for _ in range(SHARING_STEPS):
        posterior = _posterior(probability[observed], noise, given)
        shared = np.column_stack([posterior[given == k].sum(axis=0) for k in range(n_classes)])
        shared += labels.flip_counts
        np.fill_diagonal(shared, 0.0)
        shared += 1e-9
        np.fill_diagonal(shared, 0.0)
        shared *= ((1 - kept) / shared.sum(axis=1))[:, np.newaxis]
        noise, before = shared + np.diag(kept), noise
        if np.abs(noise - before).max() < 1e-6:
            break
    all_rows = probability.copy()
    all_rows[observed] = _posterior(probability[observed], noise, given)
    return Inference(probability, all_rows, noise, _intervals(noise, platts))


def _posterior(probability: Floats, noise: Floats, given: Integers) -> Floats:
    """p(true j | row, given k) ∝ p(true j | row)·p(given k | true j)."""
    joint = probability * noise[:, given].T
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)


def _intervals(noise: Floats, platts: list[NoiseAwarePlatt]) -> Floats:
    """Intervals of what a class keeps; what it loses is shared out as in the matrix itself."""
    kept = np.stack([platt.interval()[:, 1, 1] for platt in platts], axis=1)
    share = noise / np.maximum(1 - np.diag(noise), 1e-300)[:, np.newaxis]
    interval = (1 - kept[::-1])[:, :, np.newaxis] * share
    diagonal = np.arange(len(noise))
    interval[:, diagonal, diagonal] = kept
    return interval
