"""Which labels of a table are wrong, from held-out scores.

An audit infers once, a review after every few answers. Shapes: ``scores`` (n_rows,) for two
classes, larger for the second; else (n_rows, n_classes). ``posterior[i, j]`` = p(true class j |
row i, its label), ``probability[i, j]`` the same without its label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, TableLabels, counted_rows
from rboost.noise import NoisePosterior
from rboost.noise.groups import GroupedNoise
from rboost.noise.inference import (
    infer_by_group,
    infer_with_answers,
    judge,
    wrong_probability,
)


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the noise and of every row; intervals hold with probability .9.

    ``wrong_share`` has the ends of that for the share of wrong labels among those nobody checked.
    ``by_group`` is the noise of context groups, where there are any.
    """

    noise: NoisePosterior
    probability: Floats
    posterior: Floats
    noise_matrix: Floats
    noise_interval: Floats
    wrong_share: tuple[float, float]
    by_group: GroupedNoise | None = None


def infer(scores: Floats, labels: TableLabels, copy_of: Integers | None = None) -> Inference:
    """Find the noise, the true class of each row, and how sure that is."""
    rows = counted_rows(labels, copy_of)
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        noise = infer_with_answers(scores[rows], labels.take(rows), None)
    return judge_rows(noise, scores, labels, copy_of)


def judge_rows(
    noise: NoisePosterior,
    scores: Floats,
    labels: TableLabels,
    copy_of: Integers | None = None,
    by_group: GroupedNoise | None = None,
) -> Inference:
    """Judge every row by what was found out about the noise, of all rows and of context groups."""
    if by_group is None:
        rows = counted_rows(labels, copy_of)
        by_group = infer_by_group(noise, scores[rows], labels.take(rows))
    posterior = judge(noise, scores, labels, by_group).posterior
    observed = np.flatnonzero(labels.is_observed)
    given, share = labels.given[observed], (np.nan, np.nan)
    if len(observed):
        mean, low, high = noise.wrong_share_interval(scores[observed], given)
        if by_group is not None:
            mean = float(1 - posterior[observed, given].mean())
        share = min(low, mean), max(high, mean)  # the shortest interval may leave out the mean
    probability = noise.probability(scores)
    return Inference(
        noise, probability, posterior, noise.noise_matrix, noise.interval(), share, by_group
    )


def issue_probability(posterior: Floats, labels: TableLabels) -> Floats:
    """How likely each label is to be wrong: 0 if checked, NaN for rows without a label."""
    return np.where(labels.is_checked, 0.0, wrong_probability(posterior, labels.given))


def suggested_classes(posterior: Floats, probability: Floats, labels: TableLabels) -> Integers:
    """Position of the likeliest class other than the given one."""
    # Of a confirmed row all other classes have the posterior 0; the features then decide.
    chances = posterior + 1e-9 * probability
    labelled = np.flatnonzero(labels.given != NO_LABEL)
    chances[labelled, labels.given[labelled]] = -1.0
    return chances.argmax(axis=1)
