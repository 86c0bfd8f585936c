"""Make labels wrong on purpose, to see what a method does about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_random_state

from rboost._validation import plain_labels
from rboost.noise.matrix import check_noise_matrix


def flip_labels(
    y: ArrayLike,
    noise_matrix: ArrayLike,
    random_state: int | np.random.RandomState | None = None,
    *,
    classes: ArrayLike | None = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Draw an observed label for each true label.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels: strings, numbers, booleans.
    noise_matrix : array-like of shape (n_classes, n_classes)
        ``noise_matrix[j, k] = p(observed k | true j)``, classes in sorted order; any stochastic
        matrix, even one that destroys all information.
    random_state : int, RandomState instance or None, default=None
        Seed of the flips.
    classes : array-like, default=None
        The classes in the order of the matrix, when some of them do not occur in ``y``.

    Returns
    -------
    noisy : ndarray of shape (n_rows,)
        The observed labels.
    flipped : ndarray of bool of shape (n_rows,)
        Where they differ from the true ones.

    Examples
    --------
    >>> from rboost.noise import flip_labels, symmetric
    >>> noisy, flipped = flip_labels(["cat", "dog"] * 50, symmetric(0.2), random_state=0)
    >>> int(flipped.sum())
    16
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be one-dimensional, but its shape is {labels.shape}.")
    if labels.dtype.kind == "O":
        labels = plain_labels(labels)
    assert_all_finite(labels, input_name="y")
    matrix = check_noise_matrix(noise_matrix, informative=False)
    known = np.unique(labels) if classes is None else np.asarray(classes)
    if len(known) != len(matrix) or len(np.unique(known)) < len(known):
        raise ValueError(
            f"noise_matrix is for {len(matrix)} classes but there are {len(np.unique(known))}; "
            "where a class does not occur in y, name all of them with classes=[...]."
        )
    is_class = labels[:, np.newaxis] == known
    if not is_class.any(axis=1).all():
        raise ValueError("y holds labels that are not in classes; name every class there.")
    true_class = is_class.argmax(axis=1)

    # Inverse transform sampling: the observed class is the first whose cumulative probability
    # exceeds a uniform draw. The last entry is 1 up to rounding; +inf makes it certain.
    cumulative = matrix.cumsum(axis=1)
    cumulative[:, -1] = np.inf
    # Data are often made with the same seed as the flips. A stream seeded by that stream's output
    # keeps the flips independent of the data, which "noise at random" means.
    seeds = check_random_state(random_state).randint(2**31, size=8, dtype=np.int64)
    draws = np.random.RandomState(seeds).uniform(size=len(labels))
    observed_class = (draws[:, np.newaxis] >= cumulative[true_class]).sum(axis=1)
    return known[observed_class], observed_class != true_class
