"""Tables made on the spot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_banana(
    n_samples: int = 400,
    *,
    spread: float = 0.35,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Two interlocked bananas in the plane, in the manner of the Banana benchmark set.

    Parameters
    ----------
    n_samples : int, default=400
        Number of rows; about 45 % of them are positive, as in the benchmark set.
    spread : float, default=0.35
        Standard deviation around each crescent of radius 1; larger makes the classes overlap more.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 or 1.
    """
    rng = check_random_state(random_state)
    y = (rng.uniform(size=n_samples) < 0.45).astype(np.intp)
    angle = rng.uniform(0, 1.2 * np.pi, size=n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([0.9 - np.cos(angle), 0.4 - np.sin(angle)])
    X = np.where(y[:, np.newaxis] == 0, upper, lower)
    return X + spread * rng.standard_normal((n_samples, 2)), y
