"""Large tables of two classes made on the spot: what there is no real table for.

Each generator takes a number of rows and a seed, and returns features and true classes. Where the
classes overlap, the class is drawn from a logistic model of a score; a flipped label is never meant
by that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import (
    make_classification,
    make_friedman1,
    make_gaussian_quantiles,
    make_hastie_10_2,
)

from rboost._typing import Floats, Integers

Generator = Callable[[int, int], tuple[Floats, Integers]]


def clusters(n_rows: int, seed: int, **options: Any) -> tuple[Floats, Integers]:
    """Gaussian clusters at corners of a cube, with redundant and irrelevant columns."""
    X, y = make_classification(n_rows, flip_y=0, random_state=seed, **options)
    return X, y.astype(np.intp)


def shells(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """Four shells around each other, of the two classes in turn."""
    X, y = make_gaussian_quantiles(n_samples=n_rows, n_features=4, n_classes=4, random_state=seed)
    return X, (y % 2).astype(np.intp)


def hastie(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """Ten Gaussian columns, and whether their squares sum to more than usual."""
    X, y = make_hastie_10_2(n_rows, random_state=seed)
    return X, (y > 0).astype(np.intp)


def friedman(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """Friedman's first function of five columns, 25 others, and a logistic link."""
    X, score = make_friedman1(n_rows, n_features=30, random_state=seed)
    return X, _drawn(score - np.median(score), seed)


def interactions(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """Products and steps of correlated columns with long tails, and twice as many irrelevant."""
    random = np.random.RandomState(seed)
    common = random.standard_normal((n_rows, 1))
    X = np.sinh(0.4 * common + random.standard_normal((n_rows, 36)))
    a, b, c, d, e, f = np.clip(X[:, :6], -3, 3).T
    score = a * b + 2 * ((c > 0) ^ (d > 0.5)) + np.abs(e) - (f > 1) * a + X[:, 6:12].sum(axis=1) / 9
    return X, _drawn(1.5 * (score - np.median(score)), seed)


def waves(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """A sum of smooth waves of twelve uniform columns, and a logistic link."""
    X = np.random.RandomState(seed).uniform(-1, 1, (n_rows, 12))
    score = np.sin(X * np.linspace(1, 8, 12)).sum(axis=1)
    return X, _drawn(2 * (score - np.median(score)), seed)


def boxes(n_rows: int, seed: int) -> tuple[Floats, Integers]:
    """Rules: inside any of a dozen boxes in four of 24 columns; one label in twenty by chance."""
    random = np.random.RandomState(seed)
    X = random.uniform(size=(n_rows, 24)).round(2)
    inside = np.zeros(n_rows, dtype=bool)
    for _ in range(12):
        columns, corner = random.choice(24, 4, replace=False), random.uniform(0, 0.5, 4)
        inside |= np.all((X[:, columns] > corner) & (X[:, columns] < corner + 0.5), axis=1)
    return X, (inside ^ (random.uniform(size=n_rows) < 0.05)).astype(np.intp)


def _drawn(score: Floats, seed: int) -> Integers:
    chance = np.random.RandomState(seed + 1).uniform(size=len(score))
    return (chance < expit(score)).astype(np.intp)


# Those of the suite "large".
GENERATORS: dict[str, Generator] = {
    "hastie": hastie,
    "many clusters": partial(
        clusters, n_features=40, n_informative=12, n_redundant=8, n_clusters_per_class=6,
        class_sep=0.8,
    ),
    "rare class": partial(
        clusters, n_features=25, n_informative=10, n_redundant=5, n_clusters_per_class=3,
        weights=[0.8], class_sep=0.7,
    ),
    "shells": shells,
    "friedman": friedman,
    "interactions": interactions,
    # Those of the suite "large development".
    "clusters": partial(clusters, n_features=20, n_informative=8, n_redundant=4),
    "waves": waves,
    "boxes": boxes,
}  # fmt: skip
