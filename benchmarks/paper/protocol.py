"""What was done to the data: how it is split, which labels are made wrong, from which seeds.

Two readings of the paper. "ida", the default: the sizes of Rätsch's IDA collection, and symmetric
noise "at rate r" flips r/2 of each class; the published numbers come from this (every Heart error
is a multiple of 1/100 and every Diabetes error of 1/300, and the errors are those of the smaller
noise). "text": what the prose says, 80 % for training, and r of each class flipped. Asymmetric
noise flips r of the negatives in both.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from benchmarks.paper.datasets import BENCHMARKS, load_benchmark
from rboost._typing import Floats, Integers
from rboost.noise import asymmetric, flip_labels, symmetric

PROTOCOLS = ("ida", "text")


@dataclass(frozen=True)
class Setting:
    """A kind of noise: the paper's table with it, symmetric or not, and the rate in percent."""

    name: str
    table: int | None
    kind: str
    rate: int

    def noise_matrix(self, protocol: str) -> Floats:
        """The flips that the protocol means by this setting."""
        rate = self.rate / 100
        if self.kind == "asymmetric":
            return asymmetric(rate, from_class=0)
        return symmetric(rate / 2 if protocol == "ida" else rate)


SETTINGS = {
    setting.name: setting
    for setting in [
        Setting("clean", None, "symmetric", 0),
        Setting("sym10", 2, "symmetric", 10),
        Setting("sym30", 3, "symmetric", 30),
        Setting("asym10", 4, "asymmetric", 10),
        Setting("asym30", 5, "asymmetric", 30),
    ]
}


@dataclass(frozen=True)
class Trial:
    """Training rows with labels made wrong, and test rows with true ones; arrays or frames."""

    X: Any
    observed: Integers
    true: Integers
    X_test: Any
    y_test: Integers
    noise_matrix: Floats
    seed: int


def seed_of(*parts: object) -> int:
    """A seed that depends on what it is for and on nothing else, the order of work least of all."""
    return zlib.crc32("/".join(map(str, parts)).encode()) % (2**31 - 1)


def make_trial(dataset: str, setting: str, repeat: int, protocol: str, seed: int) -> Trial:
    """Split one of the paper's sets and make labels wrong."""
    X, y = load_benchmark(dataset)
    benchmark = BENCHMARKS[dataset]
    n_train, n_test = benchmark.n_train, benchmark.n_test
    if protocol == "text":
        n_train = round(0.8 * len(y))
        n_test = len(y) - n_train
    noise_matrix = SETTINGS[setting].noise_matrix(protocol)
    return split_and_flip(X, y, (n_train, n_test), noise_matrix, (seed, dataset, repeat), setting)


def split_and_flip(
    X: Any,
    y: Integers,
    sizes: tuple[int, int],
    noise_matrix: Floats,
    split: tuple[object, ...],
    setting: str,
) -> Trial:
    """Split a set and make training labels wrong; the split does not depend on the setting."""
    n_train, n_test = sizes
    order = np.random.RandomState(seed_of(*split)).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    trial_seed = seed_of(*split, setting)
    classes = np.arange(len(noise_matrix))
    observed, _ = flip_labels(y[train], noise_matrix, trial_seed, classes=classes)
    X_train, X_test = (_safe_indexing(X, rows) for rows in (train, test))
    return Trial(X_train, observed, y[train], X_test, y[test], noise_matrix, trial_seed)
