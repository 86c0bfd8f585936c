"""Noise matrices from probabilities of observed labels by counting and averaging.

The methods that the literature offers beside noise-aware Platt scaling, for comparison. Shapes:
``observed`` (n_rows, n_classes) is p(ỹ = k | x) by a model that was not fitted to the row,
``labels`` (n_rows,) are positions among the classes, each of which has a row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rboost._typing import Floats, Integers
from rboost.noise.matrix import keep_informative

# The share of rows at the upper end of the probabilities that anchor points skip as outliers.
ANCHOR_SHARE = 0.03


def confident_learning(observed: Floats, labels: Integers) -> Floats:
    """Count the rows that are confidently of one class and labelled as another.

    A row is confidently of class j when p(ỹ = j) is at least the mean of it over rows labelled j;
    when it is so of several, it counts as the most probable class. The counts are scaled to the
    numbers of labels and normalised (Northcutt, Jiang & Chuang 2021, section 3.1, as in cleanlab).
    """
    n_classes = observed.shape[1]
    thresholds = np.array([observed[labels == k, k].mean() for k in range(n_classes)])
    confident = observed >= thresholds
    several = confident.sum(axis=1) > 1
    true = np.where(several, observed.argmax(axis=1), confident.argmax(axis=1))
    counts = np.zeros((n_classes, n_classes))  # [label, true class]
    np.add.at(counts, (labels, true), confident.any(axis=1))
    # No confident row of a label: its own class is the best guess.
    counts += np.diag(counts.sum(axis=1) == 0)
    joint = counts * (np.bincount(labels, minlength=n_classes) / counts.sum(axis=1))[:, np.newaxis]
    # No row that is confidently of a class: it is taken to keep its label.
    joint += np.diag(joint.sum(axis=0) == 0)
    return keep_informative((joint / joint.sum(axis=0)).T)


def anchor_points(observed: Floats, labels: Integers) -> Floats:
    """Read the rates off rows that are certainly of one class (Liu & Tao 2016).

    There p(ỹ = k | x) is γjk. Such are the rows of the largest p(ỹ = j | x); a quantile stands for
    them.
    """
    place = (1 - ANCHOR_SHARE) * (len(observed) - 1)
    below = int(place)
    matrix = []
    for k in range(observed.shape[1]):
        order = np.argsort(observed[:, k], kind="stable")
        low, high = observed[order[[below, min(below + 1, len(order) - 1)]]]
        matrix.append(low + (place - below) * (high - low))
    return keep_informative(np.array(matrix))


def trusted_counting(observed: Floats, labels: Integers) -> Floats:
    """Average p(ỹ | x) over trusted rows, whose ``labels`` are true (Hendrycks et al. 2018)."""
    classes = range(observed.shape[1])
    return keep_informative(np.array([observed[labels == k].mean(axis=0) for k in classes]))


def bootstrap(
    estimate: Callable[[Floats, Integers], Floats],
    observed: Floats,
    labels: Integers,
    random_state: np.random.RandomState,
    n_draws: int = 200,
) -> Floats:
    """Estimates from rows drawn with replacement, as many of each label as there are."""
    rows_of = [np.flatnonzero(labels == k) for k in range(observed.shape[1])]
    draws = []
    for _ in range(n_draws):
        rows = np.concatenate([random_state.choice(rows, len(rows)) for rows in rows_of])
        draws.append(estimate(observed[rows], labels[rows]))
    return np.stack(draws)
