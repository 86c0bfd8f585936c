"""Which labels are wrong, from scores of rows that the scorer was not fitted to.

An audit infers once, a review after every few answers. Shapes: ``scores`` (n_rows,) for two
classes, larger for the second; else (n_rows, n_classes). ``posterior[i, j]`` = p(true class j |
row i, its label), ``probability[i, j]`` the same without its label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rboost._typing import Floats
from rboost.audit.labels import NO_LABEL, Labels
from rboost.noise import NoisePosterior, infer_noise


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the noise and of every row; intervals hold with probability .9.

    ``wrong_share`` has the ends of that for the share of wrong labels among those nobody checked.
    """

    noise: NoisePosterior
    probability: Floats
    posterior: Floats
    noise_matrix: Floats
    noise_interval: Floats
    wrong_share: tuple[float, float]


def infer(scores: Floats, labels: Labels) -> Inference:
    """Find the noise, the true class of each row, and how sure that is."""
    labelled = np.flatnonzero(labels.current != NO_LABEL)
    noise = infer_noise(
        scores[labelled],
        labels.current[labelled],
        trusted=labels.is_checked[labelled],
        flip_counts=labels.flip_counts,
    )
    return judge_rows(noise, scores, labels)


def judge_rows(noise: NoisePosterior, scores: Floats, labels: Labels) -> Inference:
    """Judge every row by what was found out about the noise."""
    observed, checked = np.flatnonzero(labels.is_observed), np.flatnonzero(labels.is_checked)
    given = labels.given[observed]
    probability = noise.probability(scores)
    posterior = probability.copy()
    share = (np.nan, np.nan)
    if len(observed):
        posterior[observed] = noise.posterior(scores[observed], given)
        mean, low, high = noise.wrong_share_interval(scores[observed], given)
        share = min(low, mean), max(high, mean)  # the shortest interval may leave out the mean
    posterior[checked] = 0.0
    posterior[checked, labels.checked[checked]] = 1.0
    return Inference(noise, probability, posterior, noise.noise_matrix, noise.interval(), share)
