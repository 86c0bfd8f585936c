"""Rows made on the spot: two classes, 20 features, float32, a fifth of the training labels flipped.

Truth "linear": the log-odds are a linear function of the features. Truth "curved": products,
squares and a bend are added to it, which no linear model can follow, so that the page shows where
the linear path is the wrong tool. Both classes overlap a little, as they do in real tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost.noise import flip_labels, symmetric

Rows = NDArray[np.float32]

N_FEATURES = 20
FLIPPED = 0.2
TEST_ROWS = 20_000
# How steep the log-odds are; the best rule errs on about 9 % of the rows.
STEEPNESS = 6.0
# The same truth at every size and in every draw, of unit length.
COEFFICIENTS = np.cos(np.arange(N_FEATURES, dtype=np.float32)) / np.sqrt(np.float32(N_FEATURES / 2))


def linear(X: Rows) -> NDArray[Any]:
    """A score of about unit variance."""
    return X @ COEFFICIENTS


def curved(X: Rows) -> NDArray[Any]:
    """The same with two products, a square and a bend added, again of about unit variance."""
    bends = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] + (X[:, 4] ** 2 - 1) / 2 + np.abs(X[:, 5]) - 0.8
    return (linear(X) + 0.6 * bends) / 1.4


TRUTHS: dict[str, Callable[[Rows], NDArray[Any]]] = {"linear": linear, "curved": curved}


def draw(rows: int, truth: str, seed: int) -> tuple[Rows, Integers]:
    """Features and true classes."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, N_FEATURES), dtype=np.float32)
    log_odds = STEEPNESS * TRUTHS[truth](X)
    y = random.logistic(size=rows) < log_odds
    return X, y.astype(np.intp)


def training_rows(rows: int, truth: str, repeat: int) -> tuple[Rows, Integers]:
    """Features and observed labels, of which a fifth is wrong; other rows for every repeat."""
    X, y = draw(rows, truth, seed=repeat)
    observed, _ = flip_labels(y, symmetric(FLIPPED), random_state=repeat)
    return X, np.asarray(observed)


def clean_rows(truth: str) -> tuple[Rows, Integers]:
    """Features and true classes that nothing was fitted to."""
    return draw(TEST_ROWS, truth, seed=2**32 - 1)
