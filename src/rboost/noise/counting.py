"""Noise matrices from probabilities of observed labels by counting and averaging.

The methods that the literature offers beside noise-aware Platt scaling, for comparison. Shapes:
``observed`` (n_rows,) is p(ỹ = 1 | x) by a model that was not fitted to the row, ``labels``
(n_rows,) are the observed labels, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rboost._typing import Floats, Integers
from rboost.noise.matrix import keep_informative, with_rates

# The share of rows at either end of the probabilities that anchor points skip as outliers.
ANCHOR_SHARE = 0.03


def confident_learning(observed: Floats, labels: Integers) -> Floats:
    """Count the rows that are confidently of one class and labelled as the other.

    A row is confidently of class j when p(ỹ = j) is at least the mean of it over rows labelled j;
    when it is so of both, of the more probable one. The counts are scaled to the numbers of
    labels and normalised (Northcutt, Jiang & Chuang 2021, section 3.1).
    """
    probability = np.column_stack([1 - observed, observed])
    thresholds = np.array([probability[labels == k, k].mean() for k in (0, 1)])
    confident = probability >= thresholds
    true = np.where(confident, probability, -1).argmax(axis=1)
    counts = np.zeros((2, 2))  # [label, true class]
    np.add.at(counts, (labels, true), confident.any(axis=1))
    # No confident row of a label: its own class is the best guess.
    counts[counts.sum(axis=1) == 0] += np.eye(2)[counts.sum(axis=1) == 0]
    joint = counts / counts.sum(axis=1, keepdims=True) * np.bincount(labels, minlength=2)[:, None]
    given_true = joint / np.maximum(joint.sum(axis=0), 1e-300)
    return keep_informative(with_rates(given_true[1, 0], given_true[0, 1]))


def anchor_points(observed: Floats, labels: Integers) -> Floats:
    """Read the rates off rows that are certainly of one class (Liu & Tao 2016).

    There p(ỹ = 1 | x) is γ01 or 1 − γ10, and these are its smallest and largest values; quantiles
    stand for them.
    """
    low, high = np.quantile(observed, [ANCHOR_SHARE, 1 - ANCHOR_SHARE])
    return keep_informative(with_rates(float(low), float(1 - high)))


def trusted_counting(observed: Floats, labels: Integers) -> Floats:
    """Average p(ỹ | x) over trusted rows, whose ``labels`` are true (Hendrycks et al. 2018)."""
    into_1, kept_1 = (float(observed[labels == k].mean()) for k in (0, 1))
    return keep_informative(with_rates(into_1, 1 - kept_1))


def bootstrap(
    estimate: Callable[[Floats, Integers], Floats],
    observed: Floats,
    labels: Integers,
    random_state: np.random.RandomState,
    n_draws: int = 200,
) -> Floats:
    """Estimates from rows drawn with replacement, as many of each label as there are."""
    rows_of = [np.flatnonzero(labels == k) for k in (0, 1)]
    draws = []
    for _ in range(n_draws):
        rows = np.concatenate([random_state.choice(rows, len(rows)) for rows in rows_of])
        draws.append(estimate(observed[rows], labels[rows]))
    return np.stack(draws)
