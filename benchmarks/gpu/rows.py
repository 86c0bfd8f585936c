"""Many rows made on the spot, by several threads: float32, two or more classes, labels flipped."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Floats

# Rows that are drawn at a time, from a seed of their own: the same from any number of threads.
BLOCK = 100_000
N_TELLING, STEEPNESS = 12, 3.0
# How often labels of the two classes are flipped, and of each of more classes to the next one.
TWO_CLASSES, SEVERAL = (0.2, 0.1), 0.2


@dataclass(frozen=True)
class MadeUp:
    """Features, true classes and observed labels."""

    X: NDArray[np.float32]
    true: NDArray[np.intp]
    observed: NDArray[np.intp]


def make_rows(n_rows: int, n_columns: int, n_classes: int, n_threads: int, seed: int = 0) -> MadeUp:
    """Draw rows, by blocks."""
    X = np.empty((n_rows, n_columns), dtype=np.float32)
    true, observed = np.empty((2, n_rows), dtype=np.intp)
    noise = noise_of(n_classes)

    def fill(start: int) -> None:
        block = slice(start, start + BLOCK)
        random = np.random.default_rng([seed, start])
        random.standard_normal(dtype=np.float32, out=X[block])
        true[block] = _classes(X[block, :N_TELLING], n_classes, random)
        wrong = random.random(len(X[block])) > np.diag(noise)[true[block]]
        observed[block] = (true[block] + wrong) % n_classes

    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(fill, range(0, n_rows, BLOCK)))
    return MadeUp(X, true, observed)


def noise_of(n_classes: int) -> Floats:
    """The noise matrix of the labels."""
    rates = np.array(TWO_CLASSES if n_classes == 2 else [SEVERAL] * n_classes)
    return np.diag(1 - rates) + np.roll(np.diag(rates), 1, axis=1)


def _classes(
    X: NDArray[np.float32], n_classes: int, random: np.random.Generator
) -> NDArray[np.intp]:
    """The class of the largest score: a sum, a product and a bend of columns, and chance."""
    k = np.arange(n_classes)
    slopes = np.cos(1.7 * np.outer(np.arange(N_TELLING), k + 1)).astype(np.float32)
    a, b, c = ((factor * k + offset) % N_TELLING for factor, offset in ((1, 0), (1, 5), (3, 2)))
    scores = 0.5 * X @ slopes + X[:, a] * X[:, b] + np.abs(X[:, c])
    chance = random.gumbel(size=scores.shape).astype(np.float32)
    return np.argmax(STEEPNESS * scores + chance, axis=1)
