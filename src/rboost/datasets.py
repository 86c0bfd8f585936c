"""Tables made on the spot."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from rboost._typing import Floats, Integers

__all__ = ["make_banana", "make_long_servedio", "make_twonorm", "make_waveform"]

Seed = int | np.random.RandomState | None


def make_banana(
    n_samples: int = 400, *, spread: float = 0.35, random_state: Seed = None
) -> tuple[Floats, Integers]:
    """Two interlocked bananas in the plane, in the manner of the Banana benchmark set.

    About 45 % of the rows are positive, as there; ``spread`` is the standard deviation around each
    crescent of radius 1. Labels are 0 or 1.
    """
    rng = check_random_state(random_state)
    y = (rng.uniform(size=n_samples) < 0.45).astype(np.intp)
    angle = rng.uniform(0, 1.2 * np.pi, size=n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    lower = np.column_stack([0.9 - np.cos(angle), 0.4 - np.sin(angle)])
    X = np.where(y[:, np.newaxis] == 0, upper, lower)
    return X + spread * rng.standard_normal((n_samples, 2)), y


def make_twonorm(
    n_samples: int = 7400, *, n_features: int = 20, random_state: Seed = None
) -> tuple[Floats, Integers]:
    """Breiman's Twonorm: two unit normals with means ±2/√n_features in every coordinate.

    The best rule is the sign of the sum of the features, with an error of about 2.3 %.
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    mean = 2 / np.sqrt(n_features) * (2 * y - 1)
    return mean[:, np.newaxis] + rng.standard_normal((n_samples, n_features)), y.astype(np.intp)


def make_waveform(n_samples: int = 5000, *, random_state: Seed = None) -> tuple[Floats, Integers]:
    """Breiman's waveforms: mixtures of two of three triangles over 21 points, with unit noise.

    Class 1 is Breiman's first mixture, of the triangles around 11 and 15; class 0 the other two.
    """
    rng = check_random_state(random_state)
    triangles = np.array([np.maximum(6 - np.abs(np.arange(1, 22) - at), 0) for at in (11, 15, 7)])
    mixture = rng.randint(3, size=n_samples)
    first, second = np.array([(0, 1), (0, 2), (1, 2)])[mixture].T
    share = rng.uniform(size=(n_samples, 1))
    wave = share * triangles[first] + (1 - share) * triangles[second]
    return wave + rng.standard_normal((n_samples, 21)), (mixture == 0).astype(np.intp)


def make_long_servedio(
    n_samples: int = 4000, *, random_state: Seed = None
) -> tuple[Floats, Integers]:
    """The construction that random flips turn against every convex booster (Long & Servedio 2010).

    21 features of −1 or +1, of which each is a weak rule, and whose majority is the class. With the
    class as a sign, a row is one of three kinds::

        large margin (¼)   all features agree with the class
        puller (¼)         the first 11 agree, the last 10 do not
        penaliser (½)      5 of the first 11 and 6 of the last 10 agree, drawn at random

    The labels are right; flip a tenth of them with :func:`rboost.flip_labels`. The rows of
    large margin whose labels are wrong then cost a convex loss so much that it gives up the
    penalisers, half of the table, and errs on some quarter of all rows.
    """
    rng = check_random_state(random_state)
    y = rng.randint(2, size=n_samples)
    kind = rng.choice(3, size=n_samples, p=[0.25, 0.25, 0.5])
    puller = np.arange(21) < 11
    # The ranks of random numbers: those below 5 of the first 11 and below 6 of the last 10 agree.
    first, last = (rng.uniform(size=(n_samples, n)).argsort(axis=1) for n in (11, 10))
    penaliser = np.hstack([first < 5, last < 6])
    agrees = np.where(kind[:, np.newaxis] == 2, penaliser, (kind == 0)[:, np.newaxis] | puller)
    return np.where(agrees, 1.0, -1.0) * (2.0 * y - 1)[:, np.newaxis], y.astype(np.intp)
