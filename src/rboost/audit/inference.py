"""Which labels are wrong, from scores of rows that the scorer was not fitted to.

An audit infers once, a review after every few answers. Shapes: ``scores`` (n_rows,) for two
classes, larger for the second; else (n_rows, n_classes). ``posterior[i, j]`` = p(true class j |
row i, its label), ``probability[i, j]`` the same without its label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from rboost._typing import Floats, Integers
from rboost.audit.labels import NO_LABEL, Labels, first_copies
from rboost.labels import Groups
from rboost.noise import NoisePosterior, infer_noise
from rboost.noise.groups import GroupedNoise, infer_group_noise


@dataclass(frozen=True, eq=False)
class Inference:
    """What is known of the noise and of every row; intervals hold with probability .9.

    ``wrong_share`` has the ends of that for the share of wrong labels among those nobody checked.
    ``by_group`` is the noise of groups of rows, where there are any.
    """

    noise: NoisePosterior
    probability: Floats
    posterior: Floats
    noise_matrix: Floats
    noise_interval: Floats
    wrong_share: tuple[float, float]
    by_group: GroupedNoise | None = None


def infer(
    scores: Floats,
    labels: Labels,
    groups: Groups | None = None,
    copy_of: Integers | None = None,
) -> Inference:
    """Find the noise, the true class of each row, and how sure that is.

    Copies of a row, as ``copy_of`` tells them, were labelled once and count once.
    """
    labelled = _counted(labels, copy_of)
    given, checked = labels.given[labelled], labels.checked[labelled]
    had_none = given == NO_LABEL
    with threadpool_limits(1, "blas"):  # many small products, for which threads only wait
        noise = infer_noise(
            scores[labelled],
            np.where(had_none, checked, given),
            trusted=had_none,
            checked=np.where(had_none, NO_LABEL, checked),
        )
    return judge_rows(noise, scores, labels, groups, copy_of)


def _counted(labels: Labels, copy_of: Integers | None) -> Integers:
    """Rows with a label, each once."""
    is_first = first_copies(labels, copy_of) == np.arange(len(labels))
    return np.flatnonzero((labels.current != NO_LABEL) & is_first)


def judge_rows(
    noise: NoisePosterior,
    scores: Floats,
    labels: Labels,
    groups: Groups | None = None,
    copy_of: Integers | None = None,
) -> Inference:
    """Judge every row by what was found out about the noise."""
    observed, checked = np.flatnonzero(labels.is_observed), np.flatnonzero(labels.is_checked)
    given = labels.given[observed]
    probability = noise.probability(scores)
    posterior = probability.copy()
    share = (np.nan, np.nan)
    by_group = None if groups is None else _by_group(noise, scores, labels, groups, copy_of)
    if len(observed):
        posterior[observed] = noise.posterior(scores[observed], given)
        mean, low, high = noise.wrong_share_interval(scores[observed], given)
        if by_group is not None and groups is not None:
            posterior[observed] = by_group.posterior(
                scores[observed], given, groups.position[observed]
            )
            mean = float(1 - posterior[observed, given].mean())
        share = min(low, mean), max(high, mean)  # the shortest interval may leave out the mean
    posterior[checked] = 0.0
    posterior[checked, labels.checked[checked]] = 1.0
    return Inference(
        noise, probability, posterior, noise.noise_matrix, noise.interval(), share, by_group
    )


def _by_group(
    noise: NoisePosterior,
    scores: Floats,
    labels: Labels,
    groups: Groups,
    copy_of: Integers | None,
) -> GroupedNoise:
    labelled = _counted(labels, copy_of)
    with threadpool_limits(1, "blas"):
        return infer_group_noise(
            scores[labelled], labels.current[labelled], groups.position[labelled], noise=noise,
            n_groups=len(groups), trusted=labels.is_checked[labelled],
            before=labels.given[labelled],
        )  # fmt: skip
