"""Rows made on the spot: 20 features, float32, a fifth of the training labels flipped.

Of two classes, truth "linear": the log-odds are a linear function of the features. Truth "curved":
products, squares and a bend are added to it, which no linear model can follow. Both classes overlap
a little, as they do in real tables. Of more classes, truth "clouds": each is a Gaussian cloud.
Truth "texts": a column of short texts, in which every class has words of its own. Mixed tables, of
two classes, are for audits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rboost._typing import Integers
from rboost.noise import flip_labels, symmetric

Rows = NDArray[np.float32]

N_FEATURES = 20
FLIPPED = 0.2
TEST_ROWS = 20_000
# Fewer where a tree a class makes prediction slow.
TEST_ROWS_OF_MANY = 2_000
# How steep the log-odds are; the best rule errs on about 9 % of the rows.
STEEPNESS = 6.0
# The same truth at every size and in every draw, of unit length.
COEFFICIENTS = np.cos(np.arange(N_FEATURES, dtype=np.float32)) / np.sqrt(np.float32(N_FEATURES / 2))
# How far apart clouds lie: of 50 of them the best rule errs on about a tenth of the rows.
DISTANCE = 0.8
# Words that all texts share, and those of each class; how many a text has, the latter at least.
SHARED_WORDS, OWN_WORDS, WORDS_OF_A_TEXT, OWN_OF_A_TEXT = 2_000, 20, 12, 3
# The column of labels of a mixed table.
LABEL = "churn"


def linear(X: Rows) -> NDArray[Any]:
    """A score of about unit variance."""
    return X @ COEFFICIENTS


def curved(X: Rows) -> NDArray[Any]:
    """The same with two products, a square and a bend added, again of about unit variance."""
    bends = X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] + (X[:, 4] ** 2 - 1) / 2 + np.abs(X[:, 5]) - 0.8
    return (linear(X) + 0.6 * bends) / 1.4


TWO_CLASSES: dict[str, Callable[[Rows], NDArray[Any]]] = {"linear": linear, "curved": curved}


def draw(rows: int, truth: str, seed: int, classes: int = 2) -> tuple[Any, Integers]:
    """Features and true classes."""
    random = np.random.default_rng(seed)
    if truth == "texts":
        return texts(rows, random, classes)
    X = random.standard_normal((rows, N_FEATURES), dtype=np.float32)
    if truth == "clouds":
        centres = np.random.default_rng(0).standard_normal((classes, N_FEATURES), dtype=np.float32)
        y = random.permutation(np.arange(rows) % classes)
        return X + np.float32(DISTANCE) * centres[y], y
    log_odds = STEEPNESS * TWO_CLASSES[truth](X)
    return X, (random.logistic(size=rows) < log_odds).astype(np.intp)


def texts(rows: int, random: np.random.Generator, classes: int) -> tuple[pd.DataFrame, Integers]:
    """Made-up words: some of the text's class, others, a few of which are frequent, of all."""
    fixed = np.random.default_rng(0)
    syllables = np.array([a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "en")])
    parts = fixed.choice(syllables, (SHARED_WORDS + classes * OWN_WORDS, 3))
    words = np.array(["".join(own) for own in parts], dtype=object)
    y = random.permutation(np.arange(rows) % classes)
    frequency = 1 / np.arange(10, SHARED_WORDS + 10)
    shape = rows, WORDS_OF_A_TEXT
    places = random.choice(SHARED_WORDS, shape, p=frequency / frequency.sum())
    own = SHARED_WORDS + OWN_WORDS * y[:, None] + random.integers(OWN_WORDS, size=shape)
    is_own = np.arange(WORDS_OF_A_TEXT) < random.integers(1, OWN_OF_A_TEXT + 1, size=(rows, 1))
    chosen = words[random.permuted(np.where(is_own, own, places), axis=1)]
    return pd.DataFrame({"text": [" ".join(row) for row in chosen]}), y


def training_rows(rows: int, truth: str, repeat: int, classes: int = 2) -> tuple[Any, Integers]:
    """Features and observed labels, of which a fifth is wrong; other rows for every repeat."""
    X, y = draw(rows, truth, repeat, classes)
    observed, _ = flip_labels(y, symmetric(FLIPPED, classes), random_state=repeat)
    return X, np.asarray(observed)


def clean_rows(truth: str, classes: int = 2) -> tuple[Any, Integers]:
    """Features and true classes that nothing was fitted to."""
    return draw(TEST_ROWS if classes == 2 else TEST_ROWS_OF_MANY, truth, 2**32 - 1, classes)


def mixed_table(rows: int, seed: int) -> pd.DataFrame:
    """Twenty columns: numbers, some missing, categories, a date, a note; and noisy labels."""
    random = np.random.default_rng(seed)
    numbers = random.standard_normal((rows, 12), dtype=np.float32)
    columns: dict[str, Any] = {f"number {k}": own for k, own in enumerate(numbers.T)}
    for k, levels in enumerate((2, 3, 5, 8, 20, 300)):
        names = np.array([f"value {level}" for level in range(levels)])
        columns[f"category {k}"] = names[random.integers(levels, size=rows)]
    days = pd.to_timedelta(random.integers(0, 1500, rows), unit="D")
    columns["since"] = (pd.Timestamp("2020-01-01") + days).astype(str)
    notes = np.array(["called about bill", "wants a refund for", "content with", "slow line, see"])
    columns["note"] = [
        f"{note} {number}"
        for note, number in zip(
            notes[random.integers(4, size=rows)], random.integers(1000, size=rows), strict=True
        )
    ]
    score = 1.5 * numbers[:, 0] + numbers[:, 1] * numbers[:, 2]
    score += 2 * (columns["category 2"] == "value 1")
    is_true = random.logistic(size=rows) < 3 * (score - 0.5)
    is_wrong = random.uniform(size=rows) < np.where(is_true, 0.15, 0.05)
    table = pd.DataFrame(columns)
    table.loc[random.uniform(size=rows) < 0.1, "number 3"] = np.nan
    return table.assign(**{LABEL: np.where(is_true ^ is_wrong, "yes", "no")})
